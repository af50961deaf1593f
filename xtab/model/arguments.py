"""What editing is asked with, checked where it is given: an error names the argument, and not where it would fail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from xtab.errors import XtabError
from xtab.model.instruction import Instruction

__all__ = ["instructions_given", "require"]

_Wanted = TypeVar("_Wanted")
_CONSTANTS = (str, bytes, int, float, complex, type(None))
_LONGEST = 80


def require(found: object, kind: type[_Wanted], what: str) -> _Wanted:
    """What was given, if it is of a type.

    Args:
        found: the argument.
        kind: the type that it must have.
        what: both in words, for the error.

    Raises:
        XtabError: it is of another type.

    >>> require("x", str, "a name as a string")
    'x'
    """
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise XtabError(f"expected {what}, but found {found!r:.{_LONGEST}} of type {type(found).__qualname__}")
    return found


def instructions_given(given: Any, what: str, *, maker: str = "") -> list[Instruction]:
    """The list of some instructions.

    Args:
        given: any iterable of instructions.
        what: they are for, in words, for the error: "to put before ...".
        maker: of instructions that push a value: what of `emit` makes them, which the error advises.

    Raises:
        XtabError: it is something else, as a single instruction, or there is something else in it.

    >>> instructions_given((Instruction("NOP"),), "to put somewhere")
    [Instruction('NOP')]
    """
    expected = f"a list of instructions {what}"
    if isinstance(given, Instruction):
        raise XtabError(f"expected {expected}, but found one instruction, {given!r}: write [instruction]")
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise XtabError(f"expected {expected}{_hint(given, maker=maker)}, but found {_shown(given)}")
    found = list(given)
    for each in found if {*map(type, found)} - {Instruction} else ():  # mostly it is clear at once
        if not isinstance(each, Instruction):
            advice = _hint(each, maker=maker)
            raise XtabError(f"expected an Instruction in {expected}{advice}, but found {_shown(each)}")
    return found


def _hint(given: object, *, maker: str) -> str:
    if not maker:
        return ""
    known = isinstance(given, str) or (maker == "load_const" and isinstance(given, _CONSTANTS))
    return f", such as emit.{maker}({f'{given!r:.{_LONGEST}}' if known else '...'}) makes"


def _shown(given: object) -> str:
    return f"{given!r:.{_LONGEST}} of type {type(given).__qualname__}"
