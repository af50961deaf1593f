"""`kind_of`: what a region was in the source, told by the first instructions of its handler."""

from __future__ import annotations

from bisect import bisect_left
from enum import StrEnum
from typing import TYPE_CHECKING

from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.model.source import Source

__all__ = ["BOOKKEEPING", "Kind", "kind_of"]


class Kind(StrEnum):
    """What a region was in the source; the value is how it is called on screens."""

    WITH = "with"
    ASYNC_WITH = "async with"
    EXCEPT = "except"
    BARE_EXCEPT = "bare except"
    EXCEPT_STAR = "except*"
    FINALLY = "finally"
    HANDLER_CLEANUP = "handler clean-up"  #: restores the exception handled before when a handler raises
    NAME_CLEANUP = "name clean-up"  #: unbinds the name of ``except … as name``
    EXCEPT_STAR_ITEM = "except* item"  #: keeps what one ``except*`` handler raised
    STOP_ITERATION = "StopIteration wrapper"  #: around the whole of a generator or coroutine
    ASYNC_FOR = "async for end"
    THROW_CLEANUP = "throw clean-up"  #: around ``await`` and ``yield from``
    COMPREHENSION_RESTORE = "comprehension restore"  #: gives the variables of an inlined comprehension back
    UNKNOWN = "unknown"


BOOKKEEPING = frozenset(
    {
        Kind.HANDLER_CLEANUP, Kind.NAME_CLEANUP, Kind.EXCEPT_STAR_ITEM, Kind.STOP_ITERATION, Kind.ASYNC_FOR,
        Kind.THROW_CLEANUP, Kind.COMPREHENSION_RESTORE,
    }
)  # fmt: skip
"""Kinds that the compiler makes for itself."""


def kind_of(source: Source, handler: int, depth: int, lasti: bool) -> tuple[Kind, tuple[str, ...]]:  # noqa: ARG001
    """The kind of a region, and the classes that an ``except`` names. `handler` is an offset in bytes."""
    place = bisect_left(source.starts, handler >> 1)
    names = [str(CURRENT.name[opcode]) for opcode in source.opcodes[place : place + 40]]
    if names[0] == "PUSH_EXC_INFO":
        if names[1] == "WITH_EXCEPT_START":
            return Kind.WITH, ()
        for name in names:
            if name == "CHECK_EXC_MATCH":
                return Kind.EXCEPT, ()
            if name in {"CHECK_EG_MATCH", "PREP_RERAISE_STAR"}:
                return Kind.EXCEPT_STAR, ()
            if name == "POP_EXCEPT":
                return Kind.BARE_EXCEPT, ()
            if name == "RERAISE":
                break
        return Kind.FINALLY, ()
    if names[:3] == ["COPY", "POP_EXCEPT", "RERAISE"]:
        return Kind.HANDLER_CLEANUP, ()
    return Kind.UNKNOWN, ()
