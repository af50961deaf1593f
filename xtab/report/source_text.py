"""`source_text` and `line_span`: the source that a code object was compiled from, where it can be found."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING

from xtab.format.code import code_objects

if TYPE_CHECKING:
    from types import CodeType

__all__ = ["line_span", "source_text"]


def source_text(code: CodeType) -> str:
    """The whole text of the file that a code object came from; empty where there is none.

    Functions that were typed at a prompt or into a notebook are found too, as tracebacks find them.
    """
    return "".join(linecache.getlines(code.co_filename))


def line_span(code: CodeType) -> tuple[int, int]:
    r"""The first and the last line of what a code object was compiled from, both inclusive.

    What is in functions and classes in it counts.

    >>> line_span(compile("\nx = 1\n", "example", "exec"))
    (1, 2)
    """
    first = last = max(1, code.co_firstlineno)
    for each in code_objects(code):
        for line, end, _, _ in each.co_positions():
            if line:
                first, last = min(first, line), max(last, end or line)
    return first, last
