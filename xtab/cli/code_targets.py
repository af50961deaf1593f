"""What the subcommands share that show code: how it is named on the command line, and how it is found.

Nothing is executed unless ``--import`` is given: that is for code objects that only exist when a program runs, such as
functions that were decorated or rewritten.
"""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import isclass, ismodule
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from xtab.cli.hints import close_matches
from xtab.cli.targets import SourceFile, find_sources, load, read, working_directory_on_path
from xtab.errors import TargetError
from xtab.format.code import code_objects, code_of
from xtab.format.source_code import decode_source
from xtab.report.source_text import remember_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

__all__ = ["CODE_TARGETS", "Found", "TargetType", "code_target_options", "find_code", "remember_source", "the_sources"]

CODE_TARGETS = """\
A TARGET is one of

\b
  file.py, file.pyc    all code objects of a file; a .pyc must be of this Python
  file.py:Class.name   one of them, by its __qualname__, and all in it;
                       ".<locals>" may be left out
  file.py:42           the innermost one that holds line 42
  pkg.mod              the same of a module on sys.path or in the working
  pkg.mod:Class.name   directory
  -                    source on stdin

Nothing is executed, unless --import is given.
"""

_Command = TypeVar("_Command", bound="Callable[..., Any]")


class Found(NamedTuple):
    """Code that a target stands for."""

    name: str  #: the file or module, as it can be given on the command line
    code: CodeType


class TargetType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new versions of click only
    """A target, so that shells complete it."""

    name = "target"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 (as click wants it)
        param: click.Parameter,  # noqa: ARG002 (likewise)
        incomplete: str,
    ) -> list[CompletionItem]:
        """Files and folders, modules, and behind a colon the code objects in them."""
        base, colon, start = incomplete.rpartition(":")
        try:
            found = _names_in(base) if colon else [*_files(incomplete), *_modules(incomplete)]
        except (OSError, TargetError):
            return []
        prefix = base + colon
        return [CompletionItem(prefix + name) for name in found if name.startswith(start)]


def _names_in(target: str) -> list[str]:
    """The code objects in a file or module."""
    if target == "-":  # a shell has no text there
        return []
    (source,) = find_sources(f"{target}:*")
    names = [code.co_qualname for code in _all_code(load(replace(source, qualname=None)))]
    return [name for name in dict.fromkeys(names) if "<lambda>" not in name and not name.endswith(">")]


def _files(start: str) -> list[str]:
    folder, _, name = start.rpartition(os.sep)
    prefix = start[: len(start) - len(name)]
    entries = sorted(os.scandir(prefix or "."), key=lambda entry: entry.name)
    shown = [entry for entry in entries if entry.name.startswith(".") == name.startswith(".") or folder == "."]
    files = [prefix + entry.name for entry in shown if entry.name.endswith((".py", ".pyc")) and entry.is_file()]
    folders = [prefix + entry.name + os.sep for entry in shown if entry.is_dir() and entry.name != "__pycache__"]
    return files + folders


def _modules(start: str) -> list[str]:
    from pkgutil import iter_modules  # noqa: PLC0415 (only shells ask for it)

    if os.sep in start:
        return []
    outer, dot, _ = start.rpartition(".")
    path = [str(Path.cwd()), *(entry for entry in sys.path if entry)]
    for part in outer.split(".") if dot else ():
        path = [str(Path(entry, part)) for entry in path if Path(entry, part).is_dir()]
    return sorted({outer + dot + module.name for module in iter_modules(path)})


def code_target_options(command: _Command) -> _Command:
    """Add the argument ``TARGET...``, and ``-e`` and ``--import``."""
    for option in (
        click.option("--import", "do_import", is_flag=True, help="Import the targets, and show what is there then."),
        click.option("-e", "expression", metavar="SOURCE", help="Show this source, instead of a target."),
        click.argument("targets", nargs=-1, type=TargetType(), metavar="TARGET..."),
    ):
        command = option(command)
    return command


