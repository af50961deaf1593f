"""`SourceWords`: what the regions and instructions of a code object are called in the source that they were made of."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from xtab.analysis.class_checks import UNNAMED
from xtab.analysis.region_kinds import Kind
from xtab.report.source_tree import Item, caught, exits, extent_of, extent_of_node
from xtab.report.words import line_words, lines_of_source

if TYPE_CHECKING:
    import ast

    from xtab.analysis.regions import Region
    from xtab.format.locations import Location
    from xtab.report.listing import Listing, Row
    from xtab.report.source_tree import Exit, Extent, SourceTree

__all__ = ["HandlerWords", "SourceWords"]

_WITH_STATEMENTS = {Kind.WITH, Kind.ASYNC_WITH}
_EXCEPTS = {Kind.EXCEPT, Kind.EXCEPT_STAR, Kind.BARE_EXCEPT}
_WORDS = {
    Kind.WITH: "__exit__ is called; if that returns true, the exception ends there",
    Kind.ASYNC_WITH: "__aexit__ is awaited; if that gives true, the exception ends there",
    Kind.EXCEPT: "runs if the class matches",
    Kind.BARE_EXCEPT: "runs",
    Kind.EXCEPT_STAR: "gets what matches of the exception, the rest goes on",
    Kind.FINALLY: "runs, then the exception goes on",
}
_FIRST_OF_SEVERAL = "the first clause whose class matches runs"
_MAY_END = "runs, and may end the exception ({}); otherwise the exception goes on"
_LAST_WORDS = {
    Kind.FINALLY: "runs, and the exception does not go on",
    Kind.UNKNOWN: "its handler runs",
    Kind.EXCEPT_STAR_ITEM: "it is kept until all except* clauses are done, then raised with what is left",
}
_ENDS = {
    "return": "ends the exception: it returns",
    "break": "ends the exception: it leaves the loop by break",
    "continue": "ends the exception: it goes on with the loop by continue",
    "raise": "raises another exception in its place",
}


class HandlerWords(NamedTuple):
    """What is to be said of a handler."""

    line: int | None  #: its first one
    lines: str  #: those of its clauses, in words
    words: str  #: what it does


class SourceWords:
    """The words for one code object.

    Args:
        listing: of it.
        tree: of its source; None: what the bytecode tells.
    """

    def __init__(self, listing: Listing, tree: SourceTree | None) -> None:
        self._rows = listing.rows
        self._tree = tree

    def label(self, region: Region) -> str:
        """What a region is: ``with open(path)``, ``except OSError``."""
        item = self._item(region)
        if item is not None and self._tree is not None:
            return f"{region.kind} {self._tree.text(item.extent)}"
        statement = self._except(region)
        if UNNAMED not in region.classes or statement is None or self._tree is None:
            return region.label
        classes = [self._tree.text(extent_of_node(each)) for clause in statement.handlers for each in caught(clause)]
        return f"{region.kind} {', '.join(classes)}"

    def lines(self, region: Region) -> str:
        """The lines that a region protects: ``3-7``."""
        item = self._item(region)
        if item is None:
            return lines_of_source(region.location)
        first, last = item.protects
        return str(first) if first == last else f"{first}-{last}"

    def handler(self, region: Region, *, last: bool) -> HandlerWords:
        """What happens in the handler of a region; `last`: it doesn't raise the exception again."""
        words = (_LAST_WORDS if last else _WORDS).get(region.kind) or _WORDS.get(region.kind, "")
        line = next((row.line for row in self._handler(region) if row.line is not None), None)
        item, statement = self._item(region), self._except(region)
        if item is not None:
            line = item.extent[0]
        if statement is not None:
            lines = list(dict.fromkeys(clause.lineno for clause in statement.handlers))
            if len(statement.handlers) > 1 and region.kind == Kind.EXCEPT:
                words = _FIRST_OF_SEVERAL
            return HandlerWords(lines[0], _all_lines(lines), words)
        if region.kind == Kind.FINALLY and (ended := self._exits(region)):
            if not last:
                words = _MAY_END.format(", ".join(dict.fromkeys(f"{each.word} in line {each.line}" for each in ended)))
            elif len({each.word for each in ended}) == 1:
                words = f"runs, and {_ENDS[ended[0].word]}"
        return HandlerWords(line, "" if line is None else line_words(line, line), words)

    def extent(self, row: Row) -> Extent | None:
        """Where an instruction stands in the source; what enters and leaves a ``with`` stands at its item."""
        if self._tree is not None:
            found = self._tree.with_of(row.location)
            if found is not None and not isinstance(found, Item):
                outer = [each for each in row.chain if self._is_of(each, found)]
                return Item(found, min(len(outer), len(found.items) - 1)).extent
        return extent_of(row.location)

    def line(self, row: Row) -> int | None:
        """The line of an instruction, by the same rule."""
        extent = self.extent(row)
        return row.line if extent is None else extent[0]

    def _handler(self, region: Region) -> tuple[Row, ...]:
        return self._rows[bisect_left(self._rows, region.handler, key=lambda row: row.offset) :]

    def _position(self, region: Region) -> Location | None:
        """The first position behind the handler's first instruction."""
        return next((row.location for row in self._handler(region)[1:] if row.line is not None), None)

    def _with(self, region: Region) -> Item | ast.With | ast.AsyncWith | None:
        if self._tree is None:
            return None
        position = self._position(region)
        return self._tree.with_of(position) or self._tree.with_around(position)

    def _is_of(self, region: Region, statement: object) -> bool:
        if region.kind not in _WITH_STATEMENTS or self._tree is None:
            return False
        found = self._with(region)
        return found is statement or (isinstance(found, Item) and found.statement is statement)

    def _item(self, region: Region) -> Item | None:
        """The item of a ``with`` that a region is of."""
        if region.kind not in _WITH_STATEMENTS or self._tree is None:
            return None
        found = self._with(region)
        if found is None or isinstance(found, Item):
            return found
        number = sum(self._is_of(each, found) for each in region.chain) - 1
        return Item(found, min(number, len(found.items) - 1))

    def _except(self, region: Region) -> ast.Try | ast.TryStar | None:
        if region.kind not in _EXCEPTS or self._tree is None:
            return None
        return self._tree.except_of(self._position(region))

    def _exits(self, region: Region) -> list[Exit]:
        """What leaves the clause of a ``finally`` otherwise than at its end."""
        statement = None if self._tree is None else self._tree.finally_of(self._position(region))
        return [] if statement is None else exits(statement.finalbody)


def _all_lines(lines: list[int]) -> str:
    *first, last = map(str, lines)
    return f"lines {', '.join(first)} and {last}" if first else f"line {last}"
