"""Tables byte by byte, and as trees."""

from __future__ import annotations

import xtab
from xtab.report.table_text import byte_lines, meanings, tree_lines
from xtab.report.text import paint


def test_long_numbers():
    entry = xtab.ExceptionTableEntry(100_000, 4_000_000, 4_000_100, 1000, False)
    found = list(meanings(xtab.assemble_exception_table([entry])))
    assert [meaning for _, meaning in found] == [
        "start 100000", "length 3900000, so it ends at 4000000", "target 4000100", "depth 1000"
    ]  # fmt: skip


def test_what_is_wrong_is_said():
    assert [meaning for _, meaning in meanings(bytes.fromhex("02020243"))] == [
        "start 4, but without the bit of a first byte",
        "length 4, so it ends at 8",
        "target 4",
        "depth 1, lasti, but the table ends within it",
    ]


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
