"""`source_map`: from the places of a generated text to those of the text that it was generated from.

1. Both are parsed. Each node gets a number for all that it is, and one for its head: what it is without its operands,
   such as a call of something named so. The same numbers mean the same (`xtab.transform.syntax.Tree`).
2. Nodes of one tree are paired with those of the other: what is the same, or is like it, or was put around it; what was
   put into a block, or taken out of one; and then what was moved or copied (`xtab.transform.matching`).
3. Then each generated node has a place (`_places`): its own pair's; that of what it is in, for an expression without a
   pair; and only a line, for a statement without a pair: that of the next statement of its block that has one. In a
   statement without a pair, an expression around one that has a pair (`_first_within`) is where that is.
4. A location that is no node's belongs to the smallest node around it.

Attributes and methods on another line than what they belong to have locations of their own; CPython source followed:
``Python/codegen.c``, `update_start_location_to_match_attr` (up to 3.13 ``Python/compile.c``).
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from typing import TYPE_CHECKING

from xtab.format.locations import Location
from xtab.format.source_code import split_lines
from xtab.transform.matching import paired
from xtab.transform.syntax import Tree, first_line, is_statement, location_of, locations_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SourceMap", "source_map"]


def source_map(original: str | ast.AST, generated: str | ast.AST) -> SourceMap:
    r"""Where the parts of a generated text come from, for code that was made by editing somebody's syntax tree.

    Args:
        original: the text that was edited, or its tree as it was before. It may be indented, as `inspect.getsource`
            gives the text of a method: then the columns are those of the file, and only lines are left to be moved.
        generated: the text that was compiled, or its tree, with locations.

    Returns:
        What :func:`relocate` takes as `positions`: a function from a location in the generated text to one in the
        original text. For what stands in both texts, it is the very location that the compiler gives for the original
        one, also where it was put into a block or a function; what stands once in the original text may have been
        moved or copied anywhere. A call, or any expression, that was wrapped around one of the original has the
        location of that one. A statement that was put in has only a line: that of the next statement in its block that
        was there before; of the last, at the end of a block; of what it holds of the original. It gives None where the
        two texts have nothing in common at all.

    Raises:
        SyntaxError: one of the texts can't be parsed; its ``filename`` says which.
        TypeError: an argument is neither a text nor a tree.

    >>> import ast
    >>> original = "def forward(self, x):\n    return self.layer(\n        x)\n"
    >>> generated = "def forward(self, x):\n    return wrap(self.layer(x), 'layer')\n"
    >>> where = source_map(original, generated)
    >>> where(Location(2, 2, 11, 38)) == where(Location(2, 2, 16, 29)) == Location(2, 3, 11, 10)
    True
    """
    trees = [_tree(each, name) for each, name in ((original, "original"), (generated, "generated"))]
    before, indented = trees[0]
    now, _ = trees[1]
    numbers: dict[object, int] = {}
    old, new = Tree(before, numbers), Tree(now, numbers)
    pairs = paired(old, new)
    return SourceMap(new, _places(new, pairs), pairs, -1 if indented else 0)


def _tree(source: str | ast.AST, name: str) -> tuple[ast.AST, bool]:
    """The tree of a text, and whether a line was put in front of it to parse it."""
    if isinstance(source, ast.AST):
        return source, False
    if not isinstance(source, str):
        raise TypeError(f"expected a text or a syntax tree for {name}, but found {source!r:.80}")
    filename = f"<{name} text of source_map>"
    first = next((line for line in split_lines(source) if line.strip() and not line.lstrip().startswith("#")), "")
    if first[:1] in (" ", "\t"):
        body = _parsed_in_block(source, filename)
        if len(body) == 1:  # all of it is indented
            return ast.Module(body[0].body, []), True  # type: ignore[attr-defined]
    return _parsed(source, filename), False


def _parsed(source: str, filename: str) -> ast.Module:
    try:
        return ast.parse(source, filename)
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        if isinstance(error, SyntaxError) and error.filename:
            raise
        message = f"expected a text that can be parsed, but found: {error}"  # too deep, or a character that can't be
        raise SyntaxError(message, (filename, 1, None, None)) from error


def _parsed_in_block(source: str, filename: str) -> list[ast.stmt]:
    try:
        return _parsed(f"if 1:\n{source}", filename).body
    except SyntaxError as error:  # the line in front is ours
        error.lineno = None if error.lineno is None else max(error.lineno - 1, 1)
        error.end_lineno = None if error.end_lineno is None else error.end_lineno - 1
        raise


class SourceMap:
    r"""From a location in the generated text to the one in the original text: what :func:`xtab.source_map` returns.

    >>> source_map("x = 1", "\n\nx = 1")(Location(3, 3, 4, 5))
    Location(line=1, end_line=1, column=4, end_column=5)
    """

    def __init__(
        self, new: Tree, places: dict[ast.AST, Location | None], pairs: dict[ast.AST, ast.AST], lines: int
    ) -> None:
        self._exact: dict[Location, Location | None] = {}
        self._lines: dict[int, Location | None] = {}
        for node in new.nodes:
            if node not in places:
                continue
            place = _shifted(places[node], lines)
            pair = pairs.get(node)
            if pair is not None:
                for here, there in zip(locations_of(node), locations_of(pair), strict=False):
                    self._exact[here] = _shifted(there, lines)
            else:
                self._exact.setdefault(location_of(node), place)  # type: ignore[arg-type]
            line = first_line(node)
            if line not in self._lines or is_statement(node):
                self._lines.setdefault(line, place if pair is None else _line(first_line(pair) + lines))
        self._extents = sorted((extent for extent in self._exact if extent.column is not None), key=_outside_in)
        self._starts = [_start(extent) for extent in self._extents]
        self._around = _containers(self._extents)

    def __call__(self, location: Location) -> Location | None:
        """The place in the original text, or None if there is none."""
        if location in self._exact:
            return self._exact[location]
        line, _, column, _ = location
        if line is None:
            return None
        if column is None and line in self._lines:
            place = self._lines[line]
            return None if place is None else _line(place.line)
        return self._of_what_is_around(location)

    def _of_what_is_around(self, location: Location) -> Location | None:
        """Step 4."""
        line, end_line, column, end_column = location
        assert line is not None
        end = (line if end_line is None else end_line, (column or 0) if end_column is None else end_column)
        at: int | None = bisect_right(self._starts, (line, column or 0)) - 1
        while at is not None and at >= 0:
            if _end(self._extents[at]) >= end:
                place = self._exact[self._extents[at]]
                return _line(place.line) if place is not None and column is None else place
            at = self._around[at]
        return None


def _line(line: int | None) -> Location:
    return Location(line, line, None, None)


def _shifted(place: Location | None, lines: int) -> Location | None:
    if place is None or place.line is None or place.end_line is None:
        return None
    return place._replace(line=place.line + lines, end_line=place.end_line + lines)


def _start(extent: Location) -> tuple[int, int]:
    return extent.line or 0, extent.column or 0


def _end(extent: Location) -> tuple[int, int]:
    return extent.end_line or 0, extent.end_column or 0


def _outside_in(extent: Location) -> tuple[tuple[int, int], tuple[int, int]]:
    line, column = _end(extent)
    return _start(extent), (-line, -column)


def _containers(extents: Sequence[Location]) -> list[int | None]:
    """For each extent, of those in order, the number of the smallest one around it."""
    found: list[int | None] = []
    around: list[int] = []
    for number, extent in enumerate(extents):
        while around and _end(extents[around[-1]]) < _end(extent):
            around.pop()
        found.append(around[-1] if around else None)
        around.append(number)
    return found


def _places(new: Tree, pairs: dict[ast.AST, ast.AST]) -> dict[ast.AST, Location | None]:
    """Step 3: the place of each generated node that has a location."""
    places: dict[ast.AST, Location | None] = {}
    inherited: dict[ast.AST, Location | None] = {}
    within = _first_within(new, pairs)
    lines = _lines_of_insertions(new, pairs, within)
    for node in new.nodes:
        pair = pairs.get(node)
        place = None if pair is None else location_of(pair)
        if place is None:
            parent = new.parent[node]
            place = lines[node] if node in lines else inherited.get(parent) if parent is not None else None
            if node in within and isinstance(node, ast.expr) and (place is None or place.column is None):
                place = location_of(within[node])
        inherited[node] = place
        if location_of(node) is not None:
            places[node] = place
    return places


def _first_within(new: Tree, pairs: dict[ast.AST, ast.AST]) -> dict[ast.AST, ast.AST]:
    """For nodes without a pair, the pair of the first expression in them, blocks left out, that has one."""
    found: dict[ast.AST, ast.AST] = {}
    for node in reversed(new.nodes):
        pair = pairs.get(node) if isinstance(node, ast.expr) else None
        pair = found.get(node) if pair is None else pair
        parent = new.parent[node]
        if pair is None or parent is None or parent in pairs or is_statement(node) or new.has_blocks(node):
            continue
        found[parent] = pair
    return found


def _lines_of_insertions(
    new: Tree, pairs: dict[ast.AST, ast.AST], within: dict[ast.AST, ast.AST]
) -> dict[ast.AST, Location | None]:
    """The lines of statements that have no pair: of the first in them that has one, the next, the last, or around."""
    known = _lines_within(new, pairs, within)
    lines: dict[ast.AST, Location | None] = {}
    for node in new.nodes:
        around = lines.get(node)
        if node in pairs and is_statement(node):
            around = _line(first_line(pairs[node]))
        for block in new.fields(node):
            if block and is_statement(block[0]):
                nearest = _nearest(block, known, around)
                lines.update({each: line for each, line in nearest.items() if each not in pairs})
    return lines


def _lines_within(new: Tree, pairs: dict[ast.AST, ast.AST], within: dict[ast.AST, ast.AST]) -> dict[ast.AST, Location]:
    """The line of each statement that has a pair, and of the first such expression or statement in others."""
    found: dict[ast.AST, Location] = {}
    for node in reversed(new.nodes):
        if is_statement(node) and node in pairs:
            found[node] = _line(first_line(pairs[node]))
        elif is_statement(node) and node in within:
            found[node] = _line(first_line(within[node]))
        parent = new.parent[node]
        if node in found and parent is not None and parent not in pairs:
            found[parent] = found[node]
    return found


def _nearest(
    block: Sequence[ast.AST], known: dict[ast.AST, Location], around: Location | None
) -> dict[ast.AST, Location | None]:
    """For each statement of a block: what is known of it, of the next, of the last before it, or what is around."""
    found: dict[ast.AST, Location | None] = {}
    nearest = around
    for each in block:
        found[each] = nearest = known.get(each, nearest)
    nearest = None
    for each in reversed(block):
        nearest = known.get(each, nearest)
        found[each] = nearest or found[each]
    return found
