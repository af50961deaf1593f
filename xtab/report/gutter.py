"""`draw` and `draw_lines`: regions as shapes beside the rows of a table, in pixels. All rows have the same height.

1. `xtab.report.lanes` says which column a region has, and what it looks like in each row.
2. A stretch of rows is a square bracket that opens to the right, a hole a dotted line, a quiet hole a thin one. The tag
   with the letter stands on the first row, where the bracket begins.
3. The edge to the handler leaves at the lower end of the first piece, goes right to its track, along that to the row
   of the handler, and right again. Tracks lie right of all columns. Edges are taken by the row where they end: the
   first one has the outermost track on the right, so that those that end later pass on its left and none crosses it
   there. Edges that have no row in common share a track; beyond `_TRACKS` tracks, the last one takes all others.

A path has absolute ``M``, ``H`` and ``V`` steps only, so that the page can move it when it folds rows.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, cast

from xtab.report.lanes import FEW, Lane, Mark, Stretch, lay_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xtab.analysis.regions import Region
    from xtab.report.listing import Row

__all__ = ["ROW_HEIGHT", "Gutter", "Shape", "draw", "draw_lines"]

ROW_HEIGHT = 20
"""Of every row of the page, in pixels; its style sheet says the same."""
_PITCH, _NARROW_PITCH = 18, 14
_LEFT = 11
"""From the left edge to the first column's line."""
_TICK = 6
"""Length of a bracket's ends."""
_INSET = 3
"""From the edge of a row to the end of a bracket, so that neighbours don't touch."""
_TRACK = 6
"""From one track to the next."""
_TRACKS = 24
"""Tracks at most."""
_ARROW = 9
"""Room for arrow heads."""


class Box(NamedTuple):
    """A rectangle, in pixels."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Shape:
    """One region as it is drawn. Paths are in the language of SVG; an empty one has nothing to draw."""

    region: Region
    tags: tuple[Box, ...]  #: where the letter stands
    hits: tuple[Box, ...]  #: what reacts to the pointer: a box a stretch of rows
    bracket: str
    dotted: str  #: holes
    thin: str  #: quiet holes
    edge: str = ""  #: to the handler
    arrow: str = ""  #: its head


@dataclass(frozen=True, slots=True)
class Gutter:
    """The shapes beside a table, outermost regions first, and how wide they are together."""

    width: int
    shapes: tuple[Shape, ...]


def draw(rows: Sequence[Row], shown: Iterable[Region]) -> Gutter:
    """The regions beside the rows of a listing, with the edges to their handlers. No regions: no width.

    >>> import xtab
    >>> def ask(d):
    ...     try:
    ...         return d["k"]
    ...     except KeyError:
    ...         return None
    >>> listing = xtab.show(ask)
    >>> [shape.region.letter for shape in draw(listing.rows, listing.regions).shapes]
    ['A', 'a']
    """
    lanes = lay_out(rows, shown)
    if not lanes:
        return Gutter(0, ())
    pitch = _pitch(lanes.values())
    right = _right_of(lanes.values(), pitch)
    starts = [row.offset for row in rows]
    ends = {region: (_first_end(lane), bisect_left(starts, region.handler)) for region, lane in lanes.items()}
    tracks = _tracks(ends)
    count = 1 + max(tracks.values())
    tip = right + count * _TRACK + _ARROW
    shapes = []
    for region, lane in lanes.items():
        bottom, target = ends[region]
        shape = _shape(region, lane, pitch)
        x, y = _LEFT + lane.column * pitch, target * ROW_HEIGHT + ROW_HEIGHT // 2
        track = right + (count - 1 - tracks[region]) * _TRACK
        edge = f"M{x + _TICK} {(bottom + 1) * ROW_HEIGHT - _INSET}H{track}V{y}H{tip - 4}"
        arrow = f"M{tip - 7} {y - 4}V{y + 4}L{tip} {y}Z"
        shapes.append(Shape(region, shape.tags, shape.hits, shape.bracket, shape.dotted, shape.thin, edge, arrow))
    return Gutter(tip + 2, tuple(shapes))


class _Line(NamedTuple):
    """A line of source, as a row to lay out beside."""

    offset: int


@dataclass(eq=False)
class _Extent:
    """The lines of a region, as something to lay out."""

    region: Region
    letter: str
    pieces: tuple[tuple[int, int], ...]
    parent: _Extent | None = None


def draw_lines(first: int, last: int, shown: Iterable[Region]) -> Gutter:
    """The regions beside lines of source, from line `first` to line `last`: what their own code is, without handlers.

    Regions that have no place in the source are left out.
    """
    extents: dict[Region, _Extent] = {}
    for region in shown:
        place = region.location
        if place is None or place.line is None:
            continue
        start, end = max(first, place.line), min(last, place.end_line or place.line)
        if start <= end:
            around = next((extents[each] for each in reversed(region.chain[:-1]) if each in extents), None)
            extents[region] = _Extent(region, region.letter, ((start, end + 1),), around)
    if not extents:
        return Gutter(0, ())
    lines = cast("list[Row]", [_Line(number) for number in range(first, last + 1)])
    lanes = lay_out(lines, sorted(extents.values(), key=lambda each: (each.pieces[0][0], -each.pieces[0][1])))
    pitch = _pitch(lanes.values())
    shapes = tuple(_shape(extent.region, lane, pitch) for extent, lane in lanes.items())
    return Gutter(_right_of(lanes.values(), pitch), shapes)


def _pitch(lanes: Iterable[Lane]) -> int:
    return _NARROW_PITCH if max(lane.column for lane in lanes) >= FEW else _PITCH


def _right_of(lanes: Iterable[Lane], pitch: int) -> int:
    return _LEFT + max(lane.column for lane in lanes) * pitch + _TICK + 6


def _first_end(lane: Lane) -> int:
    """The last row of the first piece; a quiet hole does not end it."""
    stretch = lane.stretches[0]
    for place, mark in enumerate(stretch.marks):
        if mark == Mark.HOLE:
            return stretch.first + place - 1
    return stretch.end - 1


def _tracks(ends: dict[Region, tuple[int, int]]) -> dict[Region, int]:
    """The track of each region's edge, counted from the right."""
    taken: list[list[tuple[int, int]]] = []  # of each track the rows of its edges, in order
    tracks = {}
    for region, (one, other) in sorted(ends.items(), key=lambda item: (item[1][1], -item[1][0])):
        top, bottom = min(one, other), max(one, other)
        fits = (number for number, edges in enumerate(taken) if _fits(edges, top, bottom))
        track = next(fits, min(len(taken), _TRACKS - 1))
        if track == len(taken):
            taken.append([])
        insort(taken[track], (top, bottom))
        tracks[region] = track
    return tracks


