"""`check_types` and its kin: wrong arguments are refused where they are given, not where they would fail."""

from __future__ import annotations

from xtab.errors import XtabError
from xtab.model.arguments import require
from xtab.model.body import Body

__all__ = ["check_filename", "check_types", "require_body"]


def require_body(found: object) -> Body:
    """What was given, if it is a body.

    Raises:
        XtabError: it isn't.

    >>> import xtab
    >>> require_body(xtab.decode(lambda: 0)).name
    '<lambda>'
    """
    return require(found, Body, "a Body, as xtab.decode makes")


def check_types(kind: type[str | int], *, or_none: bool = False, **arguments: object) -> None:
    """Each argument is of a kind, `str` or `int`.

    Args:
        kind: of all of them.
        or_none: whether they may also be None.
        arguments: by name.

    Raises:
        TypeError: one is something else.

    >>> check_types(int, or_none=True, lines=3, firstlineno=None)
    """
    for name, value in arguments.items():
        if not (isinstance(value, kind) or (or_none and value is None)):
            expected = "a string" if kind is str else "an integer"
            raise TypeError(
                f"expected {expected} for {name}, but found {value!r:.80} of type {type(value).__qualname__}"
            )


def check_filename(filename: str | None) -> None:
    """A file name for code is one that whoever shows a traceback may look up.

    Raises:
        XtabError: it has a null character in it, which `compile` refuses too: looking for such a file is an error.

    >>> check_filename("<generated 1>")
    """
    if filename is not None and "\0" in filename:
        raise XtabError(f"expected a file name without null characters, but found {filename!r}")
