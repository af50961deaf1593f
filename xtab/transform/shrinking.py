"""`CutCode`: one code object as it is stored, cut into pieces, and put together again from some of them.

Nothing needs to be right in it, and no code object is made of it. What leads somewhere goes on leading there:

1. An offset is an instruction and how far into that it lies. Where an instruction was left out, the next one that was
   kept stands for it.
2. So jumps, ranges and handlers move with what they mean. No distance grows by that, so each operand fits in as many
   EXTENDED_ARG as it had.
3. A range of which nothing is left goes too.
4. Locations stay with their instructions. Tables that can't be read are kept as they are.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from xtab.errors import TableFormatError
from xtab.format.locations import LocationEntry, assemble_location_table, parse_location_table
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.format.table_fields import RawEntry, read_raw_entries, write_raw_entries
from xtab.format.units import RawInstruction, join_code, prefixes_for, split_code

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from xtab.format.locations import Location
    from xtab.format.marshalled import MarshalledCode

__all__ = ["CONSTS", "NAMES", "CutCode", "count_not_nops"]

CONSTS, NAMES = ("consts", OperandKind.CONST), ("names", OperandKind.NAME)
"""Arguments of `CutCode.unused` and `CutCode.without_items`."""
_NOP = RawInstruction(0, CURRENT.nop, 0, 0, b"")


class CutCode:
    """The pieces of a code object."""

    def __init__(self, code: MarshalledCode) -> None:
        self.code = code
        self.instructions = split_code(code.code)
        self.entries = read_raw_entries(code.exceptiontable)  #: None: the table is more than its entries, or less
        self._starts = [*(each.start for each in self.instructions), len(code.code) & ~1]
        self._locations = _locations(code, self._starts[-1])

    @property
    def not_nops(self) -> list[int]:
        """Indices of the instructions that are more than one NOP."""
        return [index for index, each in enumerate(self.instructions) if each[1:] != _NOP[1:]]

    @property
    def with_surplus(self) -> list[int]:
        """Indices of the instructions that have more EXTENDED_ARG than they need."""
        return [index for index, each in enumerate(self.instructions) if each.prefixes > prefixes_for(each.arg)]

    def built(
        self, *, kept: Sequence[int] | None = None, nops: Collection[int] = (), trimmed: Collection[int] = ()
    ) -> MarshalledCode:
        """The code object with some of its instructions.

        Args:
            kept: indices of those to keep, ascending; None: all.
            nops: indices of those to put a NOP in the place of.
            trimmed: indices of those to be left with no more EXTENDED_ARG than they need.
        """
        kept = range(len(self.instructions)) if kept is None else kept
        fresh = {index: self._sized(index, nops, trimmed) for index in kept}
        moves = _Moves(self._starts, fresh)
        instructions = [moves.aimed(self.instructions[index], each) for index, each in fresh.items()]
        tail = self.code.code[self._starts[-1] :]
        code = self.code._replace(code=join_code(instructions) + tail)
        if self.entries is not None:
            moved = [moves.entry(entry) for entry in self.entries]
            code = code._replace(exceptiontable=write_raw_entries(entry for entry in moved if entry is not None))
        return self._located(code, kept, instructions)

    def _sized(self, index: int, nops: Collection[int], trimmed: Collection[int]) -> RawInstruction:
        each = self.instructions[index]
        if index in nops:
            return _NOP._replace(start=each.start)
        return each._replace(prefixes=min(each.prefixes, prefixes_for(each.arg))) if index in trimmed else each

    def _located(self, code: MarshalledCode, kept: Iterable[int], instructions: list[RawInstruction]) -> MarshalledCode:
        """The same with the locations of what was kept."""
        if self._locations is None:
            return code
        entries: list[LocationEntry] = []
        at = 0
        for index, each in zip(kept, instructions, strict=True):
            size = each.end - each.start
            location = self._locations[self._starts[index] // 2]
            if entries and entries[-1].location == location:
                entries[-1] = entries[-1]._replace(end=at + size)
            else:
                entries.append(LocationEntry(at, at + size, location))
            at += size
        try:
            return code._replace(linetable=assemble_location_table(entries, code.firstlineno))
        except TableFormatError:
            return code

    def without_lines(self) -> MarshalledCode:
        """The code object with no location at all."""
        entries = [LocationEntry(0, self._starts[-1], None)] if self._starts[-1] else []
        return self.code._replace(linetable=assemble_location_table(entries, self.code.firstlineno))

    def unused(self, field: str, kind: int) -> list[int]:
        """Places of the constants (names) that no instruction refers to.

        Args:
            field: ``"consts"`` or ``"names"``.
            kind: the `OperandKind` of the operands that are places in it.
        """
        bits = CURRENT.flag_bits
        used = {each.arg >> bits[each.opcode] for each in self.instructions if CURRENT.kind[each.opcode] == kind}
        return [place for place in range(len(getattr(self.code, field))) if place not in used]

    def without_items(self, field: str, kind: int, dropped: Collection[int]) -> MarshalledCode:
        """The code object without some of those; what refers to others goes on doing so."""
        items = getattr(self.code, field)
        left = [place for place in range(len(items)) if place not in dropped]
        places = {old: new for new, old in enumerate(left)}
        instructions = list(self.instructions)
        for index, each in enumerate(instructions):
            if CURRENT.kind[each.opcode] == kind:
                bits = CURRENT.flag_bits[each.opcode]
                place = each.arg >> bits
                place = places.get(place, place - len(dropped))
                instructions[index] = each._replace(arg=max(place, 0) << bits | each.arg & (1 << bits) - 1)
        tail = self.code.code[self._starts[-1] :]
        changes: dict[str, Any] = {field: tuple(items[place] for place in left)}
        return self.code._replace(code=join_code(instructions) + tail, **changes)


class _Moves:
    """Where offsets have gone when instructions were left out or have other sizes."""

    def __init__(self, starts: list[int], fresh: dict[int, RawInstruction]) -> None:
        self._old = starts
        self._fresh = fresh
        self._new: list[int] = []
        at = 0
        for index in range(len(starts)):
            self._new.append(at)
            if index in fresh:
                at += fresh[index].end - fresh[index].start
        self._indices = {start: index for index, start in enumerate(starts)}

    def offset(self, offset: int) -> int:
        """Where an offset is now."""
        if offset < 0:
            return offset
        if offset >= self._old[-1]:
            return self._new[-1] + offset - self._old[-1]
        index = bisect_right(self._old, offset) - 1
        inside = offset - self._old[index]
        same = index in self._fresh and self._new[index + 1] - self._new[index] > inside
        return self._new[index] + (inside if same else 0)

    def aimed(self, old: RawInstruction, fresh: RawInstruction) -> RawInstruction:
        """An instruction where it is now; if it jumps, to where its target is now."""
        fresh = fresh._replace(start=self._new[self._indices[old.start]])
        direction = CURRENT.distance[fresh.opcode]
        if not direction:
            return fresh
        sign = 1 if direction == 1 else -1
        distance = sign * (self.offset(old.end + sign * 2 * old.arg) - fresh.end) // 2
        return fresh._replace(arg=min(max(distance, 0), (1 << 8 * (fresh.prefixes + 1)) - 1))

    def entry(self, entry: RawEntry) -> RawEntry | None:
        """An entry of the exception table, or None if nothing is left of its range."""
        start, end = self.offset(2 * entry.start) // 2, self.offset(2 * (entry.start + entry.length)) // 2
        if start >= end and entry.length:
            return None
        return RawEntry(start, end - start, self.offset(2 * entry.target) // 2, entry.flags)


@lru_cache(maxsize=4096)
def count_not_nops(code: bytes) -> int:
    """How many instructions of some bytes of code are more than one NOP.

    >>> count_not_nops(bytes([CURRENT.nop, 0, CURRENT.nop, 1]))
    1
    """
    return sum(each[1:] != _NOP[1:] for each in split_code(code))


def _locations(code: MarshalledCode, size: int) -> list[Location | None] | None:
    """The location of each unit, or None if the table can't be read or covers something else."""
    try:
        entries = parse_location_table(code.linetable, code.firstlineno, code_size=size)
    except TableFormatError:
        return None
    return [entry.location for entry in entries for _ in range((entry.end - entry.start) // 2)]
