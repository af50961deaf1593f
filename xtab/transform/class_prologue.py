"""`with_class_facts`: the body of a class, made to say another qualified name and first line of its class.

A class body begins by storing what it is: ``__module__``, ``__qualname__`` and, from 3.13 on, ``__firstlineno__``, by
which `inspect.getsource` finds the class. The last two are constants in its code, so whoever moves the code moves them.

1. The prologue is found by its instructions, and only where it says what the code object says itself (`_stores`).
2. A constant that nothing else uses is exchanged in its place. Otherwise another is used, or appended; the old one goes
   if it was the last and nothing uses it any more (`_Constants`). So there and back again gives the same bytes.
3. Should the number of the constant need more or fewer EXTENDED_ARG, the body is decoded and assembled.

CPython source followed: ``Python/codegen.c``, `codegen_class_body` (up to 3.13 ``Python/compile.c``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xtab.format.code import CO_OPTIMIZED
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.format.units import join_code, prefixes_for, split_code
from xtab.model.assemble import assemble
from xtab.model.decode import decode
from xtab.model.instruction import Instruction
from xtab.model.tables import constant_key

if TYPE_CHECKING:
    from types import CodeType

    from xtab.format.units import RawInstruction

__all__ = ["with_class_facts"]

_LOAD_CONST = CURRENT.number["LOAD_CONST"]
_LOAD_SMALL_INT = CURRENT.number.get("LOAD_SMALL_INT")
_STORE_NAME = CURRENT.number["STORE_NAME"]
_LOAD_NAME = CURRENT.number["LOAD_NAME"]
_SMALL = range(256)


def with_class_facts(code: CodeType, qualname: str, first_line: int) -> CodeType:
    """The code, with other constants where it stores the qualified name and the first line of its class.

    Args:
        code: any code object; what is not the body of a class comes back as it is.
        qualname: of the class from now on.
        first_line: likewise.

    >>> module = compile("class C: pass", "example", "exec")
    >>> body = next(item for item in module.co_consts if hasattr(item, "co_code"))
    >>> "D" in with_class_facts(body, "D", 1).co_consts
    True
    """
    if code.co_flags & CO_OPTIMIZED or "__qualname__" not in code.co_names:
        return code
    instructions = split_code(code.co_code)
    facts = {"__qualname__": (code.co_qualname, qualname), "__firstlineno__": (code.co_firstlineno, first_line)}
    edits = {}
    for index, name, value in _stores(code, instructions):
        old, new = facts[name]
        if type(value) is type(old) and value == old != new:
            edits[index] = new
    if not edits:
        return code
    constants = _Constants(code, instructions)
    for index, value in edits.items():
        constants.exchange(index, value)
    if any(prefixes_for(instructions[index].arg) != instructions[index].prefixes for index in edits):
        return _assembled(code, {index: (instructions[index].opcode, edits[index]) for index in edits}, constants)
    return code.replace(co_code=join_code(instructions), co_consts=tuple(constants.values))


def _stores(code: CodeType, instructions: list[RawInstruction]) -> list[tuple[int, str, Any]]:
    """Step 1: where the prologue loads what it stores: index of the load, name, and value."""
    found: list[tuple[int, str, Any]] = []
    stored = {
        index: code.co_names[each.arg]
        for index, each in enumerate(instructions[:12])  # RESUME, cells, free variables; three loads and stores
        if each.opcode == _STORE_NAME and each.arg < len(code.co_names)
    }
    start = next((index for index, name in stored.items() if name == "__module__"), 0)
    if not start or instructions[start - 1].opcode != _LOAD_NAME:
        return found  # a module, say, that sets these names itself
    for index, name in ((start + 2, "__qualname__"), (start + 4, "__firstlineno__")):
        if stored.get(index) != name:
            break
        load = instructions[index - 1]
        if load.opcode == _LOAD_CONST and load.arg < len(code.co_consts):
            found.append((index - 1, name, code.co_consts[load.arg]))
        elif load.opcode == _LOAD_SMALL_INT:
            found.append((index - 1, name, load.arg))
    return found


class _Constants:
    """Step 2: the constants of a code object, and which instructions use them."""

    def __init__(self, code: CodeType, instructions: list[RawInstruction]) -> None:
        self.values: list[Any] = list(code.co_consts)
        self._instructions = instructions
        self._uses = [0] * len(self.values)
        for each in instructions:
            if CURRENT.kind[each.opcode] == OperandKind.CONST and each.arg < len(self._uses):
                self._uses[each.arg] += 1

    def exchange(self, index: int, value: Any) -> None:
        """Have the instruction at `index` load `value`."""
        load = self._instructions[index]
        if load.opcode == _LOAD_CONST and self._uses[load.arg] == 1:
            if load.arg + 1 < len(self.values):
                self.values[load.arg] = value
                return
            self.values.pop()
            self._uses.pop()
        elif load.opcode == _LOAD_CONST:
            self._uses[load.arg] -= 1
        if _LOAD_SMALL_INT is not None and isinstance(value, int) and value in _SMALL:
            self._instructions[index] = load._replace(opcode=_LOAD_SMALL_INT, arg=value)
        else:
            self._instructions[index] = load._replace(opcode=_LOAD_CONST, arg=self._number(value))

    def _number(self, value: Any) -> int:
        """The number of a constant, which is appended if it isn't there."""
        key = constant_key(value)
        number = next((at for at, each in enumerate(self.values) if constant_key(each) == key), len(self.values))
        if number == len(self.values):
            self.values.append(value)
            self._uses.append(0)
        self._uses[number] += 1
        return number


def _assembled(code: CodeType, edits: dict[int, tuple[int, Any]], constants: _Constants) -> CodeType:
    """Step 3."""
    body = decode(code)
    for index, (opcode, value) in edits.items():
        old = body.instructions[index]
        new = Instruction(CURRENT.name[opcode] or "LOAD_CONST", value)
        new.location, new.exn_tab_entry = old.location, old.exn_tab_entry
        body.instructions[index] = new
    made = assemble(body)
    return made.replace(co_consts=made.co_consts[: len(constants.values)])  # the last may have gone
