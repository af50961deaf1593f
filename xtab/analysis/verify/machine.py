"""`Machine`: the state while one path through the code is followed, and how an instruction says what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from xtab.analysis.verify.kinds import (
    DICT,
    EXCS,
    FUNCTION,
    INDEX,
    INT,
    ITER,
    KEPT,
    LASTI,
    NULL,
    OBJECT,
    OTHER,
    SELF,
    STALE,
    UNFINISHED,
    Value,
    constant,
    wants_iterator,
    words_for,
)
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.analysis.verify.columns import Columns
    from xtab.analysis.verify.parts import CodeParts

__all__ = ["Fault", "Machine", "copy_of"]


class Fault(Exception):  # noqa: N818  # no error of xtab's: it never leaves the walk
    """An instruction doesn't find what it trusts to find."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(code, message, hint)
        self.code, self.message, self.hint = code, message, hint


_RULE_OF_WORD = {
    "bool": ("XT603", "put TO_BOOL before the jump, or set the flag of COMPARE_OP that makes it a bool"),
    "exc": ("XT606", "a handler's stack ends with the exception: load nothing over it, store nothing in its place"),
    "caught": ("XT606", "a handler's stack ends with the exception: load nothing over it, store nothing in its place"),
    "prev": ("XT607", "POP_EXCEPT takes what PUSH_EXC_INFO left under the exception; COPY or SWAP it to the top"),
    "lasti": ("XT305", "give the entry of this handler lasti, and count the operand from the exception down"),
    "iter": ("XT609", "GET_ITER makes an iterator of an object"),
    "index": ("XT609", "an iterator takes two slots here: leave both as GET_ITER put them"),
    "strs": ("XT602", "load a constant tuple of strings"),
    "cells": ("XT611", "build the closure with BUILD_TUPLE from loaded cells"),
}
_ANY_WORD = ("XT602", "the interpreter doesn't check it")


class Machine:
    """The state before an instruction, and after its step, behind it."""

    __slots__ = (
        "_constants",
        "_names",
        "borrowed",
        "bound",
        "cells",
        "columns",
        "copied",
        "first_argument",
        "first_cell",
        "free",
        "index",
        "jump_stack",
        "kept",
        "late_cells",
        "level",
        "parts",
        "room",
        "stack",
        "with_cells",
    )  # fmt: skip

    def __init__(self, parts: CodeParts, columns: Columns) -> None:
        self.parts = parts
        self.columns = columns
        self.stack: list[Value] = []
        self.bound = 0  #: locals that are bound for sure, a set of bits
        self.cells = 0  #: locals that hold a cell for sure
        self.level = 0  #: exceptions that are being handled: PUSH_EXC_INFO less POP_EXCEPT
        self.borrowed = 0  #: locals that something on the stack may borrow from
        self.index = 0  #: of the instruction
        self.jump_stack: list[Value] | None = None  #: the stack at the jump's target, where it is another one
        self.copied: tuple[int, int] | None = None  #: (COPY's index, place of what it copied)
        self.room = parts.stacksize
        self._names = names = parts.variables
        self.free = ((1 << len(parts.freevars)) - 1) << (len(names) - len(parts.freevars))  #: the free variables
        shared = {*parts.cellvars, *parts.freevars}
        self.with_cells = sum(1 << number for number, name in enumerate(names) if name in shared)  #: a set of bits
        self.first_cell = int(bool(parts.arguments) and parts.varnames[0] in parts.cellvars)  #: 1 if local 0 has a cell
        #: (index, bit) of the first MAKE_CELL of each variable, behind the prologue
        self.late_cells = _late_cells(columns, self.free)
        renames = _imports_star(columns)  # a module may have any names, even those that no source can name
        #: variable -> kind
        self.kept = {} if renames else {number: KEPT[name] for number, name in enumerate(names) if name in KEPT}
        #: kind of local 0 where callers are trusted, else 0
        self.first_argument = 0 if renames else _trusted_argument(parts, columns)
        self._constants: dict[int, Value] = {}

    def constant(self, index: int) -> Value:
        """What is known of a constant."""
        known = self._constants.get(index)
        if known is None:
            known = self._constants[index] = constant(self.parts.consts[index])
        return known

    def name(self, variable: int) -> str:
        """How a local, cell or free variable is called."""
        return self._names[variable]

    def opname(self) -> str:
        """The instruction's name."""
        return str(CURRENT.name[self.columns.opcodes[self.index]])

    def object(self, place: int) -> Value:
        """The value at `place` from the top, which must be an object."""
        value = self.stack[-place]
        if value.kinds & ~OBJECT:
            self.wrong(place, OBJECT, "object")
        return value

    def need(self, count: int) -> None:
        """Make sure that there are so many values on the stack."""
        if len(self.stack) < count:
            hint = "some way that leads here puts less on the stack; `xtab verify` shows the depths"
            message = f"expected {count} values or more on the stack for {self.opname()}, but found {len(self.stack)}"
            raise Fault("XT401", message, hint)

    def grow(self, count: int) -> None:
        """Make sure that so many more values don't burst the stack by far: counts in operands can be enormous."""
        if len(self.stack) + count > self.room + 1:
            self.too_small(len(self.stack) + count)

    def too_small(self, depth: int) -> NoReturn:
        """Refuse co_stacksize."""
        message = f"expected co_stacksize to be {depth} or more, but found {self.parts.stacksize}"
        raise Fault("XT403", message, "stack_size() computes it, and assemble() sets it")

    def wrong(self, place: int, accepted: int, word: str) -> NoReturn:
        """Refuse the value at `place`, counted from the top of the stack (1 is the top)."""
        value = self.stack[-place]
        bad = value.kinds & ~accepted
        where = f"{place} from the top of the stack" if place > 1 else "on top of the stack"
        wanted = "a tuple of strings" if word == "strs" else words_for(accepted & ~(SELF | STALE))
        message = f"expected {wanted} for {self.opname()} {where}, but found "
        in_with = self.opname() == "WITH_EXCEPT_START"
        for kind, rule, found, hint in _TELLING:
            if bad & kind:
                told = words_for(value.kinds) if value.kinds != kind else found
                raise Fault("XT608" if kind == NULL and in_with else rule, message + told, hint)
        rule, hint = _RULE_OF_WORD.get(word, _ANY_WORD)
        if word == "lasti" and in_with:
            rule, hint = "XT608", "the stack must be as the with statement left it, with lasti and the exception on top"
        raise Fault(rule, message + words_for(value.kinds), hint)

    def forget_borrowed(self, variable: int) -> None:
        """The local gets another value: what borrowed from it must not be used any more."""
        bit = 1 << variable
        if not self.borrowed & bit:
            return
        self.borrowed &= ~bit
        stack = self.stack
        for place, value in enumerate(stack):
            if value.borrowed & bit:
                stack[place] = Value(value.kinds | STALE, value.detail, value.borrowed)


