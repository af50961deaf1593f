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
from typing import TYPE_CHECKING, Any

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


def _spliced(laid_out: LaidOut, source: Source) -> bytes | None:  # noqa: C901, PLR0911  # one loop
    """The table, if only instructions without a location, and copies, were put between others; else None."""
    found = _changes(laid_out, source)
    if found is None:
        return None
    nowhere, beside, grown = found
    table = source.locations.table
    if not nowhere and not beside and not grown:
        return table
    cuts = source.locations.cuts
    out: list[bytes] = []
    done = 0
    for number in sorted({**nowhere, **beside, **grown}):
        if number < done:
            if number in nowhere or number in beside:
                return None
            continue  # seen with the entry that it goes on with
        cut = cuts[number]
        out.append(table[cuts[done] : cut])
        done = number
        if number in nowhere:
            front = _nowhere_before(nowhere[number], table[cut : cut + 1])
            if front is None:
                return None
            out.append(front)
        before, more = beside.get(number, b""), grown.get(number, 0)
        if not before and not more:
            continue
        if cut == len(table):
            return None
        done += 1
        entry = table[cut : cuts[done]]
        if entry[0] & 7 == _FULL and CURRENT.merges_locations:
            more, done = _with_what_goes_on(entry, more, done, grown, source.locations)
        extended = _extended(entry, before, more)
        if extended is None:
            return None
        out.append(extended)
    out.append(table[cuts[done] :])
    return b"".join(out)


def _with_what_goes_on(
    entry: bytes, more: int, done: int, grown: dict[int, int], slices: LocationSlices
) -> tuple[int, int]:
    """By how many units a full entry is to grow, those of the entries that go on with its location included.

    The other number is that of the entry behind them.
    """
    table, cuts = slices.table, slices.cuts
    while done < len(cuts) - 1 and _goes_on(entry, behind := table[cuts[done] : cuts[done + 1]]):
        more += entry_units(behind) + grown.get(done, 0)
        done += 1
        if behind[0] & 7 != _FULL:
            break
    return more, done


def _changes(laid_out: LaidOut, source: Source) -> tuple[dict[int, bytes], dict[int, bytes], dict[int, int]] | None:
    """What stands before entries, and by how many units entries have grown; None if that is not all.

    By the number of the entry: the sizes of instructions without a location, those of copies that have the location of
    the entry, and the units.
    """
    instructions, sizes, starts, slices = laid_out.instructions, laid_out.sizes, source.starts, source.locations
    nowhere: dict[int, bytes] = {}
    beside: dict[int, bytes] = {}
    touched: list[Part] = []
    behind = 0  # the instruction of the source that comes next
    for place, old, length in laid_out.parts:
        if old >= 0:
            if old != behind:
                return None
            behind += length
            continue
        instruction = instructions[place]
        fields: Any = instruction._at
        location = fields.location if isinstance(fields, Fields) else fields
        if location is AS_DECODED and fields.place == behind and instruction._source is source:
            touched.append((place, behind, 1))
            behind += 1
            continue
        number = slices.beginning_at(starts[behind])
        if number < 0 or number in beside:
            return None
        if location is None:
            nowhere[number] = nowhere.get(number, b"") + sizes[place : place + 1]
        elif number in nowhere or not _is_beside(instruction, location, behind, source):
            return None
        else:
            beside[number] = bytes(sizes[place : place + length])
    if behind < len(source.sizes) or not slices.ends_at(starts[behind]):
        return None
    if laid_out.resized:
        touched += [part for part in laid_out.parts if part[1] >= 0]
    return nowhere, beside, _grown(touched, sizes, source)


def _is_beside(instruction: Instruction, location: Any, old: int, source: Source) -> bool:
    """Whether a copy has the location of the instruction decoded at `old`."""
    return isinstance(location, Stencil) and location.source is source and instruction._where == old


def _grown(parts: list[Part], sizes: bytearray, source: Source) -> dict[int, int]:
    """By how many units the entries of some decoded instructions have grown, by the number of the entry."""
    grown: dict[int, int] = {}
    for place, old, length in parts:
        if sizes[place : place + length] == source.sizes[old : old + length]:
            continue
        for at, new in enumerate(sizes[place : place + length], old):
            if new != source.sizes[at]:
                number = source.locations.entry_at(source.starts[at])
                grown[number] = grown.get(number, 0) + new - source.sizes[at]
    return grown


@lru_cache(maxsize=4096)
def _goes_on(entry: bytes, behind: bytes) -> bool:
    """Whether the entry behind another one gives the same location."""
    return decode_entry(behind, _BASE) == decode_entry(entry, _BASE - line_delta(entry))


def _nowhere_before(sizes: bytes, entry: bytes) -> bytes | None:
    """The entries of instructions without a location that come before an entry; None if they are to share that one."""
    if not CURRENT.merges_locations:
        return b"".join([_nowhere(size) for size in sizes])
    return None if entry and entry[0] >> 3 == _NO_LOCATION else _nowhere(sum(sizes))


@lru_cache(maxsize=4096)
def _extended(entry: bytes, before: bytes, grown: int) -> bytes | None:
    """An entry that covers `grown` units more, and its location for instructions before it, whose sizes are given.

    None if it isn't so simple.
    """
    delta = line_delta(entry)
    units = entry_units(entry) + grown
    if abs(delta) >= _BASE or units < 1:
        return None
    if before and CURRENT.merges_locations and not delta:  # the entry before may be the same, and share it
        return None
    location = decode_entry(entry, _BASE)
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
