"""`LocationSlices`: a location table that is handed on as it came wherever nobody edited a location.

A *piece* is one entry of the table, with those behind it that begin inside one of its instructions. Instructions refer to pieces by
number. What a piece says, and where its bytes lie, is worked out only when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, compress
from typing import TYPE_CHECKING

from xtab.format.locations import decode_entry, line_delta, split_entries

if TYPE_CHECKING:
    from xtab.format.locations import Location

__all__ = ["LocationSlices", "slice_table"]

_INSIDE_ENTRY = bytes(range(128))
_BEGINS_ENTRY = bytes(byte >> 7 for byte in range(256))
_RUN = [b"\1" + bytes(byte & 7) for byte in range(256)]


class LocationSlices:
    """The pieces of one location table."""

    __slots__ = ("_entries", "_heads", "_lines", "count", "first_line", "numbers", "sizes", "table")

    def __init__(self, table: bytes, heads: bytes, numbers: list[int], sizes: bytes, first_line: int) -> None:
        self.table = table
        self.numbers = numbers  #: of the piece that each instruction begins in, for as many as the table covers
        self.sizes = sizes  #: code units of each instruction
        self.count = numbers[-1] + 1 if numbers else 0  #: how many pieces there are
        self.first_line = first_line
        self._heads = heads  # one byte for each entry: 0 if it belongs to the piece before
        self._entries: list[bytes] | None = None
        self._lines: list[int] = []

    def units(self, number: int) -> int:
        """Code units that piece `number` covers."""
        return sum(self.sizes[bisect_left(self.numbers, number) : bisect_right(self.numbers, number)])

    def first_instruction(self, number: int) -> int:
        """The first instruction, by its index when the table was read, that begins in piece `number`."""
        return bisect_left(self.numbers, number)

    def bytes_of(self, begin: int, end: int) -> bytes:
        """The bytes of the pieces [begin, end)."""
        begins = self.table.translate(_BEGINS_ENTRY)
        first = 0 if begin == 0 else _place(begins, _place(self._heads, begin))
        stop = len(self.table) if end == self.count else _place(begins, _place(self._heads, end))
        return self.table[first:stop]

    def line_before(self, number: int) -> int:
        """The line that the deltas of piece `number` start from."""
        lines = self._lines
        if number >= len(lines):
            if self._entries is None:
                self._entries = split_entries(self.table)
            begins = list(compress(range(len(self._entries)), self._heads))
            if not lines:
                lines.append(self.first_line)
            for known in range(len(lines) - 1, number):
                lines.append(lines[known] + sum(map(line_delta, self._entries[begins[known] : begins[known + 1]])))
        return lines[number]

    def location(self, number: int) -> Location | None:
        """The location that piece `number` gives, or None for "no location"."""
        line = self.line_before(number)
        assert self._entries is not None
        return decode_entry(self._entries[_place(self._heads, number)], line)


def slice_table(
    table: bytes, units: bytes, keep: bytes | None, sizes: bytes, first_line: int
) -> tuple[list[int | None], LocationSlices]:
    """The piece that each instruction begins in, None where the table ends too early, and the pieces.

    Args:
        table: co_linetable.
        units: the opcodes of co_code, a zero for each unit of cache.
        keep: one byte for each that is no zero in `units`: 0 for an EXTENDED_ARG. None: there is none.
        sizes: code units of each instruction.
        first_line: co_firstlineno.

    1. The first bytes of entries are those from 128 on; three bits of each tell how many units it covers.
    2. So a byte string can be made with a 1 for each unit where an entry begins (`marks`).
    3. Those marks that stand on an instruction, added up, number the pieces.
    """
    if table and table[0] < 128:
        split_entries(table)  # says what is wrong
    headers = table.translate(None, _INSIDE_ENTRY)
    marks = b"".join(map(_RUN.__getitem__, headers))
    numbers = list(accumulate(compress(marks, units), initial=-1))
    del numbers[0]
    heads = headers
    if not numbers or numbers[-1] + 1 != len(headers):  # some begin in caches, or behind the code
        heads = bytes(compress(units, marks)).ljust(len(headers), b"\0")
    if keep is not None:
        numbers = list(compress(numbers, keep))
    slices = LocationSlices(table, heads, numbers, sizes, first_line)
    if len(numbers) < len(sizes):
        return [*numbers, *[None] * (len(sizes) - len(numbers))], slices
    return numbers, slices  # type: ignore[return-value]


def _place(flags: bytes, number: int) -> int:
    """The place of the byte that is not zero and has `number` such before it: halves the range until it is found."""
    low, high = 0, len(flags)
    while high - low > 1:
        middle = (low + high) // 2
        before = middle - low - flags.count(0, low, middle)
        if before > number:
            high = middle
        else:
            low = middle
            number -= before
    return low
