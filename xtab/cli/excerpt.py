"""`excerpt`: the instructions around an offset as lines of text, made of plain parts, whatever these hold.

1. The bytes are split as the interpreter would step over them, so there are instructions even where nothing can be
   decoded.
2. Where it can, the depth of the stack is shown before each instruction up to the fault; behind it, and where nobody
   gets, it is `?`. Where the code or its table can't be read there are no depths.
"""

from __future__ import annotations

import reprlib
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple, cast

from xtab.errors import XtabError
from xtab.format.opcodes import CURRENT, Kind
from xtab.format.units import split_code
from xtab.model.decode import read_source
from xtab.model.depths import measure

if TYPE_CHECKING:
    from xtab.analysis.verify import CodeParts
    from xtab.format.units import RawInstruction

__all__ = ["excerpt", "one_line"]

_BEFORE, _AFTER = 4, 3
"""Instructions shown before the fault and behind it."""
_LONGEST_NAME = 22
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 40
_REPR.maxlevel = 2


class _Readable(NamedTuple):
    """What `read_source` reads of a code object."""

    co_code: bytes
    co_exceptiontable: bytes


def excerpt(parts: CodeParts, offset: int) -> list[str]:
    """The instructions around `offset`, a line each: fault mark, offset, depth, name, operand.

    No lines where no instruction is anywhere near.

    >>> from xtab.analysis.verify import CodeParts
    >>> for line in excerpt(CodeParts.of(compile("x", "example", "eval")), 0)[:2]:
    ...     print(line)
        off dep
    >     0   0  RESUME                 0
    """
    instructions = split_code(parts.code)
    fault = next((index for index, each in enumerate(instructions) if each.start <= offset < each.end), None)
    if fault is None:
        return []
    depths = _depths(parts, instructions)
    lines = ["    off dep" if depths else "    off"]
    for index in range(max(0, fault - _BEFORE), min(len(instructions), fault + _AFTER + 1)):
        each = instructions[index]
        mark = ">" if index == fault else " "
        depth = ""
        if depths:
            depth = "?" if index > fault or depths[index] is None else str(depths[index])
            depth = f"{depth:>4}"
        name = CURRENT.name[each.opcode] or f"<{each.opcode}>"
        lines.append(f"{mark}{each.start:>6}{depth}  {name:<{_LONGEST_NAME}} {_operand(parts, each)}".rstrip())
    return lines


def _depths(parts: CodeParts, instructions: list[RawInstruction]) -> list[int | None]:
    """The depth before each instruction; an empty list if that can't be known."""
    if len(parts.code) & 1:
        return []
    try:
        source = read_source(cast("CodeType", _Readable(parts.code, parts.exceptiontable)))
    except (XtabError, TypeError):
        return []
    depths = measure(source.shape, strict=False).depths
    return depths if len(depths) == len(instructions) else []


def _operand(parts: CodeParts, instruction: RawInstruction) -> str:  # noqa: PLR0911 (one a kind)
    """What the operand stands for; the bare number if that is nothing."""
    _, opcode, arg, _, _ = instruction
    kind = CURRENT.kind[opcode]
    if CURRENT.name[opcode] is None or kind == Kind.NONE:
        return str(arg) if arg else ""
    if kind == Kind.TARGET:
        distance = 2 * arg if CURRENT.distance[opcode] == 1 else -2 * arg
        return f"to {instruction.end + distance}"
    index = arg >> CURRENT.flag_bits[opcode]
    try:
        if kind == Kind.CONST:
            return _constant(parts.consts[index])
        if kind == Kind.NAME:
            return one_line(parts.names[index])
        if kind == Kind.WORD:
            return CURRENT.words[opcode][index]
        variables = parts.variables
        if kind == Kind.LOCAL_PAIR:
            return one_line(f"{variables[arg >> 4]}, {variables[arg & 15]}")
        if kind in {Kind.LOCAL, Kind.CELL}:
            return one_line(variables[index])
    except (IndexError, TypeError):
        return f"{arg} (there is none)"
    return str(arg)


def _constant(value: object) -> str:
    """A constant in a few words; of a code object only the name, since its repr may read all of it."""
    return one_line(f"<code {value.co_qualname}>" if isinstance(value, CodeType) else _REPR.repr(value))


def one_line(text: object) -> str:
    r"""A text without what a terminal or a reader of lines could take for more than text.

    >>> one_line("a\n\x1b[1mb")
    'a\\n\\x1b[1mb'
    """
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in str(text))
