"""The numbers of an exception table one by one, whatever its bytes are: for tables that need not be right.

`parse_exception_table` answers with entries, or refuses; here all that is stored is kept as it is, in code units. The
format, as ``Objects/exception_handling_notes.txt`` and InternalDocs/exception_handling.md of CPython have it: four
numbers an entry, start, length, target, and twice the depth, plus one for lasti. A number is groups of six bits, the
highest first; bit 6 says that another one follows, bit 7 marks the first byte of an entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from xtab.format.exception_table import encode_varint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["FIELD_NAMES", "RawEntry", "TableField", "read_raw_entries", "table_fields", "write_raw_entries"]

FIELD_NAMES = ("start", "length", "target", "depth")
"""What the numbers of an entry are, in their order; the last one holds lasti as well."""
_MORE, _FIRST, _GROUP = 64, 128, 63


class TableField(NamedTuple):
    """One number of a table."""

    at: int  #: offset of its first byte, in the table
    raw: bytes
    entry: int  #: the number of the entry that it belongs to
    name: str  #: one of `FIELD_NAMES`
    value: int  #: as it is stored
    fault: str | None  #: what is wrong with its bytes, in words


class RawEntry(NamedTuple):
    """An entry of an exception table as it is stored, in code units."""

    start: int
    length: int
    target: int
    flags: int  #: depth << 1 | lasti


def table_fields(table: bytes) -> Iterator[TableField]:
    """The numbers of a table. A table that ends too soon, or has bits where none should be, is read as far as it goes.

    >>> [(field.at, field.name, field.value) for field in table_fields(bytes.fromhex("8204410a03"))]
    [(0, 'start', 2), (1, 'length', 4), (2, 'target', 74), (4, 'depth', 3)]
    """
    at = number = 0
    while at < len(table):
        end, value = at, table[at] & _GROUP
        while table[end] & _MORE and end + 1 < len(table):
            end += 1
            value = value << 6 | table[end] & _GROUP
        entry, place = divmod(number, len(FIELD_NAMES))
        raw = table[at : end + 1]
        yield TableField(at, raw, entry, FIELD_NAMES[place], value, _fault(raw, is_first=place == 0))
        at = end + 1
        number += 1


def _fault(raw: bytes, *, is_first: bool) -> str | None:
    if raw[-1] & _MORE:
        return "the table ends within it"
    if bool(raw[0] & _FIRST) != is_first:
        return f"{'without' if is_first else 'with'} the bit of a first byte"
    return None


def read_raw_entries(table: bytes) -> list[RawEntry] | None:
    """The entries of an exception table, in whatever order and however they overlap.

    None if the table is not just the bytes of these entries.

    >>> read_raw_entries(bytes.fromhex("82040a03"))
    [RawEntry(start=2, length=4, target=10, flags=3)]
    """
    values = [field.value for field in table_fields(table)]
    fours = zip(*[iter(values)] * len(FIELD_NAMES), strict=False)
    entries = [RawEntry(*four) for four in fours]
    return entries if write_raw_entries(entries) == table else None


def write_raw_entries(entries: Iterable[RawEntry]) -> bytes:
    """The bytes of entries, which need not be what a compiler would write.

    >>> write_raw_entries([RawEntry(2, 4, 10, 3)]).hex()
    '82040a03'
    """
    return b"".join(
        encode_varint(value, 0 if place else _FIRST) for entry in entries for place, value in enumerate(entry)
    )
