"""`LocationSlices`: a location table whose entries are handed on as they came wherever nobody edited a location.

What an entry says, and where its bytes lie, is worked out only when somebody asks: mostly at the seams of edits.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate, compress, count
from typing import TYPE_CHECKING

from xtab.format.locations import decode_entry, line_delta, split_entries

if TYPE_CHECKING:
    from xtab.format.locations import Location

__all__ = ["LocationSlices"]

_INSIDE_ENTRY = bytes(range(128))
_BEGINS_ENTRY = bytes(byte >> 7 for byte in range(256))
_UNITS = bytes((byte & 7) + 1 for byte in range(256))
_CHANGES_LINE = bytes(byte >= 0xD8 for byte in range(256))  # 128, and from form 11 on
_NOWHERE = 0xF8
_delta = lru_cache(maxsize=1024)(line_delta)
_entries_that_change = re.compile(rb"[\xd8-\xff][\x00-\x7f]*").findall
_NEAR = 8


class LocationSlices:
    """The entries of one location table, by number. Units are code units of the code it belongs to."""

    __slots__ = ("_covers", "_cuts", "_entries", "_lines", "_numbers", "first_line", "table")

    def __init__(self, table: bytes, first_line: int) -> None:
        self.table = table
        self.first_line = first_line
        self._covers: list[int] | None = None
        self._cuts: list[int] | None = None
        self._entries: list[bytes] | None = None
        self._lines = [first_line]
        self._numbers: dict[int, int] | None = None  # the unit that an entry begins at -> its number

    @property
    def covers(self) -> list[int]:
        """The unit that each entry begins at, and the end."""
        if self._covers is None:
            headers = self.table.translate(_UNITS, _INSIDE_ENTRY)  # the first bytes of entries are those from 128 on
            self._covers = list(accumulate(headers, initial=0))
        return self._covers

    @property
    def cuts(self) -> list[int]:
        """Where the bytes of each entry begin, and the end."""
        if self._cuts is None:
            self._cuts = [*compress(range(len(self.table)), self.table.translate(_BEGINS_ENTRY)), len(self.table)]
        return self._cuts

    def entry_at(self, unit: int) -> int:
        """Number of the entry that covers a unit; one more than there are if the table ends before it."""
        return bisect_right(self.covers, unit) - 1

    def beginning_at(self, unit: int) -> int:
        """Number of the entry that begins at a unit, one more than there are for the end; -1 if none begins there."""
        if unit <= _NEAR and self._covers is None:  # few entries from the start: no need to look at all
            number = 0
            for byte in self.table:
                if byte > 127:
                    if unit <= 0:
                        break
                    unit -= (byte & 7) + 1
                    number += 1
            return -1 if unit else number
        if self._numbers is None:
            self._numbers = dict(zip(self.covers, count()))
        return self._numbers.get(unit, -1)

    def ends_at(self, unit: int) -> bool:
        """Whether the table can be cut at a unit, as it is where the code ends."""
        return unit == self._units() or self.beginning_at(unit) >= 0

    def _units(self) -> int:
        """How many units the table covers."""
        if self._covers is None:
            return sum(self.table.translate(_UNITS, _INSIDE_ENTRY))
        return self._covers[-1]

    def bytes_of(self, begin: int, end: int) -> bytes:
        """The bytes of the entries [begin, end)."""
        return self.table[self.cuts[begin] : self.cuts[end]]

    def line_before(self, number: int) -> int:
        """The line that the delta of an entry starts from."""
        lines = self._lines
        if number >= len(lines):
            if self._entries is None:
                self._entries = split_entries(self.table)
            line = lines[-1]
            for entry in self._entries[len(lines) - 1 : number]:
                line += line_delta(entry)
                lines.append(line)
        return lines[number]

    def location(self, number: int) -> Location | None:
        """The location that an entry gives, or None for "no location"."""
        if self._entries is None:
            self._entries = split_entries(self.table)
        return decode_entry(self._entries[number], self.line_before(number))

    def line_changes(self) -> list[tuple[int, int | None]]:
        """Units from which on another line may hold, and that line; None where there is no location.

        Only entries that can change the line are looked at: the others have one of the short forms.
        """
        headers = self.table.translate(None, _INSIDE_ENTRY)
        covers, line = self.covers, self.first_line
        changes: list[tuple[int, int | None]] = [(0, line)]
        numbers = compress(range(len(headers)), headers.translate(_CHANGES_LINE))
        for number, entry in zip(numbers, _entries_that_change(self.table), strict=True):
            if entry[0] >= _NOWHERE:
                changes += (covers[number], None), (covers[number + 1], line)
            elif delta := _delta(entry):
                line += delta
                changes.append((covers[number], line))
        changes.append((covers[-1], None))
        return changes

    def says_nothing(self, number: int) -> bool:
        """Whether an entry gives "no location"."""
        return self.table[self.cuts[number]] >> 3 == 31

    def location_at(self, unit: int) -> Location | None:
        """The location of a unit; None also where the table ends before it."""
        number = self.entry_at(unit)
        return self.location(number) if number < len(self.covers) - 1 else None
