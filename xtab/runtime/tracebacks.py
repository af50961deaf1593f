"""`filter_traceback` and `splice_context`: exceptions without the frames, and the exceptions, of a library.

1. `related` walks over an exception and all that hangs on it: causes, contexts, members of groups. It goes by
   identity, so circles end, and it keeps a list of its own, so long chains don't reach the recursion limit.
2. `rebuild` makes a traceback anew with some entries changed or left out. Entries behind the last change are taken over
   as they are, so a traceback in which nothing changes stays the same object, and none is edited in place: others may
   hold it (Python/traceback.c).
3. `put` sets what the interpreter sets, past what a class of exceptions makes of assignments: a frozen dataclass, say,
   refuses them.
4. `frames_outside` says whose a frame is: a code object is a module's if it runs in that module's namespace and names
   that module's file, or what a module is compiled as that is frozen or has no source. So code that a library made for
   its user, and relocated, is the user's.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import xtab
from xtab.format.code import code_objects, code_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from xtab.format.code import HasCode

__all__ = ["filter_traceback", "frames_outside", "is_debugging", "put", "rebuild", "related", "splice_context"]

#: What shall stand for an entry of a traceback: it or another one (whose `tb_next` doesn't count), or None for nothing.
Change: TypeAlias = "Callable[[TracebackType], TracebackType | None]"

#: An exception, or the class or classes of exceptions.
Ours: TypeAlias = "BaseException | type[BaseException] | tuple[type[BaseException], ...]"

_Ends: TypeAlias = "dict[int, tuple[BaseException, BaseException | None]]"

_Error = TypeVar("_Error", bound=BaseException)
_DEBUG = "XTAB_DEBUG"


def filter_traceback(exc: _Error, keep: Callable[[FrameType], bool] | None = None, *, chain: bool = True) -> _Error:
    """Take frames out of the traceback of an exception.

    An exception whose frames would all go keeps them: it must point somewhere. With ``XTAB_DEBUG=1`` in the
    environment nothing is taken out. While the exception travels on, each frame that it leaves is added again, so do
    this where it is shown, or in the outermost function of the library.

    Args:
        exc: the exception; it gets new tracebacks, and nothing else of it changes.
        keep: called with a frame: whether it stays. None: frames of xtab go. See :func:`xtab.frames_outside`.
        chain: whether to do the same to its causes and contexts, to theirs and so on; members of exception groups are
            part of the exception in any case.

    Returns:
        `exc`.

    >>> import xtab
    >>> def helper():
    ...     return {}["key"]
    >>> def use():
    ...     helper()
    >>> try:
    ...     use()
    ... except KeyError as error:
    ...     entry = xtab.filter_traceback(error, xtab.frames_outside(helper)).__traceback__
    >>> entry.tb_next.tb_frame.f_code.co_name, entry.tb_next.tb_next
    ('use', None)
    """
    if not is_debugging():
        stays = frames_outside(xtab) if keep is None else keep
        for each in related(exc, chain=chain):
            filtered = rebuild(each.__traceback__, lambda entry: entry if stays(entry.tb_frame) else None)
            if filtered is not None and filtered is not each.__traceback__:
                put(each, "__traceback__", filtered)
    return exc


def is_debugging() -> bool:
    """Whether the environment asks for all frames to be shown."""
    return os.environ.get(_DEBUG, "0") not in ("", "0")


def frames_outside(*libraries: ModuleType | HasCode) -> Callable[[FrameType], bool]:
    """A test of frames, for :func:`xtab.filter_traceback`: whether their code is none of these.

    Args:
        libraries: modules, each with all modules below it; and functions, code objects and so on, each with what is
            nested in it.

    Raises:
        TypeError: something is not a module, and has no code.

    >>> import sys, xtab
    >>> frames_outside(xtab)(sys._getframe())
    True
    """
    codes: dict[int, CodeType] = {}  # the values keep the keys right
    names = []
    for library in libraries:
        if isinstance(library, ModuleType):
            names.append(library.__name__)
        else:
            codes.update((id(code), code) for code in code_objects(code_of(library)))

    def outside(frame: FrameType) -> bool:
        if id(frame.f_code) in codes:
            return False
        module = _module_of(frame)
        return module is None or not any(module == name or module.startswith(f"{name}.") for name in names)

    return outside


def _module_of(frame: FrameType) -> str | None:
    """The name of the module whose own code a frame runs."""
    name = frame.f_globals.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    if module is None or getattr(module, "__dict__", None) is not frame.f_globals:
        return None
    return name if _is_own(frame.f_code.co_filename, frame.f_globals) else None


def _is_own(filename: str, namespace: dict[str, Any]) -> bool:
    """Whether the code of the module itself has that file name."""
    file = namespace.get("__file__", "")
    if filename == file:
        return True
    spec = namespace.get("__spec__")
    if filename.startswith("<frozen "):
        return filename == f"<frozen {getattr(spec, 'name', None)}>"
    return isinstance(file, str) and file.endswith(".pyc") and filename == _stored_filename(file, spec)


_stored_filenames: dict[str, str | None] = {}  # a recursion asks again and again


def _stored_filename(file: str, spec: Any) -> str | None:
    """The file name in the code of a module without source, which is that of where it was compiled."""
    if file not in _stored_filenames:
        try:
            _stored_filenames[file] = spec.loader.get_code(spec.name).co_filename
        except Exception:  # noqa: BLE001 (whoever made the loader, there is an error to be shown)
            _stored_filenames[file] = None
    return _stored_filenames[file]


def splice_context(exc: _Error, ours: Ours) -> _Error:
    """Take an exception that only led control flow out of the chains of others.

    What had it as its context gets the context that it had itself, and likewise for causes. If nothing would be left to
    be shown, the context is whatever was shown of it: what a user's exception was raised in, or from, stays. `exc`
    itself and members of exception groups are never taken out.

    Args:
        exc: the exception whose causes and contexts are looked through, all the way down.
        ours: the exception to take out, or the class, or classes, of those.

    Returns:
        `exc`.

    >>> class Skip(BaseException): pass
    >>> try:
    ...     try:
    ...         raise KeyError("the user's")
    ...     except KeyError:
    ...         try:
    ...             raise Skip
    ...         except Skip:
    ...             raise ValueError("next")
    ... except ValueError as error:
    ...     print(repr(splice_context(error, Skip).__context__))
    KeyError("the user's")
    """
    causes: _Ends = {}
    contexts: _Ends = {}
    for each in related(exc):
        causing, cause = _behind(each, ours, "__cause__", causes)
        last, context = _behind(each, ours, "__context__", contexts)
        suppressed = each.__suppress_context__
        if causing is not each:
            put(each, "__cause__", None if cause is each else cause)
            suppressed = causing.__suppress_context__
            if cause is None and context is None and not suppressed:
                _, context = _behind(causing, ours, "__context__", contexts)
        if last is not each and context is None:
            _, context = _behind(last, ours, "__cause__", causes)
        if context is not each.__context__:
            put(each, "__context__", None if context is each else context)
        put(each, "__suppress_context__", suppressed)  # setting a cause sets it
    return exc


def _behind(start: BaseException, ours: Ours, link: str, ends: _Ends) -> tuple[BaseException, BaseException | None]:
    """The last of ours that follow `start` down a chain, or itself, and what comes behind; None if that's a circle.

    What is found of each of ours is kept in `ends`, so that none is passed twice, however many chains lead to it.
    """
    seen = {id(start): start}
    last, found = start, getattr(start, link)
    while found is not None and (found is ours if isinstance(ours, BaseException) else isinstance(found, ours)):
        if id(found) in ends:
            last, found = ends[id(found)]
            break
        if id(found) in seen:
            found = None
            break
        seen[id(found)] = found
        last, found = found, getattr(found, link)
    del seen[id(start)]  # it need not be one of ours
    ends.update(dict.fromkeys(seen, (last, found)))
    return last, found


def related(exc: BaseException, *, chain: bool = True) -> Iterator[BaseException]:
    """An exception, and all that hang on it, each once; what hangs on one is looked up after it was given.

    Args:
        exc: where to begin.
        chain: whether to go on to causes and contexts too, and not only to members of exception groups.

    Raises:
        TypeError: `exc` is no exception.

    >>> error = ValueError()
    >>> error.__context__ = KeyError()
    >>> error.__context__.__cause__ = error
    >>> [type(each).__name__ for each in related(error)]
    ['ValueError', 'KeyError']
    """
    if not isinstance(exc, BaseException):
        raise TypeError(f"expected an exception, but found {exc!r:.80} of type {type(exc).__qualname__}")
    seen: set[int] = set()
    waiting: list[BaseException | None] = [exc]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if chain:
            waiting += (each.__context__, each.__cause__)
        if isinstance(each, BaseExceptionGroup):
            waiting += reversed(each.exceptions)


def put(exc: BaseException, name: str, value: object) -> None:
    """Set ``__traceback__``, ``__cause__``, ``__context__`` or ``__suppress_context__``, whatever `exc` says to that.

    >>> import dataclasses
    >>> @dataclasses.dataclass(frozen=True)
    ... class Failed(Exception):
    ...     code: int
    >>> error = Failed(3)
    >>> put(error, "__context__", KeyError())
    >>> error.__context__
    KeyError()
    """
    vars(BaseException)[name].__set__(exc, value)


def rebuild(traceback: TracebackType | None, change: Change) -> TracebackType | None:
    """A traceback with some entries changed; the same object if none is.

    Args:
        traceback: its first entry.
        change: called with each entry: itself if it stays, another to stand for it, or None to leave it out.

    >>> rebuild(None, lambda entry: entry) is None
    True
    """
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for entry in reversed(entries):
        new = change(entry)
        if new is entry and result is entry.tb_next:
            result = entry
        elif new is not None:
            line: int | None = new.tb_lineno
            result = TracebackType(result, new.tb_frame, new.tb_lasti, -1 if line is None else line)  # -1: none
    return result
