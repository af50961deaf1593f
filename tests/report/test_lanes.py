"""Columns of regions: what is in a row is what the interpreter would find there."""

from __future__ import annotations

import sysconfig
from itertools import combinations
from pathlib import Path

import pytest

import xtab
from xtab.format.code import code_objects
from xtab.report.lanes import FEW, TONES, Mark, lay_out, tone

STDLIB = Path(sysconfig.get_path("stdlib"))
GAPS = {Mark.HOLE, Mark.QUIET}


def check(code):
    """All that must hold of the lanes of a code object."""
    listing = xtab.show(code)
    for shown in (listing.regions, listing.shown):
        lanes = lay_out(listing.rows, shown)
        assert list(lanes) == list(shown)
        at = [{} for _ in listing.rows]
        for region, lane in lanes.items():
            for stretch in lane.stretches:
                assert stretch.marks[0] == Mark.TAG
                assert stretch.marks[-1] not in GAPS
                for row, mark in enumerate(stretch.marks, stretch.first):
                    assert at[row].setdefault(lane.column, (region, mark)) == (region, mark), "two regions in one place"
        for row, cells in zip(listing.rows, at, strict=True):
            drawn = [region for _, (region, mark) in sorted(cells.items()) if mark not in GAPS]
            assert drawn == [region for region in row.chain if region in lanes], "columns cross"
            for region, mark in cells.values():
                assert region.covers(row.offset) == (mark not in GAPS)
    for row in listing.rows:
        entry = xtab.find_handler(listing.entries, row.offset)
        assert (row.chain[-1].handler if row.chain else None) == (entry.target if entry else None)


def test_the_innermost_lane_is_what_the_interpreter_finds(shapes):
    for shape in shapes.values():
        for code in code_objects(shape):
            check(code)


@pytest.mark.parametrize("name", ["asyncio/base_events.py", "subprocess.py", "tarfile.py"])
def test_of_modules(name):
    for code in code_objects(compile((STDLIB / name).read_bytes(), name, "exec", dont_inherit=True)):
        check(code)


@pytest.mark.slow
def test_of_the_standard_library():
    count = 0
    for path in sorted(STDLIB.rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        try:
            module = compile(path.read_bytes(), path.name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        for code in code_objects(module):
            if code.co_exceptiontable:
                check(code)
                count += 1
    assert count > 10_000


def test_regions_side_by_side_share_a_column():
    source = "try: a()\nexcept OSError: b()\ntry: c()\nexcept OSError: d()\n"
    listing = xtab.show(compile(source, "sample", "exec"))
    lanes = lay_out(listing.rows, listing.shown)
    assert [lane.column for lane in lanes.values()] == [0, 0]
    one, two = lanes.values()
    assert one.stretches[-1].end <= two.stretches[0].first


def one_after_another(count):
    """Statements whose handlers all stand at the end, so that each region has a hole there beside those of others."""
    source = "try:\n with a: b()\nexcept E: c()\n" * count
    return xtab.show(compile(source, "sample", "exec"))


@pytest.mark.parametrize("count", [2, 9])
def test_holes_are_lent_where_columns_are_many(count, handlers_at_the_end):
    listing = one_after_another(count)
    check(listing.code)
    lanes = lay_out(listing.rows, listing.regions)
    assert max(lane.column for lane in lanes.values()) < FEW
    lent = count > 2 and handlers_at_the_end(listing)
    assert any(len(lane.stretches) > 1 for lane in lanes.values()) == lent
    assert (
        any(mark == Mark.HOLE for lane in lanes.values() for stretch in lane.stretches for mark in stretch.marks)
        != lent
    )
    assert "+1" not in listing.text(all_regions=True)


def test_thousands_of_regions_take_no_more_than_their_pieces():
    listing = one_after_another(600)
    lanes = lay_out(listing.rows, listing.regions)
    assert len(lanes) == 2400
    assert sum(len(stretch.marks) for lane in lanes.values() for stretch in lane.stretches) < 4 * len(listing.rows)


def test_what_is_not_shown_takes_no_column(shapes):
    listing = xtab.show(shapes["try_in_handler"])
    assert max(lane.column for lane in lay_out(listing.rows, listing.shown).values()) < max(
        lane.column for lane in lay_out(listing.rows, listing.regions).values()
    )


def test_a_hole_where_nothing_can_raise_does_not_end_the_bracket(shapes):
    seen = set()
    for code in shapes.values():
        listing = xtab.show(code)
        for region, lane in lay_out(listing.rows, listing.regions).items():
            if len(lane.stretches) > 1:  # its column is lent
                continue
            (stretch,) = lane.stretches
            for hole in region.holes:
                rows = [at for at, row in enumerate(listing.rows) if hole.start <= row.offset < hole.end]
                marks = {stretch.marks[at - stretch.first] for at in rows}
                assert marks == {Mark.QUIET if hole.quiet else Mark.HOLE}
                before = stretch.marks[rows[0] - 1 - stretch.first]
                assert (before in {Mark.LAST, Mark.ONLY, Mark.TAG}) or hole.quiet
                seen.add(hole.quiet)
    assert seen == {True, False}


def test_colours_follow_from_letters(shapes):
    regions = xtab.regions(shapes["deep"])
    written = [region for region in regions if not region.bookkeeping]
    assert [tone(region) for region in written] == [number % TONES for number in range(len(written))]
    assert {tone(region) for region in regions if region.bookkeeping} == {None}
    assert all(tone(a) != tone(b) for a, b in combinations(written[:TONES], 2))
