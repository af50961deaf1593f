"""`operand_text`: what an operand stands for, in a few words that are safe on a terminal and in a line-based log."""

from __future__ import annotations

import reprlib
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from xtab.format.opcodes import CURRENT, OperandKind
from xtab.format.printable import one_line, without_addresses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["constant_text", "operand_text"]


class _Repr(reprlib.Repr):
    """Short, and the same in each run: without addresses."""

    def repr_instance(self, x: Any, level: int) -> str:  # noqa: ARG002 (as reprlib calls it)
        """Of what is no text, no number and no collection."""
        if isinstance(x, CodeType):  # its repr may read all of it
            return f"<code {x.co_qualname}>"
        try:
            text = without_addresses(repr(x))
        except Exception:  # noqa: BLE001 (a repr may raise anything)
            return f"<{type(x).__name__} instance>"
        if len(text) <= self.maxother:
            return text
        kept = self.maxother - len("...")
        return f"{text[: kept // 2]}...{text[len(text) - (kept - kept // 2) :]}"


_REPR = _Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 40
_REPR.maxlevel = 2


class _Tables(Protocol):
    """What operands are looked up in: `CodeParts` has it."""

    @property
    def consts(self) -> Sequence[Any]: ...

    @property
    def names(self) -> Sequence[Any]: ...

    @property
    def variables(self) -> Sequence[Any]: ...


def operand_text(tables: _Tables, opcode: int, arg: int) -> str:  # noqa: PLR0911 (one a kind)
    """What the operand stands for, with flags such as ``open + NULL``; the bare number if that is nothing.

    Of opcodes without operand it is "".

    Distances of jumps are not resolved: whoever calls this knows where the target is.
    """
    kind = CURRENT.kind[opcode]
    if CURRENT.name[opcode] is None or kind == OperandKind.NONE:
        return str(arg) if arg else ""
    index = arg >> CURRENT.flag_bits[opcode]
    try:
        if kind == OperandKind.CONST:
            return constant_text(tables.consts[index])
        if kind == OperandKind.NAME:
            return _with_flags(opcode, arg, one_line(tables.names[index]))
        if kind == OperandKind.WORD:
            return _with_flags(opcode, arg, CURRENT.words[opcode][index])
        variables = tables.variables
        if kind == OperandKind.LOCAL_PAIR:
            return one_line(f"{variables[arg >> 4]}, {variables[arg & 15]}")
        if kind in {OperandKind.LOCAL, OperandKind.CELL}:
            return one_line(variables[index])
        return _RAW.get(str(CURRENT.name[opcode]), str)(arg) or str(arg)
    except (IndexError, TypeError):
        return f"{arg} (there is none)"


def _with_flags(opcode: int, arg: int, text: str) -> str:
    """A name or a word, and what the flags beside it say."""
    name = CURRENT.name[opcode]
    flags = arg & (1 << CURRENT.flag_bits[opcode]) - 1
    if name == "COMPARE_OP":
        return f"bool({text})" if flags & CURRENT.comparison_is_bool else text
    if name == "IMPORT_NAME":
        return f"{text} + {_IMPORTS[flags]}" if flags in _IMPORTS else text
    if not flags & 1:
        return text
    pushed = "NULL" if name == "LOAD_GLOBAL" else "NULL|self"
    return f"{pushed} + {text}" if CURRENT.null_first else f"{text} + {pushed}"


_IMPORTS = {1: "lazy", 2: "eager"}
_CONVERSIONS = ("", "str", "repr", "ascii")
_ATTRIBUTES = ("defaults", "kwdefaults", "annotations", "closure", "annotate")


def _attributes(arg: int) -> str:
    return ", ".join(word for bit, word in enumerate(_ATTRIBUTES) if arg >> bit & 1)


def _formatting(arg: int) -> str:
    return ", ".join(filter(None, (_CONVERSIONS[arg & 3], "with format" if arg & 4 else "")))


_RAW: dict[str, Callable[[int], str]] = {
    "MAKE_FUNCTION": _attributes,
    "SET_FUNCTION_ATTRIBUTE": _attributes,
    "FORMAT_VALUE": _formatting,
    "CONVERT_VALUE": _formatting,
    "IS_OP": ("is", "is not").__getitem__,
    "CONTAINS_OP": ("in", "not in").__getitem__,
}
"""Numbers that are flags or choices, and the words for them (Lib/dis.py, `ArgResolver.get_argval_argrepr`)."""


def constant_text(value: object) -> str:
    """A constant in a few words: the same in each run, so without addresses; of a code object only the name."""
    return one_line(_REPR.repr(value))
