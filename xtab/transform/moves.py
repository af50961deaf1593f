"""How instructions move values on the stack, by the data of `xtab.format.opcodes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.format.opcodes import CURRENT, OperandKind

if TYPE_CHECKING:
    from xtab.model.instruction import Instruction

__all__ = ["reach", "taken_and_made"]


def taken_and_made(instruction: Instruction) -> tuple[int, int]:
    """How many values an instruction takes off the stack, and how many it puts there, when it falls through.

    >>> import xtab
    >>> taken_and_made(xtab.Instruction("BUILD_TUPLE", 3))
    (3, 1)
    """
    opcode = instruction.opcode
    arg = int(instruction.operand) if CURRENT.kind[opcode] == OperandKind.RAW else instruction.flags
    taken = CURRENT.taken(opcode, arg)
    return taken, CURRENT.effect(opcode, arg) + taken


def reach(instruction: Instruction) -> int:
    """How many of the highest values an instruction takes or moves.

    >>> import xtab
    >>> reach(xtab.Instruction("SWAP", 3))
    3
    """
    if instruction.opname == "SWAP":
        return int(instruction.operand)
    taken = taken_and_made(instruction)[0]
    jump = CURRENT.jump_effect.get(instruction.opcode)
    return taken if jump is None else max(taken, -jump)
