"""`rewrite_imports`: modules are rewritten as they are imported.

1. `ImportHook` stands in front of the other finders of ``sys.meta_path``. For a module that is wanted it asks them for
   the spec, as the import system would; so path entries, zip files, namespace packages and other hooks work as ever.
2. If the spec's loader is one for source, it is replaced by a copy whose `get_code` rewrites what the original's gives.
   All else that a loader does stays: resources, source text, data, reloading.
3. The original reads and writes CPython's own .pyc as always, with the code as it was compiled. If a cache is asked
   for, rewritten code is kept in there, under the hash of the source that it was compiled from.

The hook keeps no state that imports change: the import system's locks, one a module, are all that is needed. See
Lib/importlib/_bootstrap_external.py, SourceLoader.
"""

from __future__ import annotations

import copy
import importlib
import sys
import threading
import warnings
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from functools import partial
from importlib.machinery import SourceFileLoader
from typing import TYPE_CHECKING, Any, Literal, Self
from zipimport import zipimporter

from xtab.errors import ConstantError, RewriteWarning, XtabError
from xtab.runtime.code_cache import CodeCache, version_of
from xtab.transform.named import transform_name
from xtab.transform.origins import mark_loaded
from xtab.transform.rewrite import rewrite_code

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

    from xtab.transform.rewrite import Transform

__all__ = ["ImportHook", "loads_source", "rewrite_imports"]

_SHOW_ERRORS = ("traceback", "tokenize", "_colorize")
"""What Python itself imports to show an error: loaded early, so that it can't fail for the same reason."""


def rewrite_imports(
    transform: Transform,
    *,
    include: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    recursive: bool = True,
    on_error: Literal["warn", "raise"] = "warn",
    cache: str | os.PathLike[str] | None = None,
    version: str | None = None,
    verify: bool = False,
) -> ImportHook:
    """Rewrite modules as they are imported: inside a ``with``, or between ``install()`` and ``uninstall()``.

    Only modules with source are rewritten, and none that was loaded before; modules of xtab and the transform's own
    never are, nor what the transform itself imports while it runs.

    Args:
        transform: as for :func:`xtab.rewrite`; called with the body of each module, and of all code in it.
        include: patterns of module names, as in `fnmatch`, such as ``"pkg.*"`` (which is not ``"pkg"``); None: all.
        exclude: patterns of those to leave alone.
        recursive: whether to transform functions, classes and so on in the module too, and not its top level only.
        on_error: what to do if a module can't be rewritten: ``"warn"`` loads it as it is, with a `RewriteWarning`;
            ``"raise"`` lets the error end the import.
        cache: a folder to keep rewritten code in. A module found there is not compiled or rewritten again if its
            source, the transform and the Python are the same. Modules in zip files, and those that other hooks change
            too, are not kept.
        version: of the transform, for the cache. None: the hash of the file that the transform is in; what that file
            imports doesn't count.
        verify: whether to prove each module's new code safe before it runs: see :func:`xtab.require_valid`. Code that
            isn't counts as code that can't be rewritten.

    Raises:
        XtabError: `on_error` is something else.

    >>> seen = []
    >>> with rewrite_imports(lambda body: seen.append(body.name), include="this.module.only"):
    ...     import json.tool
    >>> seen
    []
    """
    if on_error not in ("warn", "raise"):
        raise XtabError(f"expected 'warn' or 'raise' for on_error, but found {on_error!r}")
    patterns = ["*"] if include is None else _patterns(include)
    strict = on_error == "raise"
    hook = ImportHook(transform, patterns, _patterns(exclude or ()), recursive=recursive, strict=strict, verify=verify)
    if cache is not None:
        hook.use_cache(cache, version)
    return hook


