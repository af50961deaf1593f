"""`text_of`: a listing as text: the instructions of a code object, and beside them the regions that protect them.

1. `lines_of` makes lines one after another, so that a reader sees the first before the last is made. A line is pieces
   of text, each with the name of a `Style`.
2. Which column a region has, and what it looks like in a row, is told by `xtab.report.lanes`; here that becomes a
   glyph. Beyond `FEW` columns the outermost become one: ``+3`` for three regions in it.
3. `paint` makes a text of a line, with colours or without. Letters tell the regions apart: nothing is lost without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from xtab.format.printable import one_line
from xtab.report.lanes import FEW, Mark, lay_out, tone
from xtab.report.source_text import line_of
from xtab.report.words import count, file_line, line_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from xtab.analysis.regions import Region
    from xtab.analysis.verify import Problem
    from xtab.format.exception_table import ExceptionTableEntry
    from xtab.report.lanes import Drawn, Stretch
    from xtab.report.listing import Listing, Row

__all__ = [
    "GLYPHS",
    "Line",
    "View",
    "entry_lines",
    "lines_of",
    "paint",
    "problem_lines",
    "region_lines",
    "region_style",
    "text_of",
    "title",
    "verdict",
    "walk",
]

Line = list[tuple[str, str]]
"""Pieces of a line: a text, and its style or ""."""

_PIECES = 4
"""Ranges of a region that are listed; the rest is counted."""
_OPERAND = 40
_LONGEST_NAME = 26
_GLYPHS = {
    Mark.INSIDE: "│", Mark.FIRST: "╭", Mark.LAST: "╰", Mark.ONLY: "╶", Mark.HOLE: "┊", Mark.QUIET: "┊"
}  # fmt: skip
_ASCII = {Mark.INSIDE: "|", Mark.FIRST: ",", Mark.LAST: "`", Mark.ONLY: "-", Mark.HOLE: ":", Mark.QUIET: ":"}
GLYPHS = "".join(_GLYPHS.values()) + "◀→"
"""What a stream must be able to carry; otherwise `View.ascii` is for it."""

_SGR = {
    "0": "36", "1": "33", "2": "35", "3": "32", "4": "94", "dim": "2", "bold": "1", "problem": "1;31",
    "warning": "1;33", "added": "34", "removed": "35", "changed": "33",
}  # fmt: skip
"""The control sequence of each style; the numbers are the tones of regions. Red is for problems only."""


@dataclass(frozen=True, slots=True)
class View:
    """What to show of a listing, and how."""

    all_regions: bool = False  #: those too that the compiler made for itself
    flat: bool = False  #: the entries of the table as they are stored, instead of regions
    source: bool = False  #: each line of the source above its instructions
    ascii: bool = False  #: no glyph that an old terminal can't show
    color: bool = False  #: control sequences for colours


class _Active(NamedTuple):
    """What is drawn in the rows of a stretch."""

    what: Drawn
    column: int
    stretch: Stretch


class _Entry(NamedTuple):
    """An entry of the table, drawn like a region."""

    letter: str
    pieces: tuple[tuple[int, int], ...]
    entry: ExceptionTableEntry


def text_of(listing: Listing, view: View | None = None) -> str:
    """What `xtab dis` prints of a code object, and of those in it.

    >>> import xtab
    >>> print(text_of(xtab.show(compile("1", "example", "eval"))).partition("   ")[0])
    <module>  example:1
    """
    view = view or View()
    return "\n".join(paint(line, color=view.color, ascii=view.ascii) for line in walk(listing, view))


def walk(listing: Listing, view: View) -> Iterator[Line]:
    """The lines of a listing and of those nested in it, each when it is asked for."""
    waiting = [listing]
    while waiting:
        each = waiting.pop()
        if each is not listing:
            yield []
            yield []
        yield from lines_of(each, view)
        waiting += reversed(each.nested)


def lines_of(listing: Listing, view: View) -> Iterator[Line]:
    """The lines of one listing: head, problems, instructions, regions."""
    yield _head(listing)
    for problem in listing.problems:
        yield from problem_lines(problem)
    yield []
    if view.flat:
        entries = [
            _Entry(f"#{number}", ((entry.start, entry.end),), entry) for number, entry in enumerate(listing.entries)
        ]
        yield from _Rows(listing, view, entries).lines()
        if entries:
            yield []
        yield from entry_lines(listing.entries, listing.regions, ascii=view.ascii)
    else:
        regions = listing.regions if view.all_regions else listing.shown
        yield from _Rows(listing, view, regions).lines()
        if regions:
            yield []
        yield from region_lines(regions)


def paint(line: Line, *, color: bool, ascii: bool = False) -> str:  # noqa: A002 (as `View` calls it)
    """A line as text, without spaces at its end; with `ascii`, escapes stand for what isn't ASCII."""
    if ascii:
        line = [(text.encode("ascii", "backslashreplace").decode(), style) for text, style in line]
    while line and not line[-1][0].strip():
        line = line[:-1]
    if line:
        line = [*line[:-1], (line[-1][0].rstrip(), line[-1][1])]
    if not color:
        return "".join(text for text, _ in line)
    return "".join(f"\x1b[{_SGR[style]}m{text}\x1b[0m" if style and text else text for text, style in line)


