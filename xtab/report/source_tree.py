"""`SourceTree`: what stands in a source file, asked by place: the statement behind a region, its words, its lines.

1. The text is parsed once. Its ``try`` and ``with`` statements are kept in the order of the source.
2. A position that an instruction has is looked up by line and column. Compilers give what enters and leaves a ``with``
   either the position of the item or that of the whole statement: both are known.
3. Lines that hold nothing but a comment, or nothing, are told from those within an expression by the tokens.

CPython sources followed: ``Python/compile.c`` up to 3.13, ``Python/codegen.c`` from 3.14 (`codegen_with_inner`,
`codegen_try_except`, `codegen_try_finally`).
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from xtab.format.printable import one_line
from xtab.format.source_code import decode_source, split_lines
from xtab.transform.syntax import first_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xtab.format.locations import Location

__all__ = [
    "FUNCTIONS",
    "TRIES",
    "WITH_STATEMENTS",
    "Exit",
    "Extent",
    "Item",
    "SourceTree",
    "caught",
    "exits",
    "extent_of",
    "extent_of_node",
]

Extent: TypeAlias = "tuple[int, int, int, int]"
"""First line, first column, last line, last column: lines from 1, columns from 0 in bytes of UTF-8."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TRIES = (ast.Try, ast.TryStar)
WITH_STATEMENTS = (ast.With, ast.AsyncWith)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_OWN_CODE = (*FUNCTIONS, ast.ClassDef, ast.Lambda)
_LONGEST = 40
_EMPTY = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


class Item(NamedTuple):
    """One of the items of a ``with``: ``a`` and ``b`` of ``with a, b:``."""

    statement: ast.With | ast.AsyncWith
    number: int  #: from 0

    @property
    def extent(self) -> Extent:
        """Where it stands."""
        return extent_of_node(self.statement.items[self.number].context_expr)

    @property
    def protects(self) -> tuple[int, int]:
        """The first and the last line of what it protects: the items behind it, and the body."""
        body = self.statement.body
        behind = self.statement.items[self.number + 1 :]
        return behind[0].context_expr.lineno if behind else first_line(body[0]), body[-1].end_lineno or 0


class Exit(NamedTuple):
    """A statement that leaves a ``finally`` clause otherwise than at its end."""

    word: str  #: ``return``, ``break``, ``continue`` or ``raise``
    line: int
    certain: bool  #: whether it is a statement of the clause itself, in no condition, loop, ``with`` or ``try``


class SourceTree:
    r"""The statements of a source file.

    Args:
        source: the whole text of a module.

    Raises:
        SyntaxError, ValueError: it is no Python.

    >>> tree = SourceTree("with open(\n  a\n) as f:\n\n  f.read()  # all of it\n")
    >>> [tree.holds_code(line) for line in (2, 4, 5)]
    [True, False, True]
    >>> tree.logical_line(2), tree.text((5, 2, 5, 10))
    ((1, 3), 'f.read()')
    """

    def __init__(self, source: str | bytes) -> None:
        self._text = source if isinstance(source, str) else decode_source(source)
        with warnings.catch_warnings(action="ignore"):
            self.module = ast.parse(source)
        everything = list(ast.walk(self.module))
        self._tries = [node for node in everything if isinstance(node, TRIES)]
        self._items: dict[Extent, Item] = {}
        self._withs: dict[Extent, ast.With | ast.AsyncWith] = {}
        for node in everything:
            if isinstance(node, WITH_STATEMENTS):
                self._withs[extent_of_node(node)] = node
                for number, item in enumerate(node.items):
                    self._items[extent_of_node(item.context_expr)] = Item(node, number)

    @property
    def last_line(self) -> int:
        """The number of its last line."""
        return len(self._lines)

    @cached_property
    def _lines(self) -> list[bytes]:
        return [line.rstrip("\n").encode("utf-8", "replace") for line in split_lines(self._text)]

    @cached_property
    def _logical(self) -> tuple[list[tuple[int, int]], set[int]]:
        """The first and last line of each logical line, and the lines that hold more than a comment."""
        extents: list[tuple[int, int]] = []
        held: set[int] = set()
        first = 0
        strings: list[int] = []
        for token in tokenize.generate_tokens(io.StringIO("".join(split_lines(self._text))).readline):
            name = tokenize.tok_name[token.type]
            if name.endswith("STRING_START"):
                strings.append(token.start[0])
            if name.endswith("STRING_END") and strings:
                held.update(range(strings.pop(), token.end[0] + 1))
            if token.type == tokenize.NEWLINE and first:
                extents.append((first, token.start[0]))
                first = 0
            elif token.type not in _EMPTY:
                first = first or token.start[0]
                held.update(range(token.start[0], token.end[0] + 1))
        return extents, held

    def holds_code(self, line: int) -> bool:
        """Whether a line holds more than a comment."""
        return line in self._logical[1]

    def logical_line(self, line: int) -> tuple[int, int] | None:
        """The first and the last line of what a line is part of: a simple statement, or the head of one with a body."""
        return next(((first, last) for first, last in self._logical[0] if first <= line <= last), None)

    def text(self, extent: Extent) -> str:
        """What stands in a place, in one short line that is safe to print; "" where there is no such place."""
        first, start, last, end = extent
        lines = self._lines[first - 1 : last]
        if not lines:
            return ""
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        text = " ".join(line.decode("utf-8", "replace").strip() for line in lines)
        return _short(re.sub(r"(?<=[\[({]) | (?=[\])}])", "", text) if len(lines) > 1 else text)

    def with_of(self, location: Location | None) -> Item | ast.With | ast.AsyncWith | None:
        """The ``with``, or its item, that has exactly this position."""
        extent = extent_of(location)
        return None if extent is None else self._items.get(extent) or self._withs.get(extent)

    def with_around(self, location: Location | None) -> ast.With | ast.AsyncWith | None:
        """The ``with`` that has a line of its head here, for code without columns: no other can begin there."""
        line = _only_line(location)
        for node in self._withs.values() if line else ():
            item = node.items[-1]
            last = (item.optional_vars or item.context_expr).end_lineno or 0
            if line in range(node.lineno, last + 1):
                return node
        return None

    def except_of(self, location: Location | None) -> ast.Try | ast.TryStar | None:
        """The ``try`` with a clause that names, in this place, what it catches."""
        for node in self._tries:
            if any(_names(clause, location) for clause in node.handlers):
                return node
        return None

    def finally_of(self, location: Location | None) -> ast.Try | ast.TryStar | None:
        """The innermost ``try`` with this place in its ``finally`` clause."""
        found = [node for node in self._tries if _in_finally(location, node)]
        return max(found, key=lambda node: (extent_of_node(node.finalbody[0])[:2], node.lineno), default=None)


