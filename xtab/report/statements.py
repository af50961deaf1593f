"""`notes_on`: why statements around a line of source don't protect it, although they look as if they did.

The syntax tree is followed from the module to the line. Each statement on the way that has handlers is asked which of
its parts the line is in: handlers are for the body alone.
"""

from __future__ import annotations

import ast
import warnings
from typing import NamedTuple

from xtab.report.words import line_words

__all__ = ["notes_on"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TRIES = (ast.Try, ast.TryStar)
_WITHS = (ast.With, ast.AsyncWith)
_PARTS = {"handlers": "an except clause", "orelse": "the else clause", "finalbody": "the finally clause"}


class _Around(NamedTuple):
    """A statement around the line."""

    statement: ast.stmt
    part: str  #: the field of it that the line is in; "" for its first lines


def notes_on(source: str | bytes, line: int) -> list[str]:
    r"""A sentence for each statement that does not protect a line, from the innermost out.

    Args:
        source: the whole text of a module.
        line: the number of a line, from 1.

    Raises:
        SyntaxError, ValueError: the text is no Python.

    >>> for note in notes_on("try:\n    a()\nexcept OSError:\n    b()\n", 4):
    ...     print(note)
    the try in line 1 doesn't protect line 4, which is in an except clause: its handlers are for its body, line 2
    """
    notes: list[str] = []
    function = ""  # the one that the line is in, seen from what lies further out
    for statement, part in reversed(_path(_parsed(source), line)):
        note = ""
        if function and isinstance(statement, (*_TRIES, *_WITHS)) and part == "body":
            word = f"the {_word(statement)} in line {statement.lineno}"
            note = f"{word} protects the making of {function}, not what runs when it is called"
        elif isinstance(statement, _TRIES):
            note = _of_try(statement, part, line)
        elif isinstance(statement, _WITHS) and not part and line < statement.body[0].lineno:
            body = _lines(statement.body)
            note = f"the with in line {statement.lineno} protects its body, {body}, and not how it is entered"
        if isinstance(statement, _FUNCTIONS):
            function = statement.name if part == "body" else ""
        if note:
            notes.append(note)
    return notes


def _parsed(source: str | bytes) -> ast.Module:
    with warnings.catch_warnings(action="ignore"):
        return ast.parse(source)


def _word(statement: ast.stmt) -> str:
    return "try" if isinstance(statement, _TRIES) else "with"


def _of_try(statement: ast.Try | ast.TryStar, part: str, line: int) -> str:
    body = f"its body, {_lines(statement.body)}"
    if part not in _PARTS:
        return ""
    if part == "finalbody":
        return f"the try in line {statement.lineno} doesn't protect line {line}, which is in its finally clause"
    if not statement.handlers:
        return ""
    note = f"the try in line {statement.lineno} doesn't protect line {line}, which is in {_PARTS[part]}: "
    return (
        note
        + f"its handlers are for {body}"
        + ("; its finally clause runs all the same" if statement.finalbody else "")
    )


def _lines(body: list[ast.stmt]) -> str:
    return line_words(body[0].lineno, body[-1].end_lineno)


def _path(tree: ast.Module, line: int) -> list[_Around]:
    """The statements around a line, outermost first."""
    path: list[_Around] = []
    inside: list[ast.stmt] = tree.body
    while True:
        statement = next((each for each in inside if _first_line(each) <= line <= (each.end_lineno or 0)), None)
        if statement is None:
            return path
        part, inside = _part(statement, line)
        path.append(_Around(statement, part))


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


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
            elif isinstance(each, ast.stmt) and _first_line(each) <= line <= (each.end_lineno or 0):
                return part, value
    return "", []
