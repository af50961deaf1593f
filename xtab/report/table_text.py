"""An exception table as text: its regions as a tree (`tree_lines`), or its bytes and what each says (`byte_lines`).

The format, as ``Objects/exception_handling_notes.txt`` and InternalDocs/exception_handling.md of CPython have it: four
numbers an entry, start, length, target, and twice the depth, plus one for lasti; offsets in code units. A number is
groups of six bits, the highest first; bit 6 says that another one follows, bit 7 marks the first byte of an entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from xtab.report.text import region_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xtab.analysis.regions import Region
    from xtab.report.text import Line

__all__ = ["Field", "byte_lines", "fields", "tree_lines"]

_NAMES = ("start", "length", "target", "depth")
_MORE, _FIRST, _GROUP = 64, 128, 63


class Field(NamedTuple):
    """One number of a table."""

    at: int  #: offset of its first byte, in the table
    raw: bytes
    entry: int  #: the number of the entry that it belongs to
    name: str  #: start, length, target or depth
    value: int  #: as it is stored
    meaning: str  #: in words; offsets in bytes


def fields(table: bytes) -> Iterator[Field]:
    """The numbers of a table. A table that ends too soon, or has bits where none should be, is read as far as it goes.

    >>> [field.meaning for field in fields(bytes.fromhex("82040a03"))]
    ['start 4', 'length 8, so it ends at 12', 'target 20', 'depth 1, lasti']
    """
    at = entry = place = start = 0
    while at < len(table):
        end = at
        while end < len(table) - 1 and table[end] & _MORE:
            end += 1
        raw = table[at : end + 1]
        value = 0
        for byte in raw:
            value = value << 6 | byte & _GROUP
        meaning = _meaning(_NAMES[place], value, start)
        if raw[-1] & _MORE:
            meaning += ", but the table ends within it"
        elif (raw[0] & _FIRST != 0) != (place == 0):
            meaning += ", but " + ("without" if place == 0 else "with") + " the bit of a first byte"
        yield Field(at, raw, entry, _NAMES[place], value, meaning)
        start = value if place == 0 else start
        at = end + 1
        place = (place + 1) % len(_NAMES)
        entry += place == 0


def _meaning(name: str, value: int, start: int) -> str:
    if name == "depth":
        return f"depth {value >> 1}" + (", lasti" if value & 1 else "")
    if name == "length":
        return f"length {2 * value}, so it ends at {2 * (start + value)}"
    return f"{name} {2 * value}"


def byte_lines(table: bytes) -> Iterator[Line]:
    """A line a number: where it stands in the table, its bytes, and what they say."""
    found = list(fields(table))
    if not found:
        return
    width = max(len("bytes"), *(len(field.raw.hex(" ")) for field in found))
    yield [(f"  {'offset':>6}  {'bytes':<{width}}  meaning", "dim")]
    for field in found:
        number = f"#{field.entry}" if field.name == _NAMES[0] else ""
        yield [
            (f"  {field.at:>6}  ", "dim"),
            (f"{field.raw.hex(' '):<{width}}  ", ""),
            (f"{number:<{len(str(found[-1].entry)) + 1}} ", "bold"),
            (field.meaning, ""),
        ]


def tree_lines(regions: Sequence[Region], *, ascii: bool) -> Iterator[Line]:  # noqa: A002 (as `View` calls it)
    """A line a region, those in it below it."""
    order: list[Region] = []
    branches: list[str] = []
    stroke, corner, tee = ("|  ", "`- ", "+- ") if ascii else ("│  ", "╰─ ", "├─ ")
    waiting = [(region, "", "") for region in reversed(regions) if region.parent is None]
    while waiting:
        region, branch, below = waiting.pop()
        order.append(region)
        branches.append(branch)
        for number, child in enumerate(reversed(region.children)):
            waiting.append((child, below + (tee if number else corner), below + (stroke if number else "   ")))
    yield from region_lines(order, branches)
