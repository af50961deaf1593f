"""`excerpt`: the instructions around an offset as lines of text, made of plain parts, whatever these hold.

1. The bytes are split as the interpreter would step over them, so there are instructions even where nothing can be
   decoded.
2. Where it can, the depth of the stack is shown before each instruction up to the fault; behind it, and where nobody
   gets, it is `?`. Where the code or its table can't be read there are no depths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from xtab.errors import XtabError
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.format.units import split_code
from xtab.model.decode import read_source
from xtab.model.depths import measure
from xtab.report.operands import operand_text

if TYPE_CHECKING:
    from types import CodeType

    from xtab.analysis.verify import CodeParts
    from xtab.format.units import RawInstruction

__all__ = ["excerpt"]

_BEFORE, _AFTER = 4, 3
"""Instructions shown before the fault and behind it."""
_LONGEST_NAME = 22


class _Readable(NamedTuple):
    """What `read_source` reads of a code object."""

    co_code: bytes
    co_exceptiontable: bytes


def excerpt(parts: CodeParts, offset: int | None) -> list[str]:
    """The instructions around `offset`, a line each: fault mark, offset, depth, name, operand.

    No lines where no instruction is anywhere near, nor where a problem has no offset.

    >>> from xtab.analysis.verify import CodeParts
    >>> for line in excerpt(CodeParts.of(compile("x", "example", "eval")), 0)[:2]:
    ...     print(line)
        off dep
    >     0   0  RESUME                 0
    """
    if offset is None:
        return []
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


def _operand(parts: CodeParts, instruction: RawInstruction) -> str:
    """What the operand stands for; of a jump the offset it leads to."""
    _, opcode, arg, _, _ = instruction
    if CURRENT.name[opcode] is not None and CURRENT.kind[opcode] == OperandKind.TARGET:
        distance = 2 * arg if CURRENT.distance[opcode] == 1 else -2 * arg
        return f"to {instruction.end + distance}"
    return operand_text(parts, opcode, arg)
