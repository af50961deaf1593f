"""`Weaving`: new instructions on their way into a body, around a run, and on each way out of it.

1. Code for a way out goes right in front of a return, or of a jump that always leaves; between two instructions where
   control falls out of the run; and to the end of the body where a conditional jump leaves, which then leads there.
2. The new span goes around the members of the run, and around the spans inside it.
3. The list of instructions is made anew in one pass, and what led to an instruction with something new in front leads
   there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from xtab.errors import EditError
from xtab.model.instruction import Instruction, Span
from xtab.model.spans import spans_of
from xtab.transform.runs import is_jump_only, is_return
from xtab.transform.sequences import settle

if TYPE_CHECKING:
    from xtab.model.body import Body
    from xtab.transform.runs import Run

__all__ = ["Weaving"]

_Make = Callable[[int], Iterable[Instruction]]


class Weaving:
    """New instructions on their way into a body, around a run."""

    def __init__(self, body: Body, run: Run) -> None:
        self._body = body
        self._run = run
        self._members = set(run.members)
        self._between: dict[Instruction, list[Instruction]] = {}  # for what falls through to the instruction
        self._before: dict[Instruction, list[Instruction]] = {}  # for all that leads to it
        self._begin: list[Instruction] = []  # for all that leads to the first instruction from outside
        self._copies: dict[Instruction, Instruction] = {}  # where a way out leads -> the code that it meets first
        self.tail: list[Instruction] = []  # goes to the end of the body

    def begin_with(self, instructions: list[Instruction]) -> None:
        """Put instructions in front of the run, for all that enters it."""
        self._begin = instructions

    def leave_by(self, make: _Make) -> None:
        """Put new instructions on each way out; `make` gets the depth of the stack there."""
        run = self._run
        jumps: list[tuple[Instruction, Instruction]] = []
        leaving = {each: each for each in run.members if is_return(each)}
        for each, after in run.ways_out():
            if is_jump_only(each):
                leaving[each] = each
            elif run.falls_into(each, after):
                self._between[after] = self._way(make, after, each)
                self._refuse_seam(after)
            else:
                jumps.append((each, after))
        for each in leaving:
            self._refuse_seam(each)
            self._before[each] = self._way(make, each, each)
            self._members.discard(each)
            each.exn_tab_entry = run.around
        for each, after in jumps:
            if after in self._between:
                each.target = self._between[after][0]
                continue
            if after not in self._copies:
                way = [*self._way(make, after, each), Instruction("JUMP_FORWARD", after)]
                self.tail += settle(way, run.around, each.location)
                self._copies[after] = way[0]
            each.target = self._copies[after]

    def _way(self, make: _Make, after: Instruction, each: Instruction) -> list[Instruction]:
        depth = self._run.depth_at(after)
        if depth is None or depth < self._run.depth:
            raise EditError(
                f"expected a way out of the run that leaves the stack alone, but found {each!r}", instruction=each
            )
        return list(settle(list(make(depth)) or [Instruction("NOP")], self._run.around, each.location))

    def _refuse_seam(self, instruction: Instruction) -> None:
        reason = self._body.why_not_before(instruction, jumps="stay")
        if reason is not None:
            message = f"expected a way out of the run where something may be put, but found {instruction!r}: {reason}"
            raise EditError(message, instruction=instruction)

    def protect(self, handler: Instruction, *, lasti: bool, more: int = 0) -> Span:
        """Put the members of the run, and the spans inside it, into a new span; `more` values lie below them."""
        run = self._run
        plain = any(run.leaves(each) == run.depth for each in self._members)
        span = Span(handler, None if plain else run.depth + more, lasti, run.around)
        inside = run.spans_inside()
        for each in self._members:
            if each.exn_tab_entry not in inside:
                each.exn_tab_entry = span
        for inner in inside:
            if inner.outer not in inside:
                inner.outer = span
        return span

    def apply(self) -> None:
        """Make the new list of instructions, and lead jumps and handlers to what is new."""
        instructions, first = self._body.instructions, self._run.first
        leads = {each: new[0] for each, new in self._before.items()}
        woven: list[Instruction] = []
        for each in instructions:
            woven += self._between.get(each, ())
            if each is first:
                woven += self._begin
            woven += self._before.get(each, ())
            woven.append(each)
        woven += self.tail
        spans = spans_of(instructions)
        new = set(woven).difference(instructions)
        for each in woven:
            target = each.target
            if target is first and self._begin and each not in self._members:
                each.target = self._begin[0]
            elif target in leads and each not in new:
                each.target = leads[target]
        for span in spans:
            if span.target is first and self._begin:
                span.target = self._begin[0]
        instructions[:] = woven
