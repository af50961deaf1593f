"""Raises an exception at one instruction after another, and compares where it goes with what xtab foretells.

1. A function is run a few times, each time led along another way, and the instructions that it comes by are noted.
2. It is run again for each of them that can raise: there an exception is raised from outside. Up to 3.11 a trace
   function does it; that ends tracing, so what the frame has as its trace function begins it again as it is freed. From
   3.12 on it is a callback of `sys.monitoring`.
3. Instruction by instruction, what is seen is compared: which handler an exception comes to, whoever raised it; which
   are the next ones of the one raised from outside; whether it gets out of the frame; how deep the stack is; what
   is being handled. An exception has gone from one instruction to the next seen where no control flow leads.

The depth is read from the interpreter's own frame. While 3.12 and 3.13 call for an instruction, they don't say; but
they do while they call for a line: so for those, every instruction gets a line of its own.

Runs in a process of its own, since what is checked here is what may crash. CPython sources: Python/ceval.c
(`exception_unwind`), Python/instrumentation.c, Include/internal/pycore_frame.h.
"""

from __future__ import annotations

import ctypes
import operator
import sys
from collections import Counter
from types import CodeType
from typing import Any, NamedTuple

import xtab
from xtab.analysis.block_stack import Blocks
from xtab.analysis.code_map import CodeMap
from xtab.analysis.unwind import way_from
from xtab.format.opcodes import CURRENT

MONITORING = getattr(sys, "monitoring", None)
TOOL = 4
BY_LINES = sys.version_info[:2] in ((3, 12), (3, 13))
#: what the interpreter jumps over on its way
SKIPPED = {CURRENT.number[name] for name in ("END_FOR", "NOT_TAKEN", "END_SEND", "RESUME") if name in CURRENT.number}
DROPS = CURRENT.number["POP_TOP"]  # what 3.13 jumps over together with END_FOR
PUSH, POP = CURRENT.number["PUSH_EXC_INFO"], CURRENT.number["POP_EXCEPT"]
FOR_THROW, DEBUG_BUILD = CURRENT.number.get("CLEANUP_THROW"), hasattr(sys, "gettotalrefcount")
MATCHES_GROUP = CURRENT.number["CHECK_EG_MATCH"]
#: the depth before it is told as the compiler counts, which has PRECALL take the arguments on 3.11
COUNTED_OTHERWISE = CURRENT.number["CALL"] if "PRECALL" in CURRENT.number else None


class Boom(BaseException):
    """What is raised from outside; nothing but a bare ``except:`` catches it."""


class Seen:
    """What was seen of one frame so far."""

    def __init__(self) -> None:
        self.place: int | None = None  # of the instruction that runs
        self.entered: Any = None  # the region whose handler was entered last
        self.handled: list[tuple[Any, Any]] = []  # region, exception


class Known:
    """What xtab says of one code object."""

    def __init__(self, code: CodeType) -> None:
        self.code, self.name = code, code.co_qualname
        self.map = CodeMap.of(code)
        self.blocks = Blocks(self.map)
        self.slots = len(xtab.CodeParts.of(code).variables)
        self.begins = self.map.opcodes.find(bytes([CURRENT.number["RESUME"]]))
        self.handled = [self.blocks.at(place).handled for place in range(len(self.map))]
        self.next = [self._next(place) for place in range(len(self.map))]
        self.place_at = {self.map.offset(place): place for place in range(len(self.map))}

    def _next(self, place: int) -> set[int]:
        """The places where control may be seen next."""
        after = list(self.map.successors(place))
        for each in after:  # grows as it goes
            opcode = self.map.opcodes[each]
            if opcode in SKIPPED or (opcode == DROPS and self.map.opcodes[each - 1] in SKIPPED):
                after += self.map.successors(each)
        return set(after)

    def can_raise(self, place: int) -> bool:
        """Whether something may be raised here from outside: where the compiler counts on it."""
        opcode, region = self.map.opcodes[place], self.map.innermost[place]
        if place < self.begins or CURRENT.cannot_raise[opcode]:
            return False
        if DEBUG_BUILD and region is not None and self.map.opcodes[self.map.handler_place(region)] == FOR_THROW:
            return False  # nothing but throw() leads there, which debug builds assert
        if CURRENT.raises_on_signal[opcode]:  # compilers let these leave with an exception still being handled
            then = () if region is None else self.handled[self.map.handler_place(region)]
            return len(then) == len(self.handled[place])
        return True


class Difference(NamedTuple):
    """Something that came otherwise than foretold."""

    what: str
    where: str
    foretold: str
    found: str


