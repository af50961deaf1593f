"""`highlighted`: lines of Python source as HTML, safe whatever is in them.

1. Pygments cuts the text into tokens; the few classes that the page has a colour for are kept, and neighbours of one
   class taken together.
2. What can't be seen, or makes other text look different (control characters, marks of direction), becomes an escape.
3. A token that goes over several lines is closed at the end of each and opened again.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from markupsafe import Markup, escape
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

if TYPE_CHECKING:
    from pygments.token import _TokenType

__all__ = ["highlighted"]

_CLASSES = (
    (Comment, "co"), (String, "st"), (Number, "nu"), (Keyword, "ke"), (Operator.Word, "ke"), (Name.Decorator, "de"),
    (Name.Function, "fu"), (Name.Class, "fu"),
)  # fmt: skip
"""Kinds of tokens, and the classes of the style sheet."""


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
