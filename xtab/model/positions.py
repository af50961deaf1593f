"""`location_table`: co_linetable for a body that was laid out.

1. Where instructions without a location were put between others and nothing else was done, the table is cut there, and
   entries that say "no location" come in between (`_spliced`).
2. Otherwise `_Writer` writes it: stretches of instructions that are as they were take over the entries of the table
   that they were decoded from, as bytes; what is new, resized or cut in the middle is encoded.

From 3.12 on neighbours with the same location share an entry; 3.11 writes one for each instruction.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from xtab.format.locations import encode_location
from xtab.format.opcodes import CURRENT
from xtab.model.instruction import Fields

if TYPE_CHECKING:
    from xtab.format.locations import Location
    from xtab.model.layout import LaidOut
    from xtab.model.slices import LocationSlices
    from xtab.model.source import Source

__all__ = ["location_table"]

_NO_LOCATION = 31  # the first byte of such an entry, without its units
_FEW_NOWHERE = [b"", *(encode_location(units, None, 0) for units in range(1, 9))]


def location_table(laid_out: LaidOut, source: Source, first_line: int) -> bytes:
    """The bytes of the table for `laid_out`, whose untouched instructions were decoded into `source`."""
    if laid_out.plain and first_line == source.code.co_firstlineno:
        spliced = _spliced(laid_out, source)
        if spliced is not None:
            return spliced
    sizes, starts = laid_out.sizes, source.starts
    writer = _Writer(source.locations, first_line)
    for place, old, length in laid_out.parts:
        if old < 0:
            writer.single(laid_out.instructions[place].location, sizes[place])
            continue
        begin = 0
        new_sizes, old_sizes = sizes[place : place + length], source.sizes[old : old + length]
        if new_sizes != old_sizes:
            for index in [index for index in range(length) if new_sizes[index] != old_sizes[index]]:
                writer.stretch(starts[old + begin], starts[old + index])
                writer.single(source.location(old + index), new_sizes[index])
                begin = index + 1
        writer.stretch(starts[old + begin], starts[old + length])
    return writer.finish()


def _spliced(laid_out: LaidOut, source: Source) -> bytes | None:
    """The table, if no more was done than to put instructions without a location between others; else None."""
    sizes, starts, slices = laid_out.sizes, source.starts, source.locations
    table, merges = slices.table, CURRENT.merges_locations
    out: list[bytes] = []
    cut = behind = waiting = 0  # the byte and the instruction of the source that come next; units without a location
    for place, old, length in laid_out.parts:
        if old < 0:
            at = laid_out.instructions[place]._at
            if not isinstance(at, Fields) or at.location is not None:
                return None
            if not merges:
                out.append(_nowhere(sizes[place]))
            waiting += sizes[place]
            continue
        if old != behind:
            return None
        behind = old + length
        begin, cut = cut, slices.cut_at(starts[behind])
        if cut < 0:
            return None
        if waiting and merges:
            if table[begin] >> 3 == _NO_LOCATION:
                return None  # the two are to share an entry
            out.append(_nowhere(waiting))
        waiting = 0
        out.append(table[begin:cut])
    if waiting and merges:
        out.append(_nowhere(waiting))
    return b"".join(out) if behind == len(source.sizes) else None


def _nowhere(units: int) -> bytes:
    """The entries that give `units` code units no location."""
    return _FEW_NOWHERE[units] if units < 9 else encode_location(units, None, 0)


class _Writer:
    """Writes the table from front to back, and keeps the line that the next delta starts from."""

    def __init__(self, slices: LocationSlices, first_line: int) -> None:
        self._slices = slices
        self._covers = slices.covers
        self._count = len(self._covers) - 1
        self._out: list[bytes] = []
        self._last: tuple[Location | None, int] | None = None  # location and units that wait to be written
        # the line so far: the one that entry `_follows` of the slices starts from, unless `_line` says otherwise
        self._follows = 0
        self._line: int | None = None if first_line == slices.first_line else first_line

    def single(self, location: Location | None, units: int) -> None:
        """Write `units` code units with one location."""
        if self._last is not None and CURRENT.merges_locations and self._last[0] == location:
            units += self._last[1]
        else:
            self._flush()
        self._last = location, units

    def stretch(self, begin: int, end: int) -> None:
        """Write the units [begin, end) of the old code with the entries that they had there."""
        slices, covers = self._slices, self._covers
        entry = bisect_right(covers, begin) - 1
        while begin < end:
            if entry >= self._count:  # a table that ends too early says nothing about the rest
                self.single(None, end - begin)
                return
            if begin == covers[entry] and covers[entry + 1] <= end and self._fits(entry):
                stop = self._count if end >= covers[-1] else bisect_right(covers, end) - 1
                self._flush()
                self._out.append(slices.bytes_of(entry, stop))
                self._follows, self._line = stop, None
                begin, entry = covers[stop], stop
            else:
                stop = min(covers[entry + 1], end)
                self.single(slices.location(entry), stop - begin)
                begin = stop
                entry += 1

    def _fits(self, entry: int) -> bool:
        """Whether an entry can be taken over as it is: its delta is right, and it isn't to join what waits."""
        slices, waiting = self._slices, None
        if self._last is not None:
            waiting = self._last[0]
            if CURRENT.merges_locations:
                here = slices.location(entry) if waiting is not None or slices.says_nothing(entry) else ()
                if here == waiting:
                    return False
        if waiting is None and self._line is None and self._follows == entry:
            return True
        return slices.line_before(entry) == (self._current_line() if waiting is None else waiting.line)

    def _current_line(self) -> int:
        return self._slices.line_before(self._follows) if self._line is None else self._line

    def _flush(self) -> None:
        if self._last is not None:
            location, units = self._last
            self._last = None
            self._out.append(encode_location(units, location, 0 if location is None else self._current_line()))
            if location is not None and location.line is not None:
                self._line = location.line

    def finish(self) -> bytes:
        """The bytes of the table."""
        self._flush()
        return b"".join(self._out)
