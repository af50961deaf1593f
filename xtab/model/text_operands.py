"""Operands, flags and locations in the text form of a body, both ways.

An operand is a name, a constant, a word such as ``+``, or a number. ``cell x`` and ``free x`` say which variable of
that name is meant; ``[3]``, the item of that number in the list where names, constants or variables are kept, serves
where no name can: two constants that look the same, or a number on an instruction that has no use for it.

Flags and the number of EXTENDED_ARG follow with a plus sign: ``+null``, ``+flags=7``, ``+wide=2``. The location comes
last: ``@12`` is a line, ``@12-14`` are lines, ``@12:4-9`` and ``@12:4-14:9`` have columns, ``@-`` is none.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from xtab.format.locations import Location
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.model.tables import Cell, Free
from xtab.model.text_tokens import name_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from xtab.model.tables import Tables
    from xtab.model.text_tokens import Scanner

__all__ = ["Item", "Operands", "Suffixes", "location_text", "read_location", "read_operand", "read_suffixes"]

_FLAG_WORDS: Final[dict[str, dict[str, int]]] = {
    "LOAD_GLOBAL": {"null": 1},
    "LOAD_ATTR": {"method": 1},
    "LOAD_SUPER_ATTR": {"method": 1, "class": 2},
    "COMPARE_OP": {"bool": 16},
    "IMPORT_NAME": {"lazy": 1, "eager": 2},
}
"""What the low bits of operands mean: NULL is pushed too; a method is loaded; super() was called with its class; the
result is made a bool; the import is lazy by its own statement, or must not be lazy."""


class Item(NamedTuple):
    """An operand that is given by its number."""

    number: int


class Operands:
    """Writes operands, and notes which items of the lists they use by name, in order."""

    def __init__(self, tables: Tables, consts: list[str]) -> None:
        self.consts = consts  #: texts of the constants
        self.used: dict[str, list[int]] = {"consts": [], "names": [], "varnames": []}
        self.made_cells: dict[str, None] = {}  #: names that MAKE_CELL names
        self.numbered_variables = False  #: whether some variable had to be given by its number
        self._lists = {"consts": _first_only(consts), "names": _first_only(list(map(name_text, tables.names)))}
        self._locals, self._cells, self._passed_on = _variables(tables)
        self._make_cell = CURRENT.number["MAKE_CELL"]

    def text(self, opcode: int, arg: int) -> list[str]:
        """The words for an operand, its flags included."""
        kind = CURRENT.kind[opcode]
        if kind == OperandKind.NONE:
            return [f"[{arg}]"] if arg else []
        if kind == OperandKind.RAW:
            return [str(arg)]
        if kind == OperandKind.LOCAL_PAIR:
            return [self._pair(arg)]
        bits = CURRENT.flag_bits[opcode]
        index, flags = arg >> bits, arg & (1 << bits) - 1
        if kind == OperandKind.WORD:
            words = CURRENT.words[opcode]
            return [words[index] if index < len(words) else f"[{index}]", *_flag_texts(opcode, index, flags)]
        if kind in (OperandKind.CONST, OperandKind.NAME):
            which = "consts" if kind == OperandKind.CONST else "names"
            text = self._item(which, index)
        else:
            text = self._variable(opcode, index)
        return [text, *_flag_texts(opcode, index, flags)]

    def _item(self, which: str, index: int) -> str:
        items = self._lists[which]
        text = items[index] if index < len(items) else None
        if text is None:
            return f"[{index}]"
        self.used[which].append(index)
        return text

    def _variable(self, opcode: int, index: int) -> str:
        if CURRENT.kind[opcode] == OperandKind.CELL:
            text = self._cells.get(index)
            if text is not None and opcode == self._make_cell:
                self.made_cells.setdefault(text)
        else:
            text = self._local(index)
            if text is None and opcode in CURRENT.takes_cells:
                text = self._passed_on.get(index)
        if text is None:
            self.numbered_variables = True
            return f"[{index}]"
        return text

    def _local(self, index: int) -> str | None:
        text = self._locals.get(index)
        if text is not None:
            self.used["varnames"].append(index)
        return text

    def _pair(self, arg: int) -> str:
        texts = [self._local(arg >> 4) or self._passed_on.get(arg >> 4), None]
        texts[1] = self._local(arg & 15) or self._passed_on.get(arg & 15)
        if None in texts:
            self.numbered_variables = True
            return f"[{arg}]"
        return f"{texts[0]}, {texts[1]}"


def _first_only(texts: list[str]) -> list[str | None]:
    """Each text where it stands first, else None: there, it would mean the other item."""
    seen: set[str] = set()
    found: list[str | None] = []
    for text in texts:
        found.append(None if text in seen else text)
        seen.add(text)
    return found


def _variables(tables: Tables) -> tuple[dict[int, str], dict[int, str], dict[int, str]]:
    """By number: what means a local variable, a cell or free variable, and one of these where a local is expected."""
    variables = tables.variables()
    local_names: dict[int, str] = {}
    cells: dict[int, str] = {}
    passed_on: dict[int, str] = {}
    seen: set[tuple[str, str]] = set()
    cell_names = set(tables.cellvars)
    for index, name in enumerate(variables):
        text = name_text(name)
        kind = "free" if isinstance(name, Free) else "cell" if isinstance(name, Cell) else ""
        if (kind, name) in seen:
            continue
        seen.add((kind, name))
        if kind:
            passed_on[index] = f"{kind} {text}"
        else:
            local_names[index] = text
        if kind == "free" and name in cell_names:
            cells[index] = f"free {text}"
        elif kind or name in cell_names:
            cells[index] = text
    return local_names, cells, passed_on


def _flag_texts(opcode: int, index: int, flags: int) -> list[str]:
    default = CURRENT.comparison_flags(index) if opcode == CURRENT.compare_op else 0
    if flags == default:
        return []
    texts = []
    rest = flags ^ default
    for word, bit in _flag_words(opcode).items():
        if rest & bit and not default & bit:
            texts.append(f"+{word}")
            rest ^= bit
    return [f"+flags={flags}"] if rest else texts


def _flag_words(opcode: int) -> dict[str, int]:
    """The words for flags that an opcode has in this version."""
    words = _FLAG_WORDS.get(CURRENT.name[opcode] or "", {})
    return {word: bit for word, bit in words.items() if bit < 1 << CURRENT.flag_bits[opcode]}


def location_text(location: Location | None) -> str:
    """A location as it is written.

    >>> location_text(Location(3, 3, 4, 9)), location_text(Location(3, 5, None, None)), location_text(None)
    ('@3:4-9', '@3-5', '@-')
    """
    if location is None:
        return "@-"
    line, end_line, column, end_column = ("?" if number is None else str(number) for number in location)
    if location.column is None and location.end_column is None:
        return f"@{line}" if line == end_line else f"@{line}-{end_line}"
    return f"@{line}:{column}-{end_column}" if line == end_line else f"@{line}:{column}-{end_line}:{end_column}"


# reading

_ITEM = re.compile(r"\[([0-9]+)\]")
_COMMA = re.compile(",")
_WORD = re.compile(r"\S+")
_WHICH = re.compile(r"(cell|free)[ \t]+(?=[\w.$'\"])")
_SUFFIX = re.compile(r"\+(\w+)(?:=([0-9]+))?")
_AT = re.compile("@")
_PLACE = r"(\?|-?[0-9]+)"
_LOCATION = re.compile(rf"(-(?![0-9]))|{_PLACE}(?::{_PLACE}-(?:{_PLACE}:)?{_PLACE}|-{_PLACE})?")


def read_operand(scan: Scanner, opcode: int, constant: Callable[[Scanner], Any]) -> Any:  # noqa: PLR0911  # one a kind
    """The operand of an instruction that has one and is no jump; an `Item` where it is given by its number.

    Raises:
        TextError: something else stands here.
    """
    kind, name = CURRENT.kind[opcode], CURRENT.name[opcode]
    if kind == OperandKind.WORD:
        return _read_word(scan, opcode)
    item = None if kind == OperandKind.RAW else scan.take(_ITEM)
    if item is not None:
        return Item(scan.number("the number of an item", item[1]))
    if kind == OperandKind.RAW:
        return scan.number(f"a number for {name}")
    if kind == OperandKind.CONST:
        return constant(scan)
    if kind == OperandKind.NAME:
        return scan.name(f"a name for {name}")
    if kind != OperandKind.LOCAL_PAIR:
        return _read_variable(scan, f"a variable for {name}")
    first = _read_variable(scan, f"two variables for {name}")
    scan.expect(_COMMA, f"',' and a second variable for {name}")
    return first, _read_variable(scan, f"a second variable for {name}")


def _read_variable(scan: Scanner, expected: str) -> str:
    which = scan.take(_WHICH)
    name = scan.name(expected)
    if which is None:
        return name
    return Cell(name) if which[1] == "cell" else Free(name)


def _read_word(scan: Scanner, opcode: int) -> Any:
    words, name = CURRENT.words[opcode], CURRENT.name[opcode]
    found = None if scan.at_end() else scan.take(_WORD)
    if found is None:
        return scan.fail(f"one of {', '.join(words)} for {name}")
    if found[0] in words:
        return found[0]
    item = _ITEM.fullmatch(found[0])
    if item is not None:
        return Item(scan.number("the number of an item", item[1]))
    close = difflib.get_close_matches(found[0], words, n=3) or words
    return scan.fail(f"one of {', '.join(close)} for {name}", repr(found[0])[:60], found.start())


class Suffixes(NamedTuple):
    """What stands behind an operand."""

    flags: int | None  #: None: the default
    wide: int  #: how many EXTENDED_ARG there are at least


def read_suffixes(scan: Scanner, opcode: int, operand: Any) -> Suffixes:
    """The words with a plus sign.

    Raises:
        TextError: one of them is unknown, or its number is too great.
    """
    flags, wide = None, 0
    words = _flag_words(opcode)
    most = (1 << CURRENT.flag_bits[opcode]) - 1
    default = CURRENT.comparison_flags(operand) if opcode == CURRENT.compare_op else 0
    while (found := scan.take(_SUFFIX)) is not None:
        word, number = found.groups()
        if word == "wide":
            wide = scan.number("a number", number or "1")
            if not 1 <= wide <= 3:
                scan.fail("1, 2 or 3 EXTENDED_ARG", str(wide), found.start())
        elif word == "flags" and number and most:
            flags = scan.number("a number", number)
            if flags > most:
                scan.fail(f"flags from 0 to {most} for {CURRENT.name[opcode]}", str(flags), found.start())
        elif word in words and number is None:
            flags = (default if flags is None else flags) | words[word]
        else:
            known = [f"+{known}" for known in words] + [f"+flags=0 to {most}"] * bool(most) + ["+wide=1 to 3"]
            scan.fail(f"one of {', '.join(known)} for {CURRENT.name[opcode]}", repr(found[0])[:60], found.start())
    return Suffixes(flags, wide)


def read_location(scan: Scanner) -> tuple[Location | None] | None:
    """The location that stands here, alone in a tuple; None where nothing is said of it."""
    if scan.take(_AT) is None:
        return None
    found = scan.expect(_LOCATION, "a location such as 3, 3:4-9, 3:4-5:9 or -")
    none, line, column, end_line, end_column, last_line = found.groups()
    if none:
        return (None,)

    def value(text: str | None) -> int | None:
        if text is None or text == "?":
            return None
        number = scan.number("a line or column", text.lstrip("-"))
        return -number if text.startswith("-") else number

    if column is None:
        end_line = last_line or line
    location = Location(value(line), value(end_line or line), value(column), value(end_column))
    return (None if location == (None, None, None, None) else location,)
