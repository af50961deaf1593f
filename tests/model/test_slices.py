"""`LocationSlices`: a location table by entry and by unit, as the interpreter reads it."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from xtab.format.code import code_objects
from xtab.format.locations import split_entries
from xtab.model.slices import LocationSlices

STDLIB = Path(sysconfig.get_path("stdlib"))
NOWHERE = (None, None, None, None)


def codes():
    path = STDLIB / "contextlib.py"
    return list(code_objects(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))


def slices_of(code):
    return LocationSlices(code.co_linetable, code.co_firstlineno)


@pytest.mark.parametrize("backward", [False, True])
def test_locations_are_those_of_the_interpreter(backward):
    """Whatever the order that they are asked for in."""
    for code in codes():
        slices = slices_of(code)
        positions = list(enumerate(code.co_positions()))
        for unit, position in reversed(positions) if backward else positions:
            assert (slices.location_at(unit) or NOWHERE) == position
        assert slices.covers[-1] == len(positions)


def test_bytes_of_entries():
    """Few look-ups and many give the same bytes; all of them together are the table."""
    for code in codes():
        entries = split_entries(code.co_linetable)
        count = len(entries)
        many = slices_of(code)
        for begin in range(count):
            end = min(begin + 3, count)
            wanted = b"".join(entries[begin:end])
            assert many.bytes_of(begin, end) == slices_of(code).bytes_of(begin, end) == wanted
        assert many.bytes_of(0, count) == code.co_linetable
        assert many.bytes_of(count, count) == b""


def test_entries_of_units_and_the_lines_before_them():
    for code in codes():
        slices = slices_of(code)
        assert slices.line_before(0) == code.co_firstlineno
        line = code.co_firstlineno
        for number, (begin, end) in enumerate(zip(slices.covers, slices.covers[1:], strict=False)):
            assert {slices.entry_at(unit) for unit in range(begin, end)} == {number}
            assert slices.line_before(number) == line
            location = slices.location(number)
            assert slices.says_nothing(number) == (location is None)
            line = line if location is None else location.line


def test_a_table_that_ends_early_says_nothing_about_the_rest():
    code = codes()[1]
    slices = slices_of(code)
    end = slices.covers[-1]
    assert slices.entry_at(end) == len(slices.covers) - 1
    assert slices.location_at(end) is None
    assert LocationSlices(b"", 5).location_at(0) is None
    assert LocationSlices(b"", 5).covers == [0]


def test_entries_that_begin_at_a_unit():
    """Near the start, where nobody has counted yet, and everywhere."""
    for code in codes():
        begins = slices_of(code).covers
        for unit in range(begins[-1] + 2):
            number = begins.index(unit) if unit in begins else -1
            counted = slices_of(code)
            assert counted.covers == begins
            assert slices_of(code).beginning_at(unit) == counted.beginning_at(unit) == number
            assert slices_of(code).ends_at(unit) == counted.ends_at(unit) == (number >= 0)
