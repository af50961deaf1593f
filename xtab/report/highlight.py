"""`highlighted`: lines of Python source as HTML, safe whatever is in them.

1. Pygments cuts the text into tokens; the few classes that the page has a colour for are kept, and neighbours of one
   class taken together.
2. What can't be seen, or makes other text look different (control characters, marks of direction), becomes an escape.
3. Of a stretch of lines only these are cut, from the first to the last line of strings that reach into it.
4. A token that goes over several lines is closed at the end of each and opened again.
"""

from __future__ import annotations

import ast
import warnings
from itertools import groupby
from typing import TYPE_CHECKING

from markupsafe import Markup, escape
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from xtab.format.source_code import split_lines

if TYPE_CHECKING:
    from pygments.token import _TokenType

__all__ = ["highlighted", "highlighted_stretch"]

_CLASSES = (
    (Comment, "co"), (String, "st"), (Number, "nu"), (Keyword, "ke"), (Operator.Word, "ke"), (Name.Decorator, "de"),
    (Name.Function, "fu"), (Name.Class, "fu"),
)  # fmt: skip
"""Kinds of tokens, and the classes of the style sheet."""
_STRINGS = {"Constant", "JoinedStr", "TemplateStr"}


def highlighted(text: str) -> list[Markup]:
    r"""The lines of a source as HTML, without their ends.

    >>> highlighted("x = '<'  # why\n")
    [Markup('x = <span class="st">&#39;&lt;&#39;</span>  <span class="co"># why</span>')]
    """
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    lines, line = [], Markup()
    for name, group in groupby(lexer.get_tokens(text), lambda token: _class_of(token[0])):
        for number, part in enumerate("".join(value for _, value in group).split("\n")):
            if number:
                lines.append(line)
                line = Markup()
            if part:
                line += _span(name, _visible(part)) if name else _visible(part)
    return [*lines, line] if line else lines


def highlighted_stretch(text: str, first: int, last: int) -> list[Markup]:
    r"""The same for the lines of a Python source from the first to the last, numbered from 1, both included.

    >>> highlighted_stretch("a = '''<\n>'''\nb\n", 2, 3)
    [Markup('<span class="st">&gt;&#39;&#39;&#39;</span>'), Markup('b')]
    """
    lines = split_lines(text)
    start, end = _without_cut_strings(text, first, last) if first > 1 or last < len(lines) else (1, len(lines))
    return highlighted("".join(lines[start - 1 : end]))[first - start : last - start + 1]


def _without_cut_strings(text: str, first: int, last: int) -> tuple[int, int]:
    """The stretch with all of the strings that have a part in it; the whole text, if that is no Python."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 1, text.count("\n") + text.count("\r") + 1
    strings = sorted(
        (node.lineno, node.end_lineno or 0)
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and type(node).__name__ in _STRINGS and node.lineno != node.end_lineno
    )
    for top, bottom in strings:
        if top <= last < bottom:
            last = bottom
    for top, bottom in reversed(strings):
        if top < first <= bottom:
            first = top
    return first, last


def _class_of(kind: _TokenType) -> str:
    return next((name for each, name in _CLASSES if kind[: len(each)] == each), "")


def _span(name: str, content: Markup) -> Markup:
    return Markup('<span class="{}">{}</span>').format(name, content)


def _visible(text: str) -> Markup:
    """The text, with an escape in the place of each character that is not just printed."""
    if text.isprintable():
        return escape(text)
    parts = (
        escape(each) if each.isprintable() or each == "\t" else _span("esc", escape(ascii(each)[1:-1])) for each in text
    )
    return Markup().join(parts)
