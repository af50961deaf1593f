"""`origin_of`: what a code object was made from. All that makes code objects of others tells it to this one registry.

1. `made_from` records that a code object was made from another. The place is that of the first one: if the other was
   itself made from something, its place is taken over.
2. A record is found by the identity of the code object, and goes when the code object goes. Equal code objects may be
   of different files, since equality doesn't look at file names; so they are never keys themselves
   (Objects/codeobject.c, `code_richcompare`). A weak reference, whose callback drops the record, guards the number.
3. `hold` hangs a thing on a code object. What is made from that one holds the thing too: so the text of a generated
   file lives as long as the last code that shows it, however often that was rewritten.

Threads: each step on the dictionary is one operation of CPython's, and no record is changed once it is in there. Only
`hold` reads a record and puts another in its place, so it has a lock; what drops records needs none.
"""

from __future__ import annotations

import threading
import weakref
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from xtab.format.code import code_objects, code_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xtab.format.code import HasCode

__all__ = ["Origin", "hold", "made_from", "mark_loaded", "origin_of"]


class Origin(NamedTuple):
    """Where code that was made at run time comes from: the place of the code object that was there first.

    >>> Origin("example.py", 3, "Model.forward", "tool:edit").qualname
    'Model.forward'
    """

    filename: str  #: its ``co_filename``
    firstlineno: int  #: its ``co_firstlineno``
    qualname: str  #: its ``co_qualname``
    transform: str  #: what made the code of today, as ``module:qualname``; of several, one after another, the last


class _Record(weakref.ref[CodeType]):
    """What is known of a code object."""

    __slots__ = ("held", "key", "origin")

    key: int
    origin: Origin | None
    held: tuple[object, ...]


_records: dict[int, _Record] = {}
"""By `id`; a record is there as long as its code object."""
_lock = threading.RLock()


def origin_of(source: HasCode) -> Origin | None:
    """Where code comes from that xtab made, or None for code that it didn't make.

    It is recorded by :func:`xtab.rewrite`, :func:`xtab.rewrite_code`, :func:`xtab.swap_code`,
    :func:`xtab.rewrite_imports` and :func:`xtab.relocate`, for nested code too, as far as they changed it.

    Args:
        source: a code object, function, method, generator, coroutine, async generator, frame or traceback. Of a
            traceback it is the code of its first frame that counts.

    Raises:
        TypeError: `source` has no code.

    >>> import xtab
    >>> code = compile("x = 1", "example.py", "exec")
    >>> def add_nop(body):
    ...     body.insert_before(body.instructions[-1], [xtab.Instruction("NOP")])
    >>> new = xtab.rewrite_code(code, add_nop)
    >>> origin_of(new)
    Origin(filename='example.py', firstlineno=1, qualname='<module>', transform='xtab.transform.origins:add_nop')
    >>> origin_of(code) is None
    True
    """
    record = _record(code_of(source))
    return None if record is None else record.origin


def made_from(new: CodeType, old: CodeType, transform: str) -> CodeType:
    """Record that `new` was made from `old`; nothing is recorded of what is nested in them.

    Returns:
        `new`, or a copy of it if it stands for other code already: a transform may give the same code object for many.

    >>> code = compile("x", "example.py", "eval")
    >>> origin_of(made_from(code.replace(co_filename="other.py"), code, "tool:move")).filename
    'example.py'
    """
    if new is old:
        return new
    before, now = _record(old), _record(new)
    if now is not None and now.origin is not None:
        new = new.replace()
    held = (*(() if before is None else before.held), *(() if now is None else now.held))
    place = _place(old) if before is None or before.origin is None else before.origin
    _put(new, place._replace(transform=transform), tuple({id(thing): thing for thing in held}.values()))
    return new


def mark_loaded(code: CodeType, transform: str, *, nested: bool) -> None:
    """Record that `code` was made by `transform` in some other process, and keeps the names and lines that it had.

    >>> code = compile("x", "example.py", "eval")
    >>> mark_loaded(code, "tool:edit", nested=True)
    >>> origin_of(code).transform
    'tool:edit'
    """
    for each in code_objects(code) if nested else (code,):
        _put(each, _place(each)._replace(transform=transform), _held(each))


def hold(code: CodeType, thing: object) -> None:
    """Keep `thing` alive as long as `code`, what is nested in it, or anything made from one of these is.

    >>> class Text: pass
    >>> text = Text()
    >>> gone = weakref.ref(text)
    >>> code = compile("x", "example.py", "eval")
    >>> hold(code, text)
    >>> del text
    >>> gone() is None
    False
    >>> del code
    >>> gone() is None
    True
    """
    with _lock:
        for each in _distinct(code):
            held = _held(each)
            if not any(known is thing for known in held):
                _put(each, origin_of(each), (*held, thing))


def _distinct(code: CodeType) -> Iterator[CodeType]:
    """The code objects in a code object, each once."""
    return iter({id(each): each for each in code_objects(code)}.values())


def _place(code: CodeType) -> Origin:
    return Origin(code.co_filename, code.co_firstlineno, code.co_qualname, "")


def _record(code: CodeType) -> _Record | None:
    return _records.get(id(code))


def _held(code: CodeType) -> tuple[object, ...]:
    record = _record(code)
    return () if record is None else record.held


def _put(code: CodeType, origin: Origin | None, held: tuple[object, ...]) -> None:
    record = _Record(code, _drop)
    record.key, record.origin, record.held = id(code), origin, held
    _records[record.key] = record


def _drop(record: Any, records: dict[int, _Record] = _records) -> None:
    """The code object is gone; its number may be another's already, whose record stays.

    This also runs while the interpreter ends, when the names of this module are gone.
    """
    key: int = record.key
    if records.get(key) is record:
        del records[key]
