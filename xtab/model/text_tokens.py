"""The smallest parts of the text form of a body: names and constants to text, and a `Scanner` that reads them back.

A constant is written as Python would show it, and every text means one type and one value: ``1``, ``True`` and ``1.0``
are three constants, and so are ``0.0`` and ``-0.0``. What has no literal in Python has a form here: ``inf``, ``nan``,
``complex(-0.0, 1.0)``, ``frozenset({1, 2})``, ``slice(None, 2, None)``, ``<code NAME>`` and ``<object NAME>``. Text is
never evaluated: a string is matched with its escapes first, and only then handed to `ast.literal_eval`.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from xtab.errors import TextError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LIMIT", "Scanner", "constant_text", "name_text", "parts_of", "read_constant"]

LIMIT: Final = 1 << 31
"""All numbers but those among the constants are below it."""
_DEEPEST: Final = 500
"""So many tuples may lie one inside the other: hashing and comparing them is recursive in C."""
_LONGEST: Final = 4000
"""Bits of an int that is still written in decimal: Python refuses to read some thousand digits."""

_BARE_NAME = re.compile(r"[\w.$]+")
_BARE_LABEL = re.compile(r"[\w.$<>]+")
_ESCAPE = r"\\(?:[\\'\"abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})"
_STRING = re.compile(rf"b?(?:'(?:[^'\\]|{_ESCAPE})*'|\"(?:[^\"\\]|{_ESCAPE})*\")")
_NUMBER = re.compile(
    r"(-?)(?:(0[xX][0-9a-fA-F]+)|(\d+)(?![\w.])|((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|inf|nan)(j?))(?![\w.])"
)
_WORD = re.compile(r"(?:None|True|False)\b|\.\.\.")
_REFERENCE = re.compile(r"<(code|object) ([\w.$<>]+)>")
_OPEN = re.compile(r"frozenset\(\s*\{|frozenset\(|slice\(|complex\(|\(")
_COMMA = re.compile(",")
_SPACE = re.compile(r"[ \t\r]*")
_SPACES: Final = frozenset(" \t\r")
_ENDS: Final = frozenset(("", "#", ";"))
_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|[\w.$<>]+|\S")
_WORDS: Final = {"None": None, "True": True, "False": False, "...": ...}
_NAN: Final = float("nan")


class Scanner:
    """Reads one line from left to right, and knows where it is when something is not as expected."""

    __slots__ = ("at", "line", "text")

    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.line = line  #: its number, from 1
        self.at = 0

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Skip spaces; what matches here, or None and nothing read."""
        self.skip()
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def skip(self) -> None:
        """Skip spaces."""
        if self.text[self.at : self.at + 1] in _SPACES:
            space = _SPACE.match(self.text, self.at)
            assert space is not None
            self.at = space.end()

    def expect(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        """What matches here. Raises TextError in words: "expected `expected`, but found ..."."""
        return self.take(pattern) or self.fail(expected)

    def fail(self, expected: str, found: str | None = None, at: int | None = None) -> Any:
        """Raise the error for what stands here, or at `at`."""
        if at is not None:
            self.at = at
        if found is None:
            if self.at_end():
                found = "the end of the line"
            else:
                token = _TOKEN.match(self.text, self.at)
                found = "nothing" if token is None else _shortened(token[0])
        raise TextError(f"expected {expected}, but found {found}", line=self.line, column=self.at + 1)

    def at_end(self) -> bool:
        """Skip spaces; whether nothing more stands here but a comment."""
        self.skip()
        return self.text[self.at : self.at + 1] in _ENDS

    def expect_end(self, expected: str = "the end of the line") -> None:
        """Raise TextError if more stands here than a comment."""
        if not self.at_end():
            self.fail(expected)

    def name(self, expected: str, pattern: re.Pattern[str] = _BARE_NAME) -> str:
        """A name, bare or between quotes."""
        found = self.take(pattern)
        return found[0] if found is not None else self.string(expected)

    def label(self, expected: str) -> str:
        """The name of a code object, such as ``<lambda>``; between quotes where it has spaces."""
        return self.name(expected, _BARE_LABEL)

    def string(self, expected: str) -> str:
        """A string between quotes."""
        value = _string(self, expected)
        return value if isinstance(value, str) else self.fail(expected, "bytes")

    def number(self, expected: str, text: str | None = None) -> int:
        """A number from 0 to `LIMIT` - 1: the one that stands here, or `text`, which was read just before."""
        if text is None:
            text = self.expect(_DIGITS, expected)[0]
        if len(text) > 10 or int(text) >= LIMIT:
            self.fail(expected + " below 2**31", _shortened(text), self.at - len(text))
        return int(text)


_DIGITS = re.compile(r"[0-9]+")


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def name_text(name: str, *, label: bool = False) -> str:
    """A name as it is written: bare where it can be; `label`: of a code object.

    >>> name_text("x"), name_text("two words"), name_text("<lambda>", label=True)
    ('x', "'two words'", '<lambda>')
    """
    return name if (_BARE_LABEL if label else _BARE_NAME).fullmatch(name) else repr(name)


def constant_text(constant: Any, reference: Callable[[Any], str]) -> str:
    """A constant as it is written.

    Args:
        constant: anything.
        reference: gives the text for a code object, or for an object that has no literal.

    >>> constant_text((1, -0.0, frozenset({"a"})), repr)
    "(1, -0.0, frozenset({'a'}))"
    """
    groups: list[tuple[Any, list[Any], list[str]]] = [(None, [constant], [])]  # kind, what is left, texts so far
    while True:
        kind, waiting, texts = groups[-1]
        if waiting:
            value = waiting.pop()
            members = parts_of(value)
            if members is None:
                texts.append(_atom_text(value, reference))
            else:
                groups.append((type(value), members[::-1], []))
        else:
            groups.pop()
            if kind is None:
                return texts[0]
            groups[-1][2].append(_group_text(kind, texts))


def _group_text(kind: type, texts: list[str]) -> str:
    if kind is tuple:
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
    if kind is slice:
        return f"slice({', '.join(texts)})"
    return f"frozenset({{{', '.join(sorted(texts))}}})" if texts else "frozenset()"


def parts_of(value: Any) -> list[Any] | None:
    """The members of a constant that has some, or None."""
    if type(value) in (tuple, frozenset):
        return list(value)
    return [value.start, value.stop, value.step] if type(value) is slice else None


def _atom_text(value: Any, reference: Callable[[Any], str]) -> str:
    kind = type(value)
    if kind is int and value.bit_length() > _LONGEST:
        return hex(value)
    if kind in (int, float, str, bytes, bool, type(None)):
        return repr(value)
    if value is ...:
        return "..."
    if kind is complex:
        text = f"complex({value.real!r}, {value.imag!r})"
        plain = str(value.real) == "0.0" and re.fullmatch(r"[\d.]+", str(value.imag))
        return repr(value) if plain else text
    return reference(value)


class _Group(NamedTuple):
    """A bracket that was opened, and what was read in it so far."""

    kind: str
    close: re.Pattern[str]
    at: int
    items: list[Any]


def read_constant(scan: Scanner, find: Callable[[str, str, Scanner], Any]) -> Any:
    """The constant that stands here.

    Args:
        scan: where to read.
        find: gives the value of a reference, from its kind (``"code"`` or ``"object"``), its name and the scanner.

    Raises:
        TextError: something else stands here.

    >>> read_constant(Scanner("(1, -0.0, frozenset({'a'}))", 1), print)
    (1, -0.0, frozenset({'a'}))
    """
    groups: list[_Group] = []
    while True:
        opened = scan.take(_OPEN)
        if opened is not None:
            if len(groups) == _DEEPEST:
                scan.fail(f"at most {_DEEPEST} brackets one inside the other", "one more")
            kind = "frozenset({" if opened[0].endswith("{") else opened[0]
            groups.append(_Group(kind, _CLOSE[kind[-1]], opened.start(), []))
            if scan.take(groups[-1].close) is None:
                continue
            value = _grouped(scan, groups.pop(), comma=True)
        else:
            value = _atom(scan, find)
        while groups:
            group = groups[-1]
            group.items.append(value)
            comma = scan.take(_COMMA) is not None
            if scan.take(group.close) is None:
                if not comma:
                    scan.fail("',' or the closing bracket")
                break
            value = _grouped(scan, groups.pop(), comma=comma)
        else:
            return value


_CLOSE: Final = {"{": re.compile(r"\}\s*\)"), "(": re.compile(r"\)")}


def _grouped(scan: Scanner, group: _Group, *, comma: bool) -> Any:
    """The value of brackets that were closed; `comma`: right behind one."""
    kind, _, at, items = group
    if kind == "(":
        return items[0] if len(items) == 1 and not comma else tuple(items)
    if kind == "slice(" and len(items) == 3:
        return slice(*items)
    if kind == "complex(" and [type(item) for item in items] == [float, float]:
        return complex(*items)
    if kind == "frozenset({" or (kind == "frozenset(" and not items):
        try:
            return frozenset(items)
        except TypeError:
            return scan.fail("members that can be hashed", "a slice or an object that can't", at)
    needs = {
        "slice(": "slice(START, STOP, STEP)",
        "complex(": "complex(REAL, IMAGINARY), of two floats",
        "frozenset(": "frozenset({...}) or frozenset()",
    }
    return scan.fail(needs[kind], at=at)


def _atom(scan: Scanner, find: Callable[[str, str, Scanner], Any]) -> Any:
    reference = scan.take(_REFERENCE)
    if reference is not None:
        return find(reference[1], reference[2], scan)
    word = scan.take(_WORD)
    if word is not None:
        return _WORDS[word[0]]
    number = scan.take(_NUMBER)
    if number is not None:
        return _number(scan, number)
    return _string(scan, "a constant")


def _number(scan: Scanner, found: re.Match[str]) -> int | float | complex:
    sign, hexadecimal, decimal, decimals, imaginary = found.groups()
    value: int | float | complex
    if hexadecimal or decimal:
        try:
            value = int(hexadecimal, 16) if hexadecimal else int(decimal)
        except ValueError:  # too many digits
            return scan.fail("a number of fewer digits, or one that begins with 0x", at=found.start())  # type: ignore[no-any-return]
    else:
        value = _NAN if decimals == "nan" else float(decimals)
        if imaginary:
            value = complex(0.0, value)
    return -value if sign else value


def _string(scan: Scanner, expected: str) -> str | bytes:
    found = scan.expect(_STRING, expected)
    try:
        value: str | bytes = ast.literal_eval(found[0])
    except (SyntaxError, ValueError):  # bytes beyond ASCII, for example
        return scan.fail(expected, at=found.start())  # type: ignore[no-any-return]
    return value
