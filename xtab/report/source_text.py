"""`source_text`, `line_bounds` and their kin: the source that a code object was compiled from, if it can be found."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING

from xtab.format.code import code_objects
from xtab.format.source_code import split_lines

if TYPE_CHECKING:
    from types import CodeType

__all__ = ["has_columns", "holds_line", "line_bounds", "line_of", "remember_text", "source_text"]


def source_text(code: CodeType) -> str:
    """The whole text of the file that a code object came from; empty where there is none.

    Functions that were typed at a prompt or into a notebook are found too, as tracebacks find them.
    """
    return "".join(_lines(code.co_filename))


def line_of(code: CodeType, line: int) -> str:
    """A line of that text, from 1, without its end; empty where there is none."""
    lines = _lines(code.co_filename)
    return lines[line - 1].rstrip("\n") if 1 <= line <= len(lines) else ""


def _lines(filename: str) -> list[str]:
    try:
        return linecache.getlines(filename)
    except (LookupError, UnicodeError):  # a codec that reads a whole text, as the compiler asks it to, but no stream
        return []


def remember_text(filename: str, text: str) -> None:
    r"""Let `source_text`, and whatever asks `linecache`, find a text that is in no file.

    >>> remember_text("<made here>", "x = 1\n")
    >>> source_text(compile("x = 1\n", "<made here>", "exec"))
    'x = 1\n'
    """
    linecache.cache[filename] = (len(text), None, split_lines(text), filename)


def has_columns(code: CodeType) -> bool:
    """Whether any instruction of a code object, or of those in it, has a place within its line."""
    return any(column is not None for each in code_objects(code) for _, _, column, _ in each.co_positions())


def holds_line(code: CodeType, line: int) -> bool:
    """Whether a line lies in what a code object was compiled from."""
    first, last = line_bounds(code)
    return first <= line <= last


def line_bounds(code: CodeType) -> tuple[int, int]:
    r"""The first and the last line of what a code object was compiled from, both inclusive.

    What is in functions and classes in it counts.

    >>> line_bounds(compile("\nx = 1\n", "example", "exec"))
    (1, 2)
    """
    first = last = max(1, code.co_firstlineno)
    for each in code_objects(code):
        for line, end, _, _ in each.co_positions():
            if line:
                first, last = min(first, line), max(last, end or line)
    return first, last
