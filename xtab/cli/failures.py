"""`show_failure`: an error of somebody's code that a command runs, with the frames of that code and no others.

A traceback through a command begins with frames of click and of xtab, which say nothing to whoever wrote a transform.
With ``XTAB_DEBUG=1`` in the environment all are shown.
"""

from __future__ import annotations

import importlib
import traceback
from typing import TYPE_CHECKING

import click

import xtab
from xtab.runtime.tracebacks import filter_traceback, frames_outside, is_debugging

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["show_failure"]

_outside = frames_outside(xtab, importlib)


def show_failure(error: BaseException) -> None:
    """Print a traceback to stderr; where no frame is the user's, the error alone."""
    is_ours = not any(_is_users(frame) for frame, _ in traceback.walk_tb(error.__traceback__))
    if is_ours and isinstance(error, xtab.XtabError) and not is_debugging():
        lines = traceback.format_exception_only(error)  # as for a body that can't be assembled
    else:
        lines = traceback.format_exception(filter_traceback(error, _is_users))
    click.echo("".join(lines), err=True, nl=False)


def _is_users(frame: FrameType) -> bool:
    """Whether the code of a frame is neither ours nor of the import system, which runs the modules of transforms."""
    return _outside(frame) and not frame.f_code.co_filename.startswith("<frozen importlib")