def region_style(region: Region) -> str:
    """The style of a region."""
    number = tone(region)
    return "dim" if number is None else str(number)


def problem_lines(problem: Problem, *, file: str = "", around: Iterable[str] = ()) -> Iterator[Line]:
    """A problem: one line that editors and `grep` understand, the instructions around it, and what to do.

    Args:
        problem: what to tell.
        file: what was read, for a problem that names no source.
        around: the lines of `xtab.report.excerpt`.
    """
    style = "problem" if problem.is_error else "warning"
    kind = "" if problem.is_error else "warning: "
    yield [
        (file_line(problem.filename or file, problem.line) + ": ", "bold"),
        (f"{problem.code} {problem.name}", style),
        (one_line(f": {kind}{problem.place}: {problem.message}"), ""),
    ]
    for line in around:
        yield [(f"  {line}", style if line.startswith(">") else "dim")]
    if problem.hint:
        yield [("hint: ", "bold"), (one_line(problem.hint), "")]


def _head(listing: Listing) -> Line:
    code = listing.code
    counts = f"{count(len(listing.entries), 'entry', 'entries')}, {count(len(listing.regions), 'region')}"
    if len(listing.shown) < len(listing.regions):
        counts += f" ({len(listing.shown)} shown)"
    return [
        *title(listing.name, code.co_filename, code.co_firstlineno),
        (f"   {listing.version}", ""),
        (f"   {counts}" if listing.entries else "   no exception table", ""),
        (f"   stack {listing.stack_needed} of {code.co_stacksize}", ""),
        ("   ", ""),
        verdict(listing),
    ]


def verdict(listing: Listing) -> tuple[str, str]:
    """How the head of each code object ends: what the verifier says of it in two words, and their style."""
    problems = listing.problems
    if not problems:
        return "ok", ""
    return count(len(problems), "problem"), "problem" if any(each.is_error for each in problems) else "warning"


def title(qualname: str, filename: str, firstlineno: int) -> Line:
    """How the head of each code object begins: what it is called, and where it stands."""
    return [(one_line(qualname), "bold"), (f"  {file_line(filename, firstlineno)}", "")]


