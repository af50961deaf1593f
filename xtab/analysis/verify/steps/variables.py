"""Locals and cells: whether they are bound, whether they hold a cell, who borrows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify.kinds import (
    CELL,
    DICT,
    INT,
    ITER,
    LEFT,
    NULL,
    OBJECT,
    OTHER,
    TUPLE,
    Value,
    words_for,
)
from xtab.analysis.verify.machine import Fault
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.analysis.verify.machine import Machine
    from xtab.analysis.verify.signatures import OpcodeStep

__all__ = ["STEPS"]


def _load(machine: Machine, variable: int, *, borrow: bool = False, check: bool = True) -> None:
    bit = 1 << variable
    if not machine.bound & bit:
        if check:
            message = f"expected that {machine.name(variable)!r} is bound here, but found a way on which it is not"
            raise Fault("XT604", message, "store it on every way, or read it with LOAD_FAST_CHECK, which raises")
        machine.bound |= bit  # it has raised otherwise
    kinds = CELL if machine.cells & bit else OTHER
    if not variable:
        kinds = machine.first_argument or kinds
    if kinds == OTHER and variable in machine.kept:
        kinds = machine.kept[variable]
    if borrow:
        machine.borrowed |= bit
    name = machine.name(variable) if kinds == CELL and variable in machine.kept else None
    machine.stack.append(Value(kinds, name, bit) if borrow else Value(kinds, name) if name else _LOADED[kinds])


_LOADED = {kinds: Value(kinds) for kinds in (CELL, OTHER, INT, ITER, TUPLE, DICT)}


def _store(machine: Machine, variable: int) -> None:
    machine.need(1)
    value = machine.stack[-1]
    kinds, bit = value.kinds, 1 << variable
    if kinds & ~(OBJECT | NULL):
        machine.wrong(1, OBJECT | NULL, "maybe")
    if value.borrowed:
        bits = range(value.borrowed.bit_length())
        lenders = ", ".join(repr(machine.name(bit)) for bit in bits if value.borrowed >> bit & 1)
        message = f"expected a value with a reference of its own to store, but found one borrowed from {lenders}"
        raise Fault("XT612", message, "load it with LOAD_FAST, which counts a reference")
    if machine.free & bit and kinds != CELL:
        message = (
            f"expected a cell to store in the free variable {machine.name(variable)!r}, but found {words_for(kinds)}"
        )
        raise Fault("XT605", message, "STORE_DEREF stores in the cell")
    if machine.first_cell & machine.cells & bit and kinds != CELL:
        message = f"expected a cell to store in the first argument, which is one, but found {words_for(kinds)}"
        raise Fault("XT605", message, "STORE_DEREF stores in the cell; super() looks for it")
    _check_kept(machine, variable)
    del machine.stack[-1]
    _bind(machine, variable, bound=not kinds & NULL, cell=kinds == CELL and bool(machine.with_cells & bit))


def _check_kept(machine: Machine, variable: int) -> None:
    """What the compiler keeps in variables that no source can name is trusted to be of its kind."""
    kind = machine.kept.get(variable)
    if kind and machine.stack[-1].kinds & ~(kind | CELL):
        machine.wrong(1, kind, "tuple")


def _bind(machine: Machine, variable: int, *, bound: bool, cell: bool) -> None:
    bit = 1 << variable
    machine.forget_borrowed(variable)
    machine.bound = machine.bound | bit if bound else machine.bound & ~bit
    machine.cells = machine.cells | bit if cell else machine.cells & ~bit


def _unbind(machine: Machine, variable: int) -> None:
    if machine.free >> variable & 1:
        name = machine.name(variable)
        message = f"expected that the free variable {name!r} keeps its cell, but found that it is taken away"
        raise Fault("XT605", message, "DELETE_DEREF empties the cell")
    _bind(machine, variable, bound=False, cell=False)


def _load_and_clear(machine: Machine, variable: int) -> None:
    bit = 1 << variable
    kinds = CELL if machine.cells & bit else OTHER
    machine.stack.append(Value(kinds if machine.bound & bit else kinds | NULL))
    _unbind(machine, variable)


def _load_pair(machine: Machine, arg: int) -> None:
    _load(machine, arg >> 4)
    _load(machine, arg & 15)


def _borrow_pair(machine: Machine, arg: int) -> None:
    _load(machine, arg >> 4, borrow=True)
    _load(machine, arg & 15, borrow=True)


def _store_load(machine: Machine, arg: int) -> None:
    _store(machine, arg >> 4)
    _load(machine, arg & 15)


def _store_pair(machine: Machine, arg: int) -> None:
    _store(machine, arg >> 4)
    _store(machine, arg & 15)


def _cell(machine: Machine, variable: int) -> None:
    if not machine.cells >> variable & 1:
        message = (
            f"expected a cell in {machine.name(variable)!r} for {machine.opname()}, but found that there may be none"
        )
        raise Fault("XT605", message, "MAKE_CELL makes it, COPY_FREE_VARS takes those of the closure; on every way")


def _make_cell(machine: Machine, variable: int) -> None:
    if machine.name(variable) not in machine.parts.cellvars:
        message = f"expected one of co_cellvars for MAKE_CELL, but found {machine.name(variable)!r}"
        raise Fault("XT605", message, "put the name into co_cellvars")
    _bind(machine, variable, bound=True, cell=True)


def _copy_free_vars(machine: Machine, _: int) -> None:
    machine.bound |= machine.free
    machine.cells |= machine.free


def _load_deref(machine: Machine, variable: int) -> None:
    _cell(machine, variable)
    machine.stack.append(_LOADED[machine.kept.get(variable, OTHER)])


def _load_closure(machine: Machine, variable: int) -> None:
    _cell(machine, variable)
    machine.stack.append(Value(CELL, machine.name(variable)) if variable in machine.kept else LEFT["cell"])


def _store_deref(machine: Machine, variable: int) -> None:
    machine.need(1)
    _cell(machine, variable)
    machine.object(1)
    _check_kept(machine, variable)
    del machine.stack[-1]


def _load_from_dict_or_deref(machine: Machine, variable: int) -> None:
    machine.need(1)
    _cell(machine, variable)
    machine.object(1)
    machine.stack[-1] = _LOADED[machine.kept.get(variable, OTHER)]


STEPS: dict[str, OpcodeStep] = {
    "LOAD_FAST": lambda machine, arg: _load(machine, arg, check=not CURRENT.locals_are_checked),
    "LOAD_FAST_CHECK": lambda machine, arg: _load(machine, arg, check=False),
    "LOAD_FAST_BORROW": lambda machine, arg: _load(machine, arg, borrow=True),
    "LOAD_FAST_AND_CLEAR": _load_and_clear,
    "LOAD_FAST_LOAD_FAST": _load_pair,
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": _borrow_pair,
    "STORE_FAST": _store,
    "STORE_FAST_LOAD_FAST": _store_load,
    "STORE_FAST_STORE_FAST": _store_pair,
    "DELETE_FAST": _unbind,
    "MAKE_CELL": _make_cell,
    "COPY_FREE_VARS": _copy_free_vars,
    "LOAD_DEREF": _load_deref,
    "LOAD_CLASSDEREF": _load_deref,
    "LOAD_CLOSURE": _load_closure,
    "STORE_DEREF": _store_deref,
    "DELETE_DEREF": _cell,
    "LOAD_FROM_DICT_OR_DEREF": _load_from_dict_or_deref,
}
