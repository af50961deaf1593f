"""`stored_code`: the code objects of a .pyc as they are stored; it may be of any Python that xtab knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.cli.source_lines import innermost_at
from xtab.cli.targets import line_number, no_such_line, pick, pyc_payload, read
from xtab.errors import TableFormatError, TargetError
from xtab.format.locations import parse_location_table
from xtab.format.marshalled import MarshalledCode, load_marshalled, marshalled_objects
from xtab.format.opcodes import CURRENT, for_version
from xtab.format.pyc import is_pyc, read_pyc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xtab.cli.targets import SourceFile

__all__ = ["foreign_version", "stored_code"]


def foreign_version(source: SourceFile) -> str | None:
    """The version, such as ``3.12``, of a .pyc of another Python; None if it is of this one, no .pyc, or not known."""
    if not source.name.endswith(".pyc"):
        return None
    data = read(source)
    version = read_pyc(data).version if is_pyc(data) else None
    return None if version is None or version == CURRENT.version else for_version(version).python


def stored_code(source: SourceFile, *, foreign: bool = True) -> list[MarshalledCode]:
    """The code objects in a .pyc, outer before inner, or the one that was asked for by name or line, and all in it.

    The format of code objects in files, and of exception tables, is the same from 3.11 on; instructions are not.

    Args:
        source: the file.
        foreign: whether it may be of another Python.

    Raises:
        TargetError: it can't be read, or has no code object of that name, or no such line.
    """
    try:
        root = load_marshalled(pyc_payload(read(source), foreign=foreign))
    except TableFormatError as error:
        raise TargetError(f"expected a code object behind the header, but found: {error}") from None
    if not isinstance(root, MarshalledCode):
        raise TargetError(f"expected a code object behind the header, but found {type(root).__name__}")
    roots = [root]
    if source.qualname is not None:
        line = line_number(source.qualname)
        if line is None:
            roots = pick(list(marshalled_objects(root)), source.qualname, lambda code: code.qualname)
        else:
            roots = _at_line(root, line)
    return [code for each in roots for code in marshalled_objects(each)]


def _at_line(root: MarshalledCode, line: int) -> list[MarshalledCode]:
    """The innermost code objects that hold a line."""
    bounds: dict[int, tuple[int, int]] = {}
    for code in reversed(list(marshalled_objects(root))):  # what is in a code object comes before it
        lines = [*_lines(code), *(each for inner in _inner(code) for each in bounds[id(inner)])]
        bounds[id(code)] = min(lines), max(lines)
    found = innermost_at(
        root, line, bounds=lambda code: bounds[id(code)], inner=_inner, name=lambda code: code.name
    )  # fmt: skip
    if not found:
        raise no_such_line(bounds[id(root)], line)
    return found


def _inner(code: MarshalledCode) -> list[MarshalledCode]:
    return [each for each in code.consts if isinstance(each, MarshalledCode)]


def _lines(code: MarshalledCode) -> Iterator[int]:
    """Lines of a code object, its first and last one among them; one alone if its location table can't be read."""
    yield max(1, code.firstlineno)
    try:
        entries = parse_location_table(code.linetable, code.firstlineno)
    except TableFormatError:
        return
    for _, _, location in entries:
        if location is not None and location.line:
            yield location.line
            yield location.end_line or location.line
