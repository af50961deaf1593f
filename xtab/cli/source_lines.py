"""`code_at`: which code objects hold a line of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.report.source_text import holds_line, line_span

if TYPE_CHECKING:
    from types import CodeType

__all__ = ["code_at"]


def code_at(root: CodeType, line: int) -> list[CodeType]:
    r"""The innermost code objects that hold a line; several if it has more than one; none if it is in none of them.

    A lambda or a comprehension within the line is part of what it stands in, and not asked for by the line alone.

    >>> root = compile("def f():\n    return [lambda: 0]\nf()", "example", "exec")
    >>> [code.co_name for line in (1, 2, 3) for code in code_at(root, line)]
    ['f', 'f', '<module>']
    """
    if not holds_line(root, line):
        return []
    found: list[CodeType] = []
    waiting = [root]
    while waiting:
        code = waiting.pop()
        inner = [each for each in code.co_consts if _holds(each, line)]
        waiting += reversed(inner)
        if not inner:
            found.append(code)
    return found


def _holds(constant: object, line: int) -> bool:
    if not hasattr(constant, "co_lines"):
        return False
    code: CodeType = constant  # type: ignore[assignment]
    first, last = line_span(code)
    return first <= line <= last and (first < last or not code.co_name.startswith("<"))
