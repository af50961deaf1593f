"""What a TARGET on the command line stands for: the files to read, and the code objects in them. Nothing is executed.

1. `find_sources` turns a target into `SourceFile` values: which files there are, or the text given. Modules are looked
   up dot by dot with the finders of ``sys.path``; `importlib.util.find_spec` would import the parents.
2. `load` reads one of them, compiles it, and picks the code objects that were asked for. It may run in another process.
"""

from __future__ import annotations

import marshal
import os
import pkgutil
import re
import sys
import sysconfig
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, TypeVar

import click

from xtab.cli.hints import close_names, no_module, no_package, not_found
from xtab.cli.source_lines import code_at
from xtab.errors import TargetError
from xtab.format.code import code_objects
from xtab.format.opcodes import CURRENT, for_version
from xtab.format.pyc import is_pyc, read_pyc
from xtab.report.source_text import line_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from xtab.format.pyc import Pyc

__all__ = [
    "TARGETS",
    "TARGETS_HELP",
    "SourceFile",
    "find_sources",
    "line_number",
    "load",
    "no_such_line",
    "pick",
    "pyc_payload",
    "read",
    "stdin_text",
    "without_column",
    "working_directory_on_path",
]

_Code = TypeVar("_Code")

TARGETS = """\
A TARGET is one of

\b
  stdlib               the standard library of the running Python, its tests
                       included, site-packages not
  folder               all .py files in it and below, but not in .hidden folders
  file.py, file.pyc    one file; a .pyc must be of the running Python's version
  pkg.mod              a module on sys.path or in the working directory;
                       of a package, all of its modules
  file.py:Class.name   one code object of a file or module, by its __qualname__,
  pkg.mod:Class.name   and all in it; ".<locals>" may be left out
  file.py:42           the innermost code object that holds line 42
  -                    source on stdin

Nothing is executed: sources are compiled, not imported, and a module is found
without importing its parents. """
TARGETS_HELP = f"""\
{TARGETS}Reading a .pyc uses marshal, which is not safe
for files from strangers.
"""

_ALIASES = {"os.path": os.path.__name__, "collections.abc": "_collections_abc"}
"""Modules of the standard library that are found under another name than they are imported by."""
_STDIN = "xtab.stdin"
"""Under which its text is kept, for the time of one command."""
_COLUMN = re.compile(r"(.*:[0-9]+):[0-9]+")
_NOT_STDLIB = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file, or a text: what code objects are compiled or read from."""

    name: str  #: how to call it on a command line, without the ":qualname"
    qualname: str | None = None  #: the code object asked for, by name, or by a line that it holds; None: all
    data: bytes | None = None  #: its content; None: `name` is a file to read
    named: bool = True  #: whether the user named it, rather than a folder that it is in

    @property
    def filename(self) -> str:
        """What code compiled from it says that it is from."""
        return "<stdin>" if self.name == "-" else self.name


def find_sources(target: str) -> list[SourceFile]:
    """The sources that `target` stands for, in a fixed order. A path that exists wins over a module of that name.

    Raises:
        TargetError: there is no such thing, or nothing in it; the message lists what has a similar name.
    """
    found = _find(target, None)
    if found is None:
        target = without_column(target)
        base, _, qualname = target.rpartition(":")
        if base and qualname and os.sep not in qualname:
            found = _find(base, qualname)
    if found is None:
        raise not_found(target)
    if not found:
        raise TargetError(f"expected .py files in {target}, but found none (a .pyc is read where it is named itself)")
    return found


def stdin_text() -> bytes:
    """All of stdin, which can be read once: a command that names it twice gets the same text again."""
    context = click.get_current_context(silent=True)
    kept = {} if context is None else context.find_root().meta
    if _STDIN not in kept:
        kept[_STDIN] = sys.stdin.buffer.read()
    text: bytes = kept[_STDIN]
    return text


def without_column(target: str) -> str:
    """A target without the column that editors write behind the line.

    >>> without_column("app.py:42:5"), without_column("app.py:42")
    ('app.py:42', 'app.py:42')
    """
    found = _COLUMN.fullmatch(target)
    return target if found is None or Path(target.rpartition(":")[0]).is_file() else found[1]


def _find(target: str, qualname: str | None) -> list[SourceFile] | None:
    """The sources of a target whose ":qualname" was cut off, or None if it is neither a path nor a module's name."""
    if qualname is None:
        if target == "-":
            return [SourceFile("-", data=stdin_text())]
        if target == "stdlib":
            return _stdlib()
        if target and Path(target).is_dir():
            return _in_folder(target)
    if Path(target).is_file():
        return [SourceFile(target, qualname)]
    if all(map(str.isidentifier, target.split("."))) and not target.endswith((".py", ".pyc")):
        return _module(target, qualname)
    return None


def _stdlib() -> list[SourceFile]:
    folders = {str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "platstdlib")}
    return [source for folder in sorted(folders) for source in _in_folder(folder, *_NOT_STDLIB)]


def _in_folder(folder: str, *leave_out: str) -> list[SourceFile]:
    """All .py files in a folder and below, sorted, hidden folders and caches left out."""
    sources = []
    left_out = {"__pycache__", *leave_out}
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in left_out and not name.startswith("."))
        sources += [SourceFile(str(Path(parent, name)), named=False) for name in sorted(files) if name.endswith(".py")]
    return sources


