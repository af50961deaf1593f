"""`notes_on`: why statements around a line of source don't protect it, although they look as if they did.

`left_out` tells why there is nothing to protect: no instruction of a statement that can't do without.

The syntax tree is followed from the module to the line. Each statement on the way that has handlers is asked which of
its parts the line is in: handlers are for the body alone.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, NamedTuple

from xtab.format.code import code_objects
from xtab.report.source_tree import FUNCTIONS, TRIES, WITH_STATEMENTS, SourceTree, caught, exits
from xtab.report.words import line_words
from xtab.transform.syntax import first_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

__all__ = ["left_out", "notes_on"]

_PARTS = {"handlers": "an except clause", "orelse": "the else clause", "finalbody": "the finally clause"}


class _Around(NamedTuple):
    """A statement around the line."""

    statement: ast.stmt
    part: str  #: the field of it that the line is in; "" for its first lines


def notes_on(source: str | bytes | SourceTree, line: int) -> list[str]:
    r"""A sentence for each statement that does not protect a line, from the innermost out.

    Args:
        source: the whole text of a module, or what was read of it.
        line: the number of a line, from 1.

    Raises:
        SyntaxError, ValueError: the text is no Python.

    >>> for note in notes_on("try:\n    a()\nexcept OSError:\n    b()\n", 4):
    ...     print(note)
    the try in line 1 doesn't protect line 4, which is in an except clause: its handlers are for its body, line 2
    """
    tree = source if isinstance(source, SourceTree) else SourceTree(source)
    notes: list[str] = []
    path = _path(tree.module, line)
    made = _made_in(path[-1].statement, line) if path else ""  # what the line is in, seen from what lies further out
    for statement, part in reversed(path):
        if made and isinstance(statement, (*TRIES, *WITH_STATEMENTS)) and part == "body":
            word = f"the {_word(statement)} in line {statement.lineno}"
            notes.append(f"{word} protects the making of {made}")
        if (made in _EXPRESSIONS and isinstance(statement, TRIES)) or (not made and isinstance(statement, TRIES)):
            notes += _of_try(statement, part, line)
        elif not made and isinstance(statement, WITH_STATEMENTS) and not part and line < first_line(statement.body[0]):
            notes.append(_of_with(statement, line))
        if isinstance(statement, FUNCTIONS):
            made = f"{statement.name}, not what runs when it is called" if part == "body" else ""
    return notes


def left_out(tree: SourceTree, line: int, code: CodeType) -> list[str]:
    r"""A sentence for a line whose statement the compiler left out, since nothing gets there; else no sentence.

    Args:
        tree: of the source of a module.
        line: the number of a line, from 1.
        code: the code object of the module.

    >>> source = "def f():\n    return 1\n    a()\n"
    >>> left_out(SourceTree(source), 3, compile(source, "example", "exec"))
    ['the compiler left out line 3, for nothing ever gets there']
    """
    path = _path(tree.module, line)
    if not path or path[-1].part or not tree.holds_code(line) or not _needs_instructions(path[-1].statement):
        return []
    statement = path[-1].statement
    first, last = first_line(statement), statement.end_lineno or 0
    if any(first <= (at or 0) <= last for each in code_objects(code) for at, _, _, _ in each.co_positions()):
        return []
    return [f"the compiler left out {line_words(first, last)}, for nothing ever gets there"]


def _needs_instructions(statement: ast.stmt) -> bool:
    """Whether compilers must make an instruction of a statement, if it can be reached: they leave out what is idle."""
    if isinstance(statement, ast.Assert) and not __debug__:
        return False
    if isinstance(statement, ast.ImportFrom):
        return statement.module != "__future__"
    if isinstance(statement, _IDLE) or (isinstance(statement, ast.AnnAssign) and statement.value is None):
        return False
    asked = {ast.Expr: "value", ast.If: "test", ast.While: "test", ast.Assert: "test"}.get(type(statement))
    return asked is None or any(isinstance(each, _AT_WORK) for each in ast.walk(getattr(statement, asked)))


_IDLE = (ast.Pass, ast.Global, ast.Nonlocal, ast.Break, ast.Continue, *TRIES)
_AT_WORK = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.Attribute, ast.Subscript)
"""Statements that need no instruction of their own, and expressions that can't be left out."""


_EXPRESSIONS = {
    "": ast.expr,
    "the lambda, not what runs when it is called": ast.Lambda,
    "the generator expression; what runs in it goes to the code that asks it for its next value": ast.GeneratorExp,
}
"""What is said of an expression that is a function of its own."""


