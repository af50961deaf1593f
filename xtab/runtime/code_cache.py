"""`CodeCache`: rewritten code on disk, for the next time the same source is rewritten by the same transform.

A file holds the key of what is in it, a checksum, and the code as `marshal` writes it. The key is the hash of all that
the code depends on: the interpreter's magic number and its level of optimization, xtab, the transform and its version,
the source. The name of the file says which module, path and transform it is for; so what is out of date is written
over, and nothing is mixed up with the .pyc files of CPython.

Reading uses `marshal`, which is not safe for files from strangers: the folder must be as trusted as the sources.
"""

from __future__ import annotations

import marshal
import os
import sys
import threading
from hashlib import sha256
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

import xtab
from xtab.errors import XtabError
from xtab.transform.named import load_transform, transform_name
from xtab.transform.stored_code import dump_code

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CodeCache", "version_of", "write_atomically"]

_SUFFIX = ".xtabc"
_HASH = 32
"""Bytes of a hash."""


class CodeCache:
    """Rewritten code in a folder.

    Args:
        folder: where; it is made when it's needed.
        transform: name of the transform.
        version: of the transform: other text, other code.

    >>> import tempfile
    >>> code = compile("x = 1", "example.py", "exec")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = CodeCache(folder, "pkg.mod:transform", "1")
    ...     cache.store("example", "example.py", b"x = 1", code)
    ...     cache.load("example", "example.py", b"x = 1") == code, cache.load("example", "example.py", b"x = 2")
    (True, None)
    """

    def __init__(self, folder: str | os.PathLike[str], transform: str, version: str) -> None:
        self.folder = Path(folder)
        self._made_by = transform, version

    def load(self, module: str, path: str, source: bytes) -> CodeType | None:
        """The code kept for a module, or None if there is none, or it was made from other source or in another way."""
        try:
            data = self._file(module, path).read_bytes()
        except OSError:
            return None
        key, checksum, payload = data[:_HASH], data[_HASH : 2 * _HASH], data[2 * _HASH :]
        if key != self._key(module, path, source) or checksum != sha256(payload).digest():
            return None
        code = marshal.loads(payload)  # noqa: S302 (as for a .pyc: the module's docstring says so)
        return code if isinstance(code, CodeType) else None

    def store(self, module: str, path: str, source: bytes, code: CodeType) -> None:
        """Keep the code of a module.

        Raises:
            ConstantError: there is a constant in it that can't be kept in a file.
            OSError: the file can't be written.
        """
        payload = dump_code(code)
        self.folder.mkdir(parents=True, exist_ok=True)
        data = self._key(module, path, source) + sha256(payload).digest() + payload
        write_atomically(self._file(module, path), data)

    def _file(self, module: str, path: str) -> Path:
        distinct = _hash(path, self._made_by[0], sys.implementation.cache_tag, sys.flags.optimize).hex()[:16]
        return self.folder / f"{module}-{distinct}{_SUFFIX}"

    def _key(self, module: str, path: str, source: bytes) -> bytes:
        return _hash(MAGIC_NUMBER, sys.flags.optimize, xtab.__version__, *self._made_by, module, path, source)


def _hash(*parts: Any) -> bytes:
    return sha256(repr(parts).encode()).digest()


def version_of(transform: Callable[..., Any]) -> str | None:
    """What stands for the version of a transform that doesn't tell one: the hash of its module's source.

    None if there's no such thing: the transform can't be found under its name, as a partial or an inner function can't,
    or its module has no file.
    """
    try:
        found = load_transform(transform_name(transform))
        file = sys.modules[transform.__module__].__file__
        return None if found is not transform or file is None else sha256(Path(file).read_bytes()).hexdigest()
    except (XtabError, AttributeError, OSError, KeyError):
        return None


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever sees a part of it."""
    part = path.parent / f".{path.name}.{os.getpid()}-{threading.get_ident()}"
    try:
        part.write_bytes(data)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
