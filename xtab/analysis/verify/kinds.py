"""`Value`: what the verifier knows of one value on the stack, and the kinds that it tells apart.

`kinds` is a set of bits: what the value may be. What an instruction accepts is such a set too; a value is fine if it
can be nothing else. Where paths meet, sets are united.
"""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from xtab.format.code import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ACCEPTED", "BOOL", "CELL", "CODE", "DICT", "EXC", "EXCS", "FUNCTION", "GENERATOR", "INDEX", "INT",
    "INTERPOLATION", "ITER", "KEPT", "LASTI", "LEFT", "LIST", "NONE", "NULL", "OBJECT", "OTHER", "PREV", "SELF",
    "STALE", "STR", "TRUSTING", "TUPLE", "UNFINISHED", "Value", "constant", "join", "wants_iterator", "words_for",
]  # fmt: skip


class Value(NamedTuple):
    """One value on the stack, as far as it is known."""

    kinds: int  #: what it may be, a set of the bits below
    #: more about it, or None. Of a tuple: the kinds of its items. Of a cell that the compiler keeps something in: its
    #: name, also in a tuple. Of code: (free variables, whether a generator's, kinds of trusted arguments). Of a
    #: function: (free variables that it must get cells for, parts it was given, the other two). Of what PUSH_EXC_INFO
    #: saved: how many exceptions were handled then. Of an iterator in two slots: the GET_ITER both came from, or
    #: "generator". Of an exception: "raised" as a handler finds it, "rest" as ``except*`` leaves it.
    detail: Any = None
    borrowed: int = 0  #: locals that it may borrow its reference from, a set of bits


NULL: Final = 1 << 0
OTHER: Final = 1 << 1  # an object of which nothing is known
NONE: Final = 1 << 2
BOOL: Final = 1 << 3
STR: Final = 1 << 4
LIST: Final = 1 << 5
SET: Final = 1 << 6
DICT: Final = 1 << 7
TUPLE: Final = 1 << 8
CODE: Final = 1 << 9
FUNCTION: Final = 1 << 10  # made here, may still be given parts
CELL: Final = 1 << 11
EXC: Final = 1 << 12
PREV: Final = 1 << 13  # the exception handled before, as PUSH_EXC_INFO saved it: an exception or None
ITER: Final = 1 << 14
EXCS: Final = 1 << 15  # a list made here, with nothing in it but exceptions and None, that nobody else holds
LASTI: Final = 1 << 16
INDEX: Final = 1 << 17  # a tagged number: where the iteration of a list or tuple is
INT: Final = 1 << 18
INTERPOLATION: Final = 1 << 19
TRUSTING: Final = 1 << 20  # a function made here that trusts its callers to pass what the compiler would
SELF: Final = 1 << 21  # an object or NULL, as LOAD_SPECIAL leaves it, which may be dropped all the same
UNFINISHED: Final = 1 << 22  # a function that lacks its closure
STALE: Final = 1 << 23  # its reference was borrowed from a local that was stored again since

_ALWAYS_OBJECT = (
    OTHER
    | NONE
    | BOOL
    | INT
    | INTERPOLATION
    | STR
    | LIST
    | SET
    | DICT
    | TUPLE
    | CODE
    | FUNCTION
    | CELL
    | EXC
    | PREV
    | ITER
    | EXCS
)
OBJECT: Final = _ALWAYS_OBJECT | (LASTI if CURRENT.lasti_is_object else 0)
"""All that an instruction may use as an object."""

ACCEPTED: Final[dict[str, int]] = {
    "object": OBJECT, "maybe": OBJECT | NULL | SELF, "null": NULL,
    "any": OBJECT | NULL | LASTI | INDEX | STALE | SELF, "dropped": OBJECT | LASTI | STALE | SELF,
    "bool": BOOL, "str": STR, "list": LIST | EXCS, "dict": DICT, "own": DICT, "own_or_null": DICT | NULL,
    "tuple": TUPLE, "strs": TUPLE, "cells": TUPLE, "alias": TUPLE, "func": FUNCTION,
    "index": NULL | INDEX, "exc": EXC, "prev": PREV, "lasti": LASTI, "caught": EXC | NONE, "excs": EXCS,
}  # fmt: skip
"""Word of a signature -> what it accepts."""

