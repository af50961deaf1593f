"""`split_lines` and `decode_source`: the text of a source and its lines, as Python's tokenizer reads them."""

from __future__ import annotations

import io
import tokenize

__all__ = ["decode_source", "split_lines"]


def split_lines(text: str) -> list[str]:
    r"""The lines of a source, each with a ``\n`` at its end, but for a last one that has no end.

    Lines end where they do for Python: `str.splitlines` splits at form feeds and other characters too.

    >>> split_lines("a\r\nb\x0c\rc")
    ['a\n', 'b\x0c\n', 'c']
    """
    return list(io.StringIO(text, newline=None))


def decode_source(data: bytes) -> str:
    r"""The text of a file with Python source; what can't be decoded is replaced.

    >>> decode_source("# coding: latin-1\nä".encode("latin-1"))
    '# coding: latin-1\nä'
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)  # not "replace", which not every codec has
    except (SyntaxError, LookupError, ValueError):  # what codecs raise is ValueError, mostly UnicodeError
        return data.decode("utf-8-sig", "replace")
