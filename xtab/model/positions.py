"""`location_table`: co_linetable for a body that was laid out.

Pieces of the table that a body was decoded from go back as they are while they follow one another as they did; the rest is
encoded anew. From 3.12 on neighbours with the same location share an entry; 3.11 writes one for each instruction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.format.locations import encode_location
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xtab.format.locations import Location
    from xtab.model.instruction import Instruction
    from xtab.model.layout import LaidOut
    from xtab.model.slices import LocationSlices

__all__ = ["location_table"]


def location_table(laid_out: LaidOut, slices: LocationSlices, first_line: int) -> bytes:
    """The bytes of the table for `laid_out`, whose untouched instructions refer to pieces of `slices`.

    1. Where the writer is in step with the pieces, the stretch that is as it was is skipped as a whole (`_unchanged`).
    2. Then comes a run with one location that is new, resized or moved: it is encoded, or its piece taken if the line fits.
    3. And so on to the end. What was skipped is copied in one go.
    """
    instructions, sizes = laid_out.instructions, laid_out.sizes
    where: list[int | Location | None] = [instruction._location for instruction in instructions]
    if laid_out.foreign:
        where = [_own(instruction, slices) for instruction in instructions]
    writer = _Writer(slices, first_line)
    merges, size = CURRENT.merges_locations, len(where)
    place = 0
    while place < size:
        if writer.next_piece == where[place] and writer.in_step:
            skipped = _unchanged(where, sizes, place, slices)
            if skipped:
                place += skipped
                last = slices.first_instruction(writer.next_piece) + skipped
                writer.next_piece = slices.numbers[last] if last < len(slices.numbers) else slices.count
                continue
        end = place + 1
        while merges and end < size and where[end] == where[place]:
            end += 1
        writer.write(where[place], sum(sizes[place:end]))
        place = end
    return writer.finish()


def _own(instruction: Instruction, slices: LocationSlices) -> int | Location | None:
    """A number that refers to another body's pieces becomes the location it stands for."""
    if instruction._source is not None and instruction._source.locations is not slices:
        return instruction.location
    return instruction._location


def _unchanged(where: list[int | Location | None], sizes: bytearray, place: int, slices: LocationSlices) -> int:
    """How many instructions from `place` on have the pieces and sizes that they had, up to the end of a piece."""
    numbers, old_sizes = slices.numbers, slices.sizes
    old = slices.first_instruction(where[place])  # type: ignore[arg-type]
    shift = old - place
    limit = min(len(where), len(numbers) - shift)
    end, step = place, 16
    while step and end < limit:  # ever larger steps, then ever smaller ones: the time is that of the stretch found
        stop = min(end + step, limit)
        if where[end:stop] == numbers[end + shift : stop + shift] and sizes[end:stop] == old_sizes[end + shift : stop + shift]:
            end = stop
            step *= 2
        else:
            limit = stop - 1
            step = min(step, limit - end + 1) // 2
    if end < len(where) or end + shift < len(numbers):
        while end > place and _inside_piece(where, end) | _inside_piece(numbers, end + shift):
            end -= 1
    return end - place


def _inside_piece(numbers: Sequence[object], index: int) -> bool:
    return index < len(numbers) and numbers[index] == numbers[index - 1]


class _Writer:
    """Writes runs of code units with their locations, and keeps the line that the next delta starts from."""

    def __init__(self, slices: LocationSlices, first_line: int) -> None:
        self._slices = slices
        self._out: list[bytes] = []
        self._begin = 0  # the first of the pieces that wait to be copied
        self.next_piece = 0  # the one behind those that wait
        # whether the line so far is the one that `next_piece` starts from; if not, it is _line
        self.in_step = first_line == slices.first_line
        self._line = first_line

    def write(self, place: int | Location | None, units: int) -> None:
        """Write a run of `units` code units at `place`: the number of a piece, a location, or None."""
        slices = self._slices
        if place is None:  # leaves the line as it is
            self._copy()
            self._out.append(encode_location(units, None, 0))
            return
        line = slices.line_before(self.next_piece) if self.in_step else self._line
        if isinstance(place, int):
            if slices.line_before(place) == line and slices.units(place) == units:
                if place != self.next_piece or not self.in_step:
                    self._copy()
                    self._begin, self.in_step = place, True
                self.next_piece = place + 1
                return
            location = slices.location(place)
        else:
            location = place
        self._copy()
        self._out.append(encode_location(units, location, line))
        self.in_step = False
        self._line = line if location is None or location.line is None else location.line

    def _copy(self) -> None:
        if self._begin < self.next_piece:
            self._out.append(self._slices.bytes_of(self._begin, self.next_piece))
            self._begin = self.next_piece

    def finish(self) -> bytes:
        """The bytes of the table."""
        self._copy()
        return b"".join(self._out)