LEFT: Final[dict[str, Value]] = {
    "object": Value(OTHER), "maybe": Value(OTHER | NULL), "null": Value(NULL), "none": Value(NONE),
    "bool": Value(BOOL), "int": Value(INT), "interpolation": Value(INTERPOLATION), "str": Value(STR),
    "list": Value(LIST), "set": Value(SET), "dict": Value(DICT), "own": Value(DICT, "own"), "tuple": Value(TUPLE),
    "iter": Value(ITER), "exc": Value(EXC),
    "lasti": Value(LASTI), "caught": Value(EXC | NONE), "cell": Value(CELL), "self": Value(SELF),
    "rest": Value(EXC | NONE, "rest"), "raised": Value(EXC, "raised"),
}  # fmt: skip
"""Word of a signature -> what is left on the stack."""

GENERATOR: Final = Value(ITER, "generator")
"""What calling a generator function leaves."""

KEPT: Final = {".type_params": TUPLE, ".defaults": TUPLE, ".kwdefaults": DICT}
"""Variables that only the compiler can name, and what it keeps in them."""

_WORDS = {
    NULL: "NULL", NONE: "None", BOOL: "a bool", INT: "an int", INTERPOLATION: "an interpolation", STR: "a string",
    LIST: "a list", SET: "a set", DICT: "a dict", TUPLE: "a tuple", CODE: "a code object", FUNCTION: "a function",
    CELL: "a cell", EXC: "an exception", PREV: "the exception handled before", SELF: "an object or NULL",
    ITER: "an iterator", EXCS: "a list of exceptions", LASTI: "a lasti", INDEX: "the place of an iteration",
    UNFINISHED: "a function without its closure", STALE: "a reference borrowed from a local that was stored again",
    TRUSTING: "a function that takes its arguments on trust, which must be called right here", OTHER: "some object",
}  # fmt: skip


def words_for(kinds: int) -> str:
    """What a set of kinds is called in messages.

    >>> words_for(NULL | EXC)
    'NULL or an exception'
    """
    if not _ALWAYS_OBJECT & ~kinds:
        rest = kinds & ~OBJECT
        return "an object" + (f" or {words_for(rest)}" if rest else "")
    words = [word for kind, word in _WORDS.items() if kinds & kind]
    return " or ".join(words) or "nothing"


def join(one: Value, other: Value) -> Value:
    """What is known where paths meet."""
    if one == other:
        return one
    detail = one.detail if one.detail == other.detail else None
    return Value(one.kinds | other.kinds, detail, one.borrowed | other.borrowed)


def _trusted(code: CodeType) -> tuple[int, ...]:
    """The kinds of the first arguments, up to the last that the code takes on trust; ``()`` if it trusts nobody."""
    if wants_iterator(code.co_argcount, code.co_varnames, code.co_flags, code.co_code):
        return (ITER,)
    arguments = code.co_varnames[: code.co_argcount]
    last = max((place for place, name in enumerate(arguments, 1) if name in KEPT), default=0)
    return tuple(KEPT.get(name, OBJECT) for name in arguments[:last])


def wants_iterator(argcount: int, varnames: Sequence[object], flags: int, code: bytes) -> bool:
    """Whether callers must pass an iterator: to a comprehension, but for one that begins with ``async for``.

    The same answer serves the callers and the code itself: whoever is not trusted with an iterator doesn't find one.
    """
    if CURRENT.iterator_slots != 1 or argcount != 1 or varnames[:1] != (".0",):
        return False
    if not flags & _ASYNCHRONOUS:
        return True
    opcodes = code[::2]
    asynchronous, synchronous = opcodes.find(_GET_ANEXT), opcodes.find(_FOR_ITER)
    return asynchronous < 0 or 0 <= synchronous < asynchronous


_ASYNCHRONOUS = CO_COROUTINE | CO_ASYNC_GENERATOR
_GET_ANEXT, _FOR_ITER = CURRENT.number["GET_ANEXT"], CURRENT.number["FOR_ITER"]


def constant(value: Any) -> Value:
    """What is known of a constant. Only exact types count: those are what the interpreter trusts."""
    kind = type(value)
    if kind is tuple:
        return Value(TUPLE, tuple(constant(item).kinds if type(item) is not tuple else TUPLE for item in value))
    if kind is CodeType:
        return Value(CODE, (value.co_freevars, bool(value.co_flags & CO_GENERATOR), _trusted(value)))
    return _CONSTANTS.get(kind, LEFT["object"])


_CONSTANTS = {
    str: LEFT["str"],
    bool: LEFT["bool"],
    int: LEFT["int"],
    type(None): LEFT["none"],
    dict: LEFT["dict"],
    list: LEFT["list"],
    set: LEFT["set"],
}