def _names(clause: ast.ExceptHandler, location: Location | None) -> bool:
    """Whether a place is that of a clause, or of what it names; of code without columns, in the lines of its head."""
    extent = extent_of(location)
    if extent is None:
        last = clause.lineno if clause.type is None else clause.type.end_lineno
        return _only_line(location) in range(clause.lineno, (last or 0) + 1)
    if extent == extent_of_node(clause):
        return True
    return clause.type is not None and _inside(extent, extent_of_node(clause.type))


def _only_line(location: Location | None) -> int | None:
    """The line of a place that has no columns."""
    return None if location is None or location.column is not None else location.line


def _in_finally(location: Location | None, node: ast.Try | ast.TryStar) -> bool:
    if not node.finalbody:
        return False
    first, last = node.finalbody[0], node.finalbody[-1]
    extent = extent_of(location)
    if extent is None:
        return _only_line(location) in range(first_line(first), (last.end_lineno or 0) + 1)
    start = (first.lineno, first.col_offset) if first_line(first) == first.lineno else (first_line(first), 0)
    return start <= extent[:2] and extent[2:] <= (last.end_lineno or 0, last.end_col_offset or 0)


def exits(statements: list[ast.stmt]) -> list[Exit]:
    r"""What leaves a clause otherwise than at its end, in the order of the source; not what an ``except`` may get.

    >>> exits(ast.parse("for a in b:\n  if a: break\n  else: return\n").body)
    [Exit(word='return', line=3, certain=False)]
    """
    found: list[Exit] = []
    waiting: list[tuple[ast.AST, bool, bool, bool]] = [(each, False, False, True) for each in reversed(statements)]
    while waiting:
        node, looped, caught_there, certain = waiting.pop()
        if isinstance(node, _OWN_CODE):
            continue
        leaves_loop = isinstance(node, ast.Break | ast.Continue) and not looped
        raises = isinstance(node, ast.Raise) and node.exc is not None and not caught_there
        if isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue) and (
            leaves_loop or raises or isinstance(node, ast.Return)
        ):
            found.append(Exit(type(node).__name__.lower(), node.lineno, certain))
        for field, value in reversed(list(ast.iter_fields(node))):
            body = field == "body"
            loops = looped or (isinstance(node, _LOOPS) and body)
            catches = caught_there or (isinstance(node, TRIES) and body and bool(node.handlers))
            sure = certain and isinstance(node, TRIES) and field == "finalbody"
            each = value if isinstance(value, list) else [value]
            waiting += [(inner, loops, catches, sure) for inner in reversed(each) if isinstance(inner, ast.AST)]
    return found


def caught(handler: ast.ExceptHandler) -> Iterator[ast.expr]:
    """The classes that a clause names, tuples taken apart."""
    waiting = [handler.type] if handler.type else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Tuple):
            waiting += reversed(node.elts)
        else:
            yield node


def extent_of(location: Location | None) -> Extent | None:
    """A position with all its parts; None if one is not known."""
    if location is None or None in tuple(location):
        return None
    line, end_line, column, end_column = tuple(location)
    return int(line or 0), int(column or 0), int(end_line or 0), int(end_column or 0)


def extent_of_node(node: ast.stmt | ast.expr | ast.excepthandler) -> Extent:
    """The position of a statement, an expression or an except clause."""
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _inside(inner: Extent, outer: Extent) -> bool:
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


def _short(text: str) -> str:
    plain = one_line(text)
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
