"""`source_lines`: the text of a source as lines, where Python ends them."""

from __future__ import annotations

import io

__all__ = ["source_lines"]


def source_lines(text: str) -> list[str]:
    r"""The lines of a text, with their ends, as Python's tokenizer cuts and counts them: each ends with one newline.

    `str.splitlines` cuts at form feeds, paragraph separators and more, so its lines have other numbers.

    >>> source_lines("a\r\nb\x0cc\rd")
    ['a\n', 'b\x0cc\n', 'd\n']
    """
    lines = list(io.StringIO(text, newline=None))
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines
