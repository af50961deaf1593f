"""What to tell whoever named a target that isn't there: what was expected, and what it may have meant."""

from __future__ import annotations

import ast
import difflib
import os
import pkgutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from xtab.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["close_matches", "close_names", "no_module", "no_package", "not_found"]

_ENDS = (".py", ".pyc")


def close_matches(name: str, names: Iterable[str]) -> str:
    """What to add to a message about a name that is not among those that there are."""
    close = difflib.get_close_matches(name, sorted(names), n=3)
    return f"; close to it: {', '.join(close)}" if close else ""


def close_names(qualname: str, names: Iterable[str]) -> str:
    """The same of code objects: first come those that only stand elsewhere.

    >>> close_names("inner", {"outer.<locals>.inner", "winner"})
    '; close to it: outer.inner'
    """
    known = sorted({name.replace(".<locals>", "") for name in names})
    wanted = qualname.replace(".<locals>", "").rpartition(".")[2]
    elsewhere = [name for name in known if name.rpartition(".")[2] == wanted][:3]
    return f"; close to it: {', '.join(elsewhere)}" if elsewhere else close_matches(qualname, names)


def no_module(name: str, path: list[str]) -> TargetError:
    """The error for a module that is not in any of the folders of `path`."""
    outer, _, part = name.rpartition(".")
    if name in sys.builtin_module_names:
        return TargetError(f"expected a module with Python source, but found that {name} is built in")
    names = {module.name for module in pkgutil.iter_modules(path)}
    if not outer:
        names |= sys.stdlib_module_names
    where = f"in {outer}" if outer else "on sys.path or in the working directory"
    close = close_matches(part, names) or (f"; a name in {outer} is written {outer}:{part}" if outer else "")
    return TargetError(f"expected a module, but found no {part!r} {where}{close}")


def no_package(module: str, parts: list[str], target: str) -> TargetError:
    """The error for names behind that of a module: they may be meant to be in it, or a file's name to end otherwise."""
    close = difflib.get_close_matches(target, _files(Path.cwd()), n=3, cutoff=0.8)
    meant = f"close to it: {', '.join(close)}" if close else f"a name in it is written {module}:{'.'.join(parts)}"
    return TargetError(f"expected a package before .{parts[0]}, but found that {module} is a module; {meant}")


def not_found(target: str) -> TargetError:
    """The error for what is neither a path nor the name of a module."""
    if target.endswith(":") and Path(target[:-1]).is_file():
        return TargetError(f"expected the name of a code object, or a line, behind the colon of {target!r}")
    base, _, name = target.rpartition(":")
    if base and Path(base).is_dir():
        return TargetError(f"expected a file or a module before ':{name}', but found that {base} is a folder")
    path = target if target.endswith(_ENDS) else base or target
    if os.sep not in path and not path.endswith(_ENDS):
        hint = "; xtab dis -e SOURCE shows source that is typed" if _is_source(target) else ""
        return TargetError(f"expected stdlib, a folder, a file, a module or -, but found {target!r}{hint}")
    folder = Path(path).parent
    if not folder.is_dir():
        return TargetError(f"expected a file or folder, but found no folder {str(folder)!r}")
    names = [entry.name for entry in folder.iterdir()]
    return TargetError(f"expected a file or folder, but found no {path!r}{close_matches(Path(path).name, names)}")


def _files(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(_ENDS))


def _is_source(text: str) -> bool:
    """Whether a text is Python that says more than a name."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(not isinstance(each, ast.Expr | ast.AnnAssign) or isinstance(each.value, ast.Call) for each in body)
