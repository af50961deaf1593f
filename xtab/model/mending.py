"""What assembly puts right by itself after an edit, since no reader of bytecode would think of it.

1. `owed_nops`: from 3.13 on, an exception out of a Python function that an instruction called is looked up in the unit
   *before* that instruction. Where the innermost span changes right there, a NOP with the instruction's own span is put
   in front.
2. `mend_yields`: the operands of RESUME and YIELD_VALUE that say how many spans are around them.
3. `unborrow`, in `borrows`.

Nothing is done to code that stands as it was decoded.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import compress
from typing import TYPE_CHECKING

from xtab.errors import AssembleError
from xtab.format.opcodes import CURRENT
from xtab.model.instruction import Instruction
from xtab.model.nesting import region_parents
from xtab.model.spans import chain_of

if TYPE_CHECKING:
    from xtab.model.flow import Entry, Shape
    from xtab.model.shape import BodyShape
    from xtab.model.source import Source

__all__ = ["mend_yields", "owed_nops"]

_RESUME, _YIELD = CURRENT.number["RESUME"], CURRENT.number["YIELD_VALUE"]
_RERAISE, _INTRINSIC = CURRENT.number["RERAISE"], CURRENT.number.get("CALL_INTRINSIC_1", -1)
_STOP_ITERATION = CURRENT.words[_INTRINSIC].index("INTRINSIC_STOPITERATION_ERROR") if _INTRINSIC > 0 else -1
_COUNTS_SPANS = bytes(
    (op == _RESUME and bool(CURRENT.resume_one_span)) or (op == _YIELD and CURRENT.yield_counts_spans)
    for op in range(256)
)


def owed_nops(found: BodyShape, source: Source) -> dict[int, Instruction]:
    """The NOPs that are owed, by the place of the instruction that they go before."""
    if not CURRENT.looks_up_unit_before or not found.shape.entries:
        return {}
    opcodes = found.shape.opcodes
    borders = [
        place
        for place in _borders(found.shape.entries)
        if 0 < place < len(opcodes) and CURRENT.runs_python[opcodes[place]]
    ]
    if not borders:
        return {}
    olds = origins(found)
    known = set(_borders(source.shape.entries))
    owed: dict[int, Instruction] = {}
    for place in borders:
        if olds.get(place) in known and olds.get(place - 1, -2) + 1 == olds[place]:
            continue  # it was so when it was decoded
        instruction, before = found.instructions[place], found.instructions[place - 1]
        if before.opcode in CURRENT.adjacent and instruction.opcode in CURRENT.adjacent[before.opcode]:
            message = (
                f"expected {before.opname} and {instruction.opname}, which must stay together, in the same span, "
                "but found that one begins or ends between them"
            )
            raise AssembleError(message, instruction=instruction, index=place)
        owed[place] = Instruction("NOP", location=instruction.location, exn_tab_entry=instruction.exn_tab_entry)
    return owed


def _borders(entries: list[Entry]) -> list[int]:
    """Where the handler of instructions is another one than that of the instruction before."""
    found: list[int] = []
    end, handler = 0, None
    for entry in entries:
        if entry.first != end:
            if handler is not None:
                found.append(end)
            handler = None
        if entry[2:] != handler:
            found.append(entry.first)
        end, handler = entry.end, entry[2:]
    found.append(end)
    return found


def origins(found: BodyShape) -> dict[int, int]:
    """Place of each instruction that stands as it was decoded -> its place then."""
    return {place + index: old + index for place, old, length in found.parts if old >= 0 for index in range(length)}


def mend_yields(found: BodyShape, source: Source) -> BodyShape:
    """Set what RESUME and YIELD_VALUE say of the spans around them, where these are others than when it was decoded.

    RESUME may only say "one" where the one is the compiler's, which turns StopIteration into RuntimeError: close()
    takes a generator that stopped there for finished without running its handler. Not saying it is always right. Nor
    may YIELD_VALUE say 1 of another one: so it says 2.
    Follows Python/flowgraph.c, label_exception_targets, and Objects/genobject.c, gen_close.
    """
    if 1 not in _COUNTS_SPANS:
        return found
    shape = found.shape
    places = [
        place
        for place in compress(range(len(shape.opcodes)), shape.opcodes.translate(_COUNTS_SPANS))
        if shape.opcodes[place] == _YIELD or shape.args[place] & CURRENT.resume_one_span
    ]
    if not places:
        return found
    args, changed = shape.args.copy(), list[int]()
    handlers = {entry.first: entry.handler for entry in shape.entries}
    starts = list(handlers)
    olds: dict[int, int] | None = None
    before: list[tuple[int, bool]] = []
    for place in places:
        span, is_yield = found.instructions[place].exn_tab_entry, shape.opcodes[place] == _YIELD
        handler = handlers[starts[bisect_right(starts, place) - 1]] if span is not None else -1
        around = len(chain_of(span)), _turns_stop_iteration(shape, handler)
        spans = 2 if around == (1, False) else around[0]
        if args[place] == spans if is_yield else around == (1, True):
            continue
        if olds is None:
            olds, before = origins(found), _spans_before(source)
        if place not in olds or before[olds[place]] != around:  # else it says what it said when it was decoded
            changed.append(place)
            args[place] = spans if is_yield else args[place] & ~CURRENT.resume_one_span
    return found._replace(shape=shape._replace(args=args), mended=found.mended + changed) if changed else found


def _turns_stop_iteration(shape: Shape, handler: int) -> bool:
    """Whether a handler does nothing but turn StopIteration into RuntimeError: CALL_INTRINSIC_1 and RERAISE."""
    opcodes, args = shape.opcodes, shape.args
    return (
        0 <= handler < len(opcodes) - 1
        and opcodes[handler] == _INTRINSIC
        and args[handler] == _STOP_ITERATION
        and opcodes[handler + 1] == _RERAISE
    )


def _spans_before(source: Source) -> list[tuple[int, bool]]:
    """How many spans were around each instruction when it was decoded, and whether the innermost was the compiler's."""
    parents = region_parents(source.entries)
    found = [(0, False)] * len(source.opcodes)
    for (first, end, handler, *_), entry in zip(source.shape.entries, source.entries, strict=True):
        count, key = 1, parents[entry[2:]]
        while key is not None:
            count, key = count + 1, parents[key]
        turns = _turns_stop_iteration(source.shape, handler)
        found[first:end] = [(count, turns)] * (end - first)
    return found
