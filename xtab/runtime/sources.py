"""`register_source`: the text of code that has no file.

1. The text goes into `linecache`, where `traceback`, `inspect`, `pdb`, `warnings`, `doctest` and IPython look it up by
   file name. An entry without a time is never compared with a file (Lib/linecache.py, `checkcache`).
2. The entry is there as long as its `_Text`, and that one hangs on the code objects of the file: see `hold` in
   `xtab.transform.origins`. So the text goes with the last function of the file, not with the code of its top level,
   which goes first; and it stays while there is rewritten code that shows it.
3. A file name has one text. Another one under the same name would be shown in place of the first: that is an error.
"""

from __future__ import annotations

import linecache
import os
import threading
import weakref
from typing import TYPE_CHECKING

from xtab.errors import XtabError
from xtab.format.code import code_of
from xtab.format.source_code import split_lines
from xtab.transform.origins import hold

if TYPE_CHECKING:
    from xtab.format.code import HasCode

__all__ = ["is_registered", "register_source"]

_SHARED = ("", "<string>", "<stdin>", "<unknown>")
"""What code is called that nobody gave a name: a text would be shown for all of it."""


class _Text:
    """The text of a file, as long as anything shows it."""

    __slots__ = ("__weakref__", "keys", "lines")

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.keys: set[str] = set()  #: under which it was put in; more where the working directory has changed


_texts: weakref.WeakValueDictionary[str, _Text] = weakref.WeakValueDictionary()
_lock = threading.RLock()
"""Held while a text is put in. What takes one out needs none: it may run at any time, in the middle of that too."""


def register_source(code: HasCode, text: str) -> None:
    r"""Let tools that show source lines find those of generated code.

    `traceback`, `logging`, `inspect.getsource`, `pdb`, `warnings` and IPython show them. The text is dropped when the
    code, all code nested in it, and all that xtab made of these, are gone.

    Python's own ``sys.excepthook`` looks only into real files up to 3.12, and ``sys.unraisablehook`` up to 3.14: there,
    :func:`xtab.install_excepthook` makes uncaught errors show the text too.

    Args:
        code: what was compiled from the text, or a function of it. Its ``co_filename`` must be a name of its own, such
            as ``"<forward of model 3>"``; the angle brackets keep tools from looking for a file.
        text: all of the source, as it was compiled.

    Raises:
        XtabError: the file name is used for another text, by a file that exists, or by all code without a name. Compile
            under a name of its own, or give it one with :func:`xtab.relocate`.
        TypeError: `code` has no code, or `text` is no string.

    >>> import inspect
    >>> text = "def double(x):\n    return 2 * x\n"
    >>> names = {}
    >>> code = compile(text, "<double, made here>", "exec")
    >>> register_source(code, text)
    >>> exec(code, names)
    >>> print(inspect.getsource(names["double"]), end="")
    def double(x):
        return 2 * x
    """
    code = code_of(code)
    if not isinstance(text, str):
        raise TypeError(f"expected the text as a str, but found {text!r:.80} of type {type(text).__qualname__}")
    name = code.co_filename
    lines = split_lines(text)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    with _lock:
        known = _texts.get(name)
        if known is None:
            _require_free(name, lines)
            known = _texts[name] = _enter(name, lines, len(text))
        elif known.lines != lines:
            raise _taken(name, "another text that is registered")
        else:
            _show(known, name, len(text))
        hold(code, known)


def _require_free(name: str, lines: list[str]) -> None:
    if name in _SHARED:
        raise _taken(name, "all code that was given no name")
    if os.path.exists(name):  # noqa: PTH110 (a name need not be a path)
        raise _taken(name, "a file that exists")
    there = linecache.cache.get(name)
    if there is not None and len(there) > 1 and there[2] != lines:
        raise _taken(name, "another text in linecache")


def _taken(name: str, by: str) -> XtabError:
    return XtabError(
        f"expected a file name that is this code's alone, but found {name!r}, which is used by {by}; compile under a "
        "name of its own, or give it one with relocate(code, filename=...)"
    )


def _enter(name: str, lines: list[str], size: int) -> _Text:
    """Show lines under a name until what is returned is gone."""
    text = _Text(lines)
    _show(text, name, size)
    weakref.finalize(text, _forget, name, text.keys, lines).atexit = False
    return text


def _show(text: _Text, name: str, size: int) -> None:
    text.keys |= _keys(name)
    for key in text.keys:
        there = linecache.cache.get(key)
        if there is None or len(there) == 1 or there[2] != text.lines:  # who has the same there may keep it
            linecache.cache[key] = (size, None, text.lines, name)


def _keys(name: str) -> set[str]:
    """What tools call a file: debuggers make the name of anything without angle brackets absolute (Lib/bdb.py)."""
    if name.startswith("<") and name.endswith(">"):
        return {name}
    try:
        return {name, os.path.normcase(os.path.abspath(name))}  # noqa: PTH100 (as bdb does)
    except OSError:  # the working directory is gone: debuggers can't name the file either
        return {name}


def is_registered(filename: str) -> bool:
    """Whether a file is one whose text was registered, and is there still.

    >>> is_registered(__file__)
    False
    """
    return filename in _texts


def _forget(name: str, keys: set[str], lines: list[str]) -> None:
    """Drop the entries with just these lines; what somebody else has put there since is theirs."""
    for key in keys:
        entry = linecache.cache.get(key)
        if entry is not None and len(entry) > 1 and entry[2] is lines:
            linecache.cache.pop(key, None)
    text = _texts.get(name)
    if text is not None:  # another thread has registered the same while this text went
        _show(text, name, sum(map(len, text.lines)))
