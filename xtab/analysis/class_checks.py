"""`class_checks`: the classes that a handler compares the exception with, as they stand in the source.

1. From behind PUSH_EXC_INFO, the instructions up to the first comparison (CHECK_EXC_MATCH, CHECK_EG_MATCH) compute what
   the clause names. They are followed with names in place of values: loads put names on the stack, LOAD_ATTR adds a dot
   and a name, BUILD_TUPLE takes the names of its items together, and all else makes `UNNAMED`.
2. At the first branch, names are given up: what is computed one way or another has none. The comparison is then
   searched for along all ways (`_search`). The edges to handlers are not followed, but for the one that ends an
   ``async for``; so a comparison that is found is of this handler: a ``try`` inside a ``finally`` has its own, and only
   an exception leads there. POP_EXCEPT, RERAISE and whatever else ends the handling ends the search too.
3. Where the comparison fails, the next clause begins: a RERAISE if there is none; a POP_TOP is a bare ``except``.

Each instruction is looked at a bounded number of times.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from xtab.format.exception_table import find_handler
from xtab.format.opcodes import CURRENT, OperandKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xtab.model.source import Source

__all__ = ["BARE", "UNNAMED", "behind_statement", "behind_statements", "class_checks", "straight_on"]

UNNAMED: Final = "..."
"""A class that the clause computes: no name stands for it."""
BARE: Final = "bare except"
"""In place of a class: the ``except:`` without one, behind clauses that name some."""
_EMPTY: Final = "()"
"""``except ():`` catches nothing."""

_Names = tuple[str, ...]

_SKIPPED = frozenset({"NOP", "NOT_TAKEN"})
_JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
_MOVES = frozenset({"COPY", "SWAP"})
_CHECKS = frozenset({"CHECK_EXC_MATCH", "CHECK_EG_MATCH"})
_LOADS = frozenset(
    {
        "LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK",
        "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF",
    }
)  # fmt: skip
"""What pushes the value of a name."""
_ENDS = frozenset({"POP_EXCEPT", "RERAISE", "PUSH_EXC_INFO"})
"""Behind these another exception is handled than before."""
_FAILS_THERE = ("IF_FALSE", "IF_NONE")
"""Ends of the names of jumps that are taken where the comparison fails."""
_FAILS_HERE = ("IF_TRUE", "IF_NOT_NONE")


def straight_on(source: Source, place: int) -> Iterator[int]:
    """Places of the instructions from `place` on, in the order they run in, without those that do nothing.

    Jumps are followed. It ends behind what control doesn't go beyond, at the end of the code, and where it goes in a
    circle.
    """
    seen = set()
    while place < len(source.opcodes):
        opcode = source.opcodes[place]
        name = CURRENT.name[opcode]
        if name in _JUMPS:
            if place in seen:
                return
            seen.add(place)
            place = source.targets[place]
            continue
        if name not in _SKIPPED:
            yield place
        if CURRENT.stops[opcode]:
            return
        place += 1


def behind_statement(source: Source, start: int) -> int | None:
    """The place behind instructions that leave the stack as it was, and touch nothing that is on it; None: none do."""
    height, begun = 0, False
    for place in straight_on(source, start):
        if begun and height == 0:
            return place
        opcode, arg = source.opcodes[place], source.args[place]
        taken = arg if CURRENT.name[opcode] in _MOVES else CURRENT.taken(opcode, arg)
        if CURRENT.stops[opcode] or place in source.targets or taken > height:
            return None
        height += CURRENT.effect(opcode, arg)
        begun = True
    return None


def behind_statements(source: Source, start: int) -> int:
    """The same for as many of them as there are; `start` itself if there are none."""
    place = start
    seen = {start}
    while (behind := behind_statement(source, place)) is not None and behind not in seen:
        seen.add(behind)
        place = behind
    return place


def class_checks(source: Source, place: int) -> tuple[tuple[str, ...], bool]:
    """The classes of all clauses of the handler whose PUSH_EXC_INFO is right before `place`, in order.

    Tuples are taken apart. What no name stands for is `UNNAMED`; a last clause without a class is `BARE`.

    Returns:
        The classes, none if nothing is compared; and whether it is an ``except*``.
    """
    found: list[str] = []
    groups = False
    start: int | None = place
    seen: set[int] = set()  # a circle of clauses: no compiler makes one
    while start is not None and start not in seen:
        seen.add(start)
        check, names = _next_check(source, start)
        if check is None:
            break
        found += names or (_EMPTY,)
        groups = CURRENT.name[source.opcodes[check]] == "CHECK_EG_MATCH"
        start = _where_it_fails(source, check)
        first = None if start is None else _first(source, behind_statements(source, start))
        if first is None:
            break
        if CURRENT.name[source.opcodes[first]] == "POP_TOP":
            if not groups:
                found.append(BARE)
                break
            start = first + 1  # the None that stands for the part of the group that matched
    return tuple(found), groups


def _first(source: Source, place: int) -> int | None:
    return next(straight_on(source, place), None)


def _where_it_fails(source: Source, check: int) -> int | None:
    """Where control goes on when the comparison at `check` says no; None if that can't be told."""
    for place in straight_on(source, check + 1):
        name = str(CURRENT.name[source.opcodes[place]])
        if name.endswith(_FAILS_THERE):
            return source.targets[place]
        if name.endswith(_FAILS_HERE):
            return place + 1
        if name not in {"COPY", "TO_BOOL"}:
            return None
    return None


