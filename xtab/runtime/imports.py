"""A command that runs a program with its modules rewritten: ``python -m xtab.runtime.imports``.

The program is run as Python would run it: as ``__main__``, with its own ``sys.argv`` and ``sys.path[0]``, from a
script, a folder or zip file with a ``__main__.py``, or a module. It is rewritten too, unless ``--exclude __main__`` is
given. Follows Lib/runpy.py and Modules/main.c.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import os
import pkgutil
import sys
from importlib.machinery import PathFinder, SourceFileLoader
from optparse import OptionParser
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from xtab.errors import XtabError
from xtab.runtime.import_hook import ImportHook, loads_source, rewrite_imports
from xtab.transform.named import load_transform

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType

__all__ = ["main"]

_USAGE = "python -m xtab.runtime.imports --transform PKG.MOD:NAME [OPTIONS] (-m MODULE | SCRIPT) [ARGUMENTS]"


class _UnusableError(XtabError):
    """There is no such program."""


class _ScriptLoader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Compile the script; Python neither reads nor writes a .pyc of one."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a program with its modules rewritten; the exit status is the program's, or 2 for wrong usage.

    Args:
        arguments: of the command line, without the command; None: those of ``sys.argv``.
    """
    parser = _parser()
    options, program = parser.parse_args(None if arguments is None else list(arguments))
    if not options.transform:
        parser.error("expected --transform PKG.MOD:NAME")
    if not program:
        parser.error("expected a script, or -m and a module")
    try:
        transform = load_transform(options.transform)
    except XtabError as error:
        parser.error(str(error))
    hook = rewrite_imports(
        transform,
        include=options.include,
        exclude=options.exclude,
        on_error=options.on_error,
        cache=options.cache,
        version=options.cache_version,
        verify=options.verify,
    )
    hook.install()  # for good: threads and exit handlers import too
    try:
        code = _module(hook, program) if options.module else _script(hook, program)
    except _UnusableError as error:
        parser.error(str(error))
    exec(code, vars(sys.modules["__main__"]))  # noqa: S102 (it is what the command is for)


def _parser() -> OptionParser:
    parser = OptionParser(_USAGE, prog="python -m xtab.runtime.imports")
    parser.disable_interspersed_args()  # what is behind the program belongs to it
    parser.add_option("--transform", metavar="PKG.MOD:NAME", help="what rewrites a body")
    parser.add_option(
        "--include", metavar="PATTERN", action="append", help="names of modules to rewrite; may be repeated [all]"
    )
    parser.add_option("--exclude", metavar="PATTERN", action="append", help="names to leave alone; may be repeated")
    parser.add_option(
        "--on-error", choices=("warn", "raise"), default="warn", help="if a module can't be rewritten [warn]"
    )
    parser.add_option(
        "--verify", action="store_true", default=True, help="load a module rewritten only if that is safe [the default]"
    )
    parser.add_option("--no-verify", dest="verify", action="store_false", help="don't look whether it is safe")
    parser.add_option("--cache", metavar="DIR", help="folder to keep rewritten code in")
    parser.add_option("--cache-version", metavar="TEXT", help="version of the transform [the hash of its file]")
    parser.add_option("-m", dest="module", action="store_true", help="run a module instead of a script")
    return parser


def _script(hook: ImportHook, program: list[str]) -> CodeType:
    """The code of a script, folder or zip file, with everything ready for it."""
    script = program[0]
    path = os.path.join(os.getcwd(), script)  # noqa: PTH109, PTH118 (Python doesn't drop a "./" either)
    if not Path(path).exists():
        raise _UnusableError(f"expected a script, but found no file {script!r}")
    sys.argv = program
    if pkgutil.get_importer(path) is not None:
        _set_first_path(path, always=True)
        spec = PathFinder.find_spec("__main__", [path])
        if spec is None:
            raise _UnusableError(f"expected a __main__ module in {script!r}, but found none")
        return _start(hook, spec)
    if path.endswith(".pyc"):
        raise _UnusableError(f"expected a script with source, but found {script!r}")
    _set_first_path(str(Path(path).resolve().parent))
    _make_main(path, SourceFileLoader("__main__", path), None)
    return _code(hook, _ScriptLoader("__main__", path), "__main__")


def _module(hook: ImportHook, program: list[str]) -> CodeType:
    """The code of a module, or of a package's `__main__`, with everything ready for it."""
    sys.argv = ["-m", *program[1:]]
    spec = _find(hook, program[0])
    sys.argv[0] = spec.origin or program[0]
    return _start(hook, spec)


def _find(hook: ImportHook, name: str) -> ModuleSpec:
    """The spec of a module that isn't imported, as the loader is without the hook; its parents are imported with it."""
    try:
        if parent := name.rpartition(".")[0]:
            importlib.import_module(parent)
        with hook.paused():
            spec = importlib.util.find_spec(name)
    except (ModuleNotFoundError, ValueError) as error:
        if isinstance(error, ModuleNotFoundError) and not f"{name}.".startswith(f"{error.name}."):
            raise
        spec = None
    if spec is None:
        raise _UnusableError(f"expected a module that can be run, but found none named {name}")
    return spec if spec.submodule_search_locations is None else _find(hook, f"{name}.__main__")


def _start(hook: ImportHook, spec: ModuleSpec) -> CodeType:
    _make_main(spec.origin, spec.loader, spec)
    return _code(hook, spec.loader, spec.name, has_source=loads_source(spec))


def _code(hook: ImportHook, loader: Any, name: str, *, has_source: bool = True) -> CodeType:
    """The code of the program, rewritten if it has source and is not left out."""
    code: CodeType | None = None
    if has_source and hook.allows("__main__"):
        code = hook.get_code(loader, name)
    elif hasattr(loader, "get_code"):
        code = loader.get_code(name)
    if code is None:
        raise _UnusableError(f"expected a module with Python code, but found that {name} has none")
    return code


def _set_first_path(path: str, *, always: bool = False) -> None:
    """Put the program's folder where that of this command is."""
    if not sys.flags.safe_path:
        sys.path[0] = path
    elif always:
        sys.path.insert(0, path)


def _make_main(file: str | None, loader: Any, spec: ModuleSpec | None) -> None:
    """A new `__main__`, with the names that Python gives it before it runs."""
    made_by_python = vars(sys.modules["__main__"])
    names = {
        "__builtins__": builtins,
        "__file__": file,
        "__loader__": loader,
        "__package__": None if spec is None else spec.parent,
        "__spec__": spec,
    }
    not_everywhere: dict[str, Any] = {"__annotations__": {}, "__cached__": None if spec is None else spec.cached}
    names |= {name: value for name, value in not_everywhere.items() if name in made_by_python}
    sys.modules["__main__"] = module = ModuleType("__main__")
    vars(module).update(names)


if __name__ == "__main__":
    importlib.import_module("xtab.runtime.imports").main()
