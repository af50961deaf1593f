"""Between which instructions something may be put, and which must stay together.

The interpreter expects some instructions right behind others: the data is in `xtab.format.opcodes` (`adjacent`,
`keep_before`, `keep_as_target`, the prologue). Seam number `n` is the place in front of instruction `n`; the last one
is the end of the body.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from xtab.errors import EditError
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xtab.model.instruction import Instruction

__all__ = ["Seams", "open_seams", "refuse_half_pairs"]

_COPY, _POP_EXCEPT = CURRENT.number["COPY"], CURRENT.number["POP_EXCEPT"]
_END_OF_HANDLING = bytes((_COPY, _POP_EXCEPT))
_RESUME = CURRENT.number["RESUME"]
_NOT_TAKEN = CURRENT.number.get("NOT_TAKEN")
_OPEN = bytes(op not in CURRENT.keep_before for op in range(256))
_OPEN_FOR_JUMPS = bytes(op not in CURRENT.keep_before and op not in CURRENT.keep_as_target for op in range(256))
_FIRST_OF_PAIR = bytes(op in CURRENT.adjacent for op in range(256))


class Seams:
    """The seams of a list of instructions, which must not change meanwhile."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self._instructions = instructions
        #: the first seam behind the prologue; 0 in a body that has no RESUME
        self.first = next((place + 1 for place, each in enumerate(instructions) if each.opcode == _RESUME), 0)

    def why_not(self, seam: int, *, led_to: bool = False) -> str | None:
        """Why nothing may be put at a seam, in words, or None.

        `led_to`: whether jumps to the instruction behind the seam are to lead to what is put there.
        """
        instructions = self._instructions
        if seam < self.first:
            return "what stands before the first RESUME, and the RESUME itself, must stay the first of all"
        if seam >= len(instructions):
            return None
        behind = instructions[seam]
        if seam and are_pair(instructions[seam - 1], behind):
            return f"{behind.opname} must stay right behind {instructions[seam - 1].opname}"
        if behind.opcode == _COPY and seam + 1 < len(instructions) and instructions[seam + 1].opcode == _POP_EXCEPT:
            return "an exception is being handled here that nothing would end if something else was raised"
        return _why_not_before(behind, led_to=led_to)

    def refuse(self, seam: int, *, led_to: bool = False) -> None:
        """Raise EditError where `why_not` has a reason; it names the next good place."""
        reason = self.why_not(seam, led_to=led_to)
        if reason is None:
            return
        what = f"a place where something may be put, but found instruction {seam},"
        raise self.refusal(what, seam, reason, led_to=led_to)

    def refusal(self, what: str, seam: int, reason: str, *, led_to: bool = False) -> EditError:
        """An error that says what was expected, and names the next good place behind a seam."""
        instructions = self._instructions
        later = range(max(seam + 1, self.first), len(instructions))
        good = next((place for place in later if self.why_not(place, led_to=led_to) is None), None)
        where = "at the end" if good is None else f"before instruction {good}, {instructions[good]!r}"
        if good is not None and good == self.first:
            where += ", which is body.start"
        message = f"expected {what} {instructions[seam]!r}: {reason}; the next good place is {where}"
        next_place = None if good is None else instructions[good]
        return EditError(message, instruction=instructions[seam], next_place=next_place)


def open_seams(opcodes: bytes, *, led_to: bool) -> bytearray:
    """For each instruction, 1 where something may be put before it: `Seams.why_not` of all seams at once."""
    seams = bytearray(opcodes.translate(_OPEN_FOR_JUMPS if led_to else _OPEN))
    first = opcodes.find(_RESUME) + 1
    seams[:first] = bytes(first)
    for place in compress(range(1, len(opcodes)), opcodes.translate(_FIRST_OF_PAIR)):
        if opcodes[place] in CURRENT.adjacent[opcodes[place - 1]]:
            seams[place] = 0
    place = opcodes.find(_END_OF_HANDLING)
    while place >= 0:
        seams[place] = 0
        place = opcodes.find(_END_OF_HANDLING, place + 1)
    return seams


def _why_not_before(behind: Instruction, *, led_to: bool) -> str | None:
    """Why nothing may be put before an instruction, wherever it stands."""
    if behind.opcode in CURRENT.keep_before:
        return f"the interpreter expects {behind.opname} where it stands, or jumps over it"
    if led_to and behind.opcode in CURRENT.keep_as_target:
        return f"the jump that leads back to {behind.opname} must go on doing so (jumps='stay' leaves it alone)"
    return None


def are_pair(first: Instruction, second: Instruction) -> bool:
    """Whether the second must stay right behind the first."""
    return first.opcode in CURRENT.adjacent and second.opcode in CURRENT.adjacent[first.opcode]


def refuse_half_pairs(
    instructions: Sequence[Instruction], first: int, end: int, instead: Sequence[Instruction] = ()
) -> None:
    """Raise EditError if taking [first, end) out, and putting `instead` there, would leave half of a pair behind."""
    if first < Seams(instructions).first:
        raise _half(instructions[first], "it belongs to the start of the body, which ends with the first RESUME")
    run = instructions[first:end]
    for before, after, new in _borders(instructions, first, end, instead):
        if are_pair(before, after) and not (new is not None and are_pair(*new)):
            outside = before if after in run else after
            raise _half(after if after in run else before, f"it must stay beside {outside!r}; take both, or none")
    _refuse_landings(instructions, run, instead)


def _borders(
    instructions: Sequence[Instruction], first: int, end: int, instead: Sequence[Instruction]
) -> Iterable[tuple[Instruction, Instruction, tuple[Instruction, Instruction] | None]]:
    """The pairs of neighbours at both ends of a run, and what they would be."""
    if first:
        before = instructions[first - 1]
        yield before, instructions[first], (before, instead[0]) if instead else None
    if end < len(instructions):
        after = instructions[end]
        yield instructions[end - 1], after, (instead[-1], after) if instead else None


def _refuse_landings(
    instructions: Sequence[Instruction], run: Sequence[Instruction], instead: Sequence[Instruction]
) -> None:
    """END_FOR and END_SEND only go together with what jumps to them."""
    landings = {each for each in run if each.opcode in CURRENT.keep_before and each.opcode != _NOT_TAKEN}
    if not landings or (instead and instead[0].opcode in {each.opcode for each in landings}):
        return
    inside = set(run)
    for each in instructions:
        if each.is_jump and each.target in landings and each not in inside:
            assert each.target is not None
            raise _half(each.target, f"{each!r} leads to it, and must; take both, or none")


def _half(instruction: Instruction, reason: str) -> EditError:
    message = f"expected an instruction that can be taken out, but found {instruction!r}: {reason}"
    return EditError(message, instruction=instruction)
