"""`lay_out`: which column each region has beside the instructions, and what it looks like in each row.

1. A column right of the one of the region around it, so that a row reads from the outermost region to the innermost.
2. Of those, the first that is free from the region's first row to its last, holes included: a region never changes
   its column, and two regions share one only when they don't overlap.
3. Compilers put handlers at the end of the code, so the holes of many regions lie side by side there. Where that would
   take more than `FEW` columns, holes are left free for other regions, and each piece begins with the letter.
4. In a row a region is a `Mark`. Where nothing in a hole can raise, the bracket goes on without an end.

Whoever draws rows asks this module, whether as text or as a page.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xtab.analysis.regions import Region
    from xtab.report.listing import Row

__all__ = ["FEW", "TONES", "Drawn", "Lane", "Mark", "Stretch", "lay_out", "tone"]

FEW = 6
"""Columns that regions may take with their holes; with more, screens also draw them narrower, or fold them."""
TONES = 5
"""How many colours there are for regions that somebody wrote."""


class Mark(Enum):
    """What a region looks like in a row."""

    TAG = "tag"  #: the first row, of the region or of each piece: its letter
    INSIDE = "inside"  #: within a piece
    FIRST = "first"  #: the first row of a later piece
    LAST = "last"  #: the last row of a piece
    ONLY = "only"  #: a later piece of one row
    HOLE = "hole"  #: between two pieces
    QUIET = "quiet"  #: in a hole where nothing can raise


class Drawn(Protocol):
    """What can be drawn: a region, or something like it."""

    @property
    def letter(self) -> str:
        """How it is called."""

    @property
    def pieces(self) -> tuple[tuple[int, int], ...]:
        """Where it holds: offsets in bytes, half-open."""


_Drawn = TypeVar("_Drawn", bound=Drawn)
_Rows = tuple[int, int]
"""The first row, and the one behind the last."""


class Stretch(NamedTuple):
    """Rows one after another that a region is drawn in."""

    first: int  #: the first row
    marks: tuple[Mark, ...]  #: of that row and those behind it

    @property
    def end(self) -> int:
        """The row behind the last one."""
        return self.first + len(self.marks)


class Lane(NamedTuple):
    """One region beside the instructions."""

    column: int  #: from 0, the outermost
    stretches: tuple[Stretch, ...]  #: from the top; several where the column is lent to others in between


def tone(region: Region) -> int | None:
    """Which of the colours, from 0, a region has; None for bookkeeping, which has no colour.

    It follows from the letter, so it is the same on every screen.
    """
    if region.bookkeeping:
        return None
    number = 0
    for letter in region.letter:
        number = number * 26 + ord(letter) - ord("A") + 1
    return (number - 1) % TONES


def lay_out(rows: Sequence[Row], shown: Iterable[_Drawn]) -> dict[_Drawn, Lane]:
    """The lanes of what is shown, which comes by first offset, outer before inner, as the regions of a listing do.

    What is not shown takes no column.

    >>> import xtab
    >>> def ask(d):
    ...     try:
    ...         return d["k"]
    ...     except KeyError:
    ...         return None
    >>> listing = xtab.show(ask)
    >>> lanes = lay_out(listing.rows, [region for region in listing.regions if not region.bookkeeping])
    >>> [(region.letter, lane.column) for region, lane in lanes.items()]
    [('A', 0)]
    """
    starts = [row.offset for row in rows]
    pieces = {each: _pieces(starts, each) for each in shown}
    whole = {each: [(stretches[0][0], stretches[-1][1])] for each, (stretches, _) in pieces.items()}
    columns = _columns(whole, FEW)
    if columns is not None:
        return {each: Lane(columns[each], (_whole(*pieces[each]),)) for each in pieces}
    columns = _columns({each: stretches for each, (stretches, _) in pieces.items()})
    assert columns is not None
    return {
        each: Lane(
            columns[each], tuple(Stretch(start, _marks(start, end, bridges, tagged=True)) for start, end in stretches)
        )
        for each, (stretches, bridges) in pieces.items()
    }


def _columns(shown: dict[_Drawn, list[_Rows]], most: int | None = None) -> dict[_Drawn, int] | None:
    """A column for each, where the rows of none overlap; None if that takes more than `most`."""
    taken: list[tuple[list[int], list[int]]] = []  # of each column the first rows, and the rows behind the last
    columns: dict[_Drawn, int] = {}
    for each, wanted in shown.items():
        column = _column_right_of(each, columns)
        while column < len(taken) and not all(_is_free(*taken[column], *rows) for rows in wanted):
            column += 1
        if column == most:
            return None
        taken += (([], []) for _ in range(column + 1 - len(taken)))
        firsts, ends = taken[column]
        for first, end in wanted:
            place = bisect_left(firsts, first)
            firsts.insert(place, first)
            ends.insert(place, end)
        columns[each] = column
    return columns


def _is_free(firsts: list[int], ends: list[int], first: int, end: int) -> bool:
    place = bisect_left(firsts, end)
    return place == 0 or ends[place - 1] <= first


def _column_right_of(each: _Drawn, columns: dict[_Drawn, int]) -> int:
    """The first column right of what lies around it and is shown."""
    around = getattr(each, "parent", None)
    while around is not None and around not in columns:
        around = around.parent
    return 0 if around is None else columns[around] + 1


def _pieces(starts: list[int], each: Drawn) -> tuple[list[_Rows], list[_Rows]]:
    """The rows of its pieces, those that only a quiet hole parts taken together; and the rows of the quiet holes."""
    quiet = {hole.start for hole in getattr(each, "holes", ()) if hole.quiet}
    stretches: list[_Rows] = []
    bridges: list[_Rows] = []
    before = None
    for piece in each.pieces:
        start, end = (bisect_left(starts, offset) for offset in piece)
        if before in quiet:
            bridges.append((stretches[-1][1], start))
            start = stretches.pop()[0]
        stretches.append((start, end))
        before = piece[1]
    return stretches, bridges


def _whole(stretches: list[_Rows], bridges: list[_Rows]) -> Stretch:
    """It from its first row to its last, holes included."""
    marks: list[Mark] = []
    for start, end in stretches:
        marks += [Mark.HOLE] * (start - stretches[0][0] - len(marks))
        marks += _marks(start, end, bridges, tagged=not marks)
    return Stretch(stretches[0][0], tuple(marks))


def _marks(start: int, end: int, bridges: list[_Rows], *, tagged: bool) -> tuple[Mark, ...]:
    """What some rows look like that belong together."""
    marks = [Mark.INSIDE] * (end - start)
    marks[-1] = Mark.ONLY if end - start == 1 else Mark.LAST
    if tagged or end - start > 1:
        marks[0] = Mark.TAG if tagged else Mark.FIRST
    for place in range(bisect_left(bridges, (start, start)), len(bridges)):
        first, behind = bridges[place]
        if first >= end:
            break
        marks[first - start : behind - start] = [Mark.QUIET] * (behind - first)
    return tuple(marks)
