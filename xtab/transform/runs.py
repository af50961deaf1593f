"""`Run`: what belongs to a run of instructions, how deep the stack is in it, and where control leaves it.

A run is given by its first and last instruction, but not all that runs there stands there, and not all that stands
there belongs to it: the compiler puts handlers at the end of the code, and the way out of enclosing loops and blocks
right where a ``break`` or ``return`` was.

1. A span whose instructions all lie in the run lies *inside*. Code that only handlers of spans inside lead to is the
   run's too, as far as its lines or the depth of the stack show it; which may bring more spans inside (`_belonging`).
2. The *depth* of the run is what none of its instructions takes from the stack: values from below the run that it uses
   are its own (`_least`).
3. What reaches below that depth without going on to the end of the run, or has another span around it, is the way out
   of an enclosing block (`_leaves_block`): from there on nothing belongs to the run.
4. The rest, followed from the first instruction, are its members. Ways from them to elsewhere are its exits; a way into
   it that doesn't lead to its first instruction is an error (`_check_borders`).

Linear in the number of instructions for each level of handlers in handlers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.errors import EditError, XtabError
from xtab.format.locations import line_at
from xtab.format.opcodes import CURRENT
from xtab.model.arguments import require
from xtab.model.instruction import Instruction
from xtab.model.seams import Seams
from xtab.model.spans import chain_of, spans_of
from xtab.model.stack import stack_depths
from xtab.transform.arguments import require_body
from xtab.transform.moves import reach

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from xtab.model.body import Body
    from xtab.model.instruction import Span

__all__ = ["Run", "is_jump_only", "is_return"]

_LEFT_OUT = (
    *("JUMP_", "POP_JUMP_"),
    *(f"{verb}_{kind}" for verb in ("STORE", "DELETE") for kind in ("FAST", "NAME", "GLOBAL", "DEREF")),
)
_RETURNS = CURRENT.numbers("RETURN_VALUE", "RETURN_CONST")


def is_return(instruction: Instruction) -> bool:
    """Whether it leaves the function with a value."""
    return instruction.opcode in _RETURNS


def is_jump_only(instruction: Instruction) -> bool:
    """Whether it jumps whatever the stack holds."""
    return instruction.is_jump and bool(CURRENT.stops[instruction.opcode])


class Run:
    """A run of instructions of a body, first and last included.

    Raises:
        EditError: the run cuts a loop or a ``yield from`` apart, lies partly in a span, or is entered in its middle.
        XtabError: the instructions aren't in the body in this order, or can't be reached.
    """

    def __init__(self, body: Body, first: Instruction, last: Instruction) -> None:
        require_body(body)
        for border in (first, last):
            require(border, Instruction, "an Instruction of this body")
        self._instructions = instructions = body.instructions
        self._place = place = {each: number for number, each in enumerate(instructions)}
        if first not in place or last not in place or place[first] > place[last]:
            raise XtabError(f"expected a run of this body, from first to last, but found {first!r} and {last!r}")
        self._depths = dict(zip(instructions, stack_depths(body), strict=True))
        self.first = first
        self.last = last
        end = place[last] + 1
        #: the instruction behind the run, or None
        self.behind = instructions[end] if end < len(instructions) else None
        entered = self._depths[first]
        if entered is None:
            raise XtabError(f"expected a run that can be reached, but found {first!r}, which can't")
        self._require_seams()
        standing = set(instructions[place[first] : end])
        self._inside: set[Span] = set()
        self._all = self._belonging(standing, entered)
        followed = self._followed(lambda _: False)
        # the NOP that a `try:` leaves, and the like, are often in no span at all
        in_span = (each for each in instructions[place[first] : end] if each in followed and _can_fail(each))
        #: the innermost span around the run, or None
        self.around = self._context(next(in_span, first))
        self._refuse_other_end(followed)
        onward = self._leading_to(self.behind, followed)
        #: how many values stay on the stack, whatever happens in the run
        self.depth = self._least(followed, onward, entered)
        self._members = self._followed(lambda each: self._leaves_block(each, onward))
        #: all instructions of the run, in the order of the body
        self.members = [each for each in instructions if each in self._members]
        self._standing = standing
        self._loops = any(each.is_jump and each.target is first for each in standing & self._members)
        self._check_borders()

    def _require_seams(self) -> None:
        for border in (self.first, None if CURRENT.stops[self.last.opcode] else self.behind):
            if border is None:
                continue
            seams, place = Seams(self._instructions), self._place[border]
            reason = seams.why_not(place)
            if reason is not None:
                what = "a run that may begin and end where it does, but found, at its border,"
                raise seams.refusal(what, place, reason)

    # what belongs to it

    def _belonging(self, standing: set[Instruction], entered: int) -> set[Instruction]:
        carriers: dict[Span, list[Instruction]] = {}
        for each in self._reachable():
            for span in chain_of(each.exn_tab_entry):
                carriers.setdefault(span, []).append(each)
        found = standing
        while True:
            inside = {span for span, covered in carriers.items() if found.issuperset(covered)}
            if inside == self._inside:
                return found
            self._inside = inside
            found = standing | self._handlers_code(inside, standing, entered)

    def _handlers_code(self, inside: set[Span], standing: set[Instruction], entered: int) -> set[Instruction]:
        """The code that only handlers of spans inside the run lead to, and that is no other statement's."""
        targets = [span.target for span in inside if span.target in self._place]
        within = self._reached(targets)
        within -= self._reached(self._instructions[:1], without=inside)
        within |= standing
        handling = self._spread(targets, lambda each: each in within and (self._depths[each] or 0) > entered)
        lines = {line_at(each.location) for each in standing | handling} | {None}
        return self._spread(targets, lambda each: each in within and line_at(each.location) in lines)

    def _reached(self, starts: Iterable[Instruction], without: Collection[Span] = ()) -> set[Instruction]:
        """All that control can reach, but not through the handlers of some spans."""
        return self._spread(starts, lambda _: True, lambda span: span not in without)

    def _spread(
        self,
        starts: Iterable[Instruction],
        belongs: Callable[[Instruction], bool],
        is_handled: Callable[[Span], bool] = lambda _: True,
    ) -> set[Instruction]:
        """What control reaches on ways of which each instruction `belongs`; exceptions go where it `is_handled`."""
        found: set[Instruction] = set()
        todo = list(starts)
        while todo:
            each = todo.pop()
            if each in found or not belongs(each):
                continue
            found.add(each)
            todo += self._next(each)
            span = each.exn_tab_entry
            if span is not None and span.target in self._place and is_handled(span):
                todo.append(span.target)
        return found

    def _next(self, instruction: Instruction) -> Iterator[Instruction]:
        """Where control goes on from an instruction that doesn't raise."""
        target = instruction.target
        if target is not None and instruction.opcode not in CURRENT.marks and target in self._place:
            yield target
        place = self._place[instruction] + 1
        if not CURRENT.stops[instruction.opcode] and place < len(self._instructions):
            yield self._instructions[place]

    def _followed(self, ends: Callable[[Instruction], bool]) -> set[Instruction]:
        """What control reaches from the first instruction within what may belong to the run, up to its `ends`."""
        inside = self._inside
        return self._spread([self.first], lambda each: each in self._all and not ends(each), inside.__contains__)

    def _leading_to(self, end: Instruction | None, within: Iterable[Instruction]) -> set[Instruction]:
        """Those from which control can get to an instruction, `end` itself not included."""
        before: dict[Instruction | None, list[Instruction]] = {}
        for each in within:
            for after in self._next(each):
                before.setdefault(after, []).append(each)
        found: set[Instruction] = set()
        todo = list(before.get(end, ()))
        while todo:
            each = todo.pop()
            if each not in found:
                found.add(each)
                todo += before.get(each, ())
        return found

    def _refuse_other_end(self, followed: set[Instruction]) -> None:
        """The run must get to its last instruction, unless only handlers do."""
        if self.last not in followed and not self._leading_to(self.last, self._reachable()) <= self._all:
            raise EditError(
                f"expected a run whose end is reached from its beginning, but found {self.last!r}, where control comes "
                f"from elsewhere, and not from {self.first!r}",
                instruction=self.last,
            )

    def _reachable(self) -> Iterator[Instruction]:
        return (each for each in self._instructions if self._depths[each] is not None)

    # how deep

    def _context(self, instruction: Instruction) -> Span | None:
        """The innermost span of an instruction that isn't inside the run."""
        return next((span for span in chain_of(instruction.exn_tab_entry) if span not in self._inside), None)

    def _lowest(self, instruction: Instruction) -> int:
        """How many values an instruction leaves as they are."""
        depth = self._depths[instruction]
        assert depth is not None
        return depth - reach(instruction)

    def _least(self, followed: set[Instruction], onward: set[Instruction], entered: int) -> int:
        used = [
            self._lowest(each)
            for each in followed
            if each in onward or (_can_fail(each) and self._context(each) is self.around)
        ]
        return min([entered, *used])

    def _leaves_block(self, instruction: Instruction, onward: set[Instruction]) -> bool:
        """Whether an instruction begins the way out of what is around the run."""
        other = _can_fail(instruction) and self._context(instruction) is not self.around
        if instruction not in onward:
            return other or self._lowest(instruction) < self.depth
        if other:
            raise EditError(
                "expected a run that lies in each span it meets, or around it, but found "
                f"{self._context(instruction)!r} around {instruction!r}, and {self.around!r} around its beginning",
                instruction=instruction,
            )
        return False

    # its borders

    def _check_borders(self) -> None:
        for each in self._reachable():
            for after in self._next(each):
                if each in self._members:
                    self._refuse_cut(each, after)
                elif after in self._members and after is not self.first:
                    raise EditError(
                        f"expected a run that is entered at its first instruction, {self.first!r}, but found {each!r} "
                        f"outside of it, which leads to {after!r}",
                        instruction=after,
                    )
        for span in spans_of(self._instructions):
            self._refuse_shared(span)

    def _refuse_cut(self, each: Instruction, after: Instruction) -> None:
        if after in self._members or each.target is not after:
            return
        if after.opcode in CURRENT.keep_before or each.opname == "SEND":
            message = (
                f"expected a run with {each.opname} and the {after.opname} where it leads, but found it ends between"
            )
            raise EditError(message, instruction=each)

    def _refuse_shared(self, span: Span) -> None:
        handler = span.target
        if span in self._inside:
            strange = handler not in self._members and handler in self._place and self._is_used(span)
        else:
            strange = handler in self._members and handler is not self.first
        if strange:
            raise EditError(
                f"expected a run with the handlers of its spans, and no others, but found {span!r}; its handler "
                "or what it protects is partly outside of the run",
                instruction=handler,
            )

    def _is_used(self, span: Span) -> bool:
        return any(each.exn_tab_entry is span for each in self.members)

    def spans_inside(self) -> set[Span]:
        """The spans of members that lie inside the run."""
        return spans_of(self.members) & self._inside

    def depth_at(self, instruction: Instruction) -> int | None:
        """The depth of the stack before an instruction of the body, or None if it can't be reached."""
        return self._depths.get(instruction)

    def goes_on(self) -> Instruction | None:
        """Where control goes on behind the run when all goes well, or None if it can't be told."""
        last = self.last
        if is_jump_only(last) and last in self._members and last.target not in self._members:
            return last.target
        behind = self.behind
        if behind is None or behind in self._members or behind.opcode in CURRENT.keep_before:
            return None
        falls = not CURRENT.stops[last.opcode]
        if falls or any(each.target is behind for each in self._instructions if each.is_jump):
            depth = self._depths[behind]
            return behind if depth is not None and depth >= self.depth and (falls or depth == self.depth) else None
        return None

    def leaves(self, instruction: Instruction) -> int:
        """How many values are below those that an instruction takes before it may raise."""
        depth = self._depths[instruction] or 0
        return depth if CURRENT.cannot_raise[instruction.opcode] else depth - reach(instruction)

    def ways_out(self) -> Iterator[tuple[Instruction, Instruction]]:
        """Pairs of a member and where control goes from there, out of the run; returns are not among them."""
        for each in self.members:
            for after in dict.fromkeys(self._next(each)):
                # a handler that stands elsewhere and goes back to the first instruction begins the run anew
                anew = after is self.first and not self._loops and each not in self._standing
                if anew or after not in self._members:
                    yield each, after

    def falls_into(self, instruction: Instruction, after: Instruction) -> bool:
        """Whether `after` stands right behind an instruction that may fall through."""
        return not CURRENT.stops[instruction.opcode] and self._place[after] == self._place[instruction] + 1


def _can_fail(instruction: Instruction) -> bool:
    """Whether it can raise, other than those that the compiler may leave out of the span around them."""
    return not instruction.opname.startswith(_LEFT_OUT) and not CURRENT.cannot_raise[instruction.opcode]
