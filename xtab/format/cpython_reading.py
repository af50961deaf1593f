"""How CPython itself reads an exception table, down to what it makes of malformed ones.

The interpreter trusts the table. Here its two walks are followed step by step, with an error where C would loop
forever, overflow or leave the table. The linear one also says what no compiler would have written, and where.

`read_entries`, the linear search of `get_exception_handler`:

1. Read a start and a length, and further a target and a depth. Bit 7 means nothing within them. The byte behind the
   table is a NUL and may be read as well.
2. The next entry begins at the first byte with bit 7 behind the *length*: C looks for it without reading on.

`find_entry`, all of `get_exception_handler`:

1. While more than 40 bytes are left, go to their middle, from there back to a byte with bit 7, and keep the half on the
   side where that start says the code unit must be.
2. Search the rest as above, up to a start behind the code unit.

Values here are in code units: `exception_table` makes byte offsets of them.

CPython source followed: ``Python/ceval.c`` (from 3.14 in ``Python/ceval.h``), `get_exception_handler`, `parse_varint`,
`scan_back_to_entry_start`, `skip_to_next_entry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from xtab.errors import TableFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Entry", "find_entry", "first_fault", "read_entries"]

Entry: TypeAlias = tuple[int, int, int, int]  # start, end and target in code units, depth << 1 | lasti

_TOO_LARGE = 1 << 30  # `assemble_emit_exception_table_item` asserts that values lie below it
_C_INT = 1 << 31  # from here on what C computes is undefined
_MAX_LINEAR_SEARCH = 40  # bytes
_FIELDS = ("start", "length", "target", "depth and lasti")


def read_entries(table: bytes, code_units: int) -> tuple[list[Entry], list[TableFormatError]]:
    """The entries that the linear search reads, and all faults in order.

    An entry is left out when C can't read it without leaving the table or overflowing.
    """
    entries: list[Entry] = []
    faults: list[TableFormatError] = []
    for found in _walk(table, code_units):
        if isinstance(found, TableFormatError):
            faults.append(found)
        else:
            entries.append(found)
    return entries, faults


def first_fault(table: bytes, code_units: int) -> TableFormatError | None:
    """The first of the faults that `read_entries` finds, without looking for more."""
    return next((found for found in _walk(table, code_units) if isinstance(found, TableFormatError)), None)


def _walk(table: bytes, code_units: int) -> Iterator[Entry | TableFormatError]:
    number = at = 0
    before: Entry | None = None
    reach = 0  # where the furthest range so far ends
    while at < len(table):
        if not table[at] & 128:
            yield _missing_start_bit(table, number, at)
        values, behind = _fields(table, at)
        yield from _byte_faults(table, number, at, values, behind)
        start, length, target, flags = values
        if min(values) >= 0 and start + length < _C_INT:
            entry = (start, start + length, target, flags)
            for fault, detail in _entry_faults(entry, before, reach, code_units):
                yield TableFormatError(fault, detail, entry=number, offset=at)
            yield entry
            before = entry
            reach = max(reach, start + length)
        number += 1
        at = _next_start(table, behind[1])
        if behind[3] < at:
            yield _missing_start_bit(table, number, behind[3])


def find_entry(table: bytes, unit: int) -> Entry | None:
    """The entry that the interpreter finds for a code unit."""
    at, end = _bisect(table, unit) if len(table) > _MAX_LINEAR_SEARCH else (0, len(table))
    while at < end:
        start, after = _readable(table, at)
        if start > unit:
            return None
        length, after = _readable(table, after)
        if start + length >= _C_INT:
            raise TableFormatError("value too large", "expected a range that ends below 2**31", offset=at)
        if start + length > unit:
            target, after = _readable(table, after)
            flags, _ = _readable(table, after)
            return start, start + length, target, flags
        at = _next_start(table, after)
    return None


def _bisect(table: bytes, unit: int) -> tuple[int, int]:
    """Where in a long table the linear search begins and ends."""
    start, end = 0, len(table)
    if _readable(table, 0)[0] > unit:
        return 0, 0
    while end - start > _MAX_LINEAR_SEARCH:
        middle = (start + end) >> 1
        while not table[middle] & 128:
            if not middle:
                raise _missing_start_bit(table, 0, 0)
            middle -= 1
        if _readable(table, middle)[0] > unit:
            end = middle
        elif middle > start:
            start = middle
        else:  # no other entry begins in the first half: C takes this step again and again
            detail = f"expected the next entry within 20 bytes, but found none in {(end - start) >> 1}"
            raise TableFormatError("missing start bit", detail, offset=start + 1)
    return start, end


def _varint(table: bytes, at: int) -> tuple[int, int]:
    """The value of the varint at `at`, and the offset behind it.

    The value is -1 where C would read on behind the NUL, or overflow.
    """
    size = len(table)
    value = 0
    while at < size:
        byte = table[at]
        at += 1
        # past the largest int only the length is of interest: big integers would make this quadratic
        value = value << 6 | byte & 63 if value < _C_INT else value
        if not byte & 64:
            return (value if value < _C_INT else -1), at
    if at > size:
        return -1, at
    return (value << 6 if value << 6 < _C_INT else -1), at + 1


def _readable(table: bytes, at: int) -> tuple[int, int]:
    value, after = _varint(table, at)
    if value >= 0:
        return value, after
    if after > len(table):
        fault, detail = "truncated", "a number, but found the end of the table"
    else:
        fault, detail = "value too large", "a number below 2**30, but found more than C can hold"
    raise TableFormatError(fault, f"expected {detail}", offset=min(at, len(table)))


def _fields(table: bytes, at: int) -> tuple[list[int], list[int]]:
    """The four values of an entry, and the offset behind each."""
    values, behind = [], []
    for _ in _FIELDS:
        value, at = _varint(table, at)
        values.append(value)
        behind.append(at)
    return values, behind


def _next_start(table: bytes, at: int) -> int:
    while at < len(table) and not table[at] & 128:
        at += 1
    return at


def _missing_start_bit(table: bytes, number: int, at: int) -> TableFormatError:
    detail = f"expected a byte with bit 7 set, where an entry begins, but found {table[at]:#04x}"
    return TableFormatError("missing start bit", detail, entry=number, offset=at)


def _byte_faults(
    table: bytes, number: int, at: int, values: list[int], behind: list[int]
) -> Iterator[TableFormatError]:
    """What is wrong with the bytes of one entry."""
    begin = at
    for field, value, end in zip(_FIELDS, values, behind, strict=True):
        for offset in range(begin, min(end, len(table))):
            if table[offset] & 128 and offset != at:
                detail = f"expected the {field}, but found {table[offset]:#04x}, whose bit 7 begins an entry"
                yield TableFormatError("stray start bit", detail, entry=number, offset=offset)
        if end > len(table):
            detail = f"expected the {field}, but found the end of the table"
            yield TableFormatError("truncated", detail, entry=number, offset=len(table))
            return
        if end - begin > 1 and not table[begin] & 63:
            detail = f"expected the {field} in its shortest form, but found a first group of zero"
            yield TableFormatError("overlong varint", detail, entry=number, offset=begin)
        elif not 0 <= value < _TOO_LARGE:
            detail = f"expected a {field} below 2**30, but found {'2**31 or more' if value < 0 else value}"
            yield TableFormatError("value too large", detail, entry=number, offset=begin)
        begin = end


def _entry_faults(entry: Entry, before: Entry | None, reach: int, code_units: int) -> Iterator[tuple[str, str]]:
    """What is wrong with an entry that could be read, given the one before it. Messages are in bytes."""
    start, end, target, _ = entry
    where = f"[{start * 2},{end * 2})"
    least = f"expected a start of at least {reach * 2}, but found {where}"
    if start == end:
        yield "empty range", f"expected a range of at least two bytes, but found {where}"
    if before is not None and start < before[0]:
        yield "unsorted", f"{least}, which begins before that"
    elif start < reach:
        yield "overlap", f"{least}, which overlaps an entry before it"
    if end > code_units:
        yield "range outside the code", f"expected an end of at most {code_units * 2}, but found {where}"
    if target >= code_units:
        yield "target outside the code", f"expected a target below {code_units * 2}, but found {target * 2}"
    if before is not None and start == before[1] and entry[2:] == before[2:]:
        yield "not canonical", f"expected one entry [{before[0] * 2},{end * 2}), but found two that meet at {start * 2}"