def _module(dotted: str, qualname: str | None) -> list[SourceFile]:
    """The sources of a module, looked up one dot at a time."""
    top, *parts = _ALIASES.get(dotted, dotted).split(".")
    spec = _find_spec(top, [str(Path.cwd()), *(entry for entry in sys.path if entry)])
    for number, part in enumerate(parts):
        folders = spec.submodule_search_locations
        if folders is None:
            raise no_package(spec.name, parts[number:], dotted)
        spec = _find_spec(f"{spec.name}.{part}", folders)
    if qualname is None and spec.submodule_search_locations is not None:
        return [source for folder in spec.submodule_search_locations for source in _in_folder(folder)]
    return [_module_source(spec, qualname)]


def _find_spec(name: str, path: list[str]) -> ModuleSpec:
    """As `importlib.machinery.PathFinder.find_spec`, which wants the parents of namespace packages imported."""
    portions: list[str] = []
    for entry in path:
        finder = pkgutil.get_importer(entry)
        spec = None if finder is None else finder.find_spec(name)
        if spec is None:
            continue
        if spec.loader is not None:
            return spec
        portions += spec.submodule_search_locations or []
    if not portions:
        raise no_module(name, path)
    namespace = ModuleSpec(name, None)
    namespace.submodule_search_locations = portions
    return namespace


def _module_source(spec: ModuleSpec, qualname: str | None) -> SourceFile:
    if spec.loader is None:
        raise TargetError(f"expected a module with source, but found that {spec.name} is a namespace package")
    if spec.origin is not None and spec.origin.endswith((".py", ".pyc")) and Path(spec.origin).is_file():
        return SourceFile(spec.origin, qualname)
    if (get_source := getattr(spec.loader, "get_source", None)) and (text := get_source(spec.name)) is not None:
        return SourceFile(spec.name, qualname, text.encode())  # inside a zip
    raise TargetError(f"expected a module with Python source, but found that {spec.name} is {spec.origin}")


def load(source: SourceFile) -> list[CodeType]:
    """The code objects of a source: that of the module, or those that were asked for by name.

    Raises:
        TargetError: it can't be read or compiled, or has no code object of that name.
    """
    data = read(source)
    code = _read_pyc(data) if source.name.endswith(".pyc") else _compile(data, source.filename)
    if source.qualname is None:
        return [code]
    line = line_number(source.qualname)
    if line is not None:
        found = code_at(code, line)
        if not found:
            raise no_such_line(line_bounds(code), line)
        return found
    return pick(list(code_objects(code)), source.qualname, lambda inner: inner.co_qualname)


_DIGITS = 10
"""Of the longest number of a line that a file may have."""


def line_number(text: str) -> int | None:
    """The line that is asked for, if that is what the text behind the colon of a target says.

    >>> line_number("42"), line_number("f")
    (42, None)
    """
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


def no_such_line(bounds: tuple[int, int], line: int) -> TargetError:
    """The error for a line that is not among those from the first to the last."""
    return TargetError(f"expected a line from {bounds[0]} to {bounds[1]}, but found {line}")


def read(source: SourceFile) -> bytes:
    """The content of a source.

    Raises:
        TargetError: the file can't be read.
    """
    if source.data is not None:
        return source.data
    try:
        return Path(source.name).read_bytes()
    except OSError as error:
        raise TargetError(f"expected a file that can be read, but found: {error.strerror}") from None


def _compile(data: bytes, filename: str) -> CodeType:
    try:
        with warnings.catch_warnings(action="ignore"):
            return compile(data, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = "" if error.lineno is None else f" (line {error.lineno})"
        raise TargetError(f"{type(error).__name__}: {error.msg}{line}") from None
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise TargetError(f"{type(error).__name__}: {error}".rstrip(": ")) from None


def pyc_payload(data: bytes, *, foreign: bool = False) -> bytes:
    """What is behind the header of a .pyc of this Python, or with `foreign` of any Python that xtab knows.

    Raises:
        TargetError: it isn't one; the message names the Python that wrote it, if xtab knows that.
    """
    if not is_pyc(data):
        raise TargetError("expected a .pyc file, but found something else")
    pyc = read_pyc(data)
    if pyc.magic != CURRENT.magic and not (foreign and pyc.version):
        raise _other_version(pyc)
    return pyc.payload


def _read_pyc(data: bytes) -> CodeType:
    payload = pyc_payload(data)
    try:
        code = marshal.loads(payload)
    except Exception as error:  # noqa: BLE001 (of damaged bytes marshal makes SystemError, MemoryError and others)
        found = f"{type(error).__name__}: {error}".rstrip(": ")
        raise TargetError(f"expected a code object behind the header, but found: {found}") from None
    if not isinstance(code, CodeType):
        raise TargetError(f"expected a code object behind the header, but found {type(code).__name__}")
    return code


def _other_version(pyc: Pyc) -> TargetError:
    message = f"expected bytecode of CPython {CURRENT.python} (magic {CURRENT.magic}), but found that of "
    if pyc.version is not None:
        other = for_version(pyc.version).python
        return TargetError(f"{message}CPython {other} (magic {pyc.magic}). Try the same with: python{other} -m xtab")
    return TargetError(f"{message}another Python (magic {pyc.magic})")


def pick(known: list[_Code], qualname: str, name_of: Callable[[_Code], str]) -> list[_Code]:
    """The code objects of that name; several if it was defined several times.

    Raises:
        TargetError: there is none.
    """
    found = [inner for inner in known if name_of(inner) == qualname]
    if not found:
        found = [inner for inner in known if _short(name_of(inner)) == _short(qualname)]
    if not found:
        names = {name_of(inner) for inner in known}
        close = close_names(qualname, names)
        raise TargetError(f"expected a code object in it, but found none named {qualname!r}{close}")
    return found


def _short(qualname: str) -> str:
    return qualname.replace(".<locals>", "")


@contextmanager
def working_directory_on_path() -> Iterator[None]:
    """While something is imported: an installed command doesn't have it there."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
