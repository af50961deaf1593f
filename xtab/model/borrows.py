"""`unborrow`: loads that count no reference get one where an edit may have ended the compiler's proof.

A LOAD_FAST_BORROW is only safe while nothing can drop the local before the value is consumed. The compiler proved that
for the instructions as they stood; so the proof holds while those from the load to the consumer stand as they did, NOPs
between them apart, with the handlers that they had, and nothing new jumps in between:

1. The instructions are cut into runs that stand as they did (`_cuts`).
2. Runs at whose end the stack is not higher than it ever was in them have left nothing there (`_alive_at`). In others
   one pass keeps which load each value on the stack comes from (`_alive_behind`): through SWAP and COPY, and through
   instructions that hand on what they took. At the end of a block nothing borrowed is left: the compiler sees to that.
3. A load whose value is alive where a run ends becomes the form that counts.

Linear. Follows Python/flowgraph.c, optimize_load_fast.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
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
_COPY = CURRENT.number["COPY"]
_SWAP = CURRENT.number["SWAP"]
_SHUFFLES = frozenset({_SWAP, _COPY})
#: 1 for what may put a value that was borrowed below where it was: what hands on one of several that it takes
_MOVES_DOWN = bytes(
    op == _SWAP or (CURRENT.hands_on[op] > 0 and max(CURRENT.taken(op, 0), CURRENT.taken(op, 1)) > 1)
    for op in range(256)
)


def unborrow(found: BodyShape, source: Source) -> BodyShape:
    """The same body with counting loads where the others may not be safe any more."""
    shape = found.shape
    if not CURRENT.borrows or 1 not in shape.opcodes.translate(_BORROWS):
        return found
    unsafe = [place for place in _alive_at(_cuts(found, source), found) if shape.opcodes[place] in CURRENT.borrows]
    if not unsafe:
        return found
    opcodes = bytearray(shape.opcodes)
    for load in unsafe:
        opcodes[load] = CURRENT.borrows[opcodes[load]]
    return found._replace(shape=shape._replace(opcodes=bytes(opcodes)), mended=[*found.mended, *unsafe])


def _cuts(found: BodyShape, source: Source) -> set[int]:
    """Where the next run begins, NOPs between the parts of one included; and the end, if it is another one.

    Instructions that were touched but say what they said belong to a run.
    """
    (opcodes, args, _, targets, entries), instructions = found.shape, found.instructions
    cuts: set[int] = set()
    parts: list[Part] = []  # as far as they matter here
    behind = 0  # the decoded instruction that would go on with the run
    for place, decoded, length in found.parts:
        old = decoded
        if old < 0 and length == 1:
            at = instructions[place]._at
            if isinstance(at, Fields) and at.place >= 0 and instructions[place]._source is source:
                same = opcodes[place] == source.opcodes[at.place] and args[place] == source.args[at.place]
                old = at.place if same else -1  # a jump that was given a target has lost its distance
            elif opcodes[place] == CURRENT.nop:
                continue
        parts.append((place, old, length))
        if old < 0 or old != behind:
            cuts.add(place)
        behind = old + length if old >= 0 else -1
    if behind != len(source.opcodes):
        cuts.add(len(opcodes))
    if found.spans_kept and not found.loose:
        return cuts
    led_to = {targets[jump] for jump in found.loose}
    if not found.spans_kept:
        cuts.update(_respanned(found, source, parts))
        led_to.update([entry[2] for entry in entries])
    known = set(source.targets.values()).union([entry[2] for entry in source.shape.entries])
    cuts.update([target for target in led_to - cuts if _origin(target, parts) not in known])
    return cuts


def _origin(place: int, parts: list[Part]) -> int:
    """Where an instruction stood when it was decoded; -1 if it was not, or says something else now."""
    number = bisect_right(parts, (place + 1,)) - 1
    first, old, length = parts[number] if number >= 0 else (0, -1, 0)
    return old + place - first if old >= 0 and place < first + length else -1


def _respanned(found: BodyShape, source: Source, parts: list[Part]) -> list[int]:
    """The instructions that have another handler than when they were decoded, one that keeps values of the stack.

    What is kept outlives its block then, in code that the compiler has not seen.
    """
    keeping = [entry for entry in found.shape.entries if entry[3]]
    if not keeping:
        return []
    before: dict[int, tuple[int, int | None, bool]] = {}
    for entry in source.shape.entries:
        before.update(dict.fromkeys(range(entry.first, entry.end), entry[2:]))
    origins = [-1] * len(found.shape.opcodes)
    for place, old, length in parts:
        if old >= 0:
            origins[place : place + length] = range(old, old + length)
    return [
        place
        for first, end, handler, depth, lasti in keeping
        for place in range(first, end)
        if origins[place] >= 0 and before.get(origins[place]) != (origins[handler], depth, lasti)
    ]


def _alive_at(cuts: set[int], found: BodyShape) -> set[int]:
    """The loads whose value may be on the stack still where a run ends.

    Values stay in the slot where they were put, unless an instruction moves them down. So where none does, and the
    stack is nowhere in a run lower than at its end, nothing that the run has put there is left: mostly so.
    """
    if not cuts:
        return set()
    opcodes, heights = found.shape.opcodes, straight_heights(found.shape)
    loads, moves = opcodes.translate(_BORROWS), opcodes.translate(_MOVES_DOWN)
    alive: set[int] = set()
    for begin, end in pairwise(sorted({0, *cuts})):
        if loads.find(1, begin, end) < 0:
            continue
        if heights[end] > min(heights[begin:end]) or moves.find(1, begin, end) >= 0:
            alive.update(_alive_behind(begin, end, found))
    return alive


def _alive_behind(begin: int, end: int, found: BodyShape) -> list[int]:
    """The loads in [begin, end) whose value may be on the stack still behind them. -1 stands for all other values."""
    opcodes, args, _, targets, _ = found.shape
    stack: list[int] = []  # for each value the load that borrowed it; what lies below it is borrowed nowhere in sight
    for place in range(begin, end):
        opcode, arg = opcodes[place], args[place]
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
    return stack


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