def _made_in(statement: ast.stmt, line: int) -> str:
    """What is to be said of a function without a name that has a part of the line, if the statement has one."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        for words, kind in _EXPRESSIONS.items():
            if words and isinstance(node, kind):
                inner = node.body if isinstance(node, ast.Lambda) else node
                if isinstance(inner, ast.expr) and inner.lineno <= line <= (inner.end_lineno or 0):
                    return words
        waiting += [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.stmt)]
    return ""


def _word(statement: ast.stmt) -> str:
    return "try" if isinstance(statement, TRIES) else "with"


def _of_with(statement: ast.With | ast.AsyncWith, line: int) -> str:
    """What the first lines of a ``with`` are not protected by."""
    items = statement.items
    here = [number for number, item in enumerate(items) if _spans(item, line)]
    what = "and not how it is entered"
    if len(items) > 1 and here:
        what = (
            "and how an item is entered only by the items before it"
            if here[-1]
            else "and not how its first item is entered"
        )
    return f"the with in line {statement.lineno} protects its body, {_lines(statement.body)}, {what}"


def _spans(item: ast.withitem, line: int) -> bool:
    last = item.optional_vars or item.context_expr
    return item.context_expr.lineno <= line <= (last.end_lineno or 0)


def _of_try(statement: ast.Try | ast.TryStar, part: str, line: int) -> Iterator[str]:
    if part == "finalbody":
        yield f"the try in line {statement.lineno} doesn't protect line {line}, which is in its finally clause"
        return
    if part in _PARTS and statement.handlers:
        yield (
            f"the try in line {statement.lineno} doesn't protect line {line}, which is in {_PARTS[part]}: "
            f"its handlers are for its body, {_lines(statement.body)}"
            + ("; its finally clause runs all the same" if statement.finalbody else "")
        )
    yield from _never_reached(statement, part, line)
    if part:
        for word, at, certain in exits(statement.finalbody):
            does, may = ("replaces", "replace") if word == "raise" else ("ends", "end")
            what = f"{does} any exception that gets to it" if certain else f"may {may} an exception that is on its way"
            yield f"the {word} in line {at} {what}: it is in the finally clause of the try in line {statement.lineno}"


def _never_reached(statement: ast.Try | ast.TryStar, part: str, line: int) -> Iterator[str]:
    """Of clauses whose exceptions an earlier one gets, going by the names of Python's own classes."""
    before: list[tuple[type[BaseException], str, int]] = []
    for handler in statement.handlers:
        named = [(_builtin(each), ast.unparse(each)) for each in caught(handler)]
        wanted = [cls for cls, _ in named] if handler.type else [BaseException]
        first = [next((each for each in before if cls and issubclass(cls, each[0])), None) for cls in wanted]
        concerned = part == "body" or (part == "handlers" and handler.lineno <= line <= (handler.end_lineno or 0))
        if concerned and first and first[0] is not None and None not in first:
            _, name, at = first[0]
            yield (
                f"the except clause in line {handler.lineno} is never reached: "
                f"the one in line {at} names {name} and gets its exceptions"
            )
        before += [(cls, name, handler.lineno) for cls, name in named if cls]


def _builtin(node: ast.expr) -> type[BaseException] | None:
    """The class of Python itself that has the name; a module could have its own of that name, and hardly ever does."""
    found = getattr(builtins, node.id, None) if isinstance(node, ast.Name) else None
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _lines(body: list[ast.stmt]) -> str:
    return line_words(first_line(body[0]), body[-1].end_lineno)


def _path(tree: ast.Module, line: int) -> list[_Around]:
    """The statements around a line, outermost first."""
    path: list[_Around] = []
    inside: list[ast.stmt] = tree.body
    while True:
        statement = next((each for each in inside if first_line(each) <= line <= (each.end_lineno or 0)), None)
        if statement is None:
            return path
        part, inside = _part(statement, line)
        path.append(_Around(statement, part))


def _part(statement: ast.stmt, line: int) -> tuple[str, list[ast.stmt]]:
    """The part of a statement that a line is in, and the statements there."""
    for part, value in ast.iter_fields(statement):
        if not isinstance(value, list):
            continue
        for each in value:
            if isinstance(each, ast.ExceptHandler | ast.match_case):
                first = each.lineno if isinstance(each, ast.ExceptHandler) else each.pattern.lineno
                if first <= line <= (each.body[-1].end_lineno or 0):
                    return part, each.body
            elif isinstance(each, ast.stmt) and first_line(each) <= line <= (each.end_lineno or 0):
                return part, value
    return "", []
