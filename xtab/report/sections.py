"""`sections`: what the page has to say of each code object, ready for the templates: names, links, rows, words.

1. Each code object gets an anchor, a name that can stand in an address; what belongs to it is found behind that:
   ``f:B`` is region B of `f`, ``f@24`` the instruction at 24. Of the first code object it is just ``B`` and ``@24``.
2. Each instruction becomes a `RowView`. Long listings are cut into stretches of rows with the same regions, which the
   page can fold; the first and last rows of a stretch stay, and so do handlers, where jumps lead, and problems.
3. Two gutters are laid out, one without bookkeeping regions, and one beside the source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from xtab.format.code import code_objects
from xtab.format.opcodes import CURRENT
from xtab.format.printable import one_line
from xtab.report.gutter import Gutter, draw, draw_lines
from xtab.report.lanes import tone
from xtab.report.listing import show
from xtab.report.source_text import line_bounds
from xtab.report.words import file_line, lines_of_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType

    from xtab.analysis.regions import Region
    from xtab.analysis.verify import Problem
    from xtab.format.locations import Location
    from xtab.report.listing import Listing, Row

__all__ = ["RegionView", "RowView", "Section", "Stretch", "sections"]

LONG = 1500
"""Listings of more instructions than that are folded."""
_SHORTEST_FOLD = 12
_KEPT = 2
"""Rows at each end of a stretch that stay when it is folded."""
_WIDEST = 24
"""Slots that a bar of the stack shows at most."""


class RegionView(NamedTuple):
    """A region, with what the page calls it."""

    region: Region
    label: str  #: its kind and classes
    anchor: str
    color: str  #: class of the style sheet
    handler: str  #: anchor of the handler's row
    lines: str  #: ``3-7``; empty where unknown
    words: str  #: all about it, for those who don't see the picture
    ranges: tuple[str, ...]  #: ``[4,26)``, what lies inside included
    inside: RegionView | None
    inside_written: RegionView | None  #: the nearest region around it that somebody wrote


class RowView(NamedTuple):
    """A row of the table of instructions."""

    row: Row
    anchor: str  #: empty where nothing links here
    line: str  #: empty where it is the line of the row before
    link: str  #: anchor of what its operand names
    depth: str
    kept: int  #: slots of the bar
    pushed: int  #: of a handler: slots that the interpreter fills when it enters it
    why: str  #: the same in words
    handles: tuple[RegionView, ...]
    chain: str  #: letters of the regions around it, outermost first
    caches: int
    position: str
    quiet: bool  #: it can't raise
    problems: tuple[Problem, ...]


class Stretch(NamedTuple):
    """Rows that are shown or folded together."""

    rows: tuple[RowView, ...]
    folds: bool


@dataclass(eq=False)
class Section:
    """All that the page shows of one code object."""

    listing: Listing
    name: str
    anchor: str
    number: int  #: from 1
    place: str  #: file and line
    regions: tuple[RegionView, ...]
    stretches: tuple[Stretch, ...]
    few: Gutter  #: without bookkeeping
    all: Gutter
    first_line: int
    last_line: int
    beside_source: Gutter
    prefix: str  #: of the anchors in it
    inside: tuple[str, str] | None = None  #: name and anchor of the code object that holds it

    def row_anchor(self, offset: int) -> str:
        """Where the instruction at `offset` is found."""
        return f"{self.prefix}@{offset}"

    @property
    def written(self) -> int:
        """How many of its regions somebody wrote."""
        return len(self.listing.shown)


def sections(roots: Sequence[Listing]) -> list[Section]:
    """The sections of a page: the listings given and all code objects in them, each before what it holds."""
    found = list(_all_of(roots))
    anchors = _anchors([listing for listing, _ in found])
    made = []
    for number, (listing, outer) in enumerate(found, 1):
        section = _section(listing, number, anchors)
        if outer is not None:
            section.inside = one_line(outer.co_qualname), anchors[id(outer)]
        made.append(section)
    return made


def _all_of(roots: Sequence[Listing]) -> Iterator[tuple[Listing, CodeType | None]]:
    """Listings, each with the code object around it; none twice."""
    seen: set[int] = set()
    for root in roots:
        if id(root.code) in seen:
            continue
        outer: dict[int, CodeType] = {}
        for code in code_objects(root.code):
            seen.add(id(code))
            yield root if code is root.code else show(code), outer.get(id(code))
            outer |= {id(each): code for each in code.co_consts if hasattr(each, "co_code")}


def _anchors(listings: list[Listing]) -> dict[int, str]:
    """A name for each code object, by its identity, that an address can have in it."""
    anchors: dict[int, str] = {}
    taken = {region.letter: 1 for listing in listings[:1] for region in listing.regions}
    for listing in listings:
        plain = re.sub(r"[^\w.]+", "", listing.name.replace("<locals>.", "")) or "code"
        taken[plain] = count = taken.get(plain, 0) + 1
        anchors[id(listing.code)] = plain if count == 1 else f"{plain}~{count}"
    return anchors


def _section(listing: Listing, number: int, anchors: dict[int, str]) -> Section:
    anchor = anchors[id(listing.code)]
    prefix = "" if number == 1 else anchor
    views = _views(listing, prefix)
    first, last = line_bounds(listing.code)
    return Section(
        listing, one_line(listing.name), anchor, number,
        file_line(listing.code.co_filename, listing.code.co_firstlineno),
        tuple(views.values()), tuple(_stretches(listing, prefix, anchors, views)),
        draw(listing.rows, listing.shown), draw(listing.rows, listing.regions),
        first, last, draw_lines(first, last, listing.shown), prefix,
    )  # fmt: skip


def _views(listing: Listing, prefix: str) -> dict[Region, RegionView]:
    views: dict[Region, RegionView] = {}
    waiting = list(listing.regions)
    while waiting:
        region = waiting.pop()
        if region in views:
            continue
        around = region.parent
        if around is not None and around not in views:
            waiting += [region, around]
            continue
        color = tone(region)
        lines = lines_of_source(region.location)
        words = [f"{region}: "]
        words.append(f"lines {lines}, " if lines else "")
        words.append(f"handler at {region.handler}, depth {region.depth}")
        words.append(f", in {around}" if around is not None else "")
        views[region] = RegionView(
            region, region.label, _region_anchor(prefix, region), "cs" if color is None else f"c{color}",
            f"{prefix}@{region.handler}", lines, "".join(words),
            tuple(f"[{start},{end})" for start, end in region.pieces),
            None if around is None else views[around],
            next((views[each] for each in reversed(region.chain[:-1]) if not each.bookkeeping), None),
        )  # fmt: skip
    return {region: views[region] for region in listing.regions}


def _region_anchor(prefix: str, region: Region) -> str:
    return f"{prefix}:{region.letter}" if prefix else region.letter


def _stretches(
    listing: Listing, prefix: str, anchors: dict[int, str], views: dict[Region, RegionView]
) -> Iterator[Stretch]:
    rows = _row_views(listing, prefix, anchors, views)
    if len(rows) <= LONG:
        yield Stretch(tuple(rows), folds=False)
        return
    shown: list[RowView] = []
    for plain, group in groupby(rows, lambda each: (each.row.chain, not each.anchor)):
        stretch = list(group)
        if not plain[1] or len(stretch) < _SHORTEST_FOLD + 2 * _KEPT:
            shown += stretch
            continue
        yield Stretch((*shown, *stretch[:_KEPT]), folds=False)
        yield Stretch(tuple(stretch[_KEPT:-_KEPT]), folds=True)
        shown = stretch[-_KEPT:]
    yield Stretch(tuple(shown), folds=False)


def _row_views(
    listing: Listing, prefix: str, anchors: dict[int, str], views: dict[Region, RegionView]
) -> list[RowView]:
    problems: dict[int, list[Problem]] = {}
    for problem in listing.problems:
        if problem.offset is not None:
            problems.setdefault(problem.offset, []).append(problem)
    rows = []
    before: object = listing  # equal to no line
    for row in listing.rows:
        link = anchors.get(id(row.code), "") if row.code is not None else ""
        if row.target is not None:
            link = f"{prefix}@{row.target}"
        wrong = tuple(problems.get(row.offset, ()))
        kept, pushed, why = _bar(row)
        opcode = CURRENT.number.get(row.opname)
        rows.append(
            RowView(
                row, f"{prefix}@{row.offset}" if row.handles or row.label or wrong else "",
                "" if row.line == before else "--" if row.line is None else str(row.line), link,
                "?" if row.depth is None else str(row.depth), kept, pushed, why,
                tuple(views[region] for region in row.handles), " ".join(region.letter for region in row.chain),
                0 if opcode is None else CURRENT.caches[opcode], _position(row.location),
                opcode is not None and bool(CURRENT.quiet[opcode]), wrong,
            )
        )  # fmt: skip
        before = row.line
    return rows


def _bar(row: Row) -> tuple[int, int, str]:
    """Slots that were there, slots that the interpreter filled when it entered a handler, and that in words."""
    depth = min(row.depth or 0, _WIDEST)
    if not row.handles:
        return depth, 0, ""
    region = row.handles[0]
    pushed = ("lasti and the exception" if region.lasti else "the exception") + " pushed"
    kept = min(region.depth, depth)
    return kept, depth - kept, f"{region.depth} kept, {pushed}"


def _position(place: Location | None) -> str:
    if place is None or place.line is None:
        return "--"
    if place.column is None:
        return lines_of_source(place)
    end = "" if place.end_line in {None, place.line} else f"{place.end_line}:"
    return f"{place.line}:{place.column}-{end}{place.end_column}"
