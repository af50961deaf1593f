"""From the flat table to nested ranges and back: `nest` and `flatten`, inverse to each other.

A flat table names for each range only the innermost handler. What lies around it is found like this: the region of an
entry is all entries with the same handler, depth and lasti. The parent of a region is looked for from its handler:
the entry that covers the handler's first instruction belongs to the parent if its depth is not greater than the
region's; otherwise the search goes on from that entry's handler. In words: whoever gets the exception next, if it is
raised again, and was there already when the region was entered.

CPython sources followed: ``InternalDocs/exception_handling.md`` and ``Python/assemble.c`` (`assemble_exception_table`),
which flattens in the same way.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

from xtab.errors import NestingError, TableFormatError
from xtab.format.exception_table import ExceptionTableEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["RegionKey", "flatten", "nest", "region_parents"]

_FEW = 32  # entries, among which a search from handler to handler is short

RegionKey = tuple[int, int, bool]
"""What the entries of one region have in common: (target, depth, lasti)."""


def region_parents(entries: Sequence[ExceptionTableEntry]) -> dict[RegionKey, RegionKey | None]:
    """The region around each region of a flat table, or None for the outermost, in order of first appearance.

    `entries` are sorted and don't overlap. In a table that no compiler made, handlers may cover each other in a
    circle: the region that would close it has no parent.
    """
    starts = [entry[0] for entry in entries]
    if len(entries) <= _FEW and not any(entry[2] < entry[1] for entry in entries):
        return _parents_forward(entries, starts)
    covering = [_covering(entry[2], entries, starts) for entry in entries]  # by number: who covers the handler
    shallower = _shallower(entries, covering)
    parents: dict[RegionKey, RegionKey | None] = {}
    for number, entry in enumerate(entries):
        key = entry[2:]
        if key not in parents:
            around = covering[number]
            while around is not None and entries[around][3] > entry[3]:
                around = shallower[around]
            parents[key] = None if around is None else entries[around][2:]
    _cut_circles(parents)
    return parents


def _parents_forward(entries: Sequence[ExceptionTableEntry], starts: list[int]) -> dict[RegionKey, RegionKey | None]:
    """`region_parents` where every handler lies behind what it handles, so that no search goes in circles."""
    parents: dict[RegionKey, RegionKey | None] = {}
    for _, _, target, depth, lasti in entries:
        key, handler = (target, depth, lasti), target
        if key in parents:
            continue
        parents[key] = None
        around = entries[bisect_right(starts, handler) - 1]  # there is one before: this one
        while handler < around[1]:
            if around[3] <= depth:
                parents[key] = around[2:]
                break
            handler = around[2]
            around = entries[bisect_right(starts, handler) - 1]
    return parents


def _covering(offset: int, entries: Sequence[ExceptionTableEntry], starts: list[int]) -> int | None:
    place = bisect_right(starts, offset) - 1
    return place if place >= 0 and offset < entries[place][1] else None


def _shallower(entries: Sequence[ExceptionTableEntry], covering: list[int | None]) -> list[int | None]:
    """For each entry the next one outward (by `covering`) whose depth is less: the search skips what lies between."""
    found: list[int | None] = [None] * len(entries)
    done = [False] * len(entries)
    for start in range(len(entries)):
        path = []
        number: int | None = start
        while number is not None and not done[number]:
            done[number] = True
            path.append(number)
            number = covering[number]
        for number in reversed(path):
            above = covering[number]
            while above is not None and entries[above][3] >= entries[number][3]:
                above = found[above]
            found[number] = above
    return found


def _cut_circles(parents: dict[RegionKey, RegionKey | None]) -> None:
    done: set[RegionKey] = set()
    for start in parents:
        path: set[RegionKey] = set()
        key = start
        while key not in done:
            path.add(key)
            done.add(key)
            above = parents[key]
            if above is None:
                break
            if above in path:
                parents[key] = None
                break
            key = above


def nest(entries: Iterable[ExceptionTableEntry]) -> list[ExceptionTableEntry]:
    """Nested ranges from the flat entries of a table: each range with all that lies inside it.

    One range a piece: a region with holes gives several. Sorted by start, outer before inner. Offsets are in bytes.

    Args:
        entries: as :func:`~xtab.parse_exception_table` gives them: sorted, not overlapping.

    Raises:
        TableFormatError: the entries are not sorted, overlap, or hold an empty range.

    >>> from xtab import ExceptionTableEntry as E, nest
    >>> table = [E(4, 10, 50, 0, False), E(10, 16, 40, 1, True), E(16, 20, 50, 0, False), E(40, 44, 50, 0, False)]
    >>> for entry in nest(table):
    ...     print(entry)
    ExceptionTableEntry(start=4, end=20, target=50, depth=0, lasti=False)
    ExceptionTableEntry(start=10, end=16, target=40, depth=1, lasti=True)
    ExceptionTableEntry(start=40, end=44, target=50, depth=0, lasti=False)
    """
    flat = [ExceptionTableEntry(*entry) for entry in entries]
    _check_flat(flat)
    parents = region_parents(flat)
    found: list[list[int]] = []  # start, end, index of an entry of the region
    opened: list[RegionKey] = []  # regions open now, outermost first
    places: dict[RegionKey, int] = {}  # open region -> its place in `found`
    end = -1

    def close(down_to: int, at: int) -> None:
        while len(opened) > down_to:
            found[places.pop(opened.pop())][1] = at

    for entry in flat:
        if entry.start != end:
            close(0, end)
        missing: list[RegionKey] = []
        key: RegionKey | None = entry[2:]
        while key is not None and key not in places:
            missing.append(key)
            key = parents[key]
        while opened and opened[-1] != key:
            close(len(opened) - 1, entry.start)
        for new in reversed(missing):
            opened.append(new)
            places[new] = len(found)
            found.append([entry.start, 0, *new])
        end = entry.end
    close(0, end)
    return [ExceptionTableEntry(start, stop, target, depth, bool(lasti)) for start, stop, target, depth, lasti in found]


def flatten(ranges: Iterable[ExceptionTableEntry]) -> list[ExceptionTableEntry]:
    """The flat entries of a table, in canonical form, from nested ranges: at each offset the innermost range wins.

    Args:
        ranges: in any order. Of equal ranges the later one is inner; of ranges that start together the longer one is
            outer. Offsets are in bytes.

    Raises:
        NestingError: two ranges overlap in part; it names both.
        TableFormatError: a range is empty or runs backwards.

    >>> from xtab import ExceptionTableEntry as E, flatten
    >>> for entry in flatten([E(4, 20, 50, 0, False), E(10, 16, 40, 1, True)]):
    ...     print(entry)
    ExceptionTableEntry(start=4, end=10, target=50, depth=0, lasti=False)
    ExceptionTableEntry(start=10, end=16, target=40, depth=1, lasti=True)
    ExceptionTableEntry(start=16, end=20, target=50, depth=0, lasti=False)
    """
    nested = [ExceptionTableEntry(*entry) for entry in ranges]
    _check_filled(nested)
    nested.sort(key=lambda entry: (entry.start, -entry.end))
    flat: list[ExceptionTableEntry] = []
    around: list[ExceptionTableEntry] = []  # ranges open at `at`, outermost first
    at = 0

    def emit(end: int) -> None:
        """The range from `at` to `end` belongs to the innermost range that is open."""
        nonlocal at
        if around and at < end:
            entry = around[-1]
            last = flat[-1] if flat else None
            if last is not None and last.end == at and last[2:] == entry[2:]:
                flat[-1] = last._replace(end=end)
            else:
                flat.append(entry._replace(start=at, end=end))
        at = max(at, end)

    for entry in nested:
        while around and around[-1].end <= entry.start:
            emit(around[-1].end)
            around.pop()
        if around and entry.end > around[-1].end:
            raise NestingError(around[-1], entry)
        emit(entry.start)
        around.append(entry)
    while around:
        emit(around[-1].end)
        around.pop()
    return flat


def _check_filled(entries: list[ExceptionTableEntry]) -> None:
    for number, entry in enumerate(entries):
        if entry.start >= entry.end:
            detail = f"expected a range with start below end, but found [{entry.start},{entry.end})"
            raise TableFormatError("empty range", detail, entry=number)


def _check_flat(flat: list[ExceptionTableEntry]) -> None:
    _check_filled(flat)
    for number, (first, second) in enumerate(pairwise(flat)):
        if second.start < first.end:
            fault = "overlap" if second.start >= first.start else "unsorted"
            detail = f"expected a start of {first.end} or more, but found {second.start}"
            raise TableFormatError(fault, detail, entry=number + 1)
