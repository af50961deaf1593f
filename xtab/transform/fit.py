"""Whether new code can take the place of old code, and what has to be done to it before it can.

A function brings defaults, a closure and callers along that were made for its old code. CPython checks little of that
when it runs: too short a closure is read past its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.errors import RewriteError
from xtab.format.code import CO_NEWLOCALS, CO_OPTIMIZED, CO_VARARGS, CO_VARKEYWORDS
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.model.assemble import assemble
from xtab.model.decode import decode, read_source
from xtab.model.instruction import Instruction
from xtab.model.tables import Free

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, FunctionType

__all__ = ["misfit", "require_defaults", "require_same_shape", "with_free_variables"]

_KIND = CO_OPTIMIZED | CO_NEWLOCALS
_COPY = CURRENT.number["COPY_FREE_VARS"]


def misfit(old: CodeType, expected: str, found: str) -> RewriteError:
    """The error that says why something can't take the place of `old`."""
    return RewriteError(expected, found, qualname=old.co_qualname, filename=old.co_filename, line=old.co_firstlineno)


def _arguments(code: CodeType) -> str:
    """The arguments of a code object as a ``def`` shows them, without defaults.

    >>> _arguments((lambda a, /, b, *c, d, **e: 0).__code__)
    '(a, /, b, *c, d, **e)'
    """
    names = iter(code.co_varnames)
    positional = [next(names) for _ in range(code.co_argcount)]
    keywords = [next(names) for _ in range(code.co_kwonlyargcount)]
    if code.co_posonlyargcount:
        positional.insert(code.co_posonlyargcount, "/")
    star = [f"*{next(names)}"] if code.co_flags & CO_VARARGS else ["*"] * bool(keywords)
    stars = [f"**{next(names)}"] if code.co_flags & CO_VARKEYWORDS else []
    return f"({', '.join([*positional, *star, *keywords, *stars])})"


def require_same_shape(old: CodeType, new: CodeType) -> None:
    """New code from elsewhere must take the arguments of the old, and be a function's if the old is.

    Raises:
        RewriteError: it doesn't.
    """
    wanted, given = _arguments(old), _arguments(new)
    if wanted != given:
        hint = "; to change them on purpose, edit the body that the transform is given"
        raise misfit(old, f"code that takes the arguments {wanted}", f"{given}{hint}")
    if (old.co_flags ^ new.co_flags) & _KIND:
        kinds = ["a function's code", "the code of a module or class"]
        if not old.co_flags & _KIND:
            kinds.reverse()
        raise misfit(old, *kinds)


def require_defaults(function: FunctionType, code: CodeType) -> None:
    """The defaults of a function must belong to arguments of its new code.

    Raises:
        RewriteError: there are more than arguments, or one for a keyword that is none.
    """
    if _arguments(code) == _arguments(function.__code__):
        return  # what it was given since is its own affair
    count = len(function.__defaults__ or ())
    if count > code.co_argcount:
        raise misfit(function.__code__, f"{count} positional arguments or more, for the defaults", _arguments(code))
    keywords = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    for name in function.__kwdefaults__ or ():
        if name not in keywords:
            raise misfit(function.__code__, f"a keyword argument {name!r}, for the default", _arguments(code))


def with_free_variables(code: CodeType, wanted: Sequence[str] | None, old: CodeType) -> CodeType:
    """`code`, with just the free variables `wanted` in that order; None: with those that it has, checked only.

    Raises:
        RewriteError: it has one that is not wanted, or doesn't copy as many from the closure as it has.

    Its instructions refer to free variables by their place, so they are written anew if the order changes.
    """
    own = code.co_freevars
    if wanted is not None:
        wanted = tuple(wanted)
        missing = [name for name in own if name not in wanted]
        if missing:
            raise misfit(old, f"no free variables{' but ' * bool(wanted)}{', '.join(wanted)}", ", ".join(missing))
    copied = _copied(code)
    if copied != len(own):
        found = f"COPY_FREE_VARS {copied}" if copied else "no COPY_FREE_VARS"
        raise misfit(old, f"COPY_FREE_VARS {len(own)} for the free variables ({', '.join(own)})", found)
    return code if wanted is None or wanted == own else _reordered(code, wanted)


def _copied(code: CodeType) -> int:
    """How many free variables the code copies from the closure when it starts."""
    if _COPY not in code.co_code[::2]:
        return 0
    source = read_source(code)
    return source.args[source.opcodes.index(_COPY)]


def _reordered(code: CodeType, wanted: tuple[str, ...]) -> CodeType:
    body = decode(code)
    for instruction in body.instructions:
        operand = instruction.operand
        if isinstance(operand, Free) or (isinstance(operand, tuple) and _is_pair(instruction)):
            instruction.operand = operand  # from now on by name
    body.freevars[:] = wanted
    copies = [instruction for instruction in body.instructions if instruction.opcode == _COPY]
    if copies:
        copies[0].operand = len(wanted)
    else:
        body.instructions.insert(0, Instruction("COPY_FREE_VARS", len(wanted)))
    return assemble(body)


def _is_pair(instruction: Instruction) -> bool:
    return CURRENT.kind[instruction.opcode] == OperandKind.LOCAL_PAIR