class Run:
    """One run of a function, with an exception raised at one place of one code object (or at none)."""

    def __init__(self, known: dict[int, Known], at: tuple[int, int] | None, kind: type) -> None:
        self.root = next(iter(known.values())).code
        self.known, self.kind = known, kind
        self.code, self.place = (None, None) if at is None else (known[at[0]].code, at[1])
        self.frames: dict[Any, Seen] = {}
        self.reached: set[tuple[int, int]] = set()  # id of the code, place
        self.differences: list[Difference] = []
        self.counts: Counter[str] = Counter()
        self.ours: Any = None  # what was raised
        self.frame: Any = None  # where
        self.way: Any = ()
        self.step = -1  # how far it has come
        self.lost = ""  # why it isn't followed any more
        self.depth: tuple[Any, int, int] | None = None

    def differ(self, what: str, frame: Any, foretold: object, found: object) -> None:
        known = self.known[id(frame.f_code)]
        at = "the start" if self.place is None else f"{2 * known.map.source.starts[self.place]}"
        where = f"{frame.f_code.co_qualname} at {frame.f_lasti}, raised at {at}"
        self.differences.append(Difference(what, where, str(foretold), str(found)))

    def instruction(self, frame: Any, offset: int) -> None:
        """An instruction is about to run; raises what is to be raised."""
        code = frame.f_code
        known = self.known[id(code)]
        place = known.place_at.get(offset)
        if place is None:
            return  # behind a prefix
        seen = self.frames.setdefault(frame, Seen())
        before, seen.place = seen.place, place
        self.reached.add((id(code), place))
        if before is not None:
            self._moved(known, frame, seen, before, place)
        if self.place is None or self.ours is not None:  # the way up to there was compared before
            self._compare_state(known, frame, seen, place)
        if self.ours is None and code is self.code and place == self.place:
            self.ours, self.frame = self.kind("from outside"), frame
            self.way = way_from(known.map, place)
            self.step = 0
            self.counts["raised"] += 1
            raise self.ours

    def _moved(self, known: Known, frame: Any, seen: Seen, before: int, place: int) -> None:
        """Control went from one instruction to another."""
        thrown = self.frame is frame and self.step == 0 and not self.lost and not self.counts["arrived"]
        if place in known.next[before] and not thrown:
            opcode = known.map.opcodes[before]
            if opcode == PUSH:
                seen.handled.append((seen.entered, sys.exception()))
            elif opcode == POP:
                seen.handled.pop()
            elif opcode == MATCHES_GROUP and seen.handled:  # the part that matches is what is handled from now on
                seen.handled[-1] = seen.handled[-1][0], sys.exception()
            return
        self.counts["handlers entered"] += 1
        region = known.map.innermost[before]
        if region is None or known.map.handler_place(region) != place:
            came_from = f"{known.map.offset(place)}, from {known.map.offset(before)}"
            self.differ("handler", frame, region, came_from)
            self.lost = self.lost or "it went astray"
        seen.entered = known.map.handlers.get(place)
        if known.map.opcodes[before] == POP:
            seen.handled.pop()
        if frame is self.frame:
            self._next_handler(known, frame, before, place)

    def _next_handler(self, known: Known, frame: Any, before: int, place: int) -> None:
        if self.lost:
            return
        step = self.way[self.step]
        if step.raised_at != known.map.offset(before):  # another exception
            region, held = known.map.handlers[place], self.way[self.step - 1]
            pushes = known.map.opcodes[known.map.place_at(held.handler)] == PUSH
            if region.depth < held.stack + pushes:  # what was followed is on the stack no more
                self.lost = "another exception took its place"
            else:
                self.counts["others meanwhile"] += 1
            return
        if step.handler != known.map.offset(place):
            self.differ("step", frame, step, known.map.offset(place))
        self.counts["arrived"] += 1
        depth = self._depth(frame, place)
        if depth is not None:
            self.counts["depths at handlers"] += 1
            if depth != step.stack:
                self.differ("depth at the handler", frame, step.stack, depth)
        self.step += 1
        if self.step == len(self.way):
            self.lost = "the last handler keeps it"

    def _compare_state(self, known: Known, frame: Any, seen: Seen, place: int) -> None:
        handled = known.handled[place]
        self.counts["instructions"] += 1
        if len(handled) != len(seen.handled) or any(map(operator.is_not, handled, (each for each, _ in seen.handled))):
            self.differ("handled", frame, handled, [region for region, _ in seen.handled])
        if seen.handled and sys.exception() is not seen.handled[-1][1]:
            self.differ("exception", frame, repr(seen.handled[-1][1]), repr(sys.exception()))
        depth, expected = self._depth(frame, place), known.map.depths[place]
        if depth is not None and known.map.opcodes[place] != COUNTED_OTHERWISE:
            self.counts["depths"] += 1
            if depth != expected:
                self.differ("depth", frame, expected, depth)

    def line(self, frame: Any, number: int) -> None:
        """A line begins: note how deep the stack is."""
        self.depth = frame, number - 1, depth_of(frame, self.known[id(frame.f_code)].slots)

    def _depth(self, frame: Any, place: int) -> int | None:
        if not BY_LINES:
            return depth_of(frame, self.known[id(frame.f_code)].slots)
        return self.depth[2] if self.depth is not None and self.depth[:2] == (frame, place) else None

    def finish(self, error: BaseException | None) -> None:
        """The run is done: has the exception got out of its frame just when it should?"""
        if self.ours is None:
            return
        seen = self.frames[self.frame]
        known = self.known[id(self.frame.f_code)]
        got_out = not self.lost and self.way[self.step].region is None
        last = self.way[self.step].raised_at if not self.lost else None
        is_outermost = self.frame.f_code is self.root
        if got_out and seen.place is not None and known.map.offset(seen.place) == last:
            self.counts["got out to the caller"] += 1
            # one that a handler of except* raised meanwhile goes on in its place
            fine = holds(error, self.ours) or (self.counts["others meanwhile"] and error is not None)
            if is_outermost and not fine:
                self.differ("at the end", self.frame, f"{self.ours!r} gets out", repr(error))
        elif not self.lost:
            self.lost = "a handler ended it"
        if self.lost:
            self.counts[f"ended: {self.lost}"] += 1
            by_raise = seen.place is not None and CURRENT.name[known.map.opcodes[seen.place]] == "RAISE_VARARGS"
            if error is self.ours and is_outermost and not by_raise and self.lost == "a handler ended it":
                self.differ("at the end", self.frame, "the exception is gone", "it got out")


