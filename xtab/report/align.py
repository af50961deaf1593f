"""`align`: which items of two sequences belong together, in order; made for listings of code, in about linear time.

1. What is the same at the start, and at the end, belongs together.
2. Of what lies between, items that occur once on each side are anchors; the longest run of them that is in order on
   both sides is kept (patience diff).
3. What lies between two anchors is aligned in the same way. Where there is no anchor, as many items of a small
   piece as possible belong together; in a large one the next few are looked through for two that are the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["align"]

_SMALL = 40_000
"""Pieces whose lengths multiply to no more than this are small."""
_WINDOW = 24
"""So far, on both sides together, a large piece without anchors is looked ahead."""


def align(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int | None, int | None]]:
    """Pairs of indices in order: both for what belongs together, None on one side for what only the other has.

    >>> align("abcd", "axcd")
    [(0, 0), (1, None), (None, 1), (2, 2), (3, 3)]
    """
    matches: list[tuple[int, int]] = []
    todo = [(0, len(left), 0, len(right))]
    while todo:
        first, end, first_right, end_right = todo.pop()
        while first < end and first_right < end_right and left[first] == right[first_right]:
            matches.append((first, first_right))
            first, first_right = first + 1, first_right + 1
        while first < end and first_right < end_right and left[end - 1] == right[end_right - 1]:
            end, end_right = end - 1, end_right - 1
            matches.append((end, end_right))
        if first == end or first_right == end_right:
            continue
        anchors = _anchors(left, right, (first, end, first_right, end_right))
        if anchors:
            matches += anchors
            borders = [(first - 1, first_right - 1), *anchors, (end, end_right)]
            for (before, before_right), (behind, behind_right) in pairwise(borders):
                todo.append((before + 1, behind, before_right + 1, behind_right))
        elif (end - first) * (end_right - first_right) <= _SMALL:
            matches += _most(left, right, (first, end, first_right, end_right))
        else:
            matches += _next_best(left, right, (first, end, first_right, end_right))
    return _with_gaps(sorted(matches), len(left), len(right))


def _anchors(
    left: Sequence[Hashable], right: Sequence[Hashable], piece: tuple[int, int, int, int]
) -> list[tuple[int, int]]:
    """Items that occur once in each piece, as many as are in the same order."""
    first, end, first_right, end_right = piece
    counts, counts_right = Counter(left[first:end]), Counter(right[first_right:end_right])
    once = {item for item, count in counts.items() if count == 1 and counts_right[item] == 1}
    places = {right[index]: index for index in range(first_right, end_right) if right[index] in once}
    pairs = [(index, places[left[index]]) for index in range(first, end) if left[index] in once]
    return _longest_increasing(pairs)


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """As many of the pairs as possible, so that the second numbers go up as the first ones do."""
    piles: list[int] = []  # the least number that ends a run of each length
    tops: list[int] = []  # and the index of its pair
    before: list[int] = []
    for index, (_, number) in enumerate(pairs):
        pile = bisect_left(piles, number)
        piles[pile : pile + 1] = [number]
        tops[pile : pile + 1] = [index]
        before.append(tops[pile - 1] if pile else -1)
    found = []
    index = tops[-1] if tops else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]


def _most(
    left: Sequence[Hashable], right: Sequence[Hashable], piece: tuple[int, int, int, int]
) -> list[tuple[int, int]]:
    """As many pairs as there can be: the longest common subsequence, by a table of the lengths that are left."""
    first, end, first_right, end_right = piece
    lengths = [[0] * (end_right - first_right + 1)]
    for at in range(end - 1, first - 1, -1):
        below, row, item = lengths[-1], [0], left[at]
        for place in range(end_right - first_right - 1, -1, -1):
            row.append(below[place + 1] + 1 if right[first_right + place] == item else max(below[place], row[-1]))
        lengths.append(row[::-1])
    lengths.reverse()
    found = []
    at, at_right = 0, 0
    while at < end - first and at_right < end_right - first_right:
        if left[first + at] == right[first_right + at_right]:
            found.append((first + at, first_right + at_right))
            at, at_right = at + 1, at_right + 1
        elif lengths[at + 1][at_right] >= lengths[at][at_right + 1]:
            at += 1
        else:
            at_right += 1
    return found


def _next_best(
    left: Sequence[Hashable], right: Sequence[Hashable], piece: tuple[int, int, int, int]
) -> list[tuple[int, int]]:
    """From each pair to the nearest one behind it, as near as `_WINDOW`."""
    at, end, at_right, end_right = piece
    found = []
    while at < end and at_right < end_right:
        for ahead in range(_WINDOW):
            skip = next(
                (
                    skip
                    for skip in range(ahead + 1)
                    if at + skip < end
                    and at_right + ahead - skip < end_right
                    and left[at + skip] == right[at_right + ahead - skip]
                ),
                None,
            )
            if skip is not None:
                at, at_right = at + skip, at_right + ahead - skip
                found.append((at, at_right))
                break
        at, at_right = at + 1, at_right + 1
    return found


def _with_gaps(matches: list[tuple[int, int]], size: int, size_right: int) -> list[tuple[int | None, int | None]]:
    found: list[tuple[int | None, int | None]] = []
    at = at_right = 0
    for index, index_right in [*matches, (size, size_right)]:
        found += ((only, None) for only in range(at, index))
        found += ((None, only) for only in range(at_right, index_right))
        if index < size:
            found.append((index, index_right))
        at, at_right = index + 1, index_right + 1
    return found