_TELLING = (
    (NULL, "XT601", "NULL", "only calls, and what saves an unbound local, may have NULL on the stack"),
    (
        LASTI, "XT307", "a lasti",
        "from 3.14 on it is no object: pop it, or leave it to RERAISE; anything else crashes the interpreter",
    ),
    (
        STALE, "XT612", "a stale reference",
        "load the local with LOAD_FAST, which counts, or store it after the value is used",
    ),
    (
        UNFINISHED, "XT611", "a function without its closure",
        "give it one with SET_FUNCTION_ATTRIBUTE 8 before it is used",
    ),
    (
        INDEX, "XT609", "the place of an iteration",
        "an iterator takes two slots here: leave both to FOR_ITER and POP_ITER",
    ),
)  # fmt: skip


def _late_cells(columns: Columns, free: int) -> tuple[tuple[int, int], ...]:
    """CPython looks for a MAKE_CELL in what lies before an instruction to tell a cell from a value that is one.

    Not so with `free` variables, a set of bits, which have their cells from the start.
    """
    make_cell, begin = CURRENT.number["MAKE_CELL"], columns.opcodes.index(CURRENT.number["RESUME"])
    found: dict[int, int] = {}
    for index, (opcode, arg) in enumerate(zip(columns.opcodes, columns.args, strict=True)):
        if opcode == make_cell and not free >> arg & 1:
            found.setdefault(arg, index)
    return tuple((index, 1 << arg) for arg, index in found.items() if index > begin)


def _imports_star(columns: Columns) -> bool:
    star, intrinsic = CURRENT.number.get("IMPORT_STAR"), CURRENT.number.get("CALL_INTRINSIC_1")
    return any(
        opcode == star or (opcode == intrinsic and CURRENT.words[opcode][arg] == "INTRINSIC_IMPORT_STAR")
        for opcode, arg in zip(columns.opcodes, columns.args, strict=True)
    )


def _trusted_argument(parts: CodeParts, columns: Columns) -> int:
    """The kind of local 0 where callers are trusted, else 0: an iterator as ``.0``, an int as a format."""
    kind = 0
    if wants_iterator(parts.argcount, parts.varnames, parts.flags, parts.code):
        kind = ITER
    elif parts.argcount == 1 and (parts.varnames[0] == ".format" or (parts.varnames[0], parts.name) == _ANNOTATE):
        kind = INT
    if not kind:
        return 0
    changed = {"STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR", "MAKE_CELL"}
    pairs = {"STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST"}
    for opcode, arg in zip(columns.opcodes, columns.args, strict=True):
        name = CURRENT.name[opcode]
        if (name in changed and not arg) or (name in pairs and (not arg >> 4 or not arg & 15)):
            return 0
    return kind


_ANNOTATE = ("format", "__annotate__")

MOVES_ALONE = EXCS | FUNCTION | (ITER if CURRENT.iterator_slots > 1 else 0)
"""Kinds that hold only while there is one reference: a copy is some object."""
COPIED_BOTH = EXCS | FUNCTION | DICT
"""Kinds of which less is known as soon as there is a copy: others may change it."""


def copy_of(value: Value) -> Value:
    """What COPY puts on the stack."""
    kinds = value.kinds
    if kinds & MOVES_ALONE:
        kinds = kinds & ~MOVES_ALONE | OTHER
    detail = value.detail if kinds == value.kinds and value.detail not in ("raised", "own") else None
    return Value(kinds, detail, value.borrowed)
