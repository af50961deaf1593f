"""What all subcommands share: options, exit statuses, consoles with or without colour, JSON documents, a progress bar.

Results go to stdout, everything else to stderr. Nothing is wrapped, paged or asked.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

import xtab
from xtab.errors import TargetError
from xtab.format.opcodes import SUPPORTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import TextIO

    from rich.console import Console
    from rich.progress import Progress

__all__ = [
    "CLOSED_PIPE",
    "DIFFERENT",
    "FINE",
    "INTERRUPTED",
    "UNUSABLE",
    "Bar",
    "ascii_option",
    "color_option",
    "console_for",
    "document",
    "json_option",
    "progress_option",
    "running_python",
    "version_line",
    "wants_ascii",
    "wants_color",
    "writing",
]

FINE, DIFFERENT, UNUSABLE, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 130, 141
"""Exit statuses: all is well, problems or differences were found, the request made no sense, Ctrl-C, and that whoever
reads the output has gone; the last two as shells give them for the signals."""

_SCHEMA = 1
_SECONDS_WITHOUT_BAR = 1.0
_Command = TypeVar("_Command", bound="Callable[..., Any]")


def color_option(command: _Command) -> _Command:
    """Add ``--color``."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="auto: on terminals. The variables NO_COLOR and FORCE_COLOR are heeded, in this order.",
    )(command)


def json_option(command: _Command) -> _Command:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")(command)


def ascii_option(command: _Command) -> _Command:
    """Add ``--ascii``."""
    return click.option("--ascii", "use_ascii", is_flag=True, help="Draw with ASCII alone.")(command)


def wants_ascii(stream: TextIO, glyphs: str, use_ascii: bool = False) -> bool:
    """Whether to write ASCII alone: if ``--ascii`` is given, or the stream can't carry the glyphs."""
    try:
        glyphs.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return use_ascii


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """In a ``with``: write the file that the user asked for.

    Raises:
        TargetError: it can't be written.
    """
    try:
        yield path
    except OSError as error:
        raise TargetError(
            f"expected {str(path)!r} to be a file that can be written, but found: {error.strerror}"
        ) from None


def progress_option(command: _Command) -> _Command:
    """Add ``--progress`` and ``--no-progress``."""
    return click.option(
        "--progress/--no-progress", default=True, help="Show a bar on terminals when it takes more than a second."
    )(command)


def console_for(stream: TextIO, color: str) -> Console:
    """A console for `stream`, in colour if the environment and `color`, the value of ``--color``, want it."""
    from rich.console import Console  # noqa: PLC0415 (it is slow to load, and not all commands need it)

    wanted = wants_color(stream, color)
    return Console(
        file=stream,
        force_terminal=wanted,
        color_system="standard" if wanted else None,
        no_color=not wanted,
        soft_wrap=True,
        highlight=False,
        markup=False,
        emoji=False,
    )


def wants_color(stream: TextIO, color: str) -> bool:
    """Whether to write in colour: `color` is the value of ``--color``."""
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def running_python() -> str:
    """The full version of the running Python, such as ``3.13.0`` or ``3.15.0rc1``."""
    major, minor, micro, level, serial = sys.implementation.version
    pre_release = {"alpha": "a", "beta": "b", "candidate": "rc"}.get(level)
    return f"{major}.{minor}.{micro}" + (f"{pre_release}{serial}" if pre_release else "")


def version_line() -> str:
    """What ``xtab --version`` prints."""
    supported = ", ".join(f"{major}.{minor}" for major, minor in SUPPORTED)
    return f"xtab {xtab.__version__} on CPython {running_python()} (supports CPython {supported})"


def document(results: Any, **more: Any) -> str:
    """A JSON document in the form that all subcommands have; in ASCII, where stdout can't carry what is in it."""
    head = {"schema": _SCHEMA, "xtab": xtab.__version__, "python": running_python()}
    content = {**head, "results": results, **more}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    return json.dumps(content, indent=1) if wants_ascii(sys.stdout, text) else text


class Bar:
    """A progress bar on stderr: only on a terminal, only if it is wanted, and only when a second has passed.

    A context manager; it is gone from the screen when it ends.
    """

    def __init__(self, total: int, *, wanted: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._clock = clock
        self._start = clock()
        self._total = total
        self._done = 0
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, what: str) -> None:
        """One more is done; `what` says which."""
        self._done += 1
        if not self._wanted:
            return
        if self._bar is None and self._clock() - self._start >= _SECONDS_WITHOUT_BAR:
            from rich.console import Console  # noqa: PLC0415 (as above)
            from rich.progress import (  # noqa: PLC0415
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
            )

            name = TextColumn("{task.description}", markup=False)
            columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), name
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task("", total=self._total)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done, description=what[-60:])
