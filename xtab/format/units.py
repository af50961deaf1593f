"""Any bytes of ``co_code`` to instructions and back, as the interpreter steps over them; nothing is checked.

`decode` refuses what no compiler would write. Here such code can be looked at, and cut:

1. EXTENDED_ARG are folded into the instruction behind them; at the end of the code they are instructions of their own.
2. As many caches belong to an opcode as this version says, or as there are left. What is no opcode has none.

So joined again, the instructions are the same bytes, but for an odd last byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["RawInstruction", "join_code", "prefixes_for", "split_code"]


class RawInstruction(NamedTuple):
    """One instruction as it is stored."""

    start: int  #: offset in bytes, of the first EXTENDED_ARG if there is one
    opcode: int
    arg: int  #: the whole operand
    prefixes: int  #: how many EXTENDED_ARG there are
    caches: bytes  #: what stands where the caches are

    @property
    def end(self) -> int:
        """Offset behind its caches, in bytes."""
        return self.start + 2 + 2 * self.prefixes + len(self.caches)


def split_code(code: bytes) -> list[RawInstruction]:
    """The instructions of any bytes of code.

    >>> [(each.start, each.arg) for each in split_code(bytes([CURRENT.extended_arg, 1, CURRENT.nop, 2]))]
    [(0, 258)]
    """
    instructions: list[RawInstruction] = []
    stop = len(code) & ~1
    start = at = arg = 0
    while at < stop:
        opcode = code[at]
        arg = arg << 8 | code[at + 1]
        at += 2
        if opcode == CURRENT.extended_arg and at < stop:
            continue
        if opcode == CURRENT.extended_arg:
            instructions += [RawInstruction(place, opcode, code[place + 1], 0, b"") for place in range(start, stop, 2)]
            break
        behind = min(at + 2 * CURRENT.caches[opcode], stop)
        instructions.append(RawInstruction(start, opcode, arg, (at - start) // 2 - 1, code[at:behind]))
        start = at = behind
        arg = 0
    return instructions


def prefixes_for(arg: int) -> int:
    """How many EXTENDED_ARG an operand needs: neither too few nor, as debug builds demand, too many.

    >>> [prefixes_for(arg) for arg in (0, 255, 256, 65536)]
    [0, 0, 1, 2]
    """
    return (arg > 0xFF) + (arg > 0xFFFF) + (arg > 0xFFFFFF)


def join_code(instructions: Iterable[RawInstruction]) -> bytes:
    """The bytes of instructions, whatever their `start` says.

    >>> join_code([RawInstruction(0, CURRENT.nop, 258, 1, b"")]) == bytes([CURRENT.extended_arg, 1, CURRENT.nop, 2])
    True
    """
    parts: list[bytes] = []
    for _, opcode, arg, prefixes, caches in instructions:
        *high, low = arg.to_bytes(prefixes + 1, "big")
        parts += [bytes((CURRENT.extended_arg, byte)) for byte in high]
        parts += bytes((opcode, low)), caches
    return b"".join(parts)
