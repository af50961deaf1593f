"""1xx, bytes: the exception table and the location table can be read, and are written as a compiler writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.errors import TableFormatError
from xtab.format.exception_table import parse_exception_table
from xtab.format.locations import assemble_location_table, parse_location_table

if TYPE_CHECKING:
    from xtab.analysis.verify.parts import CodeParts
    from xtab.analysis.verify.report import Report
    from xtab.format.exception_table import ExceptionTableEntry

__all__ = ["check_locations", "read_entries"]

_RULE_OF_FAULT = {
    "overlong varint": "XT102",
    "not canonical": "XT102",
    "unsorted": "XT201",
    "overlap": "XT202",
    "empty range": "XT203",
    "range outside the code": "XT204",
    "target outside the code": "XT301",
}
"""What a fault of the table is called here; all others make it unreadable."""
_HINTS = {
    "XT101": "assemble_exception_table() writes tables; see parse_exception_table(data, strict=False) for all faults",
    "XT102": "assemble_exception_table(parse_exception_table(data)) writes it anew",
    "XT201": "the interpreter searches by bisection, and will miss the handler; assemble_exception_table() sorts",
    "XT202": "which of the two is found hangs on the size of the table; flatten() makes flat ranges of nested ones",
    "XT203": "leave the entry out",
    "XT204": "end the range where the code ends",
    "XT301": "the handler must be an instruction of this code object",
}


def read_entries(parts: CodeParts, report: Report) -> list[ExceptionTableEntry] | None:
    """The entries of the exception table; None where they are not to be trusted, which is reported then."""
    before = report.errors
    table = parts.exceptiontable
    try:
        return parse_exception_table(table, code_size=len(parts.code))
    except TableFormatError:
        entries, faults = parse_exception_table(table, strict=False, code_size=len(parts.code))
    for fault in faults:
        rule = _RULE_OF_FAULT.get(fault.fault, "XT101")
        entry = next((entry for entry in entries if f"[{entry.start},{entry.end})" in fault.detail), None)
        report.add(rule, f"{fault.detail} ({_place(fault)})", _HINTS[rule], entry=entry, offset=_offset(entry, parts))
    return entries if report.errors == before else None


def _place(fault: TableFormatError) -> str:
    return f"{fault.table}, entry {fault.entry}, byte {fault.offset}: {fault.fault}"


def _offset(entry: ExceptionTableEntry | None, parts: CodeParts) -> int | None:
    return entry.start if entry is not None and entry.start < len(parts.code) else None


def check_locations(parts: CodeParts, report: Report) -> None:
    """Read the location table and write it again."""
    table, first = parts.linetable, parts.firstlineno
    try:
        entries = parse_location_table(table, first)
    except TableFormatError as fault:
        hint = "assemble_location_table() writes one; a wrong one is read past its end, or aborts a debug build"
        report.add("XT103", f"{fault.detail} ({_place(fault)})", hint)
        return
    size = entries[-1].end if entries else 0
    message = f"expected locations for {len(parts.code)} bytes of code, but found them for {size}"
    if size < len(parts.code):
        report.add("XT105", message, "instructions without an entry have no line in tracebacks")
    elif size > len(parts.code):
        report.add("XT106", message, "some versions write the lines into a buffer that is as long as the code")
    try:
        written = assemble_location_table(entries, first)
    except TableFormatError as fault:
        report.add("XT103", f"{fault.detail} ({_place(fault)})", "assemble_location_table() writes one")
        return
    if written != table:
        message = (
            f"expected {len(written)} bytes, as a compiler writes these locations, but found other {len(table)} bytes"
        )
        report.add("XT104", message, "assemble_location_table(parse_location_table(data, line), line) writes it anew")
