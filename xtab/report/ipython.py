"""``%load_ext xtab``: the magics ``%xtab`` and ``%%xtab`` for IPython and notebooks.

A notebook shows a listing as a page in a frame (`xtab.report.html.fragment`), a terminal shows it as text.
"""

from __future__ import annotations

import importlib
import itertools
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from xtab.errors import XtabError
from xtab.report.listing import show
from xtab.report.source_text import remember_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from xtab.report.listing import Listing

__all__ = ["Shell", "load_ipython_extension"]

_NUMBERS = itertools.count(1)
_Result = TypeVar("_Result")


class Shell(Protocol):
    """What is used of IPython's `InteractiveShell`."""

    def ev(self, expression: str) -> Any:
        """Evaluate in the user's namespace."""

    def register_magic_function(
        self, function: Callable[..., Any], magic_kind: str = ..., magic_name: str | None = ...
    ) -> None:
        """Make a function a magic."""


def load_ipython_extension(shell: Shell) -> None:
    """Register ``%xtab EXPRESSION`` and ``%%xtab``, as ``%load_ext xtab`` does."""

    def xtab(line: str, cell: str | None = None) -> Listing:
        """Show the instructions and the regions of a function, or of a cell.

        ``%xtab f`` shows `f`, which may be any expression that gives what has code. ``%%xtab`` compiles the cell below
        it and shows what came of that; it is not run.
        """
        if cell is not None:
            return _in_one_line(lambda: _show_cell(cell))
        if not line.strip():
            raise _usage_error("expected an expression behind %xtab, such as a function's name, but found nothing")
        found = _in_one_line(lambda: shell.ev(line))
        return _in_one_line(lambda: show(found))

    shell.register_magic_function(xtab, magic_kind="line_cell", magic_name="xtab")


def _in_one_line(action: Callable[[], _Result]) -> _Result:
    """What an action gives; if it fails, one line says why: the frames would be those of the magic."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001 (it may be anything: the expression is the user's)
        raise _usage_error(f"{type(error).__name__}: {error}") from None


def _usage_error(message: str) -> Exception:
    """The error that IPython shows as one line; where there is no IPython, one of ours."""
    try:
        kind: type[Exception] = importlib.import_module("IPython.core.error").UsageError
    except ImportError:
        kind = XtabError
    return kind(message)


def _show_cell(cell: str) -> Listing:
    """Compile a cell, which is not run; its lines are kept, so that they can be shown beside the instructions."""
    name = f"<xtab cell {next(_NUMBERS)}>"
    listing = show(compile(cell, name, "exec", dont_inherit=True))
    remember_text(name, cell)
    return listing
