"""What assembly puts right by itself after an edit, since no reader of bytecode would think of it.

1. `owed_nops`: from 3.13 on, an exception out of a Python function that an instruction called is looked up in the unit
   *before* that instruction. Where the innermost span changes right there, a NOP with the instruction's own span is put
   in front.
2. `mend_yields`: the operands of RESUME and YIELD_VALUE that say how many spans are around them.
3. `unborrow`, in `borrows`.

Nothing is done to code that stands as it was decoded.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from xtab.errors import AssembleError
from xtab.format.opcodes import CURRENT
from xtab.model.instruction import Instruction
from xtab.model.nesting import region_parents

if TYPE_CHECKING:
    from xtab.model.flow import Region
    from xtab.model.instruction import Span
    from xtab.model.shape import BodyShape
    from xtab.model.source import Source

__all__ = ["mend_yields", "owed_nops"]

_RESUME, _YIELD = CURRENT.number["RESUME"], CURRENT.number["YIELD_VALUE"]
_COUNTS_SPANS = bytes(
    (op == _RESUME and bool(CURRENT.resume_one_span)) or (op == _YIELD and CURRENT.yield_counts_spans)
    for op in range(256)
)


def owed_nops(found: BodyShape, source: Source) -> dict[int, Instruction]:
    """The NOPs that are owed, by the place of the instruction that they go before."""
    if not CURRENT.looks_up_unit_before or not found.shape.regions:
        return {}
    opcodes = found.shape.opcodes
    borders = [
        place
        for place in _borders(found.shape.regions)
        if 0 < place < len(opcodes) and CURRENT.runs_python[opcodes[place]]
    ]
    if not borders:
        return {}
    olds = origins(found)
    known = set(_borders(source.shape.regions))
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


def _borders(regions: list[Region]) -> list[int]:
    """Where the handler of instructions is another one than that of the instruction before."""
    found: list[int] = []
    end, handler = 0, None
    for region in regions:
        if region.first != end:
            if handler is not None:
                found.append(end)
            handler = None
        if region[2:] != handler:
            found.append(region.first)
        end, handler = region.end, region[2:]
    found.append(end)
    return found


def origins(found: BodyShape) -> dict[int, int]:
    """Place of each instruction that stands as it was decoded -> its place then."""
    return {place + index: old + index for place, old, length in found.parts if old >= 0 for index in range(length)}


def mend_yields(found: BodyShape, source: Source) -> BodyShape:
    """Set what RESUME and YIELD_VALUE say of the spans around them, where these are others than when it was decoded.

    RESUME may only say "one" where there is one: close() takes a generator that stopped there for finished without
    running a handler. Not saying it is always right. Follows Python/flowgraph.c, label_exception_targets.
    """
    shape = found.shape
    places = [
        place
        for place in compress(range(len(shape.opcodes)), shape.opcodes.translate(_COUNTS_SPANS))
        if shape.opcodes[place] == _YIELD or shape.args[place] & CURRENT.resume_one_span
    ]
    if not places:
        return found
    args, changed = shape.args.copy(), False
    before: list[int] | None = None
    olds = {}
    for place in places:
        count = _count(found.instructions[place].exn_tab_entry)
        said = args[place] if shape.opcodes[place] == _YIELD else 1
        if count == said:
            continue
        if before is None:
            before, olds = _counts_before(source), origins(found)
        if place in olds and before[olds[place]] == count:
            continue  # it said so when it was decoded
        args[place] = count if shape.opcodes[place] == _YIELD else args[place] & ~CURRENT.resume_one_span
        changed = True
    return found._replace(shape=shape._replace(args=args), plain=False) if changed else found


def _count(span: Span | None) -> int:
    count = 0
    while span is not None:
        count += 1
        span = span.outer
    return count


def _counts_before(source: Source) -> list[int]:
    """How many spans were around each instruction when it was decoded."""
    parents = region_parents(source.entries)
    counts = [0] * len(source.opcodes)
    for region, entry in zip(source.shape.regions, source.entries, strict=True):
        count, key = 1, parents[entry[2:]]
        while key is not None:
            count, key = count + 1, parents[key]
        counts[region.first : region.end] = [count] * (region.end - region.first)
    return counts
