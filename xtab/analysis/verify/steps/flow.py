"""Iteration, generators and jumps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify.kinds import (
    GENERATOR,
    INDEX,
    ITER,
    LEFT,
    NONE,
    NULL,
    Value,
)
from xtab.analysis.verify.machine import Fault
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.analysis.verify.machine import Machine
    from xtab.analysis.verify.signatures import OpcodeStep

__all__ = ["STEPS"]

_ITERATOR = CURRENT.iterator_slots


def _get_iter_in_two(machine: Machine, _: int) -> None:
    """The iterator, or the list or tuple itself, and on top of it where in that the iteration is."""
    machine.need(1)
    value = machine.object(1)
    origin = machine.index
    stack = machine.stack
    for place, other in enumerate(stack):  # what is left of an older round must not be mixed up with this one
        if other.detail == origin and other.kinds & (ITER | INDEX):
            stack[place] = Value(other.kinds, None, other.borrowed)
    stack[-1:] = [Value(ITER, origin, value.borrowed), Value(NULL | INDEX, origin)]


def _iterator(machine: Machine, above: int) -> None:
    """Check the iterator that lies under `above` values."""
    machine.need(above + _ITERATOR)
    place = above + _ITERATOR
    value = machine.stack[-place]
    if value.kinds & ~ITER:
        machine.wrong(place, ITER, "iter")
    if _ITERATOR > 1:
        _pair(machine, above)


def _pair(machine: Machine, above: int) -> None:
    index, value = machine.stack[-above - 1], machine.stack[-above - 2]
    if value == GENERATOR and index.kinds == NULL:
        return
    if index.kinds & ~(NULL | INDEX):
        machine.wrong(above + 1, NULL | INDEX, "index")
    if value.detail is None or value.detail != index.detail or type(value.detail) is not int:
        message = f"expected for {machine.opname()} the two values that one GET_ITER left, but found others"
        raise Fault("XT609", message, "leave both as GET_ITER put them")


def _for_iter(machine: Machine, _: int) -> None:
    _iterator(machine, 0)
    stack = machine.stack
    if CURRENT.jump_effect.get(machine.columns.opcodes[machine.index]):
        machine.jump_stack = stack[:-1]
    stack.append(LEFT["object"])


def _send(machine: Machine, _: int) -> None:
    machine.need(1 + _ITERATOR)
    machine.object(1)
    stack = machine.stack
    machine.object(1 + _ITERATOR)
    if _ITERATOR > 1 and stack[-2].kinds & ~NULL:
        _pair(machine, 1)
    if CURRENT.jump_effect.get(machine.columns.opcodes[machine.index]):
        machine.jump_stack = [*stack[:-2], LEFT["object"]]
    stack[-1] = LEFT["object"]


def _yield(machine: Machine, _: int) -> None:
    machine.need(1)
    machine.object(1)
    following = machine.index + 1
    if machine.columns.args[following] & 3 > 1:  # delegates: throw() and close() find the other generator on the stack
        machine.need(1 + _ITERATOR)
        machine.object(1 + _ITERATOR)
    machine.stack[-1] = LEFT["object"]


def _jump_or_pop(machine: Machine, _: int) -> None:
    machine.need(1)
    machine.object(1)
    machine.jump_stack = machine.stack.copy()
    del machine.stack[-1]


def _jump_if_none(machine: Machine, *, jumps_on_none: bool) -> None:
    """What was copied right before is known to be None on one way, and not to be on the other."""
    machine.need(1)
    machine.object(1)
    stack = machine.stack
    del stack[-1]
    if machine.copied is None or machine.copied[1] >= len(stack):
        return
    before, opcodes = machine.index - 1, machine.columns.opcodes
    while opcodes[before] == CURRENT.nop and before > machine.copied[0]:
        before -= 1
    if before != machine.copied[0]:
        return
    place = machine.copied[1]
    value = stack[place]
    if not value.kinds & NONE or not value.kinds & ~NONE:
        return
    other = stack.copy()
    stack[place] = Value(value.kinds & ~NONE if jumps_on_none else NONE, None, value.borrowed)
    other[place] = Value(NONE if jumps_on_none else value.kinds & ~NONE, None, value.borrowed)
    machine.jump_stack = other


def _on_none(machine: Machine, _: int) -> None:
    _jump_if_none(machine, jumps_on_none=True)


def _on_not_none(machine: Machine, _: int) -> None:
    _jump_if_none(machine, jumps_on_none=False)


STEPS: dict[str, OpcodeStep] = {
    "FOR_ITER": _for_iter,
    **({"GET_ITER": _get_iter_in_two} if _ITERATOR > 1 else {}),
    "SEND": _send,
    "YIELD_VALUE": _yield,
    "JUMP_IF_FALSE_OR_POP": _jump_or_pop,
    "JUMP_IF_TRUE_OR_POP": _jump_or_pop,
    "POP_JUMP_IF_NONE": _on_none,
    "POP_JUMP_FORWARD_IF_NONE": _on_none,
    "POP_JUMP_BACKWARD_IF_NONE": _on_none,
    "POP_JUMP_IF_NOT_NONE": _on_not_none,
    "POP_JUMP_FORWARD_IF_NOT_NONE": _on_not_none,
    "POP_JUMP_BACKWARD_IF_NOT_NONE": _on_not_none,
}
