"""`stored_code`: the code objects of a .pyc as they are stored; it may be of any Python that xtab knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.cli.targets import pick, pyc_payload, pyc_version, read
from xtab.errors import TableFormatError, TargetError
from xtab.format.marshalled import MarshalledCode, load_marshalled, marshalled_objects
from xtab.format.opcodes import CURRENT, for_version

if TYPE_CHECKING:
    from xtab.cli.targets import Source

__all__ = ["foreign_version", "stored_code"]


def foreign_version(source: Source) -> str | None:
    """The version, such as ``3.12``, of a .pyc of another Python; None if it is of this one, no .pyc, or not known."""
    if not source.name.endswith(".pyc"):
        return None
    version = pyc_version(read(source))
    return None if version is None or version == CURRENT.version else for_version(version).python


def stored_code(source: Source, *, foreign: bool = True) -> list[MarshalledCode]:
    """The code objects in a .pyc, outer before inner, or the one that was asked for by name, and all in it.

    The format of code objects in files, and of exception tables, is the same from 3.11 on; instructions are not.

    Args:
        source: the file.
        foreign: whether it may be of another Python.

    Raises:
        TargetError: it can't be read, or has no code object of that name.
    """
    try:
        root = load_marshalled(pyc_payload(read(source), foreign=foreign))
    except TableFormatError as error:
        raise TargetError(f"expected a code object behind the header, but found: {error}") from None
    if not isinstance(root, MarshalledCode):
        raise TargetError(f"expected a code object behind the header, but found {type(root).__name__}")
    roots = [root]
    if source.qualname is not None:
        roots = pick(list(marshalled_objects(root)), source.qualname, lambda code: code.qualname)
    return [code for each in roots for code in marshalled_objects(each)]
