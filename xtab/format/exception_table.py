"""`co_exceptiontable` to entries and back, and the lookup that the interpreter does in it.

The bytes, the same on every version: entry after entry, sorted, never overlapping. An entry is four varints: start,
length, target, and depth << 1 | lasti; the first three in code units. A varint is cut into groups of six bits, the
**most** significant first; bit 6 says that another group follows. Bit 7 is set on the first byte of an entry and on no
other. CPython checks none of it (`_PyCode_Validate` asks whether it is bytes), so this module does.

Reading goes in two steps:

1. `_read_canonical` reads what a compiler writes, and gives up at the first byte that no compiler would write.
2. `xtab.format.cpython_reading` then reads once more as the interpreter does, and says what is wrong, and where.

CPython sources followed: ``InternalDocs/exception_handling.md`` (up to 3.12 ``Objects/exception_handling_notes.txt``),
``Python/assemble.c`` (`assemble_emit_exception_table_entry`), ``Python/ceval.c`` (`get_exception_handler`) and
``Lib/dis.py`` (`_parse_exception_table`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter
from types import CodeType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, overload

from xtab.errors import TableFormatError, XtabError
from xtab.format.code import code_length, code_of
from xtab.format.cpython_reading import find_entry, first_fault, read_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xtab.format.code import HasCode
    from xtab.format.cpython_reading import Entry

__all__ = [
    "ExceptionTableEntry",
    "assemble_exception_table",
    "encode_varint",
    "find_handler",
    "parse_exception_table",
]

_TOO_LARGE = 1 << 31  # bytes; `assemble_emit_exception_table_item` asserts that values lie below 2**30
_NO_LIMIT = 1 << 32  # no range that can be stored ends above it


class ExceptionTableEntry(NamedTuple):
    """One line of an exception table: what raises in ``[start, end)`` is handled at `target`.

    Offsets are in bytes, as everywhere in xtab.

    >>> ExceptionTableEntry(4, 12, 20, 1, lasti=True).end
    12
    """

    start: int  #: offset of the first byte covered
    end: int  #: offset of the first byte not covered any more
    target: int  #: offset of the handler
    depth: int  #: values left on the stack when the handler is entered, before lasti and the exception are pushed
    lasti: bool  #: whether the offset of the instruction that raised is pushed too


@overload
def parse_exception_table(
    source: bytes | HasCode, *, strict: Literal[True] = True, code_size: int | None = None
) -> list[ExceptionTableEntry]: ...


@overload
def parse_exception_table(
    source: bytes | HasCode, *, strict: Literal[False], code_size: int | None = None
) -> tuple[list[ExceptionTableEntry], list[TableFormatError]]: ...


def parse_exception_table(
    source: bytes | HasCode, *, strict: bool = True, code_size: int | None = None
) -> list[ExceptionTableEntry] | tuple[list[ExceptionTableEntry], list[TableFormatError]]:
    """The entries of an exception table, in order.

    Args:
        source: the bytes of a table, or anything with code: a code object, function, method, generator, coroutine,
            async generator, frame or traceback.
        strict: refuse what no compiler writes. With False nothing is refused: the result is the entries that CPython's
            linear search would see, and the faults beside them. Then an entry that C can't read without leaving the
            table or overflowing is left out.
        code_size: length of the code in bytes. When it is known, ranges and targets must lie inside. It is taken from
            `source` when that has code.

    Raises:
        TableFormatError: the first fault, with its byte and the number of the entry.
        TypeError: `source` is neither bytes nor something with code.

    >>> parse_exception_table(bytes.fromhex("82040a03"))
    [ExceptionTableEntry(start=4, end=12, target=20, depth=1, lasti=True)]
    >>> entries, faults = parse_exception_table(bytes.fromhex("82040a"), strict=False)
    >>> [error.fault for error in faults]
    ['truncated']
    """
    if isinstance(source, bytes):
        table, limit = source, _NO_LIMIT
    else:
        code = source if isinstance(source, CodeType) else code_of(source)
        table, limit = code.co_exceptiontable, code_length(code)
    if code_size is not None:
        limit = code_size & ~1
    if strict:
        try:
            return _read_canonical(table, limit)
        except (IndexError, _NotCanonicalError):
            fault = first_fault(table, limit >> 1)
            if fault is not None:
                raise fault from None
    entries, faults = read_entries(table, limit >> 1)
    in_bytes = [_in_bytes(entry) for entry in entries]
    return in_bytes if strict else (in_bytes, faults)


def _in_bytes(entry: Entry) -> ExceptionTableEntry:
    start, end, target, flags = entry
    return ExceptionTableEntry(start * 2, end * 2, target * 2, flags >> 1, bool(flags & 1))


class _NotCanonicalError(Exception):
    """The table is not what a compiler writes; `first_fault` will say where."""


# What one-byte and two-byte varints stand for, looked up by their bytes: offsets come out in bytes of code, and without
# arithmetic, which makes new integers. A row is empty where a first byte is malformed: that becomes an IndexError.
_MULTIPLES = tuple(tuple(range(group << 7, (group + 1) << 7, 2)) for group in range(64))
_ROWS = ((),) * 65 + _MULTIPLES[1:] + ((),) * 128
_START_ROWS = ((),) * 193 + _MULTIPLES[1:]
_DEPTH_LASTI = tuple((value >> 1, bool(value & 1)) for value in range(64))


def _read_canonical(table: bytes, limit: int) -> list[ExceptionTableEntry]:  # noqa: C901, PLR0912
    """The entries of a table that is right in every respect, or an IndexError or a _NotCanonicalError.

    This is one long loop, without calls, for speed: ``for byte in data: break`` is the fastest way to the next byte.
    """
    entries = []
    new = tuple.__new__  # twice as fast as the constructor of a NamedTuple
    stop = 0
    last_target = last_flags = -1
    data = iter(table)
    for start in data:
        if start > 191:
            for byte in data:
                start = _START_ROWS[start][byte] if byte < 64 else _longer(start - 192, byte, data)  # noqa: PLW2901
                break
            else:
                raise _NotCanonicalError
        else:
            start += start - 256  # noqa: PLW2901 (negative without the start bit, and then less than `stop`)
        for length in data:  # noqa: B007
            break
        else:
            raise _NotCanonicalError
        length = length + length if length < 64 else _longer(length - 64, next(data, 128), data)
        for target in data:  # noqa: B007
            break
        else:
            raise _NotCanonicalError
        if target > 63:
            for byte in data:
                target = _ROWS[target][byte] if byte < 64 else _longer(target - 64, byte, data)
                break
            else:
                raise _NotCanonicalError
        else:
            target += target
        for flags in data:  # noqa: B007
            break
        else:
            raise _NotCanonicalError
        if flags < 64:
            depth, lasti = _DEPTH_LASTI[flags]
        else:
            flags = _longer(flags - 64, next(data, 128), data) >> 1
            depth, lasti = flags >> 1, bool(flags & 1)
        if start <= stop and (start < stop or (target == last_target and flags == last_flags)):
            raise _NotCanonicalError
        stop = start + length
        if not length or target >= limit:
            raise _NotCanonicalError
        last_target, last_flags = target, flags
        entries.append(new(ExceptionTableEntry, (start, stop, target, depth, lasti)))
    if stop > limit:
        raise _NotCanonicalError
    return entries


def _longer(value: int, byte: int, data: Iterator[int]) -> int:
    """Twice the value of a varint of two to five bytes, given its first group and its second byte."""
    if not 0 < value < 64:
        raise _NotCanonicalError
    while value < 1 << 24 and byte < 128:
        if byte < 64:
            return (value << 6 | byte) * 2
        value = value << 6 | byte & 63
        byte = next(data, 128)
    raise _NotCanonicalError


def find_handler(table: bytes | Sequence[ExceptionTableEntry] | HasCode, offset: int) -> ExceptionTableEntry | None:
    """The entry that handles an exception raised at `offset`, or None: the interpreter's own answer.

    Which offset the interpreter looks up for an instruction differs between versions: up to 3.12 that of its opcode,
    from 3.13 on that of its last cache unit.

    Args:
        table: the bytes of a table, or entries as :func:`parse_exception_table` returns them (sorted, not overlapping),
            or anything with code. In the bytes of a malformed table too it finds what `get_exception_handler` finds.
            O(log n) in any case.
        offset: in the code, in bytes.

    Raises:
        TableFormatError: the interpreter would loop forever on these bytes, or read outside of them.
        XtabError: `offset` is odd or negative.
        TypeError: `table` is neither bytes nor entries, and has no code.

    >>> table = bytes.fromhex("82040a03 86010a00")
    >>> find_handler(table, 10)
    ExceptionTableEntry(start=4, end=12, target=20, depth=1, lasti=True)
    >>> find_handler(table, 14) is None
    True
    """
    if offset < 0 or offset & 1:
        msg = f"expected the offset of a code unit, an even number of at least 0, but found {offset}"
        raise XtabError(msg)
    if isinstance(table, bytes):
        found = find_entry(table, offset >> 1)
        return None if found is None else _in_bytes(found)
    entries: Any = table
    if not isinstance(table, Sequence) or isinstance(table, str | bytearray | memoryview):
        return find_handler(code_of(entries).co_exceptiontable, offset)
    place = bisect_right(entries, offset, key=_start_of) - 1
    if place < 0 or entries[place][1] <= offset:
        return None
    return entries[place]  # type: ignore[no-any-return]


_start_of = itemgetter(0)


def encode_varint(value: int, start_bit: int = 0) -> bytes:
    """The bytes of a varint, most significant group first; `start_bit`: 128 for the first of an entry."""
    groups = [value & 63]
    while value := value >> 6:
        groups.append(value & 63 | 64)
    groups[-1] |= start_bit
    return bytes(reversed(groups))


_VARINTS = (
    *(bytes((low,)) for low in range(64)),
    *(bytes((high, low)) for high in range(65, 128) for low in range(64)),
)
_START_VARINTS = (
    *(bytes((low,)) for low in range(128, 192)),
    *(bytes((high, low)) for high in range(193, 256) for low in range(64)),
)


def assemble_exception_table(entries: Iterable[ExceptionTableEntry]) -> bytes:
    """The bytes of a table with these entries, exactly as the compiler writes them.

    Args:
        entries: in any order. Neighbours with the same target, depth and lasti become one.

    Raises:
        TableFormatError: an entry is empty, negative, odd or too large, or overlaps another one. `entry` is its place
            among those given.

    >>> first, second = ExceptionTableEntry(4, 8, 20, 1, True), ExceptionTableEntry(8, 12, 20, 1, True)
    >>> assemble_exception_table([second, first]).hex()
    '82040a03'
    """
    given = list(entries)
    parts: list[bytes] = []
    begin = stop = 0
    handler: tuple[int, int] | None = None
    for start, end, target, depth, lasti in sorted(given):
        if start < stop or end <= start or target < 0 or depth < 0 or (start | end | target) & 1:
            _refuse(given, start)
        flags = depth + depth + 1 if lasti else depth + depth
        if start == stop and handler == (target, flags):
            if end - begin >= _TOO_LARGE:
                _refuse(given, start)
            parts[-3] = encode_varint((end - begin) >> 1)
        else:
            begin, handler = start, (target, flags)
            try:
                parts += (
                    _START_VARINTS[start >> 1],
                    _VARINTS[(end - start) >> 1],
                    _VARINTS[target >> 1],
                    _VARINTS[flags],
                )
            except IndexError:
                if max(start, end - start, target, flags * 2) >= _TOO_LARGE:
                    _refuse(given, start)
                parts += (
                    encode_varint(start >> 1, 128),
                    encode_varint((end - start) >> 1),
                    encode_varint(target >> 1),
                    encode_varint(flags),
                )
        stop = end
    return b"".join(parts)


def _refuse(given: list[ExceptionTableEntry], start: int) -> NoReturn:
    """Name the entry at fault, by its place among those that the caller gave; `start` is where assembling stopped."""
    for number, entry in enumerate(given):
        for fault, detail in _value_faults(entry):
            raise TableFormatError(fault, f"expected {detail}, but found {tuple(entry)}", entry=number)
    order = sorted(range(len(given)), key=given.__getitem__)
    for first, second in pairwise(order):
        if given[second][0] < given[first][1]:
            detail = f"{tuple(given[second])}, which overlaps entry {first}, {tuple(given[first])}"
            raise TableFormatError("overlap", f"expected ranges that are apart, but found {detail}", entry=second)
    number = next(number for number in order if given[number][0] == start)
    detail = f"{tuple(given[number])}, which makes too large a range with the neighbours that have its handler"
    raise TableFormatError("value too large", f"expected ranges below 2**31 bytes, but found {detail}", entry=number)


def _value_faults(entry: ExceptionTableEntry) -> Iterator[tuple[str, str]]:
    """What is wrong with one entry by itself."""
    start, end, target, depth, _ = entry
    if min(start, end, target, depth) < 0:
        yield "negative value", "values of at least 0"
    if (start | end | target) & 1:
        yield "odd offset", "even offsets, since a code unit has two bytes"
    if end <= start:
        yield "empty range", "an end above the start"
    if max(start, end - start, target) >= _TOO_LARGE:
        yield "value too large", "offsets and lengths below 2**31 bytes"
    if depth >= _TOO_LARGE // 4:
        yield "value too large", "a depth below 2**29"
