"""Where a problem is, in words and as a path or an address that other programs understand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from xtab.analysis.verify import Problem

__all__ = ["place_in_words", "source_path", "source_uri"]


def place_in_words(problem: Problem) -> str:
    """The code object and the instruction.

    >>> from xtab.analysis.verify import Problem
    >>> place_in_words(Problem("XT402", "", offset=14, opname="POP_TOP", qualname="f"))
    'f at 14 (POP_TOP)'
    """
    at = "" if problem.offset is None else f" at {problem.offset}"
    return (problem.qualname or "?") + at + (f" ({problem.opname})" if problem.opname and at else "")


def source_path(file: str) -> str:
    """The path from the working directory, with slashes, if the file is in there; else as it is given."""
    path = Path(file)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return path.as_posix()


def source_uri(file: str) -> str:
    """The same as a URI: relative to the working directory, or absolute.

    >>> source_uri("a folder/x.py")
    'a%20folder/x.py'
    """
    path = source_path(file)
    return Path(path).as_uri() if Path(path).is_absolute() else quote(path)
