"""`align`: which item of one list of nodes is which of another, where some were changed, put in or taken out.

1. Items that are the same in every field, from the front and from the back, are pairs.
2. Of what is left, items that are the same, and come in the same order in both lists, are pairs (`_anchored`).
3. Each gap between those is aligned so that the sum of likeness is greatest (`_best`); a gap that is very large, in
   order and by kind alone.

What has no pair then comes as gaps, so that the caller can look further.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence

    from xtab.transform.syntax import Tree

    Nodes = Sequence[ast.AST]

__all__ = ["align"]

_LARGE = 2500  # pairs that are compared for one gap, so that the time stays linear
_SAME, _HEAD, _WITHIN, _KIND = 1000, 100, 50, 2


def align(new: Nodes, old: Nodes, of_new: Tree, of_old: Tree) -> Iterator[tuple[bool, Nodes, Nodes]]:
    """Pieces of two lists: (True, these, are these), or (False, these, and these, have no pairs).

    >>> import ast
    >>> from xtab.transform.syntax import Tree
    >>> numbers = {}
    >>> one, two = [Tree(ast.parse(text), numbers) for text in ("a; b; c", "a; x(); c")]
    >>> [(same, len(new), len(old)) for same, new, old in align(two.root.body, one.root.body, two, one)]
    [(True, 1, 1), (True, 1, 1), (True, 1, 1)]
    """
    front = 0
    while front < min(len(new), len(old)) and of_new.whole[new[front]] == of_old.whole[old[front]]:
        front += 1
    back = 0
    rest = min(len(new), len(old)) - front
    while back < rest and of_new.whole[new[-1 - back]] == of_old.whole[old[-1 - back]]:
        back += 1
    if front:
        yield True, new[:front], old[:front]
    yield from _anchored(new[front : len(new) - back], old[front : len(old) - back], of_new, of_old)
    if back:
        yield True, new[-back:], old[-back:]


def _anchored(new: Nodes, old: Nodes, of_new: Tree, of_old: Tree) -> Iterator[tuple[bool, Nodes, Nodes]]:
    """Step 2."""
    places: dict[int, list[int]] = {}
    for place, node in enumerate(new):
        places.setdefault(of_new.whole[node], []).append(place)
    here = there = 0
    for at, node in enumerate(old):
        candidates = places.get(of_old.whole[node], ())
        which = bisect_left(candidates, here)
        if len(candidates) == 1 and which == 0:
            yield from _gap(new[here : candidates[0]], old[there:at], of_new, of_old)
            yield True, [new[candidates[0]]], [node]
            here, there = candidates[0] + 1, at + 1
    yield from _gap(new[here:], old[there:], of_new, of_old)


def _gap(new: Nodes, old: Nodes, of_new: Tree, of_old: Tree) -> Iterator[tuple[bool, Nodes, Nodes]]:
    """Step 3."""
    if not new or not old:
        if new or old:
            yield False, new, old
        return
    pairs = _by_kind(new, old) if len(new) * len(old) > _LARGE else _best(new, old, of_new, of_old)
    here = there = 0
    for at, place in [*pairs, (len(new), len(old))]:
        if here < at or there < place:
            yield False, new[here:at], old[there:place]
        if at < len(new):
            yield True, [new[at]], [old[place]]
        here, there = at + 1, place + 1


def _by_kind(new: Nodes, old: Nodes) -> list[tuple[int, int]]:
    """Pairs of the same type, in order."""
    places: dict[type, list[int]] = {}
    for at, node in enumerate(new):
        places.setdefault(type(node), []).append(at)
    pairs = []
    here = 0
    for place, node in enumerate(old):
        candidates = places.get(type(node), [])
        which = bisect_left(candidates, here)
        if which < len(candidates):
            pairs.append((candidates[which], place))
            here = candidates[which] + 1
    return pairs


def _best(new: Nodes, old: Nodes, of_new: Tree, of_old: Tree) -> list[tuple[int, int]]:
    """The pairs, in order in both lists, that are most alike in sum."""
    rows = [[0] * (len(old) + 1)]
    gains = [[_likeness(each, other, of_new, of_old) for other in old] for each in new]
    for gain in gains:
        before, row = rows[-1], [0]
        for place in range(len(old)):
            row.append(max(before[place + 1], row[place], before[place] + gain[place]))
        rows.append(row)
    pairs = []
    at, place = len(new), len(old)
    while at and place:
        if rows[at][place] == rows[at - 1][place]:
            at -= 1
        elif rows[at][place] == rows[at][place - 1]:
            place -= 1
        else:
            at, place = at - 1, place - 1
            pairs.append((at, place))
    return pairs[::-1]


def _likeness(new: ast.AST, old: ast.AST, of_new: Tree, of_old: Tree) -> int:
    """How much a generated node is like one of the original tree; 0: not at all."""
    if of_new.whole[new] == of_old.whole[old]:
        return _SAME
    same_kind = type(new) is type(old)
    if not same_kind and (of_new.has_blocks(new) or of_old.has_blocks(old)):
        return 0  # a block that was put around statements is none of them
    points = _KIND * same_kind
    if of_new.head[new] == of_old.head[old] and same_kind:
        points += _HEAD
    key, other = of_old.key_of(old), of_new.key_of(new)
    if of_new.find(new, of_old.whole[key], of_old.head[key]) or of_old.find(
        old, of_new.whole[other], of_new.head[other]
    ):
        points += _WITHIN
    return points
