"""Exceptions that are being handled, and returns, which must not leave one behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify.kinds import EXC, LASTI, LEFT, NONE, PREV, Value, words_for
from xtab.analysis.verify.machine import Fault
from xtab.analysis.verify.signatures import step_of
from xtab.format.code import CO_ASYNC_GENERATOR
from xtab.format.opcodes import CURRENT
from xtab.format.opcodes.signatures import SIGNATURES

if TYPE_CHECKING:
    from xtab.analysis.verify.machine import Machine
    from xtab.analysis.verify.signatures import OpcodeStep

__all__ = ["STEPS"]

_EG_MATCH = step_of(SIGNATURES["CHECK_EG_MATCH"], CURRENT.number["CHECK_EG_MATCH"])


def _push_exc_info(machine: Machine, _: int) -> None:
    machine.need(1)
    if machine.stack[-1].kinds & ~EXC:
        machine.wrong(1, EXC, "exc")
    machine.stack[-1:] = [Value(PREV, machine.level), LEFT["exc"]]
    machine.level += 1


def _pop_except(machine: Machine, _: int) -> None:
    machine.need(1)
    value = machine.stack[-1]
    if value.kinds & ~PREV:
        machine.wrong(1, PREV, "prev")
    if not machine.level or value.detail != machine.level - 1:
        message = "expected what the last PUSH_EXC_INFO saved, but found what another one did"
        raise Fault("XT614", message, "end handlers in the order in which they began, the last one first")
    machine.level -= 1
    del machine.stack[-1]


def _check_eg_match(machine: Machine, arg: int) -> None:
    if not machine.level:
        message = "expected an exception that is being handled, but found that PUSH_EXC_INFO was not run"
        raise Fault("XT614", message, "what matches becomes the handled exception, here that of the caller")
    _EG_MATCH(machine, arg)


def _reraise(machine: Machine, arg: int) -> None:
    machine.need(1 + arg)
    if machine.stack[-1].kinds & ~EXC:
        machine.wrong(1, EXC, "exc")
    if arg and machine.stack[-1 - arg].kinds & ~LASTI:
        machine.wrong(1 + arg, LASTI, "lasti")
    del machine.stack[-1]


def _return(machine: Machine, _: int) -> None:
    machine.need(1)
    value = machine.object(1)
    del machine.stack[-1]
    _leave(machine, value)


def _return_const(machine: Machine, arg: int) -> None:
    _leave(machine, machine.constant(arg))


def _leave(machine: Machine, value: Value) -> None:
    if machine.stack:
        message = f"expected nothing on the stack under the value that is returned, but found {len(machine.stack)} more"
        raise Fault("XT404", message, "pop them first: debug builds abort, others leak them")
    if machine.level:
        message = f"expected that no exception is being handled any more, but found {machine.level}"
        raise Fault("XT614", message, "POP_EXCEPT ends a handler; else sys.exception() stays set in the caller")
    if machine.parts.flags & CO_ASYNC_GENERATOR and value.kinds != NONE:
        message = f"expected that an asynchronous generator returns None, but found {words_for(value.kinds)}"
        raise Fault("XT602", message, "it has no way to hand a value over at its end")


STEPS: dict[str, OpcodeStep] = {
    "PUSH_EXC_INFO": _push_exc_info,
    "POP_EXCEPT": _pop_except,
    "CHECK_EG_MATCH": _check_eg_match,
    "RERAISE": _reraise,
    "RETURN_VALUE": _return,
    "RETURN_CONST": _return_const,
}
