"""`Protectors`: which span handles what new instructions raise, by the policy that the caller names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from xtab.errors import XtabError
from xtab.format.opcodes import CURRENT
from xtab.model.instruction import Instruction, Span
from xtab.model.spans import chain_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Protect", "Protectors"]

Protect: TypeAlias = Literal["anchor", "before", "after"] | Span | None
"""Who protects new instructions: the span of the anchor, of the instruction before them, of the one after them, the
span given, or none."""

_PUSH_EXC_INFO, _POP_EXCEPT = CURRENT.number["PUSH_EXC_INFO"], CURRENT.number["POP_EXCEPT"]
_CLEANUP_THROW = CURRENT.number.get("CLEANUP_THROW")
_LONGEST_HOLE = 8
"""So far the sides of a hole are looked for: compilers leave out one instruction, or two."""
_MAY_BE_LEFT_OUT = bytes(CURRENT.raises_on_signal[op] and op not in (_PUSH_EXC_INFO, _POP_EXCEPT) for op in range(256))
"""1 for what can't raise, and neither begins nor ends the handling of an exception."""


class Protectors:
    """The spans beside the instructions of a list, which stays as it is meanwhile."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self._instructions = instructions
        self._jumps: dict[Instruction, Instruction] | None = None

    def span_for(self, protect: Protect, anchor: Instruction, seam: int) -> Span | None:
        """The span that the policy names, for what is put before the instruction at `seam`."""
        instructions = self._instructions
        if protect is None or isinstance(protect, Span):
            return protect
        if protect == "anchor" and seam < len(instructions) and instructions[seam] is anchor:
            return self._beside(seam, behind=True)
        if protect in ("anchor", "before"):
            return self._beside(seam - 1, behind=False)
        if protect == "after":
            return self._beside(seam, behind=True)
        raise XtabError(f"expected protect to be 'anchor', 'before', 'after', a Span or None, but found {protect!r}")

    def _beside(self, place: int, *, behind: bool) -> Span | None:
        """The innermost span that can handle what is raised beside an instruction; `behind` the new ones, or before.

        It is not always the one that the instruction carries:

        - PUSH_EXC_INFO has a span that keeps what it has yet to push: before it, it's the span around.
        - POP_EXCEPT can't raise, so the compiler leaves it out of the span that ends the handling of the exception:
          before it, it's the one of what leads there.
        - CLEANUP_THROW is for exceptions that throw() brings into a generator, and no others: it's the span around.
        - What else can't raise, as the NOP of a ``try:`` line, the compiler may leave out of all spans, even of those
          around the statement: it's the span that what comes before and after lie in, both.
        """
        instructions = self._instructions
        if not 0 <= place < len(instructions):
            return None
        span, opcode = instructions[place].exn_tab_entry, instructions[place].opcode
        if span is None and _MAY_BE_LEFT_OUT[opcode]:
            span = self._around_hole(place)
        elif behind and opcode == _PUSH_EXC_INFO and span is not None:
            span = span.outer
        elif behind and opcode == _POP_EXCEPT and place:
            span = self._side(place, -1) or span
        while span is not None and span.target.opcode == _CLEANUP_THROW:
            span = span.outer
        return span

    def _jump_to(self, instruction: Instruction) -> Instruction | None:
        """A jump that leads to an instruction."""
        if self._jumps is None:
            self._jumps = {each.target: each for each in self._instructions if each.target is not None}
        return self._jumps.get(instruction)

    def _around_hole(self, place: int) -> Span | None:
        """The innermost span that lies around both sides of instructions that can't raise and have none themselves."""
        before, after = self._side(place, -1), self._side(place, 1)
        if before is None or after is None:
            return None
        around = set(chain_of(after))
        return next((span for span in chain_of(before) if span in around), None)

    def _side(self, place: int, step: int) -> Span | None:
        """The span that control comes from (`step` -1), or goes on in (1)."""
        instructions = self._instructions
        for _ in range(_LONGEST_HOLE):
            first = max(place, place + step)  # of the two that are neighbours, the one that control goes on to
            if not 0 <= place + step < len(instructions):
                return None
            each: Instruction | None = instructions[place + step]
            if CURRENT.stops[instructions[first - 1].opcode]:
                each = self._jump_to(instructions[first]) if step < 0 else instructions[first - 1].target
            if each is None or each.exn_tab_entry is not None or not _MAY_BE_LEFT_OUT[each.opcode]:
                return None if each is None else each.exn_tab_entry
            if each is not instructions[place + step]:
                return None
            place += step
        return None
