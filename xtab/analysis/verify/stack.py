"""4xx, stack: the walk over all paths, with the value stack and what is known of the locals.

1. A state is the stack, the locals that are bound, those that hold cells, and how many exceptions are being handled.
   States are kept where paths can meet: at targets of jumps and at handlers.
2. A path is followed from such a place, instruction by instruction (`values` has the steps), until it ends or reaches
   another such place. There the states are joined; if that says less than before, the place is followed again.
3. Wherever an entry covers an instruction that can raise, the state before it goes to the handler, cut to the entry's
   depth, with lasti and the exception on top. As many values as the entry keeps must be left when it raises. Where only
   a trace function can raise, what is known of the locals goes there all the same.
4. An instruction that doesn't find what it trusts ends the path there. What is found first stays true: states only ever
   come to say less.

Joins lose knowledge only, so the walk ends; how much work it may be is bounded (XT407), so that it ends soon.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from xtab.analysis.verify.handlers import cover
from xtab.analysis.verify.kinds import LEFT, Value, join
from xtab.analysis.verify.machine import Fault, Machine
from xtab.analysis.verify.values import STEPS
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.analysis.verify.columns import Columns
    from xtab.analysis.verify.parts import CodeParts
    from xtab.analysis.verify.report import Report
    from xtab.format.exception_table import ExceptionTableEntry

__all__ = ["MOST_SLOTS", "Walk"]

MOST_SLOTS = 1 << 20
"""The largest co_stacksize that is accepted: a frame is laid out in one piece, in 32-bit arithmetic."""
_Sent: TypeAlias = tuple[int, "list[Value]", int, int, int, int]
"""Where to, stack, locals that are bound, that hold cells, exceptions being handled, index of where from."""
_CHANGES_LEVEL = frozenset({CURRENT.number["PUSH_EXC_INFO"], CURRENT.number["POP_EXCEPT"]})
_YIELD = CURRENT.number["YIELD_VALUE"]
_WORK_AN_INSTRUCTION, _WORK_AT_LEAST = 40, 1_000_000


class _State(NamedTuple):
    stack: list[Value]
    bound: int
    cells: int
    level: int
    source: int  # index of the instruction that led here first


class Walk:
    """One walk over one code object, whose instructions, jumps and handlers are known to be sound."""

    def __init__(
        self,
        parts: CodeParts,
        columns: Columns,
        targets: dict[int, int],
        entries: list[ExceptionTableEntry],
        report: Report,
    ) -> None:
        self.columns, self.entries, self.report = columns, entries, report
        self.targets = {jump: target for jump, target in targets.items() if columns.opcodes[jump] not in CURRENT.marks}
        self.covering = cover(entries, columns)
        self.handlers = [columns.index_of[entry.target] for entry in entries]
        self.machine = Machine(parts, columns)
        self.states: dict[int, _State] = {}
        self.bound_at: dict[int, int] = {}  #: handler -> locals that are bound wherever only trace functions raise
        self.leaders = bytearray(len(columns.starts))
        for place in (*self.targets.values(), *self.handlers):
            self.leaders[place] = 1
        self.reached = bytearray(len(columns.starts))
        self.greatest = 0
        self.work = _WORK_AT_LEAST + _WORK_AN_INSTRUCTION * len(columns.starts)
        self._todo: list[int] = []
        self._signals: list[_Sent] = []  # what goes to handlers when all else is done
        self._traced: deque[_Sent] = deque()  # and what goes to those that have had nothing then
        self._is_traced = bytearray(len(columns.starts))
        self._waiting = bytearray(len(columns.starts))
        self._sent: tuple[int, list[Value], int, int, int] | None = None  # what went to a handler last

    def run(self) -> None:
        """Follow all paths."""
        self.machine.bound = (1 << self.machine.parts.arguments) - 1
        self._meet(0, [], -1)
        while self._todo or self._signals or self._traced:
            if not self._todo:
                self._from_signals()
                continue
            if self.work < 0:
                message = "expected paths that settle soon, but found that they change what is known over and over"
                self.report.add("XT407", message, "no compiler writes such code; split the function")
                return
            place = heappop(self._todo)
            self._waiting[place] = 0
            self._follow(place)

    def _follow(self, index: int) -> None:  # one loop: calls for its parts would double the time
        machine, columns, covering, targets = self.machine, self.columns, self.covering, self.targets
        opcodes, args, leaders, stops, steps = columns.opcodes, columns.args, self.leaders, CURRENT.stops, STEPS
        self._enter(index)
        size = len(opcodes)
        first = index
        try:
            while True:
                opcode = opcodes[index]
                machine.index = index
                self.reached[index] = 1
                if covering[index] >= 0:
                    self._raise_at(index, covering[index])
                elif machine.level and not CURRENT.raises_on_signal[opcode]:
                    self._leak()
                steps[opcode](machine, args[index])  # type: ignore[misc]  # only legal opcodes come here
                if len(machine.stack) > self.greatest:
                    self._deeper(len(machine.stack))
                if index in targets:
                    stack = machine.stack if machine.jump_stack is None else machine.jump_stack
                    self._meet(targets[index], stack, index)
                    machine.jump_stack = None
                if stops[opcode]:
                    break
                index += 1
                if index == size:
                    message = f"expected a return, a raise or a jump at the end, but found {machine.opname()}"
                    raise Fault("XT405", message, "what follows the code in memory would be run")  # noqa: TRY301
                if leaders[index]:
                    self._meet(index, machine.stack, index - 1)
                    break
        except Fault as fault:
            self.report.add(fault.code, fault.message, fault.hint, columns=columns, index=machine.index)
            machine.jump_stack = None
        self.work -= machine.index - first + 1

    def state_at(self, index: int) -> Machine | None:
        """What is known before an instruction, when the walk is done; None if nothing leads there.

        The machine is the walk's own: it is only good until the next call.
        """
        if not self.reached[index]:
            return None
        first = next(place for place in range(index, -1, -1) if place in self.states)
        self._enter(first)
        for place in range(first, index):
            self.machine.index = place
            STEPS[self.columns.opcodes[place]](self.machine, self.columns.args[place])  # type: ignore[misc]
            self.machine.jump_stack = None
        return self.machine

    def _enter(self, index: int) -> None:
        """Take up the state that is kept for a place."""
        machine, state = self.machine, self.states[index]
        machine.stack, machine.level = state.stack.copy(), state.level
        machine.bound, machine.cells = state.bound, state.cells
        machine.borrowed, machine.copied, self._sent = 0, None, None
        if CURRENT.borrows:
            for value in machine.stack:
                machine.borrowed |= value.borrowed

    def _deeper(self, depth: int) -> None:
        self.greatest = depth
        if depth > self.machine.room:
            self.machine.too_small(depth)

    def _raise_at(self, index: int, number: int) -> None:
        """Send the state before an instruction to its handler."""
        machine, entry = self.machine, self.entries[number]
        stack, depth = machine.stack, entry.depth
        kept = stack[:depth]
        opcode = self.columns.opcodes[index]
        if CURRENT.cannot_raise[opcode]:
            self._only_locals(number)
            return
        left = len(stack) - CURRENT.gone_when_raising(opcode, self.columns.args[index])
        if left < depth:
            message = (
                f"expected {depth} values or more on the stack when {machine.opname()} raises, as its handler at "
                f"{entry.target} keeps, but found {max(left, 0)}"
            )
            hint = "the depth is what lies on the stack around the range: the entry is of other code, or too long"
            self.report.add("XT304", message, hint, columns=self.columns, index=index, entry=entry)
            return
        sent = number, kept, machine.bound, machine.cells, machine.level
        if sent == self._sent:
            return
        self._sent = sent
        kept = self._kept(entry)
        if opcode == _YIELD and depth == len(stack) > 0:  # throw() puts another value in the place of what is yielded
            kept[depth - 1] = LEFT["object"]
        if len(kept) > self.greatest:
            self._deeper(len(kept))
        if CURRENT.raises_on_signal[opcode]:  # compilers let these leave with an exception still being handled
            self._signals.append((self.handlers[number], kept, machine.bound, machine.cells, machine.level, index))
        else:
            self._meet(self.handlers[number], kept, index)

    def _from_signals(self) -> None:
        """Send what only a signal's handler raises, now that it's known how many exceptions are handled there.

        If there is nothing left of that either, what only trace functions raise, to handlers that nothing else enters.
        """
        machine = self.machine
        signals, self._signals = self._signals, []
        while self._traced and not signals:
            sent = self._traced.popleft()
            if sent[0] not in self.states and not self.report.errors:  # of which it would only be an echo
                signals = [sent]  # the others may be entered from there
        for place, kept, bound, cells, level, source in signals:
            state = self.states.get(place)
            machine.bound, machine.cells, machine.level = bound, cells, level if state is None else state.level
            self._meet(place, kept, source)

    def _kept(self, entry: ExceptionTableEntry) -> list[Value]:
        """The stack that the entry's handler finds."""
        kept = self.machine.stack[: entry.depth]
        return [*kept, LEFT["lasti"], LEFT["raised"]] if entry.lasti else [*kept, LEFT["raised"]]

    def _only_locals(self, number: int) -> None:
        """Only a trace function raises here, with the stack in disorder for all we know; but locals may be unbound.

        Not so with cells: while a comprehension runs, the cell of a variable of that name lies on the stack.
        """
        place, entry = self.handlers[number], self.entries[number]
        machine = self.machine
        if len(machine.stack) >= entry.depth and self.columns.opcodes[machine.index] not in _CHANGES_LEVEL:
            kept = self._kept(entry)
            if not self._is_traced[place]:
                self._is_traced[place] = 1
                self._traced.append((place, kept, machine.bound, machine.cells, machine.level, machine.index))
            if len(kept) > self.greatest:
                self._deeper(len(kept))
        bound = machine.bound | machine.with_cells
        self.bound_at[place] = self.bound_at.get(place, -1) & bound
        state = self.states.get(place)
        if state is not None and state.bound & ~bound:
            self.states[place] = state._replace(bound=state.bound & bound)
            self._wait(place)

    def _leak(self) -> None:
        """An exception leaves while another is being handled, and nothing ends that."""
        machine = self.machine
        message = (
            f"expected that {machine.opname()} is covered while an exception is being handled, but found that it is not"
        )
        hint = "a handler that does POP_EXCEPT and RERAISE must cover it; else sys.exception() stays set in the caller"
        self.report.add("XT614", message, hint, columns=self.columns, index=machine.index)

    def _meet(self, place: int, stack: list[Value], source: int) -> None:
        """A way with this stack leads to `place`."""
        machine = self.machine
        cells = machine.cells
        for made, bit in machine.late_cells:
            if place <= made:
                cells &= ~bit
        self.work -= 1 + len(stack)
        known = self.states.get(place)
        if known is None:
            bound = machine.bound & self.bound_at.get(place, -1)
            self.states[place] = _State(stack.copy(), bound, cells, machine.level, source)
            self._wait(place)
            return
        if len(known.stack) != len(stack):
            expected = f"depth {len(known.stack)}"
            hint = "both ways must leave equally many values; `xtab verify` shows the depths, up to where they part"
            self._add_conflict("XT402", hint, place, (known.source, expected), (source, len(stack)))
            return
        if known.level != machine.level:
            expected = f"{known.level} exceptions being handled"
            hint = "PUSH_EXC_INFO and POP_EXCEPT must balance on every way"
            self._add_conflict("XT614", hint, place, (known.source, expected), (source, machine.level))
            return
        bound, cells = known.bound & machine.bound, known.cells & cells
        joined = known.stack if stack == known.stack else list(map(join, known.stack, stack))
        if bound != known.bound or cells != known.cells or joined != known.stack:
            self.states[place] = _State(joined, bound, cells, known.level, known.source)
            self._wait(place)

    def _wait(self, place: int) -> None:
        """Follow the paths from there, some time."""
        if not self._waiting[place]:
            self._waiting[place] = 1
            heappush(self._todo, place)

    def _add_conflict(self, code: str, hint: str, place: int, known: tuple[int, str], new: tuple[int, int]) -> None:
        """Two ways lead to a place with different things: each is given as where it comes from, and what it has."""
        (before, expected), (source, found) = known, new
        message = f"expected {expected}, as from {self._at(before)}, but found {found} from {self._at(source)}"
        related = self._related(before, source)
        self.report.add(code, message, hint, columns=self.columns, index=place, related=related)

    def _at(self, index: int) -> str:
        return (
            "the start" if index < 0 else f"{self.columns.starts[index]} ({CURRENT.name[self.columns.opcodes[index]]})"
        )

    def _related(self, *indices: int) -> tuple[int, ...]:
        return tuple(self.columns.starts[index] for index in indices if index >= 0)
