"""`code_of`: the code object behind whatever has one; `code_objects`: those in it; what their flags and counts say."""

from __future__ import annotations

from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "CO_ASYNC_GENERATOR",
    "CO_COROUTINE",
    "CO_GENERATOR",
    "CO_HAS_DOCSTRING",
    "CO_NEWLOCALS",
    "CO_NO_MONITORING_EVENTS",
    "CO_OPTIMIZED",
    "CO_VARARGS",
    "CO_VARKEYWORDS",
    "HasCode",
    "argument_count",
    "code_length",
    "code_objects",
    "code_of",
]

# ``co_flags``, as Include/cpython/code.h has them (the last two are newer than 3.12).
CO_OPTIMIZED, CO_NEWLOCALS, CO_VARARGS, CO_VARKEYWORDS = 0x1, 0x2, 0x4, 0x8
CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200
CO_NO_MONITORING_EVENTS, CO_HAS_DOCSTRING = 0x2000000, 0x4000000

#: What has code. A type checker sees functions and methods as callables; of those, only the ones written in Python do.
HasCode: TypeAlias = (
    "CodeType | Callable[..., Any] | GeneratorType[Any, Any, Any] | CoroutineType[Any, Any, Any] "
    "| AsyncGeneratorType[Any, Any] | FrameType | TracebackType"
)

_HINTS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type, "a class keeps no code of its own: pass one of its methods"),
    (ModuleType, "a module keeps no code: pass a function of it, or compile its source"),
    (BuiltinFunctionType, "it is written in C and has no bytecode"),
    ((classmethod, staticmethod), "pass its __func__"),
    ((bytearray, memoryview), "pass bytes"),
    (str, "compile it first"),
)


def code_of(source: HasCode) -> CodeType:  # noqa: PLR0911 (a return for each kind)
    """The code object of `source`.

    Args:
        source: a code object, function, method, generator, coroutine, async generator, frame or traceback. Of a
            traceback it is the code of its first frame.

    Raises:
        TypeError: `source` has no code of its own. The text says what to pass instead.

    >>> code_of(code_of).co_name
    'code_of'
    """
    if isinstance(source, CodeType):
        return source
    while isinstance(source, MethodType):
        source = source.__func__
    if isinstance(source, FunctionType):
        return source.__code__
    if isinstance(source, TracebackType):
        return source.tb_frame.f_code
    if isinstance(source, FrameType):
        return source.f_code
    if isinstance(source, GeneratorType):
        return source.gi_code
    if isinstance(source, CoroutineType):
        return source.cr_code
    if isinstance(source, AsyncGeneratorType):
        return source.ag_code
    hint = next((f": {text}" for kinds, text in _HINTS if isinstance(source, kinds)), "")
    msg = (
        "expected a code object, function, method, generator, coroutine, async generator, frame or traceback, "
        f"but found {source!r:.80} of type {type(source).__qualname__}{hint}"
    )
    raise TypeError(msg)


def code_objects(code: CodeType) -> Iterator[CodeType]:
    """A code object, those among its constants, and theirs: each before what it holds, in the order of the source.

    >>> [code.co_name for code in code_objects(compile("def f(): return lambda: 0", "example", "exec"))]
    ['<module>', 'f', '<lambda>']
    """
    waiting = [code]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in reversed(code.co_consts) if isinstance(constant, CodeType)]


def code_length(code: CodeType) -> int:
    """The length of ``co_code`` in bytes, without making ``co_code``.

    That one is translated back from what the interpreter made of the code and then kept, and reading it may crash where
    no compiler made the code.

    >>> code_length(code_of.__code__) == len(code_of.__code__.co_code)
    True
    """
    return len(code._co_code_adaptive)  # type: ignore[attr-defined]  # noqa: SLF001 (exists since 3.11)


def argument_count(argcount: int, kwonlyargcount: int, flags: int) -> int:
    """How many local variables are arguments, those of ``*args`` and ``**kwargs`` included.

    >>> code = (lambda a, *, b, **c: 0).__code__
    >>> argument_count(code.co_argcount, code.co_kwonlyargcount, code.co_flags)
    3
    """
    return argcount + kwonlyargcount + bool(flags & CO_VARARGS) + bool(flags & CO_VARKEYWORDS)
