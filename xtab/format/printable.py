"""`one_line`: a text of unknown origin as one that is safe on a terminal, and in a log that is read line by line."""

from __future__ import annotations

__all__ = ["one_line"]


def one_line(text: object) -> str:
    r"""A text without what a terminal or a reader of lines could take for more than text.

    Control characters, ends of lines, marks of direction and halves of surrogate pairs become escapes.

    >>> one_line("a\n\x1b[1mb")
    'a\\n\\x1b[1mb'
    """
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in plain)
