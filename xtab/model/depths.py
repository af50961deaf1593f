"""Depth of the value stack before each instruction, and the size that the stack must have.

1. Effects are added up along the code as if it ran straight on (`straight_heights`). The code is cut into segments at
   the instructions that never fall through (returns, raises, unconditional jumps). From the place where a segment is
   entered to its end, the depth differs from the height by a constant, the segment's *base*: so a segment costs a
   look-up, whatever its length.
2. `_walk` enters segments: the first at depth 0; others through jumps, with the jump's own effect, and as handlers:
   with the entry's depth, one more for lasti, one for the exception. A handler is entered once anything that it
   covers is reached.
3. A segment entered again with another base is an error, and so is a depth below zero.
4. The size is the greatest depth in what was reached.
5. Who only asks for the size gets it from `_size_in_order`, one pass from front to back, where every segment is entered
   from the code before it and all ways agree: what compilers write is mostly so. Else `_walk` has the word.

Generators need no rule of their own: RETURN_GENERATOR leaves one value on the new frame's stack. Follows
Python/flowgraph.c, calculate_stackdepth (3.11: Python/compile.c, stackdepth), except that handlers nobody can reach
don't count.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate, compress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from xtab.errors import StackError, instruction_words
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from xtab.model.flow import Shape

__all__ = ["LineOf", "Stack", "measure"]

LineOf: TypeAlias = "Callable[[int], int | None]"
"""The source line of an instruction that is given by its place."""


class Stack(NamedTuple):
    """What is known of a body's value stack."""

    depths: list[int | None]  #: before each instruction; None where it can't be reached
    size: int  #: slots that the instructions which can be reached need
    all_reached: bool  #: whether every instruction can be reached


def measure(
    shape: Shape, offsets: Sequence[int] | None = None, *, strict: bool = True, line_of: LineOf | None = None
) -> Stack:
    """Depths and size for a shape; `offsets`, in bytes, and `line_of` only serve the messages of errors.

    Not `strict`: what doesn't fit with what is known already is passed over.

    Raises:
        StackError: two ways meet with different depths, or a depth falls below zero.
    """
    walked = _walk(shape, _Words(shape, offsets, line_of), strict=strict)
    depths: list[int | None] = [None] * len(shape.opcodes)
    for segment, (first, base, _) in walked.entered.items():
        stop = walked.ends[segment]
        depths[first:stop] = [height + base for height in walked.heights[first:stop]]
    return Stack(depths, walked.size, None not in depths)


def measure_size(shape: Shape, line_of: LineOf | None = None) -> tuple[int, bool]:
    """Only the size, and whether every instruction can be reached: `measure` without the list."""
    size = _size_in_order(shape)
    if size is not None:
        return size, True
    walked = _walk(shape, _Words(shape, None, line_of), strict=True)
    ends = walked.ends
    reached = 0
    for segment, (first, _, _) in walked.entered.items():
        reached += ends[segment] - first
    return walked.size, reached == ends[-1]


class _Words(NamedTuple):
    """What errors say of instructions, which are given by their places."""

    shape: Shape
    offsets: Sequence[int] | None
    line_of: LineOf | None

    def _facts(self, index: int) -> tuple[str | None, int | None, int | None]:
        """The name, the line and the offset of an instruction."""
        line = None if self.line_of is None else self.line_of(index)
        offset = None if self.offsets is None else self.offsets[index]
        return CURRENT.name[self.shape.opcodes[index]], line, offset

    def at(self, index: int) -> str:
        return "the start" if index < 0 else instruction_words(index, *self._facts(index))

    def error(self, message: str, index: int) -> StackError:
        opname, line, offset = self._facts(index)
        return StackError(message, index=index, offset=offset, opname=opname, line=line)


class _Walked(NamedTuple):
    words: _Words
    heights: list[int]
    ends: list[int]  # of the segments: segment `s` is the instructions [ends[s - 1], ends[s])
    size: int  # the greatest depth
    entered: dict[int, tuple[int, int, int]]  # segment -> where it was entered first, base, instruction that led there


def _effects(shape: Shape) -> list[int]:
    """What each instruction changes the depth by, when it doesn't jump."""
    opcodes, args = shape.opcodes, shape.args
    rows, effects = CURRENT.effect_rows, array("b", opcodes.translate(CURRENT.fixed_effect)).tolist()
    varying = opcodes.translate(CURRENT.varying)
    try:
        for index in compress(range(len(args)), varying):
            effects[index] = rows[opcodes[index]][args[index]]
    except IndexError:  # an operand of 256 or more
        for index in compress(range(len(args)), varying):
            arg, opcode = args[index], opcodes[index]
            effects[index] = rows[opcode][arg] if arg < 256 else CURRENT.effect(opcode, arg)
    return effects


def straight_heights(shape: Shape) -> list[int]:
    """Depth before each instruction, and behind the last, if the code ran straight on from depth 0."""
    return [0, *accumulate(_effects(shape))]


