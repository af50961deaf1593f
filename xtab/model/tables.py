"""`Tables`: the lists that operands are indices in.

A body has one; the instructions decoded from the same code object refer to it. An instruction that was moved to another
body still knows its own, so its operand is translated at assembly and never read from the wrong list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xtab.errors import DecodeError, XtabError
from xtab.format.opcodes import CURRENT, OperandKind

if TYPE_CHECKING:
    from types import CodeType


__all__ = ["Cell", "Free", "Tables"]

_PLAIN = frozenset({str, bytes, int, bool, type(None), type(...)})


class Cell(str):
    """Name of a cell variable, told apart from a free variable or a plain local of the same name.

    >>> Cell("x")
    Cell('x')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Cell({str(self)!r})"


class Free(str):
    """Name of a free variable, told apart from a cell or a plain local of the same name.

    >>> Free("x")
    Free('x')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Free({str(self)!r})"


class Tables:
    """Constants, names and variables of a body, in the order of the code object; new ones are appended."""

    __slots__ = (
        "_first_cell",
        "_first_free",
        "_index",
        "_variables",
        "cellvars",
        "consts",
        "freevars",
        "names",
        "varnames",
    )

    def __init__(self, code: CodeType) -> None:
        self.consts: list[Any] = list(code.co_consts)
        self.names: list[str] = list(code.co_names)
        self.varnames: list[str] = list(code.co_varnames)
        self.cellvars: list[str] = list(code.co_cellvars)
        self.freevars: list[str] = list(code.co_freevars)
        # where cells and free variables began in the code object; they move up as variables are appended
        self._first_cell = len(self.varnames)
        self._first_free = self._first_cell + len(self.cellvars)
        if self.cellvars:
            self._first_free -= len(set(self.cellvars).intersection(self.varnames))
        self._index: dict[str, tuple[int, dict[Any, int]]] = {}
        self._variables: tuple[tuple[int, int, int], list[str]] | None = None

    def variables(self) -> list[str]:
        """Names of all fast locals by index: locals, the cells that are not locals too, free variables."""
        sizes = len(self.varnames), len(self.cellvars), len(self.freevars)
        if self._variables is None or self._variables[0] != sizes:
            local = set(self.varnames)
            own = [Cell(name) for name in self.cellvars if name not in local]
            self._variables = sizes, [*self.varnames, *own, *map(Free, self.freevars)]
        return self._variables[1]

    def sizes(self) -> tuple[int, int, int]:
        """How many constants, names and local variables there are."""
        return len(self.consts), len(self.names), len(self.varnames)

    def cut(self, sizes: tuple[int, int, int]) -> None:
        """Forget what was appended since `sizes` was asked for."""
        for items, size in zip((self.consts, self.names, self.varnames), sizes, strict=True):
            del items[size:]
        self._index.clear()

    def check(self, opcode: int, operand: Any) -> None:
        """Raise what `number` would for an operand, and append nothing."""
        sizes = self.sizes()
        try:
            self.number(opcode, operand, 0)
        finally:
            self.cut(sizes)

    def grown(self) -> bool:
        """Whether variables were added since the code object was read, so that numbers of others have changed."""
        if len(self.varnames) == self._first_cell and not self.cellvars:
            return False
        for name in self.varnames[self._first_cell :]:
            if name in self.cellvars:
                raise XtabError(
                    f"expected a new name for a local variable, but found {name!r}, which is a cell of this body"
                )
        return self.current_variable(self._first_free) != self._first_free

    def current_variable(self, number: int) -> int:
        """The number that variable `number` of the code object has now."""
        if number >= self._first_free:
            number += len(self.variables()) - len(self.freevars) - self._first_free
        elif number >= self._first_cell:
            number += len(self.varnames) - self._first_cell
        return number

    def operand(self, opcode: int, arg: int) -> Any:  # noqa: PLR0911  # one a kind
        """What operand `arg` of `opcode` stands for."""
        kind = CURRENT.kind[opcode]
        if kind == OperandKind.NONE:
            return None
        if kind == OperandKind.RAW:
            return arg
        index = arg >> CURRENT.flag_bits[opcode]
        try:
            if kind == OperandKind.CONST:
                return self.consts[index]
            if kind == OperandKind.NAME:
                return self.names[index]
            if kind == OperandKind.WORD:
                return CURRENT.words[opcode][index]
            variables = self.variables()
            if kind == OperandKind.LOCAL_PAIR:
                return variables[self.current_variable(arg >> 4)], variables[self.current_variable(arg & 15)]
            name = variables[self.current_variable(index)]
            return Cell(name) if kind == OperandKind.CELL and not isinstance(name, Free) else name
        except IndexError:
            msg = f"expected an operand of {CURRENT.name[opcode]} that is in the code object's lists, but found {arg}"
            raise DecodeError(msg) from None

    def current_number(self, opcode: int, arg: int) -> int:
        """The number that operand `arg` of the code object must have now, where it names variables."""
        if CURRENT.kind[opcode] == OperandKind.LOCAL_PAIR:
            high, low = self.current_variable(arg >> 4), self.current_variable(arg & 15)
            if high > 15 or low > 15:
                names = self.operand(opcode, arg)
                raise XtabError(_pair_message(opcode, names, high, low))
            return high << 4 | low
        return self.current_variable(arg)

    def number(self, opcode: int, operand: Any, flags: int) -> int:  # noqa: PLR0911  # one a kind
        """The number for an operand given as what it stands for: the inverse of `operand`.

        New names and constants are added. Raises XtabError with the words to put behind "instruction n:".
        """
        kind = CURRENT.kind[opcode]
        if kind == OperandKind.CONST:
            return self._find("consts", self.consts, operand, constant_key(operand))
        if kind == OperandKind.RAW:
            number: int = _checked(operand, int, "a number", opcode)
            return number
        if kind == OperandKind.WORD:
            return self._word(opcode, operand) << CURRENT.flag_bits[opcode] | flags
        if kind == OperandKind.LOCAL_PAIR:
            return self._pair(opcode, operand)
        name = _checked(operand, str, "a name", opcode)
        if kind == OperandKind.NAME:
            return self._find("names", self.names, name, name) << CURRENT.flag_bits[opcode] | flags
        if kind == OperandKind.CELL or isinstance(name, (Cell, Free)):
            return self._cell(opcode, name)
        if name not in self.varnames and (name in self.cellvars or name in self.freevars):
            raise XtabError(
                f"expected a local variable for {CURRENT.name[opcode]}, but found {name!r}, which other functions "
                "see; use the instruction for cells"
            )
        return self._find("varnames", self.varnames, str(name), name)

    def _find(self, which: str, items: list[Any], item: Any, key: Any) -> int:
        """Index of `item` in one of the lists, where it is appended if need be."""
        length, index = self._index.get(which, (-1, {}))
        if length != len(items):  # somebody else appended
            keys = list(map(constant_key, items) if which == "consts" else items)
            index = dict(zip(reversed(keys), reversed(range(len(keys))), strict=True))  # the first of equals holds
        found = index.get(key)
        if found is None:
            found = index[key] = len(items)
            items.append(item)
        self._index[which] = len(items), index
        return found

    def _cell(self, opcode: int, name: str) -> int:
        if opcode not in CURRENT.takes_cells:
            msg = f"expected a local variable for {CURRENT.name[opcode]}, but found {name!r}"
            raise XtabError(msg)
        if not isinstance(name, Free):
            if name in self.cellvars and name in self.varnames:
                return self.varnames.index(name)
            if name in self.cellvars:
                return len(self.varnames) + [n for n in self.cellvars if n not in self.varnames].index(name)
        if not isinstance(name, Cell) and name in self.freevars:
            return len(self.variables()) - len(self.freevars) + self.freevars.index(name)
        msg = (
            f"expected a cell or free variable of this body for {CURRENT.name[opcode]}, but found {name!r}; "
            f"it has the cells {self.cellvars} and the free variables {self.freevars}"
        )
        raise XtabError(msg)

    def _pair(self, opcode: int, operand: Any) -> int:
        first, second = _checked(operand, tuple, "two names of locals", opcode)
        high, low = (self.number(CURRENT.number["LOAD_FAST"], name, 0) for name in (first, second))
        if high > 15 or low > 15:
            raise XtabError(_pair_message(opcode, operand, high, low))
        return high << 4 | low

    def _word(self, opcode: int, operand: Any) -> int:
        words = CURRENT.words[opcode]
        if operand in words:
            return words.index(operand)
        if isinstance(operand, int) and 0 <= operand < len(words):
            return operand
        msg = f"expected one of {', '.join(words)} for {CURRENT.name[opcode]}, but found {operand!r}"
        raise XtabError(msg)


def _pair_message(opcode: int, names: Any, high: int, low: int) -> str:
    return (
        f"expected two of the first 16 local variables for {CURRENT.name[opcode]}, but found {names!r}, "
        f"which are number {high} and {low}; use two instructions"
    )


def _checked(operand: Any, kind: type, words: str, opcode: int) -> Any:
    if not isinstance(operand, kind):
        msg = f"expected {words} for {CURRENT.name[opcode]}, but found {operand!r}"
        raise XtabError(msg)
    return operand


def constant_key(constant: Any) -> Any:
    """A key that tells constants apart as the compiler does: by type, by sign of zero, within tuples; else by identity.

    Follows Objects/codeobject.c, _PyCode_ConstantKey.
    """
    kind = type(constant)
    if kind in _PLAIN:
        return kind, constant
    if kind in (float, complex) and constant == constant:  # noqa: PLR0124  # a nan is only equal to itself
        return kind, repr(constant)
    if kind is tuple:
        return kind, tuple(map(constant_key, constant))
    if kind is frozenset:
        return kind, frozenset(map(constant_key, constant))
    return kind, id(constant)
