"""Tables byte by byte, and as trees."""

from __future__ import annotations

import pytest

import xtab
from xtab.report.table_text import byte_lines, fields, tree_lines
from xtab.report.text import paint


def test_fields_are_what_the_parser_reads(shapes):
    for code in shapes.values():
        found = list(fields(code.co_exceptiontable))
        assert b"".join(field.raw for field in found) == code.co_exceptiontable
        quads = [found[at : at + 4] for at in range(0, len(found), 4)]
        read = [
            xtab.ExceptionTableEntry(2 * a.value, 2 * (a.value + b.value), 2 * c.value, d.value >> 1, bool(d.value & 1))
            for a, b, c, d in quads
        ]
        assert read == xtab.parse_exception_table(code)
        assert [quad[0].entry for quad in quads] == list(range(len(quads)))


def test_long_numbers():
    entry = xtab.ExceptionTableEntry(100_000, 4_000_000, 4_000_100, 1000, False)
    found = list(fields(xtab.assemble_exception_table([entry])))
    assert [field.meaning for field in found] == [
        "start 100000", "length 3900000, so it ends at 4000000", "target 4000100", "depth 1000"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "table, fault",
    [
        ("820202", None),
        ("82020243", "the table ends within it"),
        ("02020203", "without the bit of a first byte"),
        ("82820203", "with the bit of a first byte"),
    ],
)
def test_broken_tables_are_read_as_far_as_they_go(table, fault):
    raw = bytes.fromhex(table)
    found = list(fields(raw))
    assert b"".join(field.raw for field in found) == raw
    assert (fault is None) or any(fault in field.meaning for field in found)


def test_any_bytes():
    for first in range(256):
        raw = bytes([first, 255, 64, first, 0])
        assert b"".join(field.raw for field in fields(raw)) == raw


def test_lines():
    assert [paint(line, color=False) for line in byte_lines(bytes.fromhex("82041641 0b"))] == [
        "  offset  bytes  meaning",
        "       0  82     #0 start 4",
        "       1  04        length 8, so it ends at 12",
        "       2  16        target 44",
        "       3  41 0b     depth 37, lasti",
    ]
    assert list(byte_lines(b"")) == []


def test_every_region_is_in_the_tree_once(shapes):
    for code in shapes.values():
        regions = xtab.regions(code)
        lines = [paint(line, color=False) for line in tree_lines(regions, ascii=True)]
        assert len(lines) == len(regions)
        letters = [line.replace("`-", "").replace("+-", "").replace("|", "").split()[0] for line in lines]
        assert sorted(letters) == sorted(region.letter for region in regions)
        for region in regions:
            line = next(line for line, letter in zip(lines, letters, strict=True) if letter == region.letter)
            assert line.index(region.letter + " ") == 2 + 3 * (len(region.chain) - 1)
