"""What `marshal` stores, to plain values and back, without ever making a code object.

Making a code object of bytes that no compiler wrote, or reading it, can crash the interpreter. Here a code object is a
`MarshalledCode`: a tuple of what is stored of it.

1. An object is a byte for its type, and what the type asks for. Bit 7 of that byte says that the object gets a number,
   in the order in which objects begin, by which it can be referred to further on.
2. Objects in objects are read by `_Reader.object`, a generator that yields where it needs the next one: so no depth of
   nesting reaches the recursion limit.
3. Writing makes no references: what was shared is written as often as it occurs.

CPython source followed: ``Python/marshal.c``, `r_object` and `w_complex_object`, versions 4 and 5 of the format.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from xtab.errors import TableFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

__all__ = ["CELL", "FREE", "LOCAL", "MarshalledCode", "dump_marshalled", "load_marshalled", "marshalled_objects"]

LOCAL, CELL, FREE = 0x20, 0x40, 0x80
"""Bits of a variable's kind (Include/internal/pycore_code.h, CO_FAST_LOCAL and so on)."""

_REF = 0x80
_DIGIT = 15
"""Bits of a digit of a large int."""
_NULL = object()
_SINGLETONS = {b"0": _NULL, b"N": None, b"F": False, b"T": True, b"S": StopIteration, b".": ...}
_BYTES_OF = {value: key for key, value in _SINGLETONS.items()}
_TEXTS = {
    **dict.fromkeys((b"u", b"t"), ("<I", "utf-8")),
    **dict.fromkeys((b"a", b"A"), ("<I", "ascii")),
    **dict.fromkeys((b"z", b"Z"), ("<B", "ascii")),
}
_SEQUENCES: dict[bytes, tuple[str, Callable[..., Any]]] = {
    b"(": ("<I", tuple),
    b")": ("<B", tuple),
    b"[": ("<I", list),
    b"<": ("<I", set),
    b">": ("<I", frozenset),
}


class MarshalledCode(NamedTuple):
    """What is stored of a code object, in the order in which it is stored."""

    argcount: int
    posonlyargcount: int
    kwonlyargcount: int
    stacksize: int
    flags: int
    code: bytes
    consts: tuple[Any, ...]
    names: tuple[str, ...]
    localsplusnames: tuple[str, ...]  #: local variables, cells and free variables
    localspluskinds: bytes  #: which of them it is, a byte each
    filename: str
    name: str
    qualname: str
    firstlineno: int
    linetable: bytes
    exceptiontable: bytes

    def variables(self, kind: int) -> tuple[str, ...]:
        """The names of the variables of a kind: `LOCAL`, `CELL` or `FREE`."""
        return tuple(
            name for name, bits in zip(self.localsplusnames, self.localspluskinds, strict=False) if bits & kind
        )


_NUMBERS = ("argcount", "posonlyargcount", "kwonlyargcount", "stacksize", "flags", "firstlineno")
_TYPES: dict[str, type] = {
    **dict.fromkeys(_NUMBERS, int),
    **dict.fromkeys(("code", "localspluskinds", "linetable", "exceptiontable"), bytes),
    **dict.fromkeys(("consts", "names", "localsplusnames"), tuple),
    **dict.fromkeys(("filename", "name", "qualname"), str),
}


def load_marshalled(data: bytes) -> Any:
    """The object that `marshal` wrote; code objects are `MarshalledCode`.

    Raises:
        TableFormatError: the bytes are not what marshal writes.

    >>> import marshal
    >>> load_marshalled(marshal.dumps(compile("x = 1", "example", "exec"))).names
    ('x',)
    """
    reader = _Reader(data)
    waiting = [(reader.object(), False)]  # and whether NULL may stand there
    value: Any = None
    while waiting:
        try:
            null_ends = waiting[-1][0].send(value)
        except StopIteration as end:
            _, may_be_null = waiting.pop()
            value = end.value
            if value is _NULL and not may_be_null:
                raise reader.fault(
                    "stray NULL", "expected an object, but found NULL, which ends a dictionary"
                ) from None
        else:
            waiting.append((reader.object(), null_ends))
            value = None
    return value


