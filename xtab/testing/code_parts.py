"""Code as it stands, checked by nobody: what the pages of the verifier's rules, and tests, are written with.

`assemble` refuses most broken code; these write it all the same. What they make is not to be run.
"""

from __future__ import annotations

from itertools import accumulate
from operator import le
from typing import TYPE_CHECKING

from xtab.format.exception_table import ExceptionTableEntry, assemble_exception_table
from xtab.format.locations import Location, LocationEntry, assemble_location_table
from xtab.format.opcodes import CURRENT
from xtab.format.units import RawInstruction, join_code, prefixes_for, split_code

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xtab.analysis.verify.parts import CodeParts

    Line = tuple[str, int | str] | str
    Labelled = tuple[str, str, str, int, bool]

__all__ = ["find", "swap", "with_code", "with_instructions"]

_CONDITIONAL = "POP_JUMP_IF_"


def find(parts: CodeParts, name: str, which: int = 0) -> RawInstruction:
    """The first instruction of that name, or another (`which`, from 0; -1 is the last), with its place and operand.

    Raises:
        ValueError: there is no such instruction.

    >>> from xtab import CodeParts
    >>> find(CodeParts.of(lambda x, y: x is y), "RESUME").arg
    0
    """
    found = [one for one in split_code(parts.code) if CURRENT.name[one.opcode] == name]
    if not -len(found) <= which < len(found):
        raise ValueError(f"expected {name} number {which}, but found {len(found)} of them")
    return found[which]


def swap(parts: CodeParts, old: str, new: str, arg: int | None = None, which: int = 0) -> CodeParts:
    """The parts with another opcode, and with `arg` as the operand where it is given, in the place of an instruction.

    Args:
        parts: what to change.
        old: name of the instruction that goes.
        new: name of the one that comes; it needs as many caches.
        arg: its operand, below 256; None: that of the old one.
        which: which `old`, from 0; -1 is the last.

    Raises:
        ValueError: there is no such instruction, or the new one isn't as long.

    >>> from xtab import CodeParts
    >>> parts = CodeParts.of(lambda x, y: x is y)
    >>> find(swap(parts, "IS_OP", "COPY", 1), "COPY").start == find(parts, "IS_OP").start
    True
    """
    there = find(parts, old, which)
    number = CURRENT.number[new]
    if CURRENT.caches[number] != CURRENT.caches[there.opcode]:
        raise ValueError(f"expected an opcode with as many caches as {old}, but found {new}")
    at = there.start + 2 * there.prefixes
    operand = parts.code[at + 1] if arg is None else arg
    return parts._replace(code=parts.code[:at] + bytes((number, operand)) + parts.code[at + 2 :])


def with_code(parts: CodeParts, code: bytes) -> CodeParts:
    """The parts with other bytes of code, all of it on the first line, and no exception table.

    >>> from xtab import CodeParts
    >>> with_code(CodeParts.of(lambda: 0), b"").code
    b''
    """
    line = parts.firstlineno
    entry = LocationEntry(0, len(code), Location(line, line, 0, 1))
    table = assemble_location_table([entry], line) if code else b""
    return parts._replace(code=code, linetable=table, exceptiontable=b"")


def with_instructions(
    parts: CodeParts, lines: Iterable[Line], entries: Iterable[Labelled] = (), stacksize: int = 16
) -> CodeParts:
    """The parts with these instructions, as they stand; caches and EXTENDED_ARG are added.

    Args:
        parts: what to change.
        lines: ``("LOAD_CONST", 0)`` is an instruction, ``"again"`` a label, and ``("JUMP_BACKWARD", "again")`` leads to
            it. Conditional jumps have the names of 3.12 and later. What begins with a question mark, as in
            ``("?TO_BOOL", 0)``, is left out where the version hasn't got it.
        entries: of the exception table, in any order: (label of the start, label of the end, label of the handler,
            depth, lasti).
        stacksize: what becomes co_stacksize.

    >>> from xtab import CodeParts
    >>> lines = [("RESUME", 0), "again", ("NOP", 0), ("JUMP_BACKWARD", "again")]
    >>> find(with_instructions(CodeParts.of(lambda: 0), lines), "NOP").arg
    0
    """
    names, labels = _read(lines)
    opcodes = [CURRENT.number[name] for name, _ in names]
    prefixes = [0] * len(names)
    while True:
        sizes = (1 + count + CURRENT.caches[op] for op, count in zip(opcodes, prefixes, strict=True))
        places = list(accumulate(sizes, initial=0))
        args = [
            arg if isinstance(arg, int) else _distance(op, places[index + 1], places[labels[arg]])
            for index, (op, (_, arg)) in enumerate(zip(opcodes, names, strict=True))
        ]
        needed = [prefixes_for(arg) for arg in args]
        if all(map(le, needed, prefixes)):
            break
        prefixes = list(map(max, needed, prefixes))
    rows = zip(opcodes, args, prefixes, strict=True)
    code = join_code(RawInstruction(0, op, arg, count, bytes(2 * CURRENT.caches[op])) for op, arg, count in rows)
    place = {label: 2 * places[index] for label, index in labels.items()}
    table = assemble_exception_table(
        [
            ExceptionTableEntry(place[start], place[end], place[target], depth, lasti)
            for start, end, target, depth, lasti in entries
        ]
    )
    return with_code(parts, code)._replace(exceptiontable=table, stacksize=stacksize)


def _read(lines: Iterable[Line]) -> tuple[list[tuple[str, int | str]], dict[str, int]]:
    """Instructions by the names of this version, and label -> index of the instruction behind it."""
    names: list[tuple[str, int | str]] = []
    labels: dict[str, int] = {}
    for line in lines:
        if isinstance(line, str):
            labels[line] = len(names)
            continue
        name, arg = line
        if name.startswith("?"):
            name = name[1:]
            if name not in CURRENT.number:
                continue
        if name.startswith(_CONDITIONAL) and name not in CURRENT.number:
            name = "POP_JUMP_FORWARD_IF_" + name.removeprefix(_CONDITIONAL)
        names.append((name, arg))
    return names, labels


def _distance(opcode: int, end: int, target: int) -> int:
    return end - target if CURRENT.distance[opcode] == 2 else target - end
