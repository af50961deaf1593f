"""An exception table as text: its regions as a tree (`tree_lines`), or its bytes and what each says (`byte_lines`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.format.table_fields import table_fields
from xtab.report.text import region_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xtab.analysis.regions import Region
    from xtab.format.table_fields import TableField
    from xtab.report.text import Line

__all__ = ["byte_lines", "meanings", "tree_lines"]


def meanings(table: bytes) -> Iterator[tuple[TableField, str]]:
    """The numbers of a table, each with what it says, in words; offsets are in bytes.

    >>> [meaning for _, meaning in meanings(bytes.fromhex("82040a03"))]
    ['start 4', 'length 8, so it ends at 12', 'target 20', 'depth 1, lasti']
    """
    start = 0
    for field in table_fields(table):
        meaning = _meaning(field.name, field.value, start)
        yield field, meaning if field.fault is None else f"{meaning}, but {field.fault}"
        if field.name == "start":
            start = field.value


def _meaning(name: str, value: int, start: int) -> str:
    if name == "depth":
        return f"depth {value >> 1}" + (", lasti" if value & 1 else "")
    if name == "length":
        return f"length {2 * value}, so it ends at {2 * (start + value)}"
    return f"{name} {2 * value}"


def byte_lines(table: bytes) -> Iterator[Line]:
    """A line a number: where it stands in the table, its bytes, and what they say."""
    found = list(meanings(table))
    if not found:
        return
    width = max(len("bytes"), *(len(field.raw.hex(" ")) for field, _ in found))
    widest = len(f"#{found[-1][0].entry}")
    yield [(f"  {'offset':>6}  {'bytes':<{width}}  meaning", "dim")]
    for field, meaning in found:
        number = f"#{field.entry}" if field.name == "start" else ""
        yield [
            (f"  {field.at:>6}  ", "dim"),
            (f"{field.raw.hex(' '):<{width}}  ", ""),
            (f"{number:<{widest}} ", "bold"),
            (meaning, ""),
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
