"""`kind_of`: what a region was in the source, told by the first instructions of its handler.

1. The instructions are read from the handler on. A NOP says nothing, and a jump that is always taken is followed, so
   that what an edit has put in between changes nothing; prefixes belong to the instruction behind them.
2. Each kind of bookkeeping is a short sequence of its own (`_bookkeeping`): nothing that a person can write begins so,
   since every handler that was written begins with PUSH_EXC_INFO.
3. Behind PUSH_EXC_INFO, a WITH_EXCEPT_START is a ``with``; an ``async with`` awaits what that gives.
4. A POP_TOP drops the exception: a bare ``except``. Only a ``finally`` that leaves at once by ``return``, ``break`` or
   ``continue`` drops it too. There the two instructions that end the handling have one source position, that of the
   statement; in a bare ``except`` the first has that of the clause, and the second that of what stands in it.
5. What compares the exception with classes is an ``except``, or an ``except*`` (`xtab.analysis.class_checks`).
6. All else is a ``finally``.
7. Edits may have put statements in between, such as a call whose result is dropped: where the instructions alone would
   say nothing, or ``finally``, those that leave the stack as it was are passed over, and what is behind them tells.

It takes as long as the handler is up to its last comparison; as the body of a ``finally`` is.

CPython sources followed: ``Python/compile.c`` up to 3.13, ``Python/codegen.c`` from 3.14: `codegen_try_except`,
`codegen_try_star_except`, `codegen_try_finally`, `codegen_with_inner`, `codegen_async_with_inner`,
`codegen_unwind_fblock`, `codegen_async_for`, `codegen_add_yield_from`, `codegen_wrap_in_stopiteration_handler`,
`pop_inlined_comprehension_state`.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING

from xtab.analysis.class_checks import behind_statement, behind_statements, class_checks, straight_on
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.model.source import Source

__all__ = ["BOOKKEEPING", "Kind", "kind_of"]


class Kind(StrEnum):
    """What a region was in the source; the value is how it is called on screens.

    >>> import xtab
    >>> code = compile("with a: b", "example", "exec")
    >>> xtab.regions(code)[0].kind is xtab.Kind.WITH, str(xtab.Kind.WITH)
    (True, 'with')
    """

    WITH = "with"
    ASYNC_WITH = "async with"
    EXCEPT = "except"
    BARE_EXCEPT = "bare except"  #: alone; one behind others that name classes is among the classes of those
    EXCEPT_STAR = "except*"
    FINALLY = "finally"
    HANDLER_CLEANUP = "handler clean-up"  #: restores the exception handled before when a handler raises
    NAME_CLEANUP = "name clean-up"  #: unbinds the name of ``except … as name`` and ``except* … as name``
    EXCEPT_STAR_ITEM = "except* item"  #: keeps what one ``except*`` handler without a name raised
    STOP_ITERATION = "StopIteration wrapper"  #: around the whole of a generator or coroutine
    ASYNC_FOR = "async for end"
    THROW_CLEANUP = "throw clean-up"  #: around the wait of ``await`` and ``yield from``
    COMPREHENSION_RESTORE = "comprehension restore"  #: gives the variables of an inlined comprehension back
    UNKNOWN = "unknown"


BOOKKEEPING = frozenset(
    {
        Kind.HANDLER_CLEANUP, Kind.NAME_CLEANUP, Kind.EXCEPT_STAR_ITEM, Kind.STOP_ITERATION, Kind.ASYNC_FOR,
        Kind.THROW_CLEANUP, Kind.COMPREHENSION_RESTORE,
    }
)  # fmt: skip
"""Kinds that the compiler makes for itself."""

_FIRST = {
    "LIST_APPEND": Kind.EXCEPT_STAR_ITEM,
    "END_ASYNC_FOR": Kind.ASYNC_FOR,
    "CLEANUP_THROW": Kind.THROW_CLEANUP,
}
"""Opcodes that tell the kind if the handler begins with them."""
_RESTORES = frozenset({"SWAP", "STORE_FAST", "STORE_FAST_STORE_FAST"})


def kind_of(source: Source, handler: int, depth: int, lasti: bool) -> tuple[Kind, tuple[str, ...]]:  # noqa: ARG001
    """The kind of a region, and the classes that an ``except`` or ``except*`` names.

    Args:
        source: the code.
        handler: offset of the handler's first instruction, in bytes.
        depth: values on the stack when it is entered. The handler's instructions tell the kind alone; this and `lasti`
            make that the arguments are a region's key.
        lasti: whether the place of the instruction that raised is pushed.

    Returns:
        The kind, and the classes as they stand in the source, in order, those of all handlers of one ``try``, tuples
        taken apart: see `~xtab.analysis.class_checks.class_checks`. Empty for other kinds.

    >>> from xtab.model.decode import read_source
    >>> def f(d):
    ...     try:
    ...         return d["k"]
    ...     except (KeyError, d.error):
    ...         return None
    >>> source = read_source(f.__code__)
    >>> kind_of(source, *source.entries[0][2:])
    (<Kind.EXCEPT: 'except'>, ('KeyError', 'd.error'))
    """
    place: int | None = bisect_left(source.starts, handler >> 1)
    seen: set[int] = set()  # a circle: no compiler makes one
    while place is not None and place not in seen:
        seen.add(place)
        kind, classes = _told(source, place)
        if kind != Kind.UNKNOWN:
            return kind, classes
        place = behind_statement(source, place)
    return Kind.UNKNOWN, ()


def _told(source: Source, place: int) -> tuple[Kind, tuple[str, ...]]:
    """What the instructions from a place on say."""
    begin = list(islice(straight_on(source, place), 3))
    names = [str(CURRENT.name[source.opcodes[each]]) for each in begin]
    if not begin or names[0] != "PUSH_EXC_INFO":
        return _bookkeeping(source, begin, names), ()
    second = names[1] if len(names) > 1 else ""
    if second == "WITH_EXCEPT_START":
        return (Kind.ASYNC_WITH if names[2:] == ["GET_AWAITABLE"] else Kind.WITH), ()
    if second == "POP_TOP":
        return (Kind.FINALLY if _leaves_at_once(source, begin, names) else Kind.BARE_EXCEPT), ()
    classes, groups = class_checks(source, begin[0] + 1)
    if classes:
        return (Kind.EXCEPT_STAR if groups else Kind.EXCEPT), classes
    return _behind_edits(source, begin[0]), ()


def _behind_edits(source: Source, push: int) -> Kind:
    """The kind of a handler that begins with PUSH_EXC_INFO and something else: what it is behind a few statements."""
    place = behind_statements(source, push + 1)
    begin = list(islice(straight_on(source, place), 2))
    names = [str(CURRENT.name[source.opcodes[each]]) for each in begin]
    if names[:1] == ["WITH_EXCEPT_START"]:
        return Kind.ASYNC_WITH if names[1:] == ["GET_AWAITABLE"] else Kind.WITH
    if names[:1] != ["POP_TOP"]:
        return Kind.FINALLY
    drop, end = (source.location(each) for each in (begin[0], begin[-1]))
    leaves = names[1:] == ["POP_EXCEPT"] and (drop is None or drop.column is None or drop == end)
    return Kind.FINALLY if leaves else Kind.BARE_EXCEPT


def _leaves_at_once(source: Source, begin: list[int], names: list[str]) -> bool:
    """Whether PUSH_EXC_INFO and POP_TOP begin a ``finally`` that does nothing but leave, with a position of its own."""
    if names[2:] != ["POP_EXCEPT"]:
        return False
    push, drop, end = map(source.location, begin)
    return drop is not None and drop.column is not None and push != drop == end


def _bookkeeping(source: Source, begin: list[int], names: list[str]) -> Kind:
    """The kind of a handler that doesn't begin with PUSH_EXC_INFO."""
    if not begin or names[0] in _FIRST:
        return _FIRST[names[0]] if begin else Kind.UNKNOWN
    place = begin[0]
    if names == ["COPY", "POP_EXCEPT", "RERAISE"]:
        return Kind.HANDLER_CLEANUP
    if names[0] == "CALL_INTRINSIC_1" and source.operand(place) == "INTRINSIC_STOPITERATION_ERROR":
        return Kind.STOP_ITERATION
    if names[0].startswith("LOAD_") and [name.partition("_")[0] for name in names[1:]] == ["STORE", "DELETE"]:
        return Kind.NAME_CLEANUP
    if names[:2] == ["SWAP", "POP_TOP"] and _restores(source, begin[1] + 1):
        return Kind.COMPREHENSION_RESTORE
    return Kind.UNKNOWN


def _restores(source: Source, start: int) -> bool:
    """Whether variables get their values back from the stack, and then the exception is raised again."""
    place: int | None = start
    seen: set[int] = set()
    while place is not None and place not in seen:
        seen.add(place)
        for each in straight_on(source, place):
            name = str(CURRENT.name[source.opcodes[each]])
            if name == "RERAISE":
                return True
            if name not in _RESTORES:
                place = behind_statement(source, each)
                break
        else:
            return False
    return False