class _Reader:
    """Where reading is, and what has been given a number."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.numbered: list[Any] = []

    def take(self, count: int) -> bytes:
        """The next bytes."""
        found = self.data[self.at : self.at + count]
        if len(found) < count:
            raise self.fault("truncated", f"expected {count} bytes, but found {len(found)}")
        self.at += count
        return found

    def number(self, form: str) -> Any:
        """The next number."""
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def fault(self, fault: str, detail: str) -> TableFormatError:
        """The error to raise."""
        return TableFormatError(fault, detail, table="marshalled data", offset=self.at)

    def object(self) -> Generator[bool, Any, Any]:
        """The next object. Yields where one in it is to be read (True: or NULL), and is sent that."""
        byte = self.take(1)[0]
        kind = bytes((byte & ~_REF,))
        number = None
        if byte & _REF:
            number = len(self.numbered)
            self.numbered.append(_NULL)
        if kind in _SEQUENCES:
            form, make = _SEQUENCES[kind]
            items = []
            for _ in range(self.number(form)):
                items.append((yield False))  # noqa: PERF401 (a comprehension can't yield)
            value = self.made(make, items)
        elif kind == b"{":
            value = yield from self.mapping()
        elif kind == b":":
            value = slice((yield False), (yield False), (yield False))
        elif kind == b"c":
            value = yield from self.code()
        else:
            value = self.simple(kind)
        if number is not None:
            self.numbered[number] = value
        return value

    def made(self, make: Callable[..., Any], items: list[Any]) -> Any:
        """A sequence or a set."""
        try:
            return make(items)
        except TypeError as error:
            raise self.fault("unhashable", f"expected what can be in a set, but found: {error}") from None

    def mapping(self) -> Generator[bool, Any, dict[Any, Any]]:
        """A dictionary: keys and values up to a NULL."""
        pairs = []
        while (key := (yield True)) is not _NULL:
            pairs.append((key, (yield False)))
        found: dict[Any, Any] = self.made(dict, pairs)
        return found

    def code(self) -> Generator[bool, Any, MarshalledCode]:
        """A code object."""
        fields: list[Any] = []
        for name in MarshalledCode._fields:
            value: Any = self.number("<i") if name in _NUMBERS else (yield False)
            if not isinstance(value, _TYPES[name]):
                detail = f"expected {_TYPES[name].__name__} for {name}, but found {type(value).__name__}"
                raise self.fault("wrong type", detail)
            fields.append(value)
        return MarshalledCode(*fields)

    def simple(self, kind: bytes) -> Any:  # noqa: PLR0911 (a return a type)
        """An object without others in it."""
        if kind in _SINGLETONS:
            return _SINGLETONS[kind]
        if kind in _TEXTS:
            form, encoding = _TEXTS[kind]
            try:
                return self.take(self.number(form)).decode(encoding, "surrogatepass")
            except UnicodeDecodeError as error:
                raise self.fault("not a text", f"expected {encoding}, but found: {error.reason}") from None
        if kind == b"i":
            return self.number("<i")
        if kind == b"l":
            return self.large()
        if kind == b"g":
            return self.number("<d")
        if kind == b"y":
            return complex(self.number("<d"), self.number("<d"))
        if kind == b"s":
            return self.take(self.number("<I"))
        if kind == b"r":
            return self.referred(self.number("<I"))
        raise self.fault("unknown type", f"expected the type of an object, but found {kind!r}")

    def large(self) -> int:
        """An int of many digits."""
        count: int = self.number("<i")
        digits: tuple[int, ...] = struct.unpack(f"<{abs(count)}H", self.take(2 * abs(count)))
        value = sum(digit << _DIGIT * place for place, digit in enumerate(digits))
        return -value if count < 0 else value

    def referred(self, number: int) -> Any:
        """The object that was given a number."""
        if number < len(self.numbered) and self.numbered[number] is not _NULL:
            return self.numbered[number]
        raise self.fault("bad reference", f"expected the number of an object, but found {number}")


def dump_marshalled(value: Any) -> bytes:
    """The bytes from which `marshal` makes the object; a code object of each `MarshalledCode`.

    Raises:
        TypeError: there is an object in it that `marshal` has no form for.

    >>> import marshal
    >>> marshal.loads(dump_marshalled((1, "x", -2.5, None)))
    (1, 'x', -2.5, None)
    """
    parts: list[bytes] = []
    waiting: list[Any] = [_Object(value)]
    while waiting:
        each = waiting.pop()
        if isinstance(each, _Object):
            waiting += reversed(_pieces(each.value))
        else:
            parts.append(each)
    return b"".join(parts)


class _Object(NamedTuple):
    """What is still to be written, told apart from bytes that are."""

    value: Any


def _pieces(value: Any) -> list[Any]:
    """How an object is written: bytes, and the objects in it."""
    if isinstance(value, MarshalledCode):
        pairs = zip(MarshalledCode._fields, value, strict=True)
        return [b"c", *(struct.pack("<i", part) if name in _NUMBERS else _Object(part) for name, part in pairs)]
    for kind, (form, make) in _SEQUENCES.items():
        if type(value) is make and form == "<I":
            return [kind + struct.pack(form, len(value)), *map(_Object, value)]
    if type(value) is dict:
        return [b"{", *(_Object(part) for pair in value.items() for part in pair), b"0"]
    if type(value) is slice:
        return [b":", _Object(value.start), _Object(value.stop), _Object(value.step)]
    return [_simple_bytes(value)]


def _simple_bytes(value: Any) -> bytes:
    kind = type(value)
    if value is None or kind is bool or value is ... or value is StopIteration:
        return _BYTES_OF[value]
    if kind is int:
        return _int_bytes(value)
    if kind is float:
        return b"g" + struct.pack("<d", value)
    if kind is complex:
        return b"y" + struct.pack("<dd", value.real, value.imag)
    if kind is bytes:
        return b"".join((b"s", struct.pack("<I", len(value)), value))
    if kind is str:
        data: bytes = value.encode("utf-8", "surrogatepass")
        return b"u" + struct.pack("<I", len(data)) + data
    msg = f"expected an object that marshal has a form for, but found {kind.__name__}"
    raise TypeError(msg)


def _int_bytes(value: int) -> bytes:
    if -(1 << 31) <= value < 1 << 31:
        return b"i" + struct.pack("<i", value)
    rest = abs(value)
    digits = [rest >> place & (1 << _DIGIT) - 1 for place in range(0, rest.bit_length(), _DIGIT)]
    return b"l" + struct.pack(f"<i{len(digits)}H", len(digits) if value > 0 else -len(digits), *digits)


def marshalled_objects(root: MarshalledCode) -> Iterator[MarshalledCode]:
    """A code object, those among its constants, and theirs: each before what it holds.

    >>> import marshal
    >>> code = compile("def f(): return lambda: 0", "example", "exec")
    >>> [code.name for code in marshalled_objects(load_marshalled(marshal.dumps(code)))]
    ['<module>', 'f', '<lambda>']
    """
    waiting = [root]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in reversed(code.consts) if isinstance(constant, MarshalledCode)]
