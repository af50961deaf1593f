"""`diff_lines`: a difference as lines of text, the two sides beside each other.

What became of a row or a region gives its line the style. The letters of the regions around an instruction, outermost
first, stand before it; so a change of what protects it is seen even where the instruction stayed as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.format.printable import one_line
from xtab.report.differences import Mark
from xtab.report.text import problem_lines, verdict
from xtab.report.words import count, file_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xtab.analysis.regions import Region
    from xtab.report.differences import Difference, RegionPair, RowPair
    from xtab.report.listing import Listing, Row
    from xtab.report.text import Line

__all__ = ["diff_lines"]

_CONTEXT = 3
_LONGEST = 52
"""Columns that the text of an instruction may take on the left side."""
_STYLES = {Mark.SAME: "dim", Mark.ADDED: "added", Mark.REMOVED: "removed", Mark.CHANGED: "changed"}


def diff_lines(difference: Difference, *, whole: bool = False, dots: str = "…") -> Iterator[Line]:
    """The header, the fields that differ, the problems of the right side, the rows, and the regions.

    Of the rows, those that changed are shown with a few around them; `whole`: all rows.
    """
    yield [(_header(difference), ""), ("   ", ""), *_verdicts(difference)]
    for name, before, after in difference.fields:
        yield [(one_line(f"  {name}: {before} -> {after}"), _STYLES[Mark.CHANGED])]
    for problem in () if difference.right is None else difference.right.problems:
        yield from problem_lines(problem)
    rows = difference.rows
    shown = range(len(rows)) if whole else _near_changes(rows)
    width = max((len(_left(pair.left)) for pair in rows if pair.left is not None), default=0)
    width = min(max(width, 12), _LONGEST)
    at = 0
    yield []
    for index in shown:
        if index > at:
            yield _skipped(index - at, dots)
        yield [(_row(rows[index], width, dots), _STYLES[rows[index].mark])]
        at = index + 1
    if at < len(rows):
        yield _skipped(len(rows) - at, dots)
    if difference.regions:
        yield []
        yield from _regions(difference.regions)


def _header(difference: Difference) -> str:
    left, right = difference.left, difference.right
    if left is None or right is None:
        only = left or right
        assert only is not None
        side = "left" if right is None else "right"
        return f"{one_line(only.name)}  {_place(only)}   only on the {side}: {count(len(only.rows), 'instruction')}"
    places = f"{_place(left)} | {_place(right)}"
    parts = [
        _change("instructions", len(left.rows), len(right.rows)),
        _change("regions", len(left.regions), len(right.regions)),
        _change("stack", left.code.co_stacksize, right.code.co_stacksize),
    ]
    return f"{one_line(difference.name)}  {places}   {', '.join(parts)}"


def _verdicts(difference: Difference) -> Line:
    """What the verifier says of both sides, once if it's the same."""
    verdicts = [verdict(each) for each in (difference.left, difference.right) if each is not None]
    return verdicts[:1] if len(set(verdicts)) == 1 else [verdicts[0], (" -> ", ""), verdicts[1]]


def _place(listing: Listing) -> str:
    return file_line(listing.code.co_filename, listing.code.co_firstlineno)


def _change(what: str, before: int, after: int) -> str:
    return f"{what} {before}" if before == after else f"{what} {before} -> {after}"


def _near_changes(rows: Sequence[RowPair]) -> list[int]:
    shown: set[int] = set()
    for index, pair in enumerate(rows):
        if pair.mark != Mark.SAME:
            shown.update(range(max(0, index - _CONTEXT), min(len(rows), index + _CONTEXT + 1)))
    return sorted(shown)


def _skipped(number: int, dots: str) -> Line:
    return [(f"  {dots} {count(number, 'row')} the same", "")]


def _row(pair: RowPair, width: int, dots: str) -> str:
    left, right = _left(pair.left), _left(pair.right)
    if len(left) > width:
        left = left[: width - len(dots)] + dots
    changes = f"   [{', '.join(pair.changes)}]" if pair.changes else ""
    return f"{left:<{width}}  {pair.mark}  {right}{changes}".rstrip()


def _left(row: Row | None) -> str:
    if row is None:
        return ""
    letters = " ".join(region.letter for region in row.chain)
    label = f"{row.label}: " if row.label else ""
    return f"{row.offset:>5}  {letters:<7} {label}{row.opname} {row.operand}".rstrip()


def _regions(pairs: Sequence[RegionPair]) -> Iterator[Line]:
    yield [("regions", "")]
    width = max(len(_region(pair.left)) for pair in pairs)
    for pair in pairs:
        text = f"  {_region(pair.left):<{width}}  {pair.mark}  {_region(pair.right)}"
        yield [(text.rstrip(), _STYLES[pair.mark])]


def _region(region: Region | None) -> str:
    if region is None:
        return ""
    pieces = " ".join(f"[{start},{end})" for start, end in region.pieces)
    inside = f" in {region.parent.letter}" if region.parent is not None else ""
    lasti = " lasti" if region.lasti else ""
    return f"{region}  handler {region.handler} depth {region.depth}{lasti}{inside} covers {pieces}"