def _patterns(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


class ImportHook:
    """A finder for ``sys.meta_path``, made by :func:`xtab.rewrite_imports`; a context manager."""

    def __init__(
        self,
        transform: Transform,
        include: list[str],
        exclude: list[str],
        *,
        recursive: bool,
        strict: bool,
        verify: bool = False,
    ) -> None:
        self._transform = transform
        self._name = transform_name(transform)
        self._own = {"xtab", self._name.partition(":")[0]}
        self._include = include
        self._exclude = exclude
        self._recursive = recursive
        self._strict = strict
        self._verify = verify
        self._cache: CodeCache | None = None
        self._said: set[str] = set()
        self._thread = _Thread()

    def install(self) -> None:
        """Rewrite what is imported from now on; nothing if that is so already."""
        if self not in sys.meta_path:
            for name in _SHOW_ERRORS:
                with suppress(ModuleNotFoundError):
                    importlib.import_module(name)
            sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        """Rewrite no more. Modules that were rewritten stay so."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """In a ``with``: rewrite nothing that this thread imports."""
        self._thread.pauses += 1
        try:
            yield
        finally:
            self._thread.pauses -= 1

    def __enter__(self) -> Self:
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        self.uninstall()

    def use_cache(self, folder: str | os.PathLike[str], version: str | None) -> None:
        """Keep rewritten code in a folder: see :func:`xtab.rewrite_imports`."""
        version = version or version_of(self._transform)
        if version is None:
            found = f"{self._name}, which can't be found by its name"
            self._warn_once(
                "version", f"expected a version or a transform of a module, to use the cache, but found {found}"
            )
            return
        how = f"{'' if self._recursive else ' (top level)'}{' (verified)' if self._verify else ''}"
        self._cache = CodeCache(folder, f"{self._name}{how}", version)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that is to be rewritten; None leaves it to the other finders."""
        if not self._wants(name):
            return None
        finders = sys.meta_path.copy()
        behind = finders.index(self) + 1 if self in finders else 0
        for finder in finders[behind:]:
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                if loads_source(spec):
                    with self.paused():  # making a copy may itself import something
                        spec.loader = self._rewriting(spec.loader)
                return spec
        return None

    def _wants(self, name: str) -> bool:
        if name in self._own or name.startswith("xtab.") or self._thread.pauses:
            return False
        return any(fnmatchcase(name, pattern) for pattern in self._include) and self.allows(name)

    def allows(self, name: str) -> bool:
        """Whether a module is not excluded."""
        return not any(fnmatchcase(name, pattern) for pattern in self._exclude)

    def _rewriting(self, loader: Any) -> Any:
        """A loader like the given one, which rewrites; the original may be shared, as that of a zip file is."""
        twin = copy.copy(loader)
        twin.get_code = partial(self.get_code, loader)
        return twin

    def get_code(self, loader: Any, name: str) -> CodeType | None:
        """The rewritten code of a module, by way of the loader that gives it as it is."""
        if self._cache is None or type(loader) is not SourceFileLoader or "get_code" in vars(loader):
            # what other loaders make of the source is not in the key
            return self._rewritten(loader.get_code(name), name)
        path = loader.get_filename(name)
        source = loader.get_data(path)
        code = self._cache.load(name, path, source)
        if code is not None:
            mark_loaded(code, self._name, nested=self._recursive)
        else:
            plain = loader.source_to_code(source, path)  # a .pyc may be of a file with the same size and time
            code = self._rewritten(plain, name)
            if code is not plain:
                self._store(name, path, source, code)
        return code

    def _rewritten(self, code: CodeType, name: str) -> CodeType:
        try:
            with self.paused():
                return rewrite_code(code, self._transform, recursive=self._recursive, verify=self._verify)
        except Exception as error:
            if self._strict:
                error.add_note(f"while module {name} was imported")
                raise
            notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
            self._warn(
                f"expected {self._name} to rewrite module {name}, but found {type(error).__name__}: {error}{notes}; "
                "the module is loaded as it is"
            )
            return code

    def _store(self, name: str, path: str, source: bytes, code: CodeType) -> None:
        assert self._cache is not None
        try:
            self._cache.store(name, path, source, code)
        except ConstantError as error:
            self._warn_once("constants", f"from {self._name}, in {name}, so it is not kept: {error}")
        except OSError as error:
            self._warn_once("folder", f"expected to write into {self._cache.folder}, but found: {error.strerror}")

    def _warn_once(self, what: str, text: str) -> None:
        if what not in self._said:
            self._said.add(what)
            self._warn(text)

    def _warn(self, text: str) -> None:
        """Warn, at the line that imports: `warnings` passes over the frames of the import system."""
        frame, level = sys._getframe(), 1  # noqa: SLF001 (what `warnings` itself uses)
        while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
            frame, level = frame.f_back, level + 1
        warnings.warn(text, RewriteWarning, stacklevel=level)


class _Thread(threading.local):
    pauses = 0
    """While there are any, what this thread imports is left alone: so what a transform imports while it runs."""


def loads_source(spec: ModuleSpec) -> bool:
    """Whether a module's code comes from its loader's `get_code`, and from source."""
    loader: Any = spec.loader
    if getattr(type(loader), "exec_module", None) is not SourceFileLoader.exec_module:
        return False  # somebody else's, who may not ask for the code at all
    if isinstance(loader, zipimporter):
        return loader.get_source(spec.name) is not None
    return isinstance(loader, SourceFileLoader)
