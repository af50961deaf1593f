"""`changed_fields`: what two code objects say of themselves beside their instructions and regions, where it differs.

Lines, columns and the name of the file are not compared: else code that was moved would be other code.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

from xtab.format.code import CO_OPTIMIZED, CO_VARARGS, CO_VARKEYWORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xtab.report.listing import Listing

__all__ = ["FieldChange", "changed_fields"]

_LOADS = frozenset(dis.opname[number] for number in dis.hasconst)


class FieldChange(NamedTuple):
    """Something that a code object says of itself, in words, on both sides."""

    name: str  #: such as ``arguments``, ``flags``, ``docstring``
    left: str
    right: str


def changed_fields(left: Listing, right: Listing) -> tuple[FieldChange, ...]:
    """The fields that differ."""
    pairs = zip(_fields(left), _fields(right), strict=True)
    return tuple(FieldChange(name, before, after) for (name, before), (_, after) in pairs if before != after)


def _fields(listing: Listing) -> Iterator[tuple[str, str]]:
    code = listing.code
    docstring, unloaded = _unloaded(listing)
    yield "qualified name", code.co_qualname
    yield "name", code.co_name
    yield "arguments", _arguments(code)
    yield "flags", _flags(code.co_flags)
    yield "docstring", docstring
    yield "local variables", ", ".join(code.co_varnames) or "none"
    yield "cells", ", ".join(code.co_cellvars) or "none"
    yield "free variables", ", ".join(code.co_freevars) or "none"
    yield "constants not loaded", ", ".join(unloaded) or "none"
    inner = [each.co_qualname.rpartition(".")[2] for each in code.co_consts if isinstance(each, CodeType)]
    yield "code in it", ", ".join(inner) or "none"


def _arguments(code: CodeType) -> str:
    """As in a signature."""
    names = list(code.co_varnames)
    plain, only = code.co_argcount, code.co_kwonlyargcount
    words = names[:plain]
    if code.co_posonlyargcount:
        words.insert(code.co_posonlyargcount, "/")
    at = plain + only
    if code.co_flags & CO_VARARGS:
        words.append(f"*{names[at]}")
        at += 1
    elif only:
        words.append("*")
    words += names[plain : plain + only]
    if code.co_flags & CO_VARKEYWORDS:
        words.append(f"**{names[at]}")
    return f"({', '.join(words)})"


def _flags(flags: int) -> str:
    return dis.pretty_flags(flags).replace(", ", " ")


def _unloaded(listing: Listing) -> tuple[str, list[str]]:
    """The docstring, and the other constants that no instruction loads; None is left out, which compilers leave."""
    constants = listing.code.co_consts
    loaded = {row.arg for row in listing.rows if row.opname in _LOADS}
    rest = [index for index in range(len(constants)) if index not in loaded]
    docstring = "none"
    if listing.code.co_flags & CO_OPTIMIZED and 0 in rest and isinstance(constants[0], str):
        docstring = repr(constants[0])
        rest.remove(0)
    shown = [constants[index] for index in rest]
    return docstring, sorted(repr(each) for each in shown if each is not None and not isinstance(each, CodeType))
