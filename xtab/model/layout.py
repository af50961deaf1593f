"""`lay_out`: which way each jump goes, how long each instruction is, and where it lies.

1. Directions: a jump whose target lies the other way takes the opcode for that way. A conditional jump that can only go
   forward is reversed, and jumps over a JUMP_BACKWARD that is put behind it (`_expand`).
2. Sizes: jumps begin with as many prefixes as they had, and get more until every distance fits. Then those that hold a
   prefix they no longer need lose it; distances only fall then, so this ends too.

Where every stretch of instructions keeps its sizes, only the distances of jumps between stretches are new: while they
fit with the prefixes that there are, that is all (`_settle_loose`).

The compiler's own result is a fixed point of this, even where another with shorter jumps exists.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, compress
from typing import TYPE_CHECKING, NamedTuple

from xtab.errors import AssembleError
from xtab.format.opcodes import CURRENT
from xtab.format.units import prefixes_for
from xtab.model.flow import Shape
from xtab.model.instruction import Instruction
from xtab.model.shape import BodyShape

if TYPE_CHECKING:
    from xtab.model.parts import Part

__all__ = ["LaidOut", "lay_out"]


class LaidOut(NamedTuple):
    """A body with every number settled. `starts` are in code units, one more than there are instructions."""

    shape: Shape
    instructions: list[Instruction]
    parts: list[Part]  #: which of them are as they were decoded
    starts: list[int]
    sizes: bytearray  #: code units of each instruction, prefixes and caches included
    prefixes: dict[int, int]  #: index -> how many EXTENDED_ARG stand in front
    loose: list[int]  #: the jumps whose opcode, distance or prefixes may be others than the source has
    mended: list[int]  #: other instructions of stretches that mending has changed, in their bytes but not in size
    plain: bool  #: whether the other instructions of stretches are as they were, byte for byte, and in order
    resized: bool  #: whether instructions of stretches may have another size now, and jumps among them other bytes


def lay_out(found: BodyShape) -> LaidOut:
    """Directions, sizes and places of all instructions of a body.

    Raises:
        AssembleError: a jump must go a way for which this version has no opcode.
    """
    opcodes, to_expand = _directions(found)
    if to_expand:
        found = _expand(found, opcodes, to_expand)
        opcodes = found.shape.opcodes
    (_, args, wide, targets, entries), instructions, parts, kept, loose, mended, plain, _ = found
    plain = plain and opcodes is found.shape.opcodes  # a jump the other way may have another size
    sizes = bytearray(opcodes.translate(CURRENT.units))
    prefixes = dict(kept)
    if wide:
        for index in compress(range(len(args)), map((0xFF).__lt__, args)):
            prefixes[index] = max(prefixes_for(args[index]), kept.get(index, 0))
    for index, count in prefixes.items():
        sizes[index] += count
    starts = list(accumulate(sizes, initial=0))
    resized = not plain
    if targets:
        args = args.copy()
        if not (plain and _settle_loose(found, args, starts, prefixes)):
            starts = _settle(found, opcodes, args, sizes, starts, prefixes)
            resized = True
    shape = Shape(opcodes, args, wide or bool(prefixes), targets, entries)
    return LaidOut(shape, instructions, parts, starts, sizes, prefixes, loose, mended, plain, resized)


def _settle_loose(found: BodyShape, args: list[int], starts: list[int], prefixes: dict[int, int]) -> bool:
    """Give the jumps between stretches their distance, in `args`; False if the prefixes of one of them must change.

    Those inside a stretch have theirs already.
    """
    targets, kept = found.shape.targets, found.prefixes
    for index in found.loose:
        distance = starts[targets[index]] - starts[index + 1]
        args[index] = distance = abs(distance)
        if distance > 0xFF or index in prefixes:
            need = max(prefixes_for(distance), kept.get(index, 0))
            if need != prefixes.get(index, 0):
                return False
    return True


def _settle(
    found: BodyShape,
    opcodes: bytes,
    args: list[int],
    sizes: bytearray,
    starts: list[int],
    prefixes: dict[int, int],
) -> list[int]:
    """Give each jump its distance and prefixes, in `args`, `sizes` and `prefixes`; returns the starts then.

    Passes go forward and backward in turn, and count what changed in the same pass: so jumps that each make the next
    one longer, as those of a long chain do, cost two passes and not one each.
    """
    kept = found.prefixes
    jumps = list(found.shape.targets.items())
    grow = changed = True
    way = 1
    while changed or (grow and prefixes):
        grow = grow and changed  # once nothing grows any more, prefixes that are not needed go
        changed = False
        moved: list[int] = []  # places of the units that came or went in this pass, times `way`, in order
        for index, target in jumps:
            distance = starts[target] - starts[index + 1]
            if distance < 0:
                distance = -distance
            if moved and (target <= index) == (way > 0):  # those between the two were seen already
                between = len(moved) - (bisect_left(moved, target) if way > 0 else bisect_right(moved, -target))
                distance += between if grow else -between
            args[index] = distance
            if distance < 0x100 and index not in prefixes:
                continue
            need, have = max(prefixes_for(distance), kept.get(index, 0)), prefixes.get(index, 0)
            if need > have if grow else need < have:
                changed = True
                moved += [way * index] * abs(need - have)
                sizes[index] = CURRENT.units[opcodes[index]] + need
                prefixes[index] = need
        if changed:
            starts = list(accumulate(sizes, initial=0))
            jumps.reverse()
            way = -way
    for index in [index for index, count in prefixes.items() if not count]:
        del prefixes[index]
    return starts


def _directions(found: BodyShape) -> tuple[bytes, list[int]]:
    """The opcodes, with those of jumps as the places of their targets ask; and the jumps that must be expanded."""
    opcodes, targets = found.shape.opcodes, found.shape.targets
    turned: bytearray | None = None
    to_expand: list[int] = []
    distance = opcodes.translate(CURRENT.distance)
    for index in found.loose:
        target = targets[index]
        backward = target <= index
        if distance[index] == 1 + backward:
            continue
        opcode = opcodes[index]
        forms = CURRENT.backward_form if backward else CURRENT.forward_form
        if opcode in forms:
            turned = turned or bytearray(opcodes)
            turned[index] = forms[opcode]
        elif backward and opcode in CURRENT.reversed:
            to_expand.append(index)
        else:
            way, other = ("back", "forward") if backward else ("forward", "back")
            message = (
                f"expected {CURRENT.name[opcode]} to lead {other}, but found its target at {target}, further {way}"
            )
            raise AssembleError(message, instruction=found.instructions[index], index=index)
    return bytes(turned) if turned else opcodes, to_expand


def _expand(found: BodyShape, opcodes: bytes, to_expand: list[int]) -> BodyShape:
    """Put a JUMP_BACKWARD behind each conditional jump that must go back, and let the reversed jump lead over it.

    From 3.14 on a branch wants a NOT_TAKEN behind it: the one it has serves, unless something else jumps there.

    Raises:
        AssembleError: there is nothing behind it.
    """
    (_, args, wide, targets, entries), instructions, parts, kept, *_ = found
    jump, not_taken = CURRENT.number["JUMP_BACKWARD"], CURRENT.number.get("NOT_TAKEN")
    taken = {*targets.values(), *(entry.handler for entry in entries)}
    new_opcodes, new_args, new_instructions = bytearray(), list[int](), list[Instruction]()
    moved: list[int] = []  # old index -> new index
    links: list[tuple[int, int]] = []  # of the new instructions: jump (new index), target (old index)
    pending: dict[int, int] = {}  # old index behind which a JUMP_BACKWARD comes -> the branch
    expanding = set(to_expand)
    over: dict[int, int] = {}  # branch (old index) -> old index that it now leads to

    def add(instruction: Instruction, opcode: int, arg: int) -> None:
        new_instructions.append(instruction)
        new_opcodes.append(opcode)
        new_args.append(arg)

    for old, instruction in enumerate(instructions):
        moved.append(len(new_instructions))
        branch = old in expanding
        add(instruction, CURRENT.reversed[opcodes[old]] if branch else opcodes[old], 0 if branch else args[old])
        if branch:
            serves = old + 1 < len(opcodes) and opcodes[old + 1] == not_taken and old + 1 not in taken
            if not_taken is not None and not serves:
                add(_beside(instruction, not_taken), not_taken, 0)
            pending[old + serves] = old
        if old in pending:
            origin = pending[old]
            if old + 1 == len(instructions):
                name = CURRENT.name[opcodes[origin]]
                message = f"expected an instruction for {name} to lead on to if it doesn't jump back, but found the end"
                raise AssembleError(message, instruction=instructions[origin], index=origin)
            over[origin] = old + 1
            links.append((len(new_instructions), targets[origin]))
            add(_beside(instructions[origin], jump), jump, 0)
    moved.append(len(new_instructions))
    new_targets = {moved[index]: moved[over.get(index, target)] for index, target in targets.items()}
    new_targets.update((index, moved[target]) for index, target in links)
    new_regions = [
        entry._replace(first=moved[entry.first], end=moved[entry.end], handler=moved[entry.handler])
        for entry in entries
    ]
    targets = dict(sorted(new_targets.items()))
    shape = Shape(bytes(new_opcodes), new_args, wide, targets, new_regions)
    olds = {place + index: old + index for place, old, length in parts if old >= 0 for index in range(length)}
    stories = {new: olds[index] for index, new in enumerate(moved) if index in olds}
    new_parts = [(place, stories.get(place, -1), 1) for place in range(len(new_instructions))]
    prefixes = {moved[index]: count for index, count in kept.items()}
    return BodyShape(shape, new_instructions, new_parts, prefixes, [*targets], [], plain=False, spans_kept=False)


def _beside(anchor: Instruction, opcode: int) -> Instruction:
    """A new instruction at the anchor's place in the source text."""
    return Instruction(opcode, location=anchor.location)
