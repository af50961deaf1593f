"""Tables number by number, of whatever bytes they are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtab
from xtab.format.code import code_objects
from xtab.format.table_fields import RawEntry, read_raw_entries, table_fields, write_raw_entries


def test_fields_are_what_the_parser_reads():
    module = compile(Path(subprocess.__file__).read_bytes(), "subprocess.py", "exec", dont_inherit=True)
    for code in code_objects(module):
        found = list(table_fields(code.co_exceptiontable))
        assert b"".join(field.raw for field in found) == code.co_exceptiontable
        quads = [found[at : at + 4] for at in range(0, len(found), 4)]
        read = [
            xtab.ExceptionTableEntry(2 * a.value, 2 * (a.value + b.value), 2 * c.value, d.value >> 1, bool(d.value & 1))
            for a, b, c, d in quads
        ]
        assert read == xtab.parse_exception_table(code)
        assert [quad[0].entry for quad in quads] == list(range(len(quads)))


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
    found = list(table_fields(raw))
    assert b"".join(field.raw for field in found) == raw
    assert {field.fault for field in found} - {None} == {fault} - {None}


@given(st.binary())
def test_any_bytes(raw):
    assert b"".join(field.raw for field in table_fields(raw)) == raw
    entries = read_raw_entries(raw)
    assert entries is None or write_raw_entries(entries) == raw


@pytest.mark.parametrize("table", [b"\x80", b"\x00\x01\x02\x00", b"\x80\x40\x01\x02\x00", b"\x80\x81\x02\x00"])
def test_what_is_more_than_entries(table):
    assert read_raw_entries(table) is None


NUMBER = st.integers(0, 1 << 30)


@given(st.lists(st.builds(RawEntry, NUMBER, NUMBER, NUMBER, NUMBER)))
def test_entries_come_back(entries):
    assert read_raw_entries(write_raw_entries(entries)) == entries
