"""The command line: one module a subcommand, and what they share in the others.

Nothing in here is imported by the library, since click and rich are only there with the extra ``cli``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["main"]

_EXTRA = ("click", "jinja2", "pygments", "rich")
"""The top-level modules of the extra."""


def main() -> None:
    """Run the command ``xtab``."""
    _open_what_is_closed()
    try:
        from xtab.cli.app import app  # noqa: PLC0415 (the extra may be missing)

        app(prog_name="xtab")  # which loads what the subcommand needs
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRA:
            raise
        print(f"xtab: the command line needs {package}: pip install 'xtab-bytecode[cli]'", file=sys.stderr)  # noqa: T201
        sys.exit(2)


def _open_what_is_closed() -> None:
    """Streams that whoever started the command has closed are empty, or take what nobody will read."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (for as long as it runs)
