"""``%load_ext xtab``: the magics ``%xtab`` and ``%%xtab`` for IPython and notebooks.

A notebook shows a listing as a page in a frame (`xtab.report.html.fragment`), a terminal shows it as text.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Protocol

from xtab.report.listing import show
from xtab.report.source_text import remember_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from xtab.report.listing import Listing

__all__ = ["Shell", "load_ipython_extension"]

_NUMBERS = itertools.count(1)


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
            return _show_cell(cell)
        if not line.strip():
            raise TypeError("expected an expression behind %xtab, such as a function's name, but found nothing")
        return show(shell.ev(line))

    shell.register_magic_function(xtab, magic_kind="line_cell", magic_name="xtab")


def _show_cell(cell: str) -> Listing:
    """Compile a cell, which is not run; its lines are kept, so that they can be shown beside the instructions."""
    name = f"<xtab cell {next(_NUMBERS)}>"
    listing = show(compile(cell, name, "exec", dont_inherit=True))
    remember_text(name, cell)
    return listing