class _Rows:
    """The rows of a listing, drawn with what is shown beside them."""

    def __init__(self, listing: Listing, view: View, shown: Sequence[Drawn]) -> None:
        self._listing = listing
        self._view = view
        self._lanes = lay_out(listing.rows, shown)
        self._columns = max((lane.column + 1 for lane in self._lanes.values()), default=0)
        self._folded = max(0, self._columns - FEW)
        self._width = max((len(each.letter) for each in shown), default=1)
        self._glyphs = _ASCII if view.ascii else _GLYPHS
        self._faults = {problem.offset for problem in listing.problems}
        self._handled: dict[int, list[Drawn]] = {}
        for each in shown:
            handler = each.entry.target if isinstance(each, _Entry) else each.handler  # type: ignore[attr-defined]
            self._handled.setdefault(handler, []).append(each)
        rows = listing.rows
        self._names = max(22, min(_LONGEST_NAME, max(len(row.opname) for row in rows)))
        self._labels = max((len(row.label) + 2 for row in rows if row.label), default=0)
        self._lines = max(4, len(str(max((row.line or 0 for row in rows), default=0))))

    def lines(self) -> Iterator[Line]:
        """A line for what the columns are, and one an instruction."""
        gutter = self._gutter_width()
        regions = "regions" if gutter else ""
        yield [(f" {'line':>{self._lines}} {'':{self._labels}} {'off':>5} {'dep':>3}  {regions}", "dim")]
        starting: dict[int, list[_Active]] = {}
        for each, (column, stretches) in self._lanes.items():
            for stretch in stretches:
                starting.setdefault(stretch.first, []).append(_Active(each, column, stretch))
        active: list[_Active] = []
        seen: set[int] = set()
        before: int | None = -1
        for place, row in enumerate(self._listing.rows):
            active = [each for each in active if place < each.stretch.end]
            active += starting.get(place, ())
            if self._view.source and row.line and row.line not in seen:
                seen.add(row.line)
                for text in self._source(row.line):
                    yield text
                    before = row.line
            line = "" if row.line == before else "--" if row.line is None else str(row.line)
            before = row.line
            yield self._row(row, line, self._gutter(place, active, gutter))

    def _source(self, line: int) -> Iterator[Line]:
        text = line_of(self._listing.code, line).rstrip()
        if text:
            yield [(f" {line:>{self._lines}} ", "dim"), (one_line(text.expandtabs()), "bold")]

    def _row(self, row: Row, line: str, gutter: Line) -> Line:
        fault = row.offset in self._faults
        depth = "?" if row.depth is None else str(row.depth)
        label = f"{row.label}:" if row.label else ""
        operand = row.operand if len(row.operand) <= _OPERAND else row.operand[: _OPERAND - 3] + "..."
        marks = self._marks(row)
        return [
            (">" if fault else " ", "problem" if fault else ""),
            (f"{line:>{self._lines}} ", ""),
            (f"{label:<{self._labels}} ", "bold"),
            (f"{row.offset:>5} {depth:>3}  ", "dim"),
            *gutter,
            (f"{row.opname:<{self._names}} ", "problem" if fault else ""),
            (f"{operand:<4}" if marks else operand, ""),
            *marks,
        ]

    def _marks(self, row: Row) -> Line:
        """The handlers that begin at a row."""
        found: Line = [(f"  {'<-' if self._view.ascii else '◀'}", "")]
        for each in self._handled.get(row.offset, ()):
            comma = "," if len(found) > 1 and not self._view.flat else ""
            found += [(comma, ""), (f" {each.letter} {getattr(each, 'label', '')}".rstrip(), self._style(each))]
        return found if len(found) > 1 else []

    def _style(self, each: Drawn) -> str:
        return "" if isinstance(each, _Entry) else region_style(each)  # type: ignore[arg-type]

    def _gutter_width(self) -> int:
        if not self._columns:
            return 0
        columns = min(self._columns, FEW) * (self._width + 1) + (4 if self._folded else 0)
        return max(len("regions"), columns) + 1

    def _gutter(self, place: int, active: Iterable[_Active], width: int) -> Line:
        """The columns of a row: a glyph for each that something is in."""
        if not width:
            return []
        cells: dict[int, tuple[str, str]] = {}
        folded = 0
        for each, in_column, stretch in active:
            mark = stretch.marks[place - stretch.first]
            if in_column < self._folded:
                folded += mark not in {Mark.HOLE, Mark.QUIET}
                continue
            cells[in_column] = each.letter if mark == Mark.TAG else self._glyphs[mark], self._style(each)
        line: Line = []
        if self._folded:
            line.append((f"{f'+{folded}' if folded else '':<4}", "dim"))
        for column in range(self._folded, self._columns):
            text, style = cells.get(column, ("", ""))
            line.append((f"{text:<{self._width}}", style))
            line.append((" ", ""))
        line.append((" " * (width - sum(len(text) for text, _ in line)), ""))
        return line


def region_lines(regions: Sequence[Region], branches: Sequence[str] = ()) -> Iterator[Line]:
    """A line a region: what it is, where its handler is, what it covers.

    Args:
        regions: what to show; what lies around a region is looked for among these.
        branches: what to draw before each region in a tree, where what lies around it is seen.
    """
    if not regions:
        return
    shown = set() if branches else set(regions)
    heads = [region.letter for region in regions]
    if branches:
        heads = [branch + letter for branch, letter in zip(branches, heads, strict=True)]
    rows = [
        (head if branches else f"{head:<{max(map(len, heads))}}", *_region_cells(region, shown))
        for head, region in zip(heads, regions, strict=True)
    ]
    rows = [(f"{head}  {label}", *cells) for head, label, *cells in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for region, cells in zip(regions, rows, strict=True):
        texts = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True) if width]
        yield [(f"  {texts[0]}", region_style(region)), ("  " + "  ".join(texts[1:]), "")]


def _region_cells(region: Region, shown: set[Region]) -> tuple[str, ...]:
    around = region.parent if shown else None
    while around is not None and around not in shown:
        around = around.parent
    where = region.location
    lines = "" if where is None or where.line is None else line_words(where.line, where.end_line)
    covers = " ".join(f"[{start},{end})" for start, end in region.pieces[:_PIECES])
    if len(region.pieces) > _PIECES:
        covers += f" and {len(region.pieces) - _PIECES} more"
    return (
        region.label, f"handler {region.handler}", f"depth {region.depth}", f"in {around.letter}" if around else "",
        lines, f"covers {covers}", "lasti" if region.lasti else "",
    )  # fmt: skip


def entry_lines(entries: Sequence[ExceptionTableEntry], regions: Sequence[Region], *, ascii: bool) -> Iterator[Line]:  # noqa: A002
    """A line an entry of the table, as it is stored, and the region that it belongs to, where that is known."""
    owners = {region.key: region for region in regions}
    arrow = "->" if ascii else "→"
    rows = [
        (f"#{number}", f"[{start},{end})", f"{arrow} {target}", f"depth {depth}", "lasti" if lasti else "")
        for number, (start, end, target, depth, lasti) in enumerate(entries)
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for entry, cells in zip(entries, rows, strict=True):
        text = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        region = owners.get(entry[2:])
        name = [] if region is None else [(f"  {region}", region_style(region))]
        yield [(f"  {text}", ""), *name]