def the_sources(targets: tuple[str, ...], expression: str | None) -> list[SourceFile]:
    """What was named on the command line.

    Raises:
        TargetError: there is no such thing.
        click.UsageError: nothing was named, or both a target and a source.
    """
    if bool(targets) == (expression is not None):
        found = "both" if targets else "neither"
        raise click.UsageError(f"expected a TARGET or -e SOURCE, but found {found}", click.get_current_context())
    if expression is not None:
        return [SourceFile("<string>", data=expression.encode())]
    return [source for target in targets for source in find_sources(target)]


def find_code(
    targets: tuple[str, ...],
    expression: str | None,
    *,
    do_import: bool = False,
    sources: Iterable[SourceFile] | None = None,
) -> Iterator[Found]:
    """All code objects that were named on the command line, in the order of the source: outer before inner.

    Args:
        targets: the targets.
        expression: the source given in the place of targets.
        do_import: import them.
        sources: what they stand for, if that is known already.

    Raises:
        TargetError: there is no such thing, or it can't be read, compiled or imported.
    """
    if do_import and expression is None:
        for target in targets:
            for code in _all_code(_imported(target)):
                yield Found(target, code)
        return
    for source in the_sources(targets, expression) if sources is None else sources:
        try:
            roots = load(source)
        except TargetError as error:
            raise TargetError(f"{source.name}: {error}") from None
        if source.data is not None:
            remember_source(source)
        for code in _all_code(roots):
            yield Found(source.name, code)


def remember_source(source: SourceFile) -> None:
    """Let the lines of a source be shown that is in no file."""
    remember_text(source.filename, decode_source(read(source)))


def _all_code(roots: list[CodeType]) -> Iterator[CodeType]:
    for root in roots:
        yield from code_objects(root)


def _imported(target: str) -> list[CodeType]:
    """The code of an object, after the module that it is in was imported."""
    base, _, qualname = target.partition(":")
    with working_directory_on_path(), redirect_stdout(sys.stderr):  # what a module prints is none of the output
        try:
            module = _import_file(base) if base.endswith(".py") else import_module(base)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (a module may raise anything)
            raise TargetError(
                f"{base}: expected a module that can be imported, but found: {type(error).__name__}: {error}"
            ) from None
    found: Any = module
    for name in qualname.split(".") if qualname else ():
        if not hasattr(found, name):
            close = close_matches(name, dir(found))
            raise TargetError(f"expected an object in {base}, but found no {qualname!r}{close}")
        found = getattr(found, name)
    roots = list(_functions(found)) if ismodule(found) or isclass(found) else _unwrapped(found)
    if not roots:
        raise TargetError(f"expected functions of its own in {target}, but found none")
    try:
        return [code_of(root) for root in roots]
    except TypeError as error:
        raise TargetError(str(error)) from None


def _import_file(path: str) -> ModuleType:
    spec = spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"expected a file with Python source, but found {path!r}")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _functions(owner: ModuleType | type) -> Iterator[FunctionType]:
    """The functions that a module or a class has of its own, and those of its classes."""
    home = owner.__name__ if ismodule(owner) else owner.__module__
    waiting: list[Any] = [owner]
    seen: set[int] = set()
    while waiting:
        for inner in [each for value in vars(waiting.pop()).values() for each in _unwrapped(value)]:
            if id(inner) in seen or getattr(inner, "__module__", None) != home:
                continue
            seen.add(id(inner))
            if isinstance(inner, FunctionType):
                yield inner
            elif isclass(inner):
                waiting.append(inner)


_WRAPPERS: dict[type, tuple[str, ...]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
    cached_property: ("func",),
    partial: ("func",),
    type(lru_cache(len)): ("__wrapped__",),
}
"""What holds functions, and under which names."""


def _unwrapped(value: Any) -> list[Any]:
    """What an object holds that only wraps functions, and what that wraps; or the object."""
    names = next((names for kind, names in _WRAPPERS.items() if isinstance(value, kind)), None)
    if names is None:
        return [value]
    inner = [getattr(value, name) for name in names]
    return [found for each in inner if each is not None for found in _unwrapped(each)]
