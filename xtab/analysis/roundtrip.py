"""`round_trip`: take one code object apart in every way xtab knows, put it together again, and compare.

Each step is checked by itself, so that a fault in one doesn't hide what the others would say:

1. The exception table is parsed and assembled: the same bytes.
2. Its entries are nested and flattened: the same entries.
3. The location table is parsed and assembled: the same bytes.
4. The code object is decoded and assembled: the same code object, part by part (`_PARTS`), constants by identity.
5. The stack size is computed: `co_stacksize`. The compiler also counts handlers that nothing can reach, so a smaller
   size is right where there is such a handler, which is then named, and wrong everywhere else.
"""

from __future__ import annotations

import reprlib
import traceback
from dataclasses import dataclass
from operator import is_not, ne
from typing import TYPE_CHECKING

from xtab.errors import XtabError
from xtab.format.exception_table import assemble_exception_table, parse_exception_table
from xtab.format.locations import assemble_location_table, parse_location_table
from xtab.model.assemble import assemble
from xtab.model.decode import decode
from xtab.model.nesting import flatten, nest
from xtab.model.stack import stack_depths, stack_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import CodeType

    from xtab.model.body import Body

__all__ = ["Difference", "RoundTrip", "round_trip"]

_PARTS = (
    *("co_code", "co_exceptiontable", "co_linetable", "co_stacksize", "co_flags"),
    *("co_names", "co_varnames", "co_cellvars", "co_freevars", "co_nlocals"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
    *("co_name", "co_qualname", "co_filename", "co_firstlineno"),
)
"""What is compared by value; co_consts is compared by identity."""
_SHOWN = 8
"""How many bytes of a difference are shown."""
_REPR = reprlib.Repr()
_REPR.maxother = _REPR.maxstring = 80


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that came back other than it was."""

    what: str  #: the part of the code object, or the step that failed
    expected: str
    found: str  #: what came back instead; for an exception that is no XtabError, with its traceback
    where: str | None = None  #: the place of the first difference, such as ``"byte 14"``


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """What `round_trip` found out about one code object."""

    entries: int  #: of its exception table; 0 if that can't be parsed
    instructions: int  #: 0 if it can't be decoded
    differences: tuple[Difference, ...]
    #: offset, in bytes, of a handler that can't be reached, where that is why stack_size is smaller than co_stacksize
    unreachable_handler: int | None = None


def round_trip(code: CodeType) -> RoundTrip:
    """Check one code object; those among its constants are not looked into.

    It never raises: whatever goes wrong is a difference.

    >>> round_trip(compile("x = 1", "example", "exec")).differences
    ()
    """
    checks = _Checks(code)
    checks.attempt("exception table", checks.exception_table)
    checks.attempt("location table", checks.location_table)
    checks.attempt("decode and assemble", checks.body)
    checks.attempt("stack size", checks.stack)
    return RoundTrip(checks.entries, checks.instructions, tuple(checks.differences), checks.unreachable_handler)


class _Checks:
    """The steps, and what they found so far."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.entries = 0
        self.instructions = 0
        self.differences: list[Difference] = []
        self.unreachable_handler: int | None = None

    def attempt(self, what: str, step: Callable[[], None]) -> None:
        """Take a step; an exception is a difference as well."""
        try:
            step()
        except XtabError as error:
            self.differences.append(Difference(what, "no error", f"{type(error).__name__}: {error}"))
        except Exception as error:  # noqa: BLE001 (a fault of xtab must not end the check of all the rest)
            text = "".join(traceback.format_exception(error)).rstrip()
            self.differences.append(Difference(what, "no error", f"crashed: {type(error).__name__}: {error}\n{text}"))

    def compare(self, what: str, expected: object, found: object) -> None:
        """Note the difference between two values, if there is one."""
        if expected == found:
            return
        if isinstance(expected, bytes) and isinstance(found, bytes):
            self.differences.append(_bytes_difference(what, expected, found))
        elif isinstance(expected, list | tuple) and isinstance(found, list | tuple):
            self.differences.append(_items_difference(what, expected, found))
        else:
            self.differences.append(Difference(what, repr(expected), repr(found)))

    def exception_table(self) -> None:
        """Steps 1 and 2."""
        table = self.code.co_exceptiontable
        entries = parse_exception_table(self.code)
        self.entries = len(entries)
        if entries:
            self.attempt("nest and flatten", lambda: self.compare("nest and flatten", entries, flatten(nest(entries))))
        self.compare("exception table", table, assemble_exception_table(entries))

    def location_table(self) -> None:
        """Step 3."""
        table, first_line = self.code.co_linetable, self.code.co_firstlineno
        locations = parse_location_table(table, first_line, code_size=len(self.code.co_code))
        self.compare("location table", table, assemble_location_table(locations, first_line))

    def body(self) -> None:
        """Step 4."""
        body = decode(self.code)
        self.instructions = len(body.instructions)
        body.consts  # noqa: B018  # asking for one of the lists makes assembly write all of them
        again = assemble(body)
        for part in _PARTS:
            self.compare(part, getattr(self.code, part), getattr(again, part))
        # 1 == True and 0.0 == -0.0, so these are not compared by value
        if len(self.code.co_consts) != len(again.co_consts) or any(map(is_not, self.code.co_consts, again.co_consts)):
            self.differences.append(_items_difference("co_consts", self.code.co_consts, again.co_consts))

    def stack(self) -> None:
        """Step 5."""
        size, recorded = stack_size(self.code), self.code.co_stacksize
        if size == recorded:
            return
        if size < recorded:
            self.unreachable_handler = _unreachable_handler(self.code, decode(self.code))
        if self.unreachable_handler is None:
            self.compare("stack size", recorded, size)


def _unreachable_handler(code: CodeType, body: Body) -> int | None:
    """Offset of the first handler that nothing can reach.

    It needn't have an entry in the table: `except* E as e: 1` keeps the handler that deletes `e`, but no instruction
    that it would protect. So look for any code that can't be reached: the compiler drops all but handlers, which it
    counts as reached from the mere `try` (Python/flowgraph.c, remove_unreachable; on 3.11, Python/compile.c).
    """
    unreachable = (at for (at, _), depth in zip(body.layout, stack_depths(code), strict=True) if depth is None)
    return next(unreachable, None)


def _bytes_difference(what: str, expected: bytes, found: bytes) -> Difference:
    place = _first(map(ne, expected, found), min(len(expected), len(found)))

    def shown(data: bytes) -> str:
        text = data[place : place + _SHOWN].hex(" ") or "the end"
        return f"{text} ..." if place + _SHOWN < len(data) else text

    return Difference(what, shown(expected), shown(found), f"byte {place}{_lengths(expected, found, 'bytes')}")


def _items_difference(what: str, expected: Sequence[object], found: Sequence[object]) -> Difference:
    same = what != "co_consts"  # whether equal items will do; constants have to be the same objects

    def differ(one: object, other: object) -> bool:
        return one is not other and not (same and one == other)

    place = _first(map(differ, expected, found), min(len(expected), len(found)))

    def shown(items: Sequence[object]) -> str:
        return f"{_REPR.repr(items[place])}, {type(items[place]).__name__}" if place < len(items) else "the end"

    texts = shown(expected), shown(found)
    if texts[0] == texts[1]:
        texts = texts[0], f"{texts[1]}: equal, but another object"
    return Difference(what, *texts, f"item {place}{_lengths(expected, found, 'items')}")


def _first(differ: Iterable[bool], default: int) -> int:
    """The place of the first difference; where the shorter one ends, if that is all."""
    return next((place for place, here in enumerate(differ) if here), default)


def _lengths(expected: Sequence[object], found: Sequence[object], unit: str) -> str:
    return "" if len(expected) == len(found) else f"; {len(expected)} {unit} became {len(found)}"
