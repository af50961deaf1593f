"""`code_at`: which code objects hold a line of the source."""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, TypeVar

from xtab.report.source_text import line_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["code_at", "innermost_at"]

_Code = TypeVar("_Code")


def code_at(root: CodeType, line: int) -> list[CodeType]:
    r"""The innermost code objects that hold a line; several if it has more than one; none if it is in none of them.

    A lambda or a comprehension within the line is part of what it stands in, and not asked for by the line alone.

    >>> root = compile("def f():\n    return [lambda: 0]\nf()", "example", "exec")
    >>> [code.co_name for line in (1, 2, 3) for code in code_at(root, line)]
    ['f', 'f', '<module>']
    """
    return innermost_at(root, line, bounds=line_bounds, inner=_inner, name=lambda code: code.co_name)


def innermost_at(
    root: _Code,
    line: int,
    *,
    bounds: Callable[[_Code], tuple[int, int]],
    inner: Callable[[_Code], list[_Code]],
    name: Callable[[_Code], str],
) -> list[_Code]:
    """The same of code in any form, given how to tell its first and last line, what is directly in it, and its name."""
    first, last = bounds(root)
    if not first <= line <= last:
        return []
    found: list[_Code] = []
    waiting = [root]
    while waiting:
        code = waiting.pop()
        within = []
        for each in inner(code):
            first, last = bounds(each)
            if first <= line <= last and (first < last or not name(each).startswith("<")):
                within.append(each)
        waiting += reversed(within)
        if not within:
            found.append(code)
    return found


def _inner(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]
