"""Regions as shapes: every piece is drawn where its rows are, and every edge ends at its handler."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

import xtab
from xtab.report.gutter import ROW_HEIGHT, draw, draw_lines


def nested(path):
    try:
        with open(path) as file:
            for line in file:
                if line:
                    return line
                continue
    except OSError:
        return None
    finally:
        path.close()


def plain():
    return 1


def numbers(path, commands):
    """The y of some commands of a path."""
    found = re.findall(r"([MHVL])([\d.]+)(?: ([\d.]+))?", path)
    return [float(second or first) for command, first, second in found if command in commands]


def test_no_regions_take_no_room():
    listing = xtab.show(plain)
    assert draw(listing.rows, listing.regions) == draw_lines(1, 3, listing.regions)
    assert draw(listing.rows, listing.regions).width == 0


def test_each_region_is_drawn_over_its_rows():
    listing = xtab.show(nested)
    gutter = draw(listing.rows, listing.regions)
    assert [shape.region for shape in gutter.shapes] == list(listing.regions)
    for shape in gutter.shapes:
        inside = {row for row, each in enumerate(listing.rows) if shape.region in each.chain}
        rows = set()
        for hit in shape.hits:
            assert hit.y % ROW_HEIGHT == hit.height % ROW_HEIGHT == 0
            rows |= set(range(hit.y // ROW_HEIGHT, (hit.y + hit.height) // ROW_HEIGHT))
        quiet = {row for row, each in enumerate(listing.rows) for hole in shape.region.holes
                 if hole.quiet and hole.start <= each.offset < hole.end}  # fmt: skip
        assert rows == inside | quiet
        assert shape.tags[0].y // ROW_HEIGHT == min(inside)
        assert all(0 <= y <= len(listing.rows) * ROW_HEIGHT for y in numbers(shape.bracket + shape.dotted, "MV"))


def test_each_edge_ends_at_the_handler():
    listing = xtab.show(nested)
    for shape in draw(listing.rows, listing.regions).shapes:
        target = next(row for row, each in enumerate(listing.rows) if each.offset == shape.region.handler)
        assert numbers(shape.edge, "V")[-1] == target * ROW_HEIGHT + ROW_HEIGHT // 2
        assert numbers(shape.arrow, "L") == numbers(shape.edge, "V")


def test_edges_on_one_track_have_no_row_in_common():
    listing = xtab.show(nested)
    tracks = {}
    for shape in draw(listing.rows, listing.regions).shapes:
        _, start, track, end, _ = map(int, re.fullmatch(r"M(\d+) (\d+)H(\d+)V(\d+)H(\d+)", shape.edge).groups())
        tracks.setdefault(track, []).append(sorted((start, end)))
    for spans in tracks.values():
        spans.sort()
        assert all(before[1] < after[0] for before, after in pairwise(spans))


def test_what_is_not_shown_takes_no_room():
    source = "try:\n try: a\n except B as c: d\nfinally: e\n"  # two columns, and a third one for bookkeeping
    listing = xtab.show(compile(source, "example.py", "exec"))
    assert draw(listing.rows, listing.shown).width < draw(listing.rows, listing.regions).width


def test_beside_the_source():
    first = nested.__code__.co_firstlineno
    listing = xtab.show(nested)
    gutter = draw_lines(first, first + 10, listing.shown)
    rows = {
        shape.region.label: (shape.hits[0].y // ROW_HEIGHT, shape.hits[0].height // ROW_HEIGHT)
        for shape in gutter.shapes
    }
    assert rows["with"] == (2, 5)
    assert rows["finally"][0] == 2
    assert rows["finally"][1] >= 7
    assert len({shape.tags[0].x for shape in gutter.shapes if shape.tags[0].y // ROW_HEIGHT == 2}) == 3
    assert all(not shape.edge for shape in gutter.shapes)


def test_lines_outside_are_left_out():
    listing = xtab.show(nested)
    assert not draw_lines(10_000, 10_010, listing.regions).shapes


@pytest.mark.parametrize("count, pitch", [(3, 18), (9, 14)])
def test_many_columns_are_narrower(count, pitch):
    source = "".join("    " * depth + "try:\n" for depth in range(count)) + "    " * count + "f()\n"
    source += "".join("    " * depth + "finally: g()\n" for depth in reversed(range(count)))
    listing = xtab.show(compile(source, "deep.py", "exec"))
    tags = [shape.tags[0].x for shape in draw(listing.rows, listing.shown).shapes[:3]]
    assert tags[1] - tags[0] == pitch


def test_many_regions_side_by_side_stay_narrow(handlers_at_the_end):
    """Each tag stands over what has its letter, and the edges that find no track of their own share the last one."""
    source = "try:\n with a: b()\nexcept E: c()\n" * 40
    listing = xtab.show(compile(source, "many.py", "exec"))
    gutter = draw(listing.rows, listing.regions)
    assert gutter.width < 300
    at_the_end = handlers_at_the_end(listing)
    for shape in gutter.shapes:
        rows = {row for row, each in enumerate(listing.rows) if shape.region in each.chain}
        assert {tag.y // ROW_HEIGHT for tag in shape.tags} <= rows
        if at_the_end:  # then holes are lent to others, and each piece has its letter
            assert not shape.dotted
            assert len(shape.tags) == len(shape.hits)
