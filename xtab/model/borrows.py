"""`unborrow`: loads that count no reference get one where an edit may have ended the compiler's proof.

A LOAD_FAST_BORROW is only safe while nothing can drop the local before the value is consumed. The compiler proved that
for the instructions as they stood; so the proof holds while those from the load to the consumer stand as they did, NOPs
between them apart, with the handlers that they had, and nothing new jumps in between:

1. The instructions are cut into runs that stand as they did (`_cuts`).
2. One pass keeps which load each value on the stack comes from (`_alive_at`): through SWAP and COPY, and through the
   instructions that hand on what they took. At the end of a block nothing borrowed is left: the compiler sees to that.
3. A load whose value is alive where a run ends becomes the form that counts.

Linear. Follows Python/flowgraph.c, optimize_load_fast.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from xtab.format.opcodes import CURRENT
from xtab.model.instruction import Fields

if TYPE_CHECKING:
    from xtab.model.parts import Part
    from xtab.model.shape import BodyShape
    from xtab.model.source import Source

__all__ = ["unborrow"]

_BORROWS = bytes(op in CURRENT.borrows for op in range(256))
_COPY = CURRENT.number["COPY"]
_SHUFFLES = frozenset({CURRENT.number["SWAP"], _COPY})


def unborrow(found: BodyShape, source: Source) -> BodyShape:
    """The same body with counting loads where the others may not be safe any more."""
    shape = found.shape
    loads = list(compress(range(len(shape.opcodes)), shape.opcodes.translate(_BORROWS)))
    if not loads:
        return found
    stretches = _stretches(found, source)
    if _as_decoded(stretches, len(source.opcodes)):
        return found
    unsafe = _alive_at(_cuts(found, source, stretches), found).intersection(loads)
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


def _cuts(found: BodyShape, source: Source, stretches: list[Part]) -> set[int]:
    """Where the next run begins, NOPs between the parts of one included; and the end."""
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
    return cuts


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


def _alive_at(cuts: set[int], found: BodyShape) -> set[int]:
    """The loads whose value may be on the stack still where a run ends. -1 stands for all other values."""
    opcodes, args, _, targets, _ = found.shape
    alive: set[int] = set()
    stack: list[int] = []  # for each value the load that borrowed it; what lies below it is borrowed nowhere in sight
    for place, (opcode, arg) in enumerate(zip(opcodes, args, strict=True)):
        if stack and place in cuts:
            alive.update(stack)
            stack.clear()
        if opcode in CURRENT.borrows:
            stack += [place] * CURRENT.effect(opcode, arg)
        elif opcode in _SHUFFLES:
            stack[:0] = [-1] * (arg - len(stack))
            if opcode == _COPY:
                stack.append(stack[-arg])
            else:
                stack[-arg], stack[-1] = stack[-1], stack[-arg]
        elif stack:
            _move(stack, opcode, arg)
        if CURRENT.stops[opcode] or place in targets:
            stack.clear()  # the block ends, and the compiler lets nothing borrowed live on then
    return alive.union(stack)


def _move(stack: list[int], opcode: int, arg: int) -> None:
    """Take from the stack what an instruction takes, and put there what it puts."""
    effect = CURRENT.effect(opcode, arg)
    taken = CURRENT.taken(opcode, arg)
    top = stack[-1]
    if taken:
        del stack[-taken:]
    hands_on = CURRENT.hands_on[opcode]
    handed = top if taken and (hands_on == 1 or (hands_on and arg & 1)) else -1
    stack += [handed] * (effect + taken)
