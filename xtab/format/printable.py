"""`one_line`: a text of unknown origin as one that is safe on a terminal, and in a log that is read line by line.

`without_addresses`: the text of an object as it is in each run of the program.
"""

from __future__ import annotations

import re

__all__ = ["one_line", "without_addresses"]

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


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


def without_addresses(text: str) -> str:
    """A `repr` without the addresses that Python puts into it.

    >>> without_addresses("<object object at 0x7F00a>")
    '<object object>'
    """
    return _ADDRESS.sub("", text)
