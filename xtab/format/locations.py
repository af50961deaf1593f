"""`co_linetable` to locations and back.

The bytes, the same on every version: entry after entry, each for one to eight code units, each beginning with the only
byte that has bit 7. Bits 3 to 6 of that byte are the form, bits 0 to 2 the number of code units less one. What follows:

====== ================= =====================================================================
form   name              fields
====== ================= =====================================================================
0-9    short             one byte: form * 8 + its bits 4-6 is the column, bits 0-3 the width
10-12  one line          column and end column, a byte each; the line is form - 10 further on
13     no columns        line delta (signed varint)
14     long              line delta (signed varint), end line - line, column + 1, end column + 1
15     no location       none
====== ================= =====================================================================

Line deltas count from the line of the last entry that had one, at first from `co_firstlineno`. Varints are cut into
groups of six bits, the **least** significant first (the exception table has it the other way round); bit 6 says that
another group follows. A signed one has its sign in bit 0.

Writing goes as in the compiler: the shortest form that can hold a location; more than eight units take several entries.

CPython sources followed: ``InternalDocs/code_objects.md`` (up to 3.12 ``Objects/locations.md``), ``Python/assemble.c``
(`write_location_info_entry`; in 3.11 in ``Python/compile.c``) and ``Objects/codeobject.c`` (`advance_with_locations`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from xtab.errors import TableFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Location",
    "LocationEntry",
    "assemble_location_table",
    "decode_entry",
    "encode_location",
    "entry_units",
    "line_at",
    "line_delta",
    "parse_location_table",
    "split_entries",
]

_TABLE = "location table"
_FIRST_ONE_LINE, _NO_COLUMNS, _LONG, _NO_LOCATION = 10, 13, 14, 15
_MAX_UNITS = 8  # that one entry can cover
_MAX = (1 << 31) - 1  # lines and columns are ints in C
_UNSIGNED = 1 << 32  # and their varints unsigned ints


class Location(NamedTuple):
    """Where in the source an instruction comes from, as ``co_positions()`` reports it.

    The columns are None where there is only a line. An instruction without any location has None in place of a
    Location; a Location of four Nones is taken as that too.

    >>> Location(3, 3, 4, 10).end_column
    10
    """

    line: int | None  #: the first line, from 1; 0 occurs at the start of a module
    end_line: int | None  #: the last line, never before `line`
    column: int | None  #: of the first character, in bytes of UTF-8, from 0
    end_column: int | None  #: behind the last character, in bytes of UTF-8; may be less than `column`


def line_at(location: Location | None) -> int | None:
    """The first line of a location, if there is one and it has a line.

    >>> line_at(Location(3, 4, 0, 1)), line_at(None)
    (3, None)
    """
    return None if location is None else location.line


class LocationEntry(NamedTuple):
    """One entry of a location table: what the code in ``[start, end)`` comes from. Offsets are in bytes."""

    start: int  #: offset of the first byte covered
    end: int  #: offset of the first byte not covered any more
    location: Location | None  #: None: no location


def parse_location_table(linetable: bytes, first_line: int, *, code_size: int | None = None) -> list[LocationEntry]:
    """The entries of a location table, one for each entry that is stored.

    Args:
        linetable: ``co_linetable``.
        first_line: ``co_firstlineno``, from which the first line delta counts.
        code_size: length of the code in bytes. When given, the table must cover exactly that.

    Raises:
        TableFormatError: an entry is cut short or too long, a number is out of range, or the table covers more or less
            than the code.

    >>> parse_location_table(bytes.fromhex("80 15 f2 03 01 00 00 f8"), 7)[:2]  # doctest: +NORMALIZE_WHITESPACE
    [LocationEntry(start=0, end=2, location=Location(line=7, end_line=7, column=1, end_column=6)),
     LocationEntry(start=2, end=8, location=Location(line=6, end_line=7, column=None, end_column=None))]
    """
    entries = []
    offset = at = 0
    line = first_line
    for number, entry in enumerate(split_entries(linetable)):
        end = offset + 2 * entry_units(entry)
        try:
            location = decode_entry(entry, line)
        except TableFormatError as error:
            raise _placed(error, number, at) from None
        if location is not None:
            line = location[0]  # type: ignore[assignment]
            if not 0 <= line <= _MAX:
                detail = f"expected a line from 0 to 2**31 - 1, but found {line}"
                raise TableFormatError("line out of range", detail, table=_TABLE, entry=number, offset=at)
        entries.append(LocationEntry(offset, end, location))
        offset = end
        at += len(entry)
    if code_size is not None and offset != code_size:
        detail = f"expected entries for {code_size} bytes of code, but found entries for {offset}"
        raise TableFormatError("wrong code size", detail, table=_TABLE, offset=len(linetable))
    return entries


def assemble_location_table(entries: Iterable[LocationEntry], first_line: int) -> bytes:
    """The bytes of a table with these entries, each in its shortest form, as the compiler writes them.

    Args:
        entries: in order and without gaps, from offset 0. They are not merged: 3.11 writes one for each instruction,
            later versions one for each run of instructions that share a location.
        first_line: ``co_firstlineno`` of the code.

    Raises:
        TableFormatError: an entry is empty or odd, does not begin where the one before it ends, or has an impossible
            location. `entry` is its place among those given.

    >>> assemble_location_table([LocationEntry(0, 2, Location(7, 7, 1, 6)), LocationEntry(2, 4, None)], 7).hex(" ")
    '80 15 f8'
    """
    parts = []
    offset = 0
    line = first_line
    for number, (start, end, location) in enumerate(entries):
        if start != offset or end <= start or end & 1:
            detail = f"expected a range from {offset} to an even offset above it, but found [{start},{end})"
            raise TableFormatError("not contiguous", detail, table=_TABLE, entry=number)
        try:
            parts.append(encode_location((end - start) >> 1, location, line))
        except TableFormatError as error:
            raise _placed(error, number, None) from None
        if location is not None and location[0] is not None:
            line = location[0]
        offset = end
    return b"".join(parts)


_find_entries = re.compile(rb"[\x80-\xff][\x00-\x7f]*").findall


def split_entries(linetable: bytes) -> list[bytes]:
    r"""The entries of a table, still as bytes; joined again they are the table.

    Raises:
        TableFormatError: the first byte doesn't begin an entry.

    >>> split_entries(bytes.fromhex("80 15 f0 03 01 00 00"))
    [b'\x80\x15', b'\xf0\x03\x01\x00\x00']
    """
    if linetable and linetable[0] < 128:
        raise _no_start(linetable, 0)
    return _find_entries(linetable)


def entry_units(entry: bytes) -> int:
    """The number of code units that an entry covers, 1 to 8.

    >>> entry_units(bytes.fromhex("f2 03 01 00 00"))
    3
    """
    if not entry:
        raise _no_start(entry, 0)
    return (entry[0] & 7) + 1


def line_delta(entry: bytes) -> int:
    """How many lines an entry lies behind the line before it; 0 for one without a location.

    Raises:
        TableFormatError: the entry is cut short.

    >>> line_delta(bytes.fromhex("f2 03 01 00 00"))
    -1
    """
    form = entry[0] >> 3 & 15 if entry else 0
    if form < 11 or form == _NO_LOCATION:
        return 0
    if form < _NO_COLUMNS:
        return form - _FIRST_ONE_LINE
    if len(entry) > 1 and entry[1] < 64:  # nearly always: 31 lines at most
        value = entry[1]
    else:
        value, _ = _varint(entry, 1)
    return -(value >> 1) if value & 1 else value >> 1


def decode_entry(entry: bytes, line_before: int) -> Location | None:
    """The location that an entry stands for, or None for "no location".

    Args:
        entry: one of :func:`split_entries`.
        line_before: the line that its delta counts from: of the last entry with a location, or the code's first line.

    Raises:
        TableFormatError: the entry is cut short or too long; `offset` is counted inside the entry.

    >>> decode_entry(bytes.fromhex("8015"), 7)
    Location(line=7, end_line=7, column=1, end_column=6)
    """
    if not entry or entry[0] < 128:
        raise _no_start(entry, 0)
    form = entry[0] >> 3 & 15
    if form < _FIRST_ONE_LINE:
        (second,) = _bytes(entry, 1)
        column = form << 3 | second >> 4
        return Location(line_before, line_before, column, column + (second & 15))
    if form < _NO_COLUMNS:
        column, end_column = _bytes(entry, 2)
        line = line_before + form - _FIRST_ONE_LINE
        return Location(line, line, column, end_column)
    if form == _NO_LOCATION:
        _bytes(entry, 0)
        return None
    delta, *rest = _varints(entry, 1 if form == _NO_COLUMNS else 4)
    line = line_before + (-(delta >> 1) if delta & 1 else delta >> 1)
    if not rest:
        return Location(line, line, None, None)
    lines, column, end_column = rest
    if max(rest) > _MAX:
        raise _too_large(entry, 1, max(rest))
    return Location(line, line + lines, column - 1 if column else None, end_column - 1 if end_column else None)


def encode_location(units: int, location: Location | None, line_before: int) -> bytes:
    """The entries for a run of code units with one location: one, or more where there are more than eight units.

    A line with only one of the two columns, which no compiler writes, takes the long form, so that nothing is lost.

    Args:
        units: number of code units, from 1.
        location: None for "no location". Without columns `end_line` may be None too; it is read back as `line`.
        line_before: the line of the last entry that had a location, or the code's first line.

    Raises:
        TableFormatError: `units` is not positive, or the location is impossible: negative, ending in an earlier line,
            or beyond 2**31.

    >>> encode_location(9, Location(8, 8, 1, 6), 7).hex(" ")
    'df 01 06 80 15'
    """
    if units < 1:
        raise TableFormatError("empty range", f"expected at least one code unit, but found {units}", table=_TABLE)
    line = None if location is None else location[0]
    head, fields = _form(location, 0 if line is None else line - line_before)
    if units <= _MAX_UNITS:
        return bytes((head | (units - 1),)) + fields
    entries = [bytes((head | 7,)) + fields]
    full, last = divmod(units - 1, _MAX_UNITS)
    head, fields = _form(location, 0)
    entries += [bytes((head | 7,)) + fields] * (full - 1)
    entries.append(bytes((head | last,)) + fields)
    return b"".join(entries)


def _form(location: Location | None, delta: int) -> tuple[int, bytes]:
    """`write_location_info_entry`: the first byte (its units still to be added) and the fields of the shortest form."""
    if location is None:
        return 128 | _NO_LOCATION << 3, b""
    line, end_line, column, end_column = location
    if line is None:
        if location != (None, None, None, None):
            raise TableFormatError("missing line", f"expected a line, but found {tuple(location)}", table=_TABLE)
        return 128 | _NO_LOCATION << 3, b""
    if end_line == line and column is not None and end_column is not None and 0 <= line <= _MAX:
        if delta == 0 and 0 <= column < 80 and 0 <= end_column - column < 16:
            return 128 | column & 0xF8, bytes(((column & 7) << 4 | (end_column - column),))
        if 0 <= delta < 3 and 0 <= column < 128 and 0 <= end_column < 128:
            return 128 | (_FIRST_ONE_LINE + delta) << 3, bytes((column, end_column))
    _check(location, line)
    signed = -delta << 1 | 1 if delta < 0 else delta << 1
    if signed >= _UNSIGNED:
        detail = f"expected a line within 2**31 of the one before, but found one {delta} lines away"
        raise TableFormatError("value too large", detail, table=_TABLE)
    if column is None and end_column is None and end_line in (line, None):
        return 128 | _NO_COLUMNS << 3, _encode(signed)
    fields = (
        _encode(signed),
        _encode(0 if end_line is None else end_line - line),
        _encode(0 if column is None else column + 1),
        _encode(0 if end_column is None else end_column + 1),
    )
    return 128 | _LONG << 3, b"".join(fields)


def _check(location: Location, line: int) -> None:
    """Refuse what no form can hold."""
    _, end_line, column, end_column = location
    values = [value for value in location if value is not None]
    if min(values) < 0:
        fault, detail = "negative value", "lines and columns of at least 0"
    elif max(line, end_line or 0, (column or 0) + 1, (end_column or 0) + 1) > _MAX:
        fault, detail = "value too large", "lines and columns below 2**31"
    elif end_line is None and (column is not None or end_column is not None):
        fault, detail = "missing line", "an end line beside a column"
    elif end_line is not None and end_line < line:
        fault, detail = "end before start", "an end line that is not before the line"
    else:
        return
    raise TableFormatError(fault, f"expected {detail}, but found {tuple(location)}", table=_TABLE)


def _bytes(entry: bytes, count: int) -> bytes:
    """The fields of an entry that has one byte for each."""
    fields = entry[1:]
    if len(fields) != count or not fields.isascii():
        if len(fields) < count:
            raise _truncated(entry)
        raise _stray(entry, next((at for at, byte in enumerate(entry[: count + 1]) if at and byte > 127), count + 1))
    return fields


def _varints(entry: bytes, count: int) -> list[int]:
    """The fields of an entry that has varints."""
    if len(entry) == count + 1 and max(entry[1:]) < 64:
        return list(entry[1:])
    values = []
    at = 1
    for _ in range(count):
        value, at = _varint(entry, at)
        values.append(value)
    if at < len(entry):
        raise _stray(entry, at)
    return values


def _varint(entry: bytes, at: int) -> tuple[int, int]:
    """The varint at `at`, and the offset behind it. C reads 32 bits, so six groups at most."""
    value = 0
    for group, byte in enumerate(entry[at : at + 6]):
        if byte > 127:
            raise _stray(entry, at + group)
        value |= (byte & 63) << 6 * group
        if byte < 64 and value < _UNSIGNED:
            return value, at + group + 1
    if len(entry) < at + 6 and value < _UNSIGNED:
        raise _truncated(entry)
    raise _too_large(entry, at, value)


def _encode(value: int) -> bytes:
    if value < 64:
        return bytes((value,))
    groups = []
    while value > 63:
        groups.append(value & 63 | 64)
        value >>= 6
    return bytes((*groups, value))


def _no_start(entry: bytes, offset: int) -> TableFormatError:
    found = f"{entry[offset]:#04x}" if offset < len(entry) else "nothing"
    detail = f"expected a byte with bit 7 set, where an entry begins, but found {found}"
    return TableFormatError("missing start bit", detail, table=_TABLE, offset=offset)


def _stray(entry: bytes, offset: int) -> TableFormatError:
    detail = f"expected the end of the entry, but found {entry[offset : offset + 1].hex()} in {entry.hex(' ')}"
    return TableFormatError("stray byte", detail, table=_TABLE, offset=offset)


def _truncated(entry: bytes) -> TableFormatError:
    detail = f"expected another byte of the entry, but found only the {len(entry)} of {entry.hex(' ')}"
    return TableFormatError("truncated", detail, table=_TABLE, offset=len(entry))


def _too_large(entry: bytes, offset: int, value: int) -> TableFormatError:
    detail = f"expected a number that fits into a C int, but found at least {value} in {entry.hex(' ')}"
    return TableFormatError("value too large", detail, table=_TABLE, offset=offset)


def _placed(error: TableFormatError, number: int, at: int | None) -> TableFormatError:
    """The same error, with the number of the entry and the offset in the table."""
    offset = None if at is None or error.offset is None else at + error.offset
    return TableFormatError(error.fault, error.detail, table=_TABLE, entry=number, offset=offset)