def holds(error: BaseException | None, ours: BaseException) -> bool:
    """Whether an exception is ours, or a group with it: ``except*`` makes such."""
    return error is ours or any(holds(each, ours) for each in getattr(error, "exceptions", ()))


class Revive:
    """A frame's trace function on 3.11: when it is freed, since it raised, tracing begins again."""

    def __init__(self, tracer: Tracer, frame: Any) -> None:
        self.tracer, self.frame = tracer, frame

    def __call__(self, frame: Any, event: str, argument: object) -> object:
        if event == "opcode":
            instruction = self.tracer.run.instruction
            del self  # the traceback will hold what this function holds
            instruction(frame, frame.f_lasti)
        return frame.f_trace

    def __del__(self) -> None:
        if self.tracer.active and self.frame is self.tracer.run.frame:
            sys.settrace(self.tracer.call)
            self.frame.f_trace = Revive(self.tracer, self.frame)


class Tracer:
    """Runs functions, and tells a `Run` of each instruction."""

    def __init__(self) -> None:
        self.run: Run = None  # type: ignore[assignment]
        self.active = False

    def call(self, frame: Any, event: str, argument: object) -> object:
        if id(frame.f_code) not in self.run.known:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if not isinstance(frame.f_trace, Revive):
            frame.f_trace = Revive(self, frame)
        return frame.f_trace

    def __call__(self, run: Run, function: Any, *arguments: Any) -> None:
        self.run, self.active = run, True
        error = None
        (self._start_monitoring if MONITORING else lambda: sys.settrace(self.call))()
        try:
            function(*arguments)
        except BaseException as raised:
            error = raised
        finally:
            self.active = False
            self._stop()
        run.finish(error)
        if sys.exception() is not None:
            run.differences.append(Difference("afterwards", function.__qualname__, "no exception", "one"))
        for frame in run.frames:
            frame.f_trace = None

    def _start_monitoring(self) -> None:
        events = MONITORING.events
        MONITORING.use_tool_id(TOOL, "unwinding")
        MONITORING.register_callback(
            TOOL, events.INSTRUCTION, lambda code, offset: self.run.instruction(sys._getframe(1), offset)
        )
        if BY_LINES:
            MONITORING.register_callback(TOOL, events.LINE, lambda code, line: self.run.line(sys._getframe(1), line))
        for known in self.run.known.values():
            MONITORING.set_local_events(TOOL, known.code, events.INSTRUCTION | (events.LINE if BY_LINES else 0))

    def _stop(self) -> None:
        if not MONITORING:
            sys.settrace(None)
            return
        for known in self.run.known.values():
            MONITORING.set_local_events(TOOL, known.code, 0)
        MONITORING.free_tool_id(TOOL)


_BASE = object.__basicsize__
_WORD = ctypes.sizeof(ctypes.c_void_p)
_STACK, _LOCALS, _IS_POINTER = (8, 9, False) if sys.version_info < (3, 14) else (8, 10, True)


def depth_of(frame: Any, slots: int) -> int | None:
    """How many values are on the stack of a frame, as the interpreter has noted it; None if it hasn't."""
    inner = ctypes.c_size_t.from_address(id(frame) + _BASE + _WORD).value
    if _IS_POINTER:
        top = ctypes.c_size_t.from_address(inner + _STACK * _WORD).value
        return None if not top else (top - inner) // _WORD - _LOCALS - slots
    top = ctypes.c_int.from_address(inner + _STACK * _WORD).value
    return None if top < 0 else top - slots


def with_own_lines(code: CodeType) -> CodeType:
    """The same code, each instruction on a line of its own: the line is its place, counted from 1."""
    body = xtab.decode(code.replace(co_firstlineno=1))  # 3.13 counts on lines that come after the first
    for place, instruction in enumerate(body.instructions):
        instruction.location = xtab.Location(place + 1, place + 1, 0, 1)
    constants = tuple(with_own_lines(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    return xtab.assemble(body).replace(co_consts=constants)
