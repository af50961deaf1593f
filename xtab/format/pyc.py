"""The .pyc: sixteen bytes of header, and what `marshal` wrote.

The first four bytes are the magic number of the Python that wrote the file, two of them a carriage return and a line
feed; the next four are flags, and the rest is what the source is compared with: its time and size, or its hash.

CPython source followed: ``Lib/importlib/_bootstrap_external.py``, `_classify_pyc` and `_code_to_hash_pyc`; PEP 552.
"""

from __future__ import annotations

from importlib.util import MAGIC_NUMBER, source_hash
from typing import NamedTuple

from xtab.errors import TableFormatError
from xtab.format.opcodes import SUPPORTED, for_version

__all__ = ["Pyc", "is_pyc", "read_pyc", "write_pyc"]

_HEADER = 16
"""Its size, in bytes."""
_UNCHECKED_HASH = 1
"""Flags of a .pyc that holds the hash of its source and is never compared with it."""


class Pyc(NamedTuple):
    """The two parts of a file."""

    header: bytes
    payload: bytes  #: the code object, as `marshal` wrote it

    @property
    def magic(self) -> int:
        """The number that stands for the bytecode of a version."""
        return int.from_bytes(self.header[:2], "little")

    @property
    def version(self) -> tuple[int, int] | None:
        """The version of the Python that wrote it; None if xtab doesn't know that."""
        return next((version for version in SUPPORTED if for_version(version).magic == self.magic), None)


def is_pyc(data: bytes) -> bool:
    """Whether some bytes begin as a .pyc does, of whatever version.

    >>> is_pyc(write_pyc(b"N", source=b"")), is_pyc(b"import os, sys, json, re")
    (True, False)
    """
    return data[2:4] == b"\r\n" and len(data) >= _HEADER


def read_pyc(data: bytes) -> Pyc:
    """The parts of a .pyc. What is in it is not looked at.

    Raises:
        TableFormatError: the bytes don't begin as a .pyc does.

    >>> read_pyc(write_pyc(b"N", source=b"")).payload
    b'N'
    """
    if not is_pyc(data):
        detail = f"expected a magic number and {_HEADER} bytes in all, but found {data[:_HEADER]!r}"
        raise TableFormatError("no header", detail, table=".pyc", offset=0)
    return Pyc(data[:_HEADER], data[_HEADER:])


def write_pyc(payload: bytes, *, source: bytes) -> bytes:
    """A .pyc of the running Python that stays as it is, whatever becomes of its source.

    With the time of the source in it, Python would put the plain code in its place as soon as somebody touches that.

    Args:
        payload: what `marshal` wrote of a code object.
        source: the content of the source file.
    """
    return MAGIC_NUMBER + _UNCHECKED_HASH.to_bytes(4, "little") + source_hash(source) + payload
