"""`places_of`: what in a body still stands as it was decoded, and where everything stands now.

The instructions are cut into stretches that stand as they were decoded, untouched, runs of copies, and single ones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from xtab.errors import AssembleError
from xtab.model.instruction import Fields, Instruction, Stencil

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xtab.model.body import Body

__all__ = ["Part", "Places", "places_of"]

_FIRST_STEP = 8
_SHORT = 100


Part = tuple[int, int, int]
"""(place, old, length): `length` instructions from `place` on that stood from `old` on, untouched since; or, with
`old` -1, a single one that has another story, or all the copies that a `Stencil` made for one place."""


def places_of(instructions: list[Instruction], body: Body) -> Places:  # one loop, as calls would cost
    """Stretches that stand as they did, each as long as can be, and single instructions."""
    original, source = body._original, body._source
    parts: list[Part] = []
    stretches: list[Part] = []
    others: list[Instruction] = []
    places: list[int] = []  # of the others
    touched = sorted(source.touched)
    place, size, count = 0, len(instructions), len(original)
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
            elif limit == size - place < _SHORT and instructions[place:] == original[old : old + limit]:
                length = limit  # the rest, as is mostly so
            else:
                length = _same(instructions, place, original, old, limit)
            part = (place, old, length)
            parts.append(part)
            stretches.append(part)
            in_order = in_order and old >= behind
            behind = old + length
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
    if len(single) != len(others):
        raise _twice(
            instructions, next(place for each, place in zip(others, places, strict=True) if single[each] != place)
        )
    if not in_order:
        stretches.sort(key=itemgetter(1))
        _check_apart(instructions, stretches)
    return Places(body, parts, stretches, single, in_order)


def _run_of_copies(instructions: list[Instruction], place: int) -> Sequence[Instruction] | None:
    """The copies of one stencil that stand together from a place on, or None."""
    at = instructions[place]._at
    if isinstance(at, Fields) and isinstance(at.location, Stencil):
        return at.location.run_at(instructions, place)
    return None


def _check_apart(instructions: list[Instruction], stretches: list[Part]) -> None:
    """No stretch may begin where another, decoded before it, has not ended."""
    behind = 0
    for place, old, length in stretches:
        if old < behind:
            raise _twice(instructions, place)
        behind = old + length


def _twice(instructions: list[Instruction], place: int) -> AssembleError:
    """The error for the instruction at `place`, which stands elsewhere too."""
    instruction = instructions[place]
    first, second, *_ = [at for at, other in enumerate(instructions) if other is instruction]
    message = f"expected each instruction once, but found {instruction!r} again, first at {first}; make a new one"
    return AssembleError(message, instruction=instruction, index=second)


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

    __slots__ = ("_olds", "_original", "_source", "_stretches", "in_order", "parts", "single", "whole")

    def __init__(
        self, body: Body, parts: list[Part], stretches: list[Part], single: dict[Instruction, int], in_order: bool
    ) -> None:
        self._source = body._source
        self._original = body._original
        self.parts = parts  #: in the order in which they stand
        self._stretches = stretches  # in the order in which they were decoded
        self._olds = [stretch[1] for stretch in stretches]
        self.single = single  #: instructions that belong to no stretch -> place
        self.in_order = in_order  #: whether the stretches stand in the order in which they were decoded
        self.whole = parts == [(0, 0, len(body._original))]  #: whether all stands as it was decoded, and nothing else

    def of_old(self, old: int) -> int | None:
        """The place of the instruction decoded at `old`, as long as it is untouched; None if it isn't there."""
        number = bisect_right(self._olds, old) - 1
        if number >= 0:
            place, first, length = self._stretches[number]
            if old < first + length:
                return place + old - first
        return None

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
