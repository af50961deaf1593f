"""`unborrow`: loads that count no reference get one where an edit may have ended the compiler's proof.

A LOAD_FAST_BORROW is only safe while nothing can drop the local before the value is consumed. The compiler proved that
for the instructions as they stood; so the proof holds while those from the load to the consumer stand as they did, NOPs
between them apart, with the handlers that they had, and nothing new jumps in between:

1. The instructions are cut into runs that stand as they did (`_run_ends`).
2. In a run, a borrowed value is consumed where the depth falls below its own, by an instruction that doesn't hand it
   on. A SWAP or COPY that reaches it may move it deeper: then it counts as alive to the end of its block.
3. A load whose value is alive where a run ends becomes the form that counts.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import compress
from typing import TYPE_CHECKING

from xtab.format.opcodes import CURRENT
from xtab.model.depths import straight_heights
from xtab.model.instruction import Fields

if TYPE_CHECKING:
    from xtab.model.parts import Part
    from xtab.model.shape import BodyShape
    from xtab.model.source import Source

__all__ = ["unborrow"]

_BORROWS = bytes(op in CURRENT.borrows for op in range(256))
_SHUFFLES = frozenset({CURRENT.number["SWAP"], CURRENT.number["COPY"]})
_IS_SHUFFLE = bytes(op in _SHUFFLES for op in range(256))


def unborrow(found: BodyShape, source: Source) -> BodyShape:
    """The same body with counting loads where the others may not be safe any more."""
    shape = found.shape
    loads = list(compress(range(len(shape.opcodes)), shape.opcodes.translate(_BORROWS)))
    if not loads:
        return found
    stretches = _stretches(found, source)
    if _as_decoded(stretches, len(source.opcodes)):
        return found
    cuts = _run_ends(found, source, stretches)
    heights = straight_heights(shape)
    shuffles = list(compress(range(len(shape.opcodes)), shape.opcodes.translate(_IS_SHUFFLE)))
    unsafe = []
    for load in loads:
        end = cuts[bisect_right(cuts, load)]
        # a stack that is no higher there than before the load no longer holds the value, if nothing moved it down
        gone = heights[end] <= heights[load] and bisect_right(shuffles, load) == bisect_right(shuffles, end)
        if not gone and not _consumed(found, load, end):
            unsafe.append(load)
    if not unsafe:
        return found
    opcodes = bytearray(shape.opcodes)
    for load in unsafe:
        opcodes[load] = CURRENT.borrows[opcodes[load]]
    return found._replace(shape=shape._replace(opcodes=bytes(opcodes)), plain=False)


def _stretches(found: BodyShape, source: Source) -> list[Part]:
    """The parts of the body as far as they matter here.

    Instructions that were touched but say what they said belong to a stretch; NOPs are left out.
    """
    opcodes, args = found.shape.opcodes, found.shape.args
    stretches: list[Part] = []
    for place, decoded, length in found.parts:
        old = decoded
        if old < 0:
            at = found.instructions[place]._at
            if isinstance(at, Fields) and at.place >= 0 and found.instructions[place]._source is source:
                same = opcodes[place] == source.opcodes[at.place] and args[place] == source.args[at.place]
                old = at.place if same else -1  # a jump that was given a target has lost its distance
            elif length == 1 and opcodes[place] == CURRENT.nop:
                continue
        stretches.append((place, old, length))
    return stretches


def _as_decoded(stretches: list[Part], count: int) -> bool:
    """Whether all that was decoded stands in its order, and nothing else."""
    behind = 0
    for _, old, length in stretches:
        if old != behind:
            return False
        behind += length
    return behind == count


def _run_ends(found: BodyShape, source: Source, stretches: list[Part]) -> list[int]:
    """Where runs end, in order, NOPs between their parts included; the last one at the end of all."""
    size = len(found.shape.opcodes)
    cuts = {size}
    origins = [-1] * size
    behind = -1  # the decoded instruction that would go on with the run
    for place, old, length in stretches:
        if old < 0 or old != behind:
            cuts.add(place)
        if old >= 0:
            origins[place : place + length] = range(old, old + length)
        behind = old + length if old >= 0 else -1
    cuts.update(_respanned(found, source, origins))
    known = set(source.targets.values()) | {region.handler for region in source.shape.regions}
    for target in {*found.shape.targets.values(), *(region.handler for region in found.shape.regions)}:
        if origins[target] not in known:
            cuts.add(target)
    return sorted(cuts)


def _respanned(found: BodyShape, source: Source, origins: list[int]) -> list[int]:
    """The instructions that have another handler than when they were decoded, one that keeps values of the stack.

    What is kept outlives its block then, in code that the compiler has not seen.
    """
    before: dict[int, tuple[int, int | None, bool]] = {}
    for region in source.shape.regions:
        before.update(dict.fromkeys(range(region.first, region.end), region[2:]))
    return [
        place
        for first, end, handler, depth, lasti in found.shape.regions
        if depth
        for place in range(first, end)
        if origins[place] >= 0 and before.get(origins[place]) != (origins[handler], depth, lasti)
    ]


def _consumed(found: BodyShape, load: int, end: int) -> bool:
    """Whether what a load borrows is consumed before the run ends, as the compiler meant it to be."""
    opcodes, args = found.shape.opcodes, found.shape.args
    depth = CURRENT.effect(opcodes[load], args[load])  # counted from before the load
    moved = False
    for place in range(load + 1, end):
        opcode, arg = opcodes[place], args[place]
        if CURRENT.stops[opcode] or place in found.shape.targets:
            return True  # the block ends, and the compiler lets nothing borrowed live on then
        if opcode in _SHUFFLES:
            moved = moved or depth - arg <= 1
        after = depth + CURRENT.effect(opcode, arg)
        hands_on = CURRENT.hands_on[opcode]
        if hands_on == 1 or (hands_on and arg & 1):
            left = min(after, depth)
        else:
            left = min(after, depth - CURRENT.pops(opcode, arg))
        if not moved and left <= 0:
            return True
        depth = after
    return False
