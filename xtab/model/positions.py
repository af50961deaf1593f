"""`location_table`: co_linetable for a body that was laid out.

1. Where instructions without a location, or copies, were put between others and nothing else was done, the table is
   cut there. Entries that say "no location" come in between, and the entry behind copies covers them too (`_spliced`).
2. Otherwise `_Writer` writes it: stretches of instructions that are as they were take over the entries of the table
   that they were decoded from, as bytes; what is new, resized or cut in the middle is encoded.

From 3.12 on neighbours with the same location share an entry; 3.11 writes one for each instruction.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING

from xtab.format.locations import decode_entry, encode_location, entry_units, line_delta
from xtab.format.opcodes import CURRENT
from xtab.model.instruction import AS_DECODED, Fields, Stencil

if TYPE_CHECKING:
    from xtab.format.locations import Location
    from xtab.model.instruction import Instruction
    from xtab.model.layout import LaidOut
    from xtab.model.parts import Part
    from xtab.model.slices import LocationSlices
    from xtab.model.source import Source

__all__ = ["location_table"]

_NO_LOCATION = 31  # the first byte of such an entry, without its units
_FULL = 7  # the low bits of an entry that covers as many units as it can
_BASE = 1 << 20  # any line to count from will do
_FEW_NOWHERE = [b"", *(encode_location(units, None, 0) for units in range(1, 9))]


def location_table(laid_out: LaidOut, source: Source, first_line: int) -> bytes:
    """The bytes of the table for `laid_out`, whose untouched instructions were decoded into `source`."""
    if first_line == source.code.co_firstlineno:
        spliced = _spliced(laid_out, source)
        if spliced is not None:
            return spliced
    sizes, starts = laid_out.sizes, source.starts
    writer = _Writer(source.locations, first_line)
    for place, old, length in laid_out.parts:
        if old < 0:
            location = laid_out.instructions[place].location
            for size in sizes[place : place + length]:
                writer.single(location, size)
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
    """The table, if only instructions without a location, and copies, were put between others; else None."""
    found = _changes(laid_out, source)
    if found is None:
        return None
    added, grown = found
    table = source.locations.table
    out: list[bytes] = []
    done = 0
    for cut in sorted({**added, **grown}):
        if cut < done:
            if cut in added:
                return None
            continue  # seen with the entry that it goes on with
        out.append(table[done:cut])
        old, parts = added.get(cut, (-1, []))
        front = _nowhere_before(laid_out, parts, table[cut : cut + 1]) if parts else b""
        if front is not None and cut not in grown:
            out.append(front)
            done = cut
            continue
        if cut == len(table):
            return None
        done = _end_of_entry(table, cut)
        entry = table[cut:done]
        more = grown.get(cut, 0)
        while table[cut] & 7 == _FULL and CURRENT.merges_locations and (end := _end_of_entry(table, done)) > done:
            if decode_entry(table[done:end], _BASE) != decode_entry(entry, _BASE - line_delta(entry)):
                break
            more += (table[done] & 7) + 1 + grown.get(done, 0)  # it goes on with the same location
            done = end
        before = b"" if front is not None else _beside(laid_out, parts, entry, old, source)
        if before is None or abs(line_delta(entry)) >= _BASE or entry_units(entry) + more < 1:
            return None
        out += front or b"", _extended(entry, before, more)
    out.append(table[done:])
    return b"".join(out)


def _end_of_entry(table: bytes, cut: int) -> int:
    """Where the bytes of the entry that begins at a byte end."""
    end = min(cut + 1, len(table))
    while end < len(table) and table[end] < 128:
        end += 1
    return end


def _changes(laid_out: LaidOut, source: Source) -> tuple[dict[int, tuple[int, list[Part]]], dict[int, int]] | None:
    """What stands before entries, and by how many units entries have grown; None if that is not all.

    By the byte where the entry begins. What stands there comes with the place in the source of the instruction behind.
    """
    sizes, old_sizes, starts, slices = laid_out.sizes, source.sizes, source.starts, source.locations
    added: dict[int, tuple[int, list[Part]]] = {}
    grown: dict[int, int] = {}
    behind = 0  # the instruction of the source that comes next
    for part in laid_out.parts:
        place, old, length = part
        if old < 0:
            if not _stands_at(behind, laid_out.instructions[place], source):
                cut = slices.cut_at(starts[behind])
                if cut < 0:
                    return None
                added.setdefault(cut, (behind, []))[1].append(part)
                continue
            old = behind
        if old != behind:
            return None
        behind = old + length
        if sizes[place : place + length] != old_sizes[old:behind]:
            for at, new in enumerate(sizes[place : place + length], old):
                if new != old_sizes[at]:
                    cut = slices.cut_of(starts[at])
                    grown[cut] = grown.get(cut, 0) + new - old_sizes[at]
    complete = behind == len(old_sizes) and slices.cut_at(starts[behind]) >= 0
    return (added, grown) if complete else None


def _stands_at(old: int, instruction: Instruction, source: Source) -> bool:
    """Whether a single instruction is the one decoded at `old`, and has its location still."""
    at = instruction._at
    return isinstance(at, Fields) and at.location is AS_DECODED and at.place == old and instruction._source is source


def _nowhere_before(laid_out: LaidOut, added: list[Part], entry: bytes) -> bytes | None:
    """The entries of instructions without a location that come before an entry; None if they are to share that one."""
    sizes, instructions = laid_out.sizes, laid_out.instructions
    for place, _, length in added:
        at = instructions[place]._at
        if length > 1 or not isinstance(at, Fields) or at.location is not None:
            return None
    units = [sizes[place] for place, _, _ in added]
    if not CURRENT.merges_locations:
        return b"".join([_nowhere(each) for each in units])
    return None if entry and entry[0] >> 3 == _NO_LOCATION else _nowhere(sum(units))


def _beside(laid_out: LaidOut, added: list[Part], entry: bytes, old: int, source: Source) -> bytes | None:
    """The sizes of copies that have the location of the entry behind them; None if it isn't so simple."""
    first, _, length = added[0]
    instruction = laid_out.instructions[first]
    at = instruction._at
    if (
        len(added) > 1
        or not entry
        or not (isinstance(at, Fields) and isinstance(at.location, Stencil) and at.location.source is source)
        or instruction._where != old
        or (CURRENT.merges_locations and not line_delta(entry))  # the entry before may be the same, and share it
    ):
        return None
    return bytes(laid_out.sizes[first : first + length])


@lru_cache(maxsize=1024)
def _extended(entry: bytes, before: bytes, grown: int) -> bytes:
    """An entry that covers `grown` units more, and its location for instructions before it, whose sizes are given."""
    location = decode_entry(entry, _BASE)
    units = entry_units(entry) + grown
    if CURRENT.merges_locations:
        return encode_location(sum(before) + units, location, _BASE)
    line = _BASE if location is None else location.line
    first, *rest = *before, units
    return b"".join(
        [encode_location(first, location, _BASE), *[encode_location(size, location, line or _BASE) for size in rest]]
    )


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