def _next_check(source: Source, start: int) -> tuple[int | None, _Names]:
    """The comparison that comes first from `start` on, or None, and the names of what is compared with."""
    stack: list[_Names] = []
    for place in straight_on(source, start):
        opcode = source.opcodes[place]
        name = str(CURRENT.name[opcode])
        if name in _CHECKS:
            return place, stack[-1] if stack else (UNNAMED,)
        if name in _ENDS or CURRENT.stops[opcode]:
            return None, ()
        if _ways_on(source, place) != [place + 1]:
            return _search(source, place), (UNNAMED,)
        _follow(source, place, name, stack)
    return None, ()


def _search(source: Source, start: int) -> int | None:
    """A comparison that control can reach from `start` on while the same exception is handled."""
    waiting, seen = [start], {start}
    while waiting:
        place = waiting.pop()
        if place >= len(source.opcodes):
            continue
        opcode = source.opcodes[place]
        name = CURRENT.name[opcode]
        if name in _CHECKS:
            return place
        if name in _ENDS:
            continue
        for each in _ways_on(source, place):
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return None


def _ways_on(source: Source, place: int) -> list[int]:
    """Where control can go from `place`. The end of an ``async for`` counts, though only an exception leads there."""
    opcode = source.opcodes[place]
    ways = [] if CURRENT.stops[opcode] else [place + 1]
    if place in source.targets and opcode not in CURRENT.marks:
        ways.append(source.targets[place])
    if CURRENT.name[opcode] == "GET_ANEXT":
        entry = find_handler(source.entries, source.starts[place] * 2)
        if entry is not None:
            ways.append(bisect_left(source.starts, entry.target >> 1))
    return ways


def _follow(source: Source, place: int, name: str, stack: list[_Names]) -> None:
    """What the instruction does to the stack of names."""
    opcode, arg = source.opcodes[place], source.args[place]
    if name == "COPY":
        stack.append(stack[-arg] if 0 < arg <= len(stack) else (UNNAMED,))
        return
    if name == "SWAP":
        if 0 < arg <= len(stack):
            stack[-1], stack[-arg] = stack[-arg], stack[-1]
        return
    taken = CURRENT.taken(opcode, arg)
    missing: list[_Names] = [(UNNAMED,)] * (taken - len(stack))
    values = missing + stack[max(len(stack) - taken, 0) :]
    del stack[len(stack) - min(taken, len(stack)) :]
    stack += _made(source, place, name, values, CURRENT.effect(opcode, arg) + taken)


def _made(source: Source, place: int, name: str, values: list[_Names], count: int) -> list[_Names]:
    """The names of the `count` values that the instruction puts on the stack in the place of those that it took."""
    if name == "BUILD_TUPLE":
        return [tuple(each for value in values for each in value)]
    if name == "LOAD_CONST" and source.operand(place) == ():
        return [()]
    kind = CURRENT.kind[source.opcodes[place]]
    if name.startswith("LOAD_") and kind == OperandKind.LOCAL_PAIR:
        return [(str(each),) for each in source.operand(place)]
    if name == "LOAD_ATTR" and count == 1 and len(values[0]) == 1 and values[0][0] != UNNAMED:
        return [(f"{values[0][0]}.{source.operand(place)}",)]
    if name in _LOADS:
        return [(str(source.operand(place)),)] * count  # beside the value there may be a NULL, on either side of it
    return [(UNNAMED,)] * count
