"""`install_excepthook`: errors that nobody catches are changed before they are shown.

1. There are three hooks: of the main thread (and whatever calls it), of other threads, and for errors that can't be
   raised. Each is replaced by one that changes the exception, step by step, and hands it to the hook that was there.
2. Where Python's own hooks don't look up registered source (up to 3.12 they are written in C and open files by
   themselves, Python/traceback.c; the one for what can't be raised up to 3.14), the `traceback` module shows the error
   in their place.
3. To uninstall, a hook is taken out if it is the one that is called; if others were put over it since, it stays below
   them and does no more than hand on.

A step that fails must not hide the error that was to be shown: what it raises becomes a note of that one.
"""

from __future__ import annotations

import sys
import threading
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from xtab.runtime.sources import is_registered
from xtab.runtime.tracebacks import filter_traceback, put

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["InstalledHooks", "install_excepthook"]

#: What changes an exception before it is shown; it returns it, or another one.
Change: TypeAlias = "Callable[[BaseException], BaseException]"

_HOOKS_READ_LINECACHE = hasattr(traceback, "_print_exception_bltin")
"""Whether Python's own hooks call `traceback`, which has this function for them."""


def install_excepthook(*steps: Change) -> InstalledHooks:
    """Change errors that nobody catches before they are shown: in all threads, and in ``__del__`` and the like.

    Args:
        steps: called one after another with the exception, each with what the last one returned. None given: frames of
            xtab are hidden, by :func:`xtab.filter_traceback`.

    Returns:
        An object that takes the hooks out again, with its ``uninstall()``, or at the end of a ``with``. Hooks that
        were there before are called as before, and those that others install later stay.

    Raises:
        TypeError: a step can't be called.

    >>> import sys
    >>> before = sys.excepthook
    >>> with install_excepthook():
    ...     sys.excepthook is before
    False
    >>> sys.excepthook is before
    True
    """
    for step in steps:
        if not callable(step):
            raise TypeError(f"expected functions that take an exception, but found {step!r:.80}")
    return InstalledHooks(steps or (filter_traceback,))


class InstalledHooks:
    """The hooks of one call of :func:`xtab.install_excepthook`; a context manager."""

    def __init__(self, steps: tuple[Change, ...]) -> None:
        self._hooks: list[_Hook] = [
            _MainHook(sys, "excepthook", steps),
            _ThreadHook(threading, "excepthook", steps),
            _UnraisableHook(sys, "unraisablehook", steps),
        ]

    def uninstall(self) -> None:
        """Change errors no more; nothing if that is so already.

        >>> hooks = install_excepthook()
        >>> hooks.uninstall()
        >>> hooks.uninstall()
        """
        for hook in self._hooks:
            hook.uninstall()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.uninstall()


class _Hook:
    """Stands at one of the three places, in front of the hook that was there."""

    def __init__(self, owner: Any, name: str, steps: tuple[Change, ...]) -> None:
        self._owner, self._name, self._steps = owner, name, steps
        self.active = True
        self.old: Any = getattr(owner, name)
        setattr(owner, name, self)

    def uninstall(self) -> None:
        self.active = False
        if getattr(self._owner, self._name) is self:
            setattr(self._owner, self._name, self.awake())

    def awake(self) -> Callable[..., Any]:
        """The hook below that still does something."""
        hook: Any = self
        while isinstance(hook, _Hook) and not hook.active:
            hook = hook.old
        return hook  # type: ignore[no-any-return]

    def _below(self) -> Callable[..., Any]:
        return self.old.awake() if isinstance(self.old, _Hook) else self.old

    def _is_pythons_own(self) -> bool:
        return self._below() is getattr(self._owner, f"__{self._name}__")

    def _changed(self, exc: BaseException) -> BaseException:
        if self.active:
            for step in self._steps:
                exc = _applied(step, exc)
        return exc


def _applied(step: Change, exc: BaseException) -> BaseException:
    try:
        changed: object = step(exc)
        if isinstance(changed, BaseException):
            return changed
        fault = f"expected an exception from it, but found one of type {type(changed).__qualname__}"
    except Exception as error:  # noqa: BLE001 (whatever it is, the user's error must be shown)
        fault = "".join(traceback.format_exception_only(error)).strip()  # also of those that can't be made a string
    with suppress(Exception):  # what is in __notes__ may be anything
        name = getattr(step, "__qualname__", type(step).__qualname__)
        BaseException.add_note(exc, f"(xtab: {name} failed on this error: {fault})")
    return exc


def _print(exc: BaseException, title: str = "") -> None:
    """As Python's own hooks do, which are silent where there is no `sys.stderr`, and lose no error to its encoding."""
    stream = getattr(sys, "stderr", None)
    if stream is None:
        return
    text = title + "".join(traceback.format_exception(exc))
    try:
        stream.write(text)
    except UnicodeEncodeError as error:  # a stream that somebody made strict
        stream.write(text.encode(error.encoding, "backslashreplace").decode(error.encoding))


class _MainHook(_Hook):
    """``sys.excepthook``."""

    def __call__(self, kind: type[BaseException], exc: BaseException | None, trace: Any, /) -> None:
        if isinstance(exc, BaseException) and self.active:
            if exc.__traceback__ is None:
                put(exc, "__traceback__", trace)
            given, own = exc, exc.__traceback__
            exc = self._changed(exc)
            kind = type(exc)
            if trace is own or exc is not given:  # else somebody wants to have another one shown
                trace = exc.__traceback__
            if self._is_pythons_own() and not _HOOKS_READ_LINECACHE:
                _print(exc)
                return
        self._below()(kind, exc, trace)


class _ThreadHook(_Hook):
    """``threading.excepthook``."""

    def __call__(self, args: Any, /) -> None:
        exc = args.exc_value
        if exc is not None and self.active:
            exc = self._changed(exc)
            args = threading.ExceptHookArgs((type(exc), exc, exc.__traceback__, args.thread))
            if self._is_pythons_own() and not _HOOKS_READ_LINECACHE and not isinstance(exc, SystemExit):
                name = threading.get_ident() if args.thread is None else args.thread.name
                _print(exc, f"Exception in thread {name}:\n")
                return
        self._below()(args)


class _UnraisableHook(_Hook):
    """``sys.unraisablehook``."""

    def __call__(self, args: Any, /) -> None:
        exc = args.exc_value
        if exc is not None and self.active:
            exc = self._changed(exc)
            args = type(args)((type(exc), exc, exc.__traceback__, args.err_msg, args.object))
            if self._is_pythons_own() and _shows_registered(exc):
                _print(exc, _title(args.err_msg, args.object))
                return
        self._below()(args)


def _shows_registered(exc: BaseException) -> bool:
    """Whether an error passed through code whose text only `linecache` has."""
    return any(is_registered(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(exc.__traceback__))


def _title(message: str | None, thing: object) -> str:
    """What Python says first of an error that can't be raised (Python/errors.c, `write_unraisable_exc_file`)."""
    if thing is None:
        return f"{message}:\n" if message else ""
    try:
        shown = repr(thing)
    except Exception:  # noqa: BLE001 (whatever it is, the error must be shown)
        shown = "<object repr() failed>"
    return f"{message or 'Exception ignored in'}: {shown}\n"
