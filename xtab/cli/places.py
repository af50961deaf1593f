"""Files as paths and addresses that other programs understand."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

__all__ = ["source_path", "source_uri"]


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
