"""`listing_json` and its parts: a listing as values that the module `json` of the standard library can write.

The forms are described by the schemas in ``xtab/cli/schemas``.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType

    from xtab.analysis.regions import Region
    from xtab.analysis.verify import Problem
    from xtab.format.exception_table import ExceptionTableEntry
    from xtab.format.locations import Location
    from xtab.report.listing import Listing, Row

__all__ = ["entries_json", "listing_json", "problem_json", "region_json", "row_json"]


def listing_json(listing: Listing) -> dict[str, Any]:
    """All that there is to show of one code object; those inside it are not in there.

    >>> import xtab
    >>> listing_json(xtab.show(lambda: None))["regions"]
    []
    """
    code = listing.code
    return {
        "qualname": listing.name,
        "filename": code.co_filename,
        "firstlineno": code.co_firstlineno,
        "version": listing.python,
        "stack_size": code.co_stacksize,
        "stack_needed": listing.stack_needed,
        "entries": entries_json(listing.entries, listing.regions),
        "regions": [region_json(region) for region in listing.regions],
        "instructions": [row_json(row) for row in listing.rows],
        "problems": [problem_json(problem) for problem in listing.problems],
    }


def entries_json(entries: tuple[ExceptionTableEntry, ...], regions: tuple[Region, ...]) -> list[dict[str, Any]]:
    """The entries of a table as they are stored, each with the letter of its region; null if that isn't known."""
    letters = {region.key: region.letter for region in regions}
    return [{**entry._asdict(), "region": letters.get(entry[2:])} for entry in entries]


def region_json(region: Region) -> dict[str, Any]:
    """A region; those around it and in it by their letters."""
    return {
        "letter": region.letter,
        "kind": str(region.kind),
        "classes": list(region.classes),
        "bookkeeping": region.bookkeeping,
        "handler": region.handler,
        "depth": region.depth,
        "lasti": region.lasti,
        "parent": None if region.parent is None else region.parent.letter,
        "children": [child.letter for child in region.children],
        "pieces": [list(piece) for piece in region.pieces],
        "holes": [hole._asdict() for hole in region.holes],
        "location": _location(region.location),
    }


def problem_json(problem: Problem) -> dict[str, Any]:
    """A problem that the verifier found."""
    facts = asdict(problem)
    facts["entry"] = None if problem.entry is None else problem.entry._asdict()
    return {"code": facts.pop("code"), "name": problem.name, "severity": problem.severity, **facts}


def row_json(row: Row) -> dict[str, Any]:
    """An instruction; the regions around it, and those whose handler it begins, by their letters."""
    return {
        "offset": row.offset,
        "end": row.end,
        "location": _location(row.location),
        "depth": row.depth,
        "opname": row.opname,
        "arg": row.arg,
        "operand": row.operand,
        "label": row.label,
        "target": row.target,
        "regions": [region.letter for region in row.chain],
        "handles": [region.letter for region in row.handles],
        "code": _name(row.code),
    }


def _location(location: Location | None) -> dict[str, Any] | None:
    return None if location is None else location._asdict()


def _name(code: CodeType | None) -> str | None:
    return None if code is None else code.co_qualname
