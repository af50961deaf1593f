"""Instructions read from plain bytes, whatever these hold: what mutations aim with, and what findings are shown with.

Neither `dis` nor `xtab.decode` will do: they take a code object, and looking at one that no compiler made can crash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from xtab.errors import XtabError
from xtab.format.exception_table import (
    ExceptionTableEntry,
    assemble_exception_table,
    encode_varint,
    parse_exception_table,
)
from xtab.format.opcodes import CURRENT, OperandKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trees import Tree


class Unit(NamedTuple):
    """One instruction, its prefixes and caches included; offsets are in bytes."""

    begin: int  #: of the first prefix
    start: int  #: of the opcode itself
    end: int  #: of what comes behind the caches
    opcode: int
    arg: int

    @property
    def name(self) -> str:
        """The opcode's name, or its number."""
        return CURRENT.name[self.opcode] or f"<{self.opcode}>"

    @property
    def target(self) -> int | None:
        """Where the operand points to, for jumps and marks."""
        way = CURRENT.distance[self.opcode]
        return None if not way else self.end + 2 * self.arg if way == 1 else self.end - 2 * self.arg


def read_units(code: bytes) -> list[Unit]:
    """The instructions in some bytes; the last may reach beyond the end."""
    units = []
    begin = start = arg = 0
    while start + 1 < len(code):
        opcode, arg = code[start], arg << 8 | code[start + 1]
        if opcode == CURRENT.extended_arg:
            start += 2
            continue
        end = start + 2 * (CURRENT.units[opcode] or 1)
        units.append(Unit(begin, start, end, opcode, arg))
        begin, start, arg = end, end, 0
    return units


def write_unit(opcode: int, arg: int, caches: int | None = None) -> bytes:
    """The bytes of an instruction; `caches`: how many, if not as many as belong there."""
    high = (arg >> 8).to_bytes((arg.bit_length() + 7) // 8 - 1, "big") if arg > 255 else b""
    prefixes = b"".join(bytes((CURRENT.extended_arg, byte)) for byte in high)
    count = CURRENT.caches[opcode] if caches is None else caches
    return prefixes + bytes((opcode, arg & 255)) + bytes(2 * count)


def entries_of(tree: Tree) -> list[ExceptionTableEntry]:
    """The entries of an exception table that can be read, else none."""
    try:
        return parse_exception_table(tree.exceptiontable)
    except XtabError:
        return []


def write_entries(entries: Iterable[ExceptionTableEntry], *, raw: bool = False) -> bytes | None:
    """A table with these entries: as a compiler writes it, or (`raw`) in this order, unchecked; None: can't be."""
    try:
        if not raw:
            return assemble_exception_table(entries)
        return b"".join(
            encode_varint(start // 2, 128)
            + encode_varint((end - start) // 2)
            + encode_varint(target // 2)
            + encode_varint(depth << 1 | bool(lasti))
            for start, end, target, depth, lasti in entries
            if min(start, end - start, target, depth) >= 0
        )
    except XtabError:
        return None


def listing(tree: Tree) -> str:
    """The code as text, an instruction a line, then the exception table, the counts and the names."""
    lines = [f"{unit.begin:5} {unit.name:28}{_argument(tree, unit)}" for unit in read_units(tree.code)]
    lines += [f"  {e.start} to {e.end} -> {e.target} [{e.depth}]{' lasti' * e.lasti}" for e in entries_of(tree)]
    if tree.exceptiontable and not entries_of(tree):
        lines.append(f"  table {tree.exceptiontable.hex()}")
    counts = f"args {tree.argcount}/{tree.posonlyargcount}/{tree.kwonlyargcount} locals {tree.nlocals}"
    lines.append(f"  {counts} stack {tree.stacksize} flags {tree.flags:#x}")
    lines += [f"  {name} {value!r:.300}" for name, value in tree._asdict().items() if name.endswith(("names", "vars"))]
    return "\n".join(lines)


def _argument(tree: Tree, unit: Unit) -> str:
    """The operand, and what it stands for where that can be said."""
    if unit.target is not None:
        return f"{unit.arg} (to {unit.target})"
    index, kind = unit.arg >> CURRENT.flag_bits[unit.opcode], CURRENT.kind[unit.opcode]
    variables = [*tree.varnames, *(name for name in tree.cellvars if name not in tree.varnames), *tree.freevars]
    lists = {
        OperandKind.CONST: tree.consts,
        OperandKind.NAME: tree.names,
        OperandKind.LOCAL: variables,
        OperandKind.CELL: variables,
    }
    values = lists.get(kind, CURRENT.words.get(unit.opcode, ()))
    if kind == OperandKind.NONE:
        return f"{unit.arg}" if unit.arg else ""
    if index >= len(values):
        return f"{unit.arg}"
    value = values[index]
    shown = f"<code {value.qualname}>" if hasattr(value, "exceptiontable") else repr(value)
    return f"{unit.arg} ({shown:.60})"
