"""2xx, ranges: they begin and end between instructions. What else is wrong with them, `tables` hears while reading."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.analysis.verify.listing import Listing
    from xtab.analysis.verify.report import Report
    from xtab.format.exception_table import ExceptionTableEntry

__all__ = ["check_ranges", "holder"]


def check_ranges(entries: list[ExceptionTableEntry], listing: Listing, report: Report) -> None:
    """Refuse ranges that cut an instruction: its prefixes and caches belong to it."""
    index, size = listing.index_of, listing.ends[-1]
    for entry in entries:
        for border, word in ((entry.start, "start"), (entry.end, "end")):
            if border in index or (border == size and word == "end"):
                continue
            holding = holder(listing, border)
            name = CURRENT.name[listing.opcodes[holding]]
            message = (
                f"expected the {word} of a range between instructions, but found {border}, inside the {name} at "
                f"[{listing.starts[holding]},{listing.ends[holding]})"
            )
            hint = "an instruction's range begins at its first EXTENDED_ARG and ends behind its last cache"
            report.add("XT205", message, hint, listing=listing, index=holding, entry=entry)


def holder(listing: Listing, offset: int) -> int:
    """Index of the instruction that the byte at `offset` belongs to."""
    return max(bisect_right(listing.starts, offset) - 1, 0)