def _fits(edges: list[tuple[int, int]], top: int, bottom: int) -> bool:
    """Whether no edge has a row in common with those from top to bottom."""
    place = bisect_left(edges, (bottom + 1,))
    return place == 0 or edges[place - 1][1] < top


def _shape(region: Region, lane: Lane, pitch: int) -> Shape:
    """A region without its edge."""
    x = _LEFT + lane.column * pitch
    width = 8 + 6 * len(region.letter) if len(region.letter) > 1 else 14
    tags, hits, brackets, dotted, thin = [], [], [], [], []
    for stretch in lane.stretches:
        tag = Box(x - width // 2, stretch.first * ROW_HEIGHT + 3, width, 14)
        tags.append(tag)
        row = stretch.first
        for is_hole, group in groupby(stretch.marks, lambda mark: mark == Mark.HOLE):
            marks = list(group)
            if is_hole:
                top, bottom = row * ROW_HEIGHT + _INSET, (row + len(marks)) * ROW_HEIGHT - _INSET
                dotted.append(f"M{x} {top - 2 * _INSET + 3}V{bottom + 2 * _INSET - 3}")
            else:
                hits.append(Box(x - pitch // 2, row * ROW_HEIGHT, pitch, len(marks) * ROW_HEIGHT))
                below_tag = tag.y + tag.height if row == stretch.first else None
                bracket, quiet = _bracket(x, Stretch(row, tuple(marks)), below_tag)
                brackets.append(bracket)
                thin.append(quiet)
            row += len(marks)
    return Shape(region, tuple(tags), tuple(hits), "".join(brackets), "".join(dotted), "".join(thin))


def _bracket(x: int, stretch: Stretch, below_tag: int | None) -> tuple[str, str]:
    """Paths of a bracket, and of the quiet holes in it; `below_tag`: where it begins if it does under a tag."""
    top, bottom = stretch.first * ROW_HEIGHT + _INSET, stretch.end * ROW_HEIGHT - _INSET
    drawn, thin, at = "", "", stretch.first
    for quiet, part in groupby(stretch.marks, lambda mark: mark == Mark.QUIET):
        length = len(list(part))
        start, end = at * ROW_HEIGHT, (at + length) * ROW_HEIGHT
        if quiet:
            thin += f"M{x} {start}V{end}"
        else:
            opens = f"M{x} {start}"
            if at == stretch.first:
                opens = f"M{x + _TICK} {top}H{x}" if below_tag is None else f"M{x} {below_tag}"
            drawn += opens + (f"V{bottom}H{x + _TICK}" if at + length == stretch.end else f"V{end}")
        at += length
    return drawn, thin
