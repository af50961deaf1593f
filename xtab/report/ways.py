"""`ways`: what protects a line of source, and where an exception goes that is raised there, in words.

1. The instructions of the line that can raise; if none can, all of them.
2. Each is asked where an exception goes (`xtab.analysis.unwind`); those that go the same way are told of once.
3. A step of the way is told with the first line of the handler, and with what ends the exception there.
"""

from __future__ import annotations

from bisect import bisect_left
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_OPTIMIZED
from typing import TYPE_CHECKING, NamedTuple

from xtab.analysis.region_kinds import Kind
from xtab.analysis.unwind import way_from
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from xtab.analysis.regions import Region
    from xtab.report.listing import Listing, Row

__all__ = ["Stop", "Way", "ways"]

_WORDS = {
    Kind.WITH: "__exit__ is called; if that returns true, the exception ends there",
    Kind.ASYNC_WITH: "__aexit__ is awaited; if that gives true, the exception ends there",
    Kind.EXCEPT: "runs if the class matches",
    Kind.BARE_EXCEPT: "runs",
    Kind.EXCEPT_STAR: "gets what matches of the exception, the rest goes on",
    Kind.FINALLY: "runs, then the exception goes on",
}
_OF_DEFINITIONS = {"MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE"}
"""Instructions whose lines are those of a whole function, which they don't run."""
_ONLY_NO_MEMORY = {"LIST_APPEND"}
"""Instructions that raise only when there is no memory left."""
_LAST_WORDS = {
    Kind.FINALLY: "runs, and may end the exception",
    Kind.UNKNOWN: "its handler runs",
    Kind.EXCEPT_STAR_ITEM: "it is kept until all except* clauses are done, then raised with what is left",
}


class Stop(NamedTuple):
    """A handler on the way of an exception, or the caller."""

    region: Region | None  #: None: the caller
    line: int | None  #: the first line of the handler
    words: str  #: what happens there


class Way(NamedTuple):
    """Where an exception goes that some instructions raise."""

    rows: tuple[Row, ...]  #: the instructions
    stops: tuple[Stop, ...]  #: in the order in which the exception gets there
    raises: bool  #: whether any of the instructions can raise

    @property
    def around(self) -> tuple[Region, ...]:
        """The regions around the instructions, outermost first, without bookkeeping."""
        return tuple(region for region in self.rows[0].chain if not region.bookkeeping)


def ways(listing: Listing, line: int, *, spanned: bool = False) -> list[Way]:
    r"""The ways of exceptions that a line may raise; empty if the code object has no instruction of that line.

    Args:
        listing: of the code object.
        line: its number, from 1.
        spanned: take the narrowest of what spans the line, where nothing begins in it.

    >>> import xtab
    >>> code = compile("try: a()\nexcept OSError: b()\n", "example", "exec")
    >>> [way] = ways(xtab.show(code), 1)
    >>> [stop.words for stop in way.stops]
    ['runs if the class matches', 'the code that imports or executes the module']
    """
    rows = [row for row in listing.rows if row.line == line]
    if not rows and spanned:
        rows = _around(listing, line)
    raising = [row for row in rows if not (row.opname in _ONLY_NO_MEMORY or _only_on_signal(row))]
    found: dict[tuple[Region | None, ...], tuple[list[Row], tuple[Stop, ...]]] = {}
    for row in raising or rows:
        stops = tuple(_stops(listing, row))
        key = tuple(stop.region for stop in stops)
        found.setdefault(key, ([], stops))[0].append(row)
    return [Way(tuple(each), stops, bool(raising)) for each, stops in found.values()]


def _only_on_signal(row: Row) -> bool:
    return bool(CURRENT.raises_on_signal[CURRENT.number[row.opname]])


def _around(listing: Listing, line: int) -> list[Row]:
    """The instructions of what spans a line that none begins in, the narrowest of it."""
    spans: dict[int, list[Row]] = {}
    for row in listing.rows:
        where = row.location
        if (
            row.code is None
            and row.opname not in _OF_DEFINITIONS
            and where is not None
            and where.line is not None
            and where.line < line <= (where.end_line or 0)
        ):
            spans.setdefault((where.end_line or 0) - where.line, []).append(row)
    return spans[min(spans)] if spans else []


def _stops(listing: Listing, row: Row) -> Iterator[Stop]:
    steps = way_from(listing.code_map, listing.code_map.place_at(row.offset))
    for number, step in enumerate(steps, 1):
        region = step.region
        if region is None:
            yield Stop(None, None, _caller(listing.code))
        elif not region.bookkeeping or number == len(steps):
            words = (_LAST_WORDS if number == len(steps) else _WORDS).get(region.kind) or _WORDS.get(region.kind, "")
            yield Stop(region, _handler_line(listing, region), words)


def _handler_line(listing: Listing, region: Region) -> int | None:
    """The first line that is known behind the handler's first instruction."""
    place = bisect_left(listing.rows, region.handler, key=lambda row: row.offset)
    return next((row.line for row in listing.rows[place:] if row.line is not None), None)


def _caller(code: CodeType) -> str:
    if code.co_name == "<module>":
        return "the code that imports or executes the module"
    if not code.co_flags & CO_OPTIMIZED:
        return f"the code that makes the class {code.co_qualname}"
    if code.co_flags & (CO_GENERATOR | CO_ASYNC_GENERATOR):
        return f"the code that asks {code.co_qualname} for its next value"
    if code.co_flags & CO_COROUTINE:
        return f"the code that awaits {code.co_qualname}"
    return f"the caller of {code.co_qualname}"
