"""2xx, ranges: they begin and end between instructions. What else is wrong with them, `tables` hears while reading."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.analysis.verify.columns import Columns
    from xtab.analysis.verify.report import Report
    from xtab.format.exception_table import ExceptionTableEntry

__all__ = ["check_ranges", "holder"]


def check_ranges(entries: list[ExceptionTableEntry], columns: Columns, report: Report) -> None:
    """Refuse ranges that cut an instruction: its prefixes and caches belong to it."""
    index, size = columns.index_of, columns.ends[-1]
    for entry in entries:
        for border, word in ((entry.start, "start"), (entry.end, "end")):
            if border in index or (border == size and word == "end"):
                continue
            holding = holder(columns, border)
            name = CURRENT.name[columns.opcodes[holding]]
            message = (
                f"expected the {word} of a range between instructions, but found {border}, inside the {name} at "
                f"[{columns.starts[holding]},{columns.ends[holding]})"
            )
            hint = "an instruction's range begins at its first EXTENDED_ARG and ends behind its last cache"
            report.add("XT205", message, hint, columns=columns, index=holding, entry=entry)


def holder(columns: Columns, offset: int) -> int:
    """Index of the instruction that the byte at `offset` belongs to."""
    return max(bisect_right(columns.starts, offset) - 1, 0)