def _size_in_order(shape: Shape) -> int | None:  # noqa: C901, PLR0911, PLR0912  # one loop, as in `_walk`
    """The size, if each segment is entered at its start from the code before it, and all ways agree; else None.

    Then all is reached: by induction, whatever leads to a segment's start was reached when the pass comes to it.
    """
    opcodes, _, _, targets, entries = shape
    heights = straight_heights(shape)
    size = len(opcodes)
    stops = opcodes.translate(CURRENT.stops)
    entered: dict[int, int] = {}  # where segments are entered -> depth there, less the height
    entered_again: dict[int, int] = {}  # the same, by handlers in front of what they handle
    for first, _, handler, kept, lasti in entries:
        if kept is None:
            return None
        base = kept + lasti + 1 - heights[handler]
        if (entered if handler > first else entered_again).setdefault(handler, base) != base:
            return None
    jump_effect, marks = CURRENT.jump_effect, CURRENT.marks
    greatest = CURRENT.least_stack_size
    start, base, stop = 0, 0, stops.find(1) + 1
    starts, bases = [], []  # of the segments that are done
    for jump, target in (*targets.items(), (size, 0)):
        while jump >= stop:  # the segment is done
            run = sorted(heights[start : stop + 1])
            if not stop or run[0] + base < 0:
                return None
            greatest = max(greatest, run[-1] + base)
            starts.append(start)
            bases.append(base)
            if stop == size:
                break
            if stop not in entered:
                return None
            start, base = stop, entered.pop(stop)
            stop = stops.find(1, start) + 1
        else:
            after = base + heights[jump + 1] - heights[target]
            if jump_effect and opcodes[jump] in jump_effect:
                after += heights[jump] + jump_effect[opcodes[jump]] - heights[jump + 1]
            if marks and opcodes[jump] in marks:
                continue
            if start <= target < stop:
                if after != base:
                    return None
            elif entered.setdefault(target, after) != after:
                return None
    for target, base in (*entered.items(), *entered_again.items()):
        if bases[bisect_right(starts, target) - 1] != base:
            return None
    return greatest


def _walk(shape: Shape, words: _Words, *, strict: bool) -> _Walked:  # noqa: C901, PLR0912
    """Enter whatever can be reached. One loop: calls for its parts would double the time."""
    opcodes, _, _, targets, entries = shape
    size = len(opcodes)
    heights = straight_heights(shape)
    ends = list(compress(range(1, size + 1), opcodes.translate(CURRENT.stops)))
    if not ends or ends[-1] != size:
        ends.append(size)
    jumps = [jump for jump in targets if opcodes[jump] not in CURRENT.marks] if CURRENT.marks else list(targets)
    entry_ends = [entry[1] for entry in entries]
    jump_effect = CURRENT.jump_effect
    greatest = CURRENT.least_stack_size
    entered: dict[int, tuple[int, int, int]] = {}
    seen = {0: 0}  # depths that were noted for entry
    todo = [(0, 0, -1)]
    while todo:
        index, depth, source = todo.pop()
        segment = bisect_right(ends, index)
        stop = ends[segment]
        base = depth - heights[index]
        if segment in entered:
            known = entered[segment]
            if known[1] != base:
                if not strict:
                    continue
                raise _conflict(_Walked(words, heights, ends, 0, entered), known, index, depth, source)
            if known[0] <= index:
                continue
            stop, source = known[0], known[2]  # the rest was walked before
        entered[segment] = index, base, source
        run = sorted(heights[index : stop + 1])
        if run[0] + base < 0 and strict:
            raise _underflow(_Walked(words, heights, ends, 0, entered), index, base)
        greatest = max(greatest, run[-1] + base)
        for jump in jumps[bisect_left(jumps, index) : bisect_left(jumps, stop)]:
            target = targets[jump]
            if jump_effect and opcodes[jump] in jump_effect:
                depth = base + heights[jump] + jump_effect[opcodes[jump]]
            else:
                depth = base + heights[jump + 1]
            if index <= target < stop and base + heights[target] == depth:
                continue  # right here, and as deep as it must be
            if target not in seen or seen[target] != depth:
                seen[target] = depth
                todo.append((target, depth, jump))
        place = bisect_right(entry_ends, index) if entries else 0
        while place < len(entries) and entries[place][0] < stop:
            first, _, handler, kept, lasti = entries[place]
            place += 1
            if kept is not None and seen.get(handler) != (depth := kept + lasti + 1):
                seen[handler] = depth
                todo.append((handler, depth, max(first, index)))
    return _Walked(words, heights, ends, greatest, entered)


def _conflict(walked: _Walked, known: tuple[int, int, int], index: int, depth: int, source: int) -> StackError:
    first, base, known_source = known
    heights, words = walked.heights, walked.words
    if index < first:  # the new way runs into the known one there
        depth += heights[first] - heights[index]
        index = first
    elif index > first:
        known_source = index - 1
    message = (
        f"expected depth {heights[index] + base}, as from {words.at(known_source)}, "
        f"but found {depth} from {words.at(source)}"
    )
    return words.error(message, index)


def _underflow(walked: _Walked, first: int, base: int) -> StackError:
    heights, words = walked.heights, walked.words
    index = next(i for i in range(first, len(heights)) if heights[i + 1] + base < 0)
    name = CURRENT.name[words.shape.opcodes[index]]
    need = heights[index] - heights[index + 1]
    message = f"expected {need} values or more on the stack for {name}, but found {heights[index] + base}"
    return words.error(message, index)
