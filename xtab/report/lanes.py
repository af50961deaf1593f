"""`lay_out`: which column each region has beside the instructions, and what it looks like in each row.

1. A column right of the one of the region around it, so that a row reads from the outermost region to the innermost.
2. Of those, the first that is free from the region's first row to its last, holes included: a region never changes
   its column, and two regions share one only when they don't overlap.
3. In a row a region is a `Mark`. Where nothing in a hole can raise, the bracket goes on without an end.

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

__all__ = ["TONES", "Drawn", "Lane", "Mark", "lay_out", "tone"]

TONES = 5
"""How many colours there are for regions that somebody wrote."""


class Mark(Enum):
    """What a region looks like in a row."""

    TAG = "tag"  #: the region's first row: its letter
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


class Lane(NamedTuple):
    """One region beside the instructions."""

    column: int  #: from 0, the outermost
    first: int  #: the first row
    marks: tuple[Mark, ...]  #: of that row and those behind it


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
    free: list[int] = []  # of each column the first row that nothing is in
    lanes: dict[_Drawn, Lane] = {}
    for each in shown:
        marks, first = _marks(starts, each)
        column = _column_right_of(each, lanes)
        while column < len(free) and free[column] > first:
            column += 1
        free += [0] * (column + 1 - len(free))
        free[column] = first + len(marks)
        lanes[each] = Lane(column, first, marks)
    return lanes


def _column_right_of(each: _Drawn, lanes: dict[_Drawn, Lane]) -> int:
    """The first column right of what lies around it and is shown."""
    around = getattr(each, "parent", None)
    while around is not None and around not in lanes:
        around = around.parent
    return 0 if around is None else lanes[around].column + 1


def _marks(starts: list[int], each: Drawn) -> tuple[tuple[Mark, ...], int]:
    """How it looks from its first row to its last, and the first row."""
    quiet = {hole.start for hole in getattr(each, "holes", ()) if hole.quiet}
    runs: list[tuple[int, int]] = []  # pieces, with those that only a quiet hole parts taken together
    bridges: list[tuple[int, int]] = []
    before = None
    for piece in each.pieces:
        start, end = (bisect_left(starts, offset) for offset in piece)
        if before in quiet:
            bridges.append((runs[-1][1], start))
            start = runs.pop()[0]
        runs.append((start, end))
        before = piece[1]
    first = runs[0][0]
    marks = [Mark.HOLE] * (runs[-1][1] - first)
    for start, end in runs:
        marks[start - first : end - first] = [Mark.INSIDE] * (end - start)
        marks[start - first] = Mark.FIRST
        marks[end - first - 1] = Mark.ONLY if end - start == 1 else Mark.LAST
    for start, end in bridges:
        marks[start - first : end - first] = [Mark.QUIET] * (end - start)
    marks[0] = Mark.TAG
    return tuple(marks), first
