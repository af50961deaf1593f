"""`places_of`: what in a body still stands as it was decoded, and where everything stands now.

The instructions are cut into stretches that stand as they were decoded, untouched, runs of copies, and single ones.
Whoever puts a body together in one go, as `decode` and `insert_copies` do, knows them beforehand: `Woven`.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

from xtab.errors import AssembleError
from xtab.model.instruction import Fields, Instruction, Stencil

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xtab.model.body import Body
    from xtab.model.source import Source

__all__ = ["Part", "Places", "Woven", "places_of", "unwoven"]

_FIRST_STEP = 8


Part = tuple[int, int, int]
"""(place, old, length): `length` instructions from `place` on that stood from `old` on, untouched since; or, with
`old` -1, a single one that has another story, or all the copies that a `Stencil` made for one place."""


class Woven(NamedTuple):
    """A body as it was put together: all that was decoded, in order, and perhaps copies of one stencil in between."""

    instructions: list[Instruction]
    parts: list[Part]
    now: Sequence[int]  #: see `Places`
    stencil: Stencil | None

    def stands(self, instructions: list[Instruction], source: Source) -> bool:
        """Whether it is so still, and nothing of it was touched."""
        return (
            not source.touched
            and (self.stencil is None or not self.stencil.touched)
            and instructions == self.instructions
        )


def unwoven(instructions: list[Instruction]) -> Woven:
    """What `decode` makes."""
    size = len(instructions)
    return Woven(instructions, [(0, 0, size)], range(size), None)


def places_of(instructions: list[Instruction], body: Body) -> Places:  # one loop, as calls would cost
    """Stretches that stand as they did, each as long as can be, and single instructions."""
    source = body._source
    woven = body._woven
    if woven.stands(instructions, source):
        return Places(body, instructions, woven.parts, woven.now, None, in_order=True)
    original = body._original
    parts: list[Part] = []
    others: list[Instruction] = []
    places: list[int] = []  # of the others
    touched = sorted(source.touched)
    place, size, count = 0, len(instructions), len(original)
    now = [-1] * len(source.opcodes)
    behind, in_order = 0, True
    while place < size:
        instruction = instructions[place]
        try:
            old, own = instruction._at, instruction._source is source
        except AttributeError:
            raise _no_instruction(instruction, place) from None
        if own and isinstance(old, int):
            stop = count
            if touched and (after := bisect_left(touched, old)) < len(touched):
                stop = touched[after]
            limit = min(size - place, stop - old)
            if limit == 1 or instructions[place + 1] is not original[old + 1]:
                length = 1
            else:
                length = _same(instructions, place, original, old, limit)
            parts.append((place, old, length))
            in_order = in_order and old >= behind
            behind = old + length
            now[old:behind] = range(place, place + length)
            place += length
        else:
            if not isinstance(instruction, Instruction):  # the class itself has these attributes too
                raise _no_instruction(instruction, place)
            run = _run_of_copies(instructions, place) or [instruction]
            length = len(run)
            parts.append((place, -1, length))
            others += run
            places += range(place, place + length)
            place += length
    single = dict(zip(others, places, strict=True))
    if len(single) + len(now) - now.count(-1) != size:
        raise _twice(instructions)
    return Places(body, instructions, parts, now, single, in_order=in_order)


def _run_of_copies(instructions: list[Instruction], place: int) -> Sequence[Instruction] | None:
    """The copies of one stencil that stand together from a place on, or None."""
    at = instructions[place]._at
    if isinstance(at, Fields) and isinstance(at.location, Stencil):
        return at.location.run_at(instructions, place)
    return None


def _twice(instructions: list[Instruction]) -> AssembleError:
    """The error for the first instruction that stands in a second place."""
    first: dict[Instruction, int] = {}
    index = next(place for place, each in enumerate(instructions) if first.setdefault(each, place) != place)
    found = instructions[index]
    message = f"expected each instruction once, but found {found!r} again, first at {first[found]}; make a new one"
    return AssembleError(message, instruction=found, index=index)


def _no_instruction(found: Any, place: int) -> AssembleError:
    return AssembleError(f"expected an Instruction, but found {found!r}", instruction=found, index=place)


def _same(now: list[Instruction], place: int, before: list[Instruction], old: int, limit: int) -> int:
    """How many instructions from `place` on are those from `old` on: two at least, `limit` at most.

    A few one by one, then ever larger steps, then ever smaller ones: the time is that of what is found.
    """
    length, step = 2, _FIRST_STEP
    while length < limit and length < step:
        if now[place + length] is not before[old + length]:
            return length
        length += 1
    while step and length < limit:
        end = min(length + step, limit)
        if now[place + length : place + end] == before[old + length : old + end]:
            length = end
            step *= 8
        else:
            limit = end - 1
            step = min(step, limit - length + 1) // 2
    return length


class Places:
    """Where each instruction stands."""

    __slots__ = ("_instructions", "_original", "_single", "_source", "in_order", "now", "parts", "whole", "woven")

    def __init__(
        self,
        body: Body,
        instructions: list[Instruction],
        parts: list[Part],
        now: Sequence[int],
        single: dict[Instruction, int] | None,
        *,
        in_order: bool,
    ) -> None:
        self._source = body._source
        self._original = body._original
        self._instructions = instructions
        self._single = single
        self.parts = parts  #: in the order in which they stand
        self.now = now  #: place of each instruction that was decoded; -1 for those that are touched or gone
        self.in_order = in_order  #: whether the stretches stand in the order in which they were decoded
        #: whether all that was decoded is there, in order and untouched, with at most copies in between
        self.woven = single is None
        self.whole = parts == [(0, 0, len(now))]  #: whether all stands as it was decoded, and nothing else

    @property
    def single(self) -> dict[Instruction, int]:
        """Instructions that belong to no stretch -> place; where `woven`, all the others too."""
        if self._single is None:
            self._single = dict(zip(self._instructions, range(len(self._instructions)), strict=True))
        return self._single

    def of_old(self, old: int) -> int | None:
        """The place of the instruction decoded at `old`, as long as it is untouched; None if it isn't there."""
        place = self.now[old]
        return None if place < 0 else place

    def of_decoded(self, old: int) -> int | None:
        """The place of the instruction that was decoded at `old`, touched or not."""
        place = self.of_old(old)
        return self.single.get(self._original[old]) if place is None else place

    def find(self, instruction: Any) -> int | None:
        """The place of an instruction, or None if it isn't there."""
        if not isinstance(instruction, Instruction):
            return None
        at = instruction._at
        if isinstance(at, Fields) or instruction._source is not self._source:
            return self.single.get(instruction)
        return self.of_old(at)
