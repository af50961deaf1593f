"""3xx, handlers: they are instructions, agree with each other, and don't catch themselves.

What hangs on the stack (XT304, XT305, XT307) is found by the walk in `stack`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify.ranges import holder
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.analysis.verify.columns import Columns
    from xtab.analysis.verify.report import Report
    from xtab.format.exception_table import ExceptionTableEntry

__all__ = ["check_handlers", "check_units_before", "cover"]


def check_handlers(entries: list[ExceptionTableEntry], columns: Columns, report: Report) -> None:
    """XT302, XT303 and XT306."""
    first: dict[int, ExceptionTableEntry] = {}
    for entry in entries:
        target = entry.target
        if target not in columns.index_of:
            at = holder(columns, target)
            message = (
                f"expected a handler at an instruction, but found {target}, inside the "
                f"{CURRENT.name[columns.opcodes[at]]} at [{columns.starts[at]},{columns.ends[at]})"
            )
            hint = "a handler begins at its first instruction, EXTENDED_ARG included"
            report.add("XT302", message, hint, columns=columns, index=at, entry=entry)
            continue
        known = first.setdefault(target, entry)
        if known[3:] != entry[3:]:
            message = (
                f"expected depth {known.depth}{_lasti(known)} for the handler at {target}, "
                f"as for [{known.start},{known.end}), "
                f"but found depth {entry.depth}{_lasti(entry)} for [{entry.start},{entry.end})"
            )
            hint = "the handler's code counts on one stack: give all its entries the same depth and lasti"
            at = columns.index_of[target]
            report.add(
                "XT303", message, hint, columns=columns, index=at, entry=entry, related=(known.start, entry.start)
            )
    _check_cycles(entries, columns, report)


def _lasti(entry: ExceptionTableEntry) -> str:
    return " with lasti" if entry.lasti else ""


def _check_cycles(entries: list[ExceptionTableEntry], columns: Columns, report: Report) -> None:
    """Follow each handler to the handler that covers its first instruction; a circle of them never ends."""
    covering = cover(entries, columns)
    next_handler: dict[int, int | None] = {}
    for entry in entries:
        at = columns.index_of.get(entry.target)
        if at is not None:
            number = covering[at]
            next_handler[entry.target] = entries[number].target if number >= 0 else None
    done: set[int] = set()
    for start in next_handler:
        path: dict[int, None] = {}
        handler: int | None = start
        while handler is not None and handler not in done and handler not in path:
            path[handler] = None
            handler = next_handler.get(handler)
        if handler is not None and handler in path:
            circle = list(path)[list(path).index(handler) :]
            message = (
                f"expected that an exception in the handler at {handler} gets out, but found that it leads back to it"
                + (f" by way of {', '.join(map(str, circle[1:]))}" if len(circle) > 1 else "")
            )
            hint = "end the range before its handler: raising there would loop without end, deaf to Ctrl-C"
            entry = next(entry for entry in entries if entry.target == handler)
            report.add(
                "XT306",
                message,
                hint,
                columns=columns,
                index=columns.index_of[handler],
                entry=entry,
                related=tuple(circle[1:]),
            )
        done.update(path)


def cover(entries: list[ExceptionTableEntry], columns: Columns) -> list[int]:
    """For each instruction the number of the entry that covers its first byte, or -1."""
    starts = columns.starts
    covering = [-1] * len(starts)
    index, size = columns.index_of, len(starts)
    for number, entry in enumerate(entries):
        first = index.get(entry.start)
        if first is None:
            first = holder(columns, entry.start)
        end = index.get(entry.end)
        if end is None:
            end = size if entry.end >= columns.ends[-1] else holder(columns, entry.end)
        if end > first:
            covering[first:end] = [number] * (end - first)
    return covering


def check_units_before(
    entries: list[ExceptionTableEntry], covering: list[int], columns: Columns, reached: bytearray, report: Report
) -> None:
    """XT308: from 3.13 on an exception out of a Python callee is looked up in the unit before the call."""
    if not CURRENT.looks_up_unit_before or not entries:
        return
    opcodes, starts, at = columns.opcodes, columns.starts, columns.at
    runs_python = CURRENT.runs_python
    handlers = [entry[2:] for entry in entries]
    handlers.append(None)  # type: ignore[arg-type]  # for -1
    before = -1
    for index, number in enumerate(covering):
        same = number == before or starts[index] != at[index] or handlers[number] == handlers[before]
        if not same and runs_python[opcodes[index]] and reached[index]:
            name = CURRENT.name[opcodes[index]]
            message = (
                f"expected that the unit before {name} has its handler, {_handler(entries, number)}, "
                f"but found {_handler(entries, before)}"
            )
            hint = (
                "exceptions of Python functions that it runs are looked up there: put a NOP with the same span "
                "before it (assemble() does)"
            )
            entry = entries[number if number >= 0 else before]
            report.add("XT308", message, hint, columns=columns, index=index, entry=entry)
        before = number


def _handler(entries: list[ExceptionTableEntry], number: int) -> str:
    return f"the one at {entries[number].target}" if number >= 0 else "none"
