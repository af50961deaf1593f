"""The stack itself, constants, collections, comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify.kinds import (
    ACCEPTED,
    CELL,
    EXCS,
    INT,
    INTERPOLATION,
    LASTI,
    LEFT,
    LIST,
    OBJECT,
    STR,
    TUPLE,
    Value,
    words_for,
)
from xtab.analysis.verify.machine import COPIED_BOTH, Fault, copy_of
from xtab.analysis.verify.signatures import step_of
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.analysis.verify.machine import Machine
    from xtab.analysis.verify.signatures import OpcodeStep

__all__ = ["STEPS", "adds_to"]

_MAYBE_FIRST = CURRENT.null_first  # whether NULL, or self, lies under the callable


def _copy(machine: Machine, arg: int) -> None:
    machine.need(arg)
    accepted = OBJECT | LASTI
    stack = machine.stack
    value = stack[-arg]
    if value.kinds & ~accepted:
        machine.wrong(arg, accepted, "object")
    copied = copy_of(value)
    if value.kinds & COPIED_BOTH:
        stack[-arg] = copied
    machine.copied = machine.index, len(stack) - arg
    stack.append(copied)


def _swap(machine: Machine, arg: int) -> None:
    machine.need(arg)
    stack = machine.stack
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


def _load_const(machine: Machine, arg: int) -> None:
    machine.stack.append(machine.constant(arg))


_COMMON = {"None": LEFT["none"], "True": LEFT["bool"], "False": LEFT["bool"], "''": LEFT["str"]}


def _load_common_constant(machine: Machine, arg: int) -> None:
    word = CURRENT.words[machine.columns.opcodes[machine.index]][arg]
    machine.stack.append(_COMMON.get(word, LEFT["object"]))


def _compare(machine: Machine, arg: int) -> None:
    machine.need(2)
    machine.object(1)
    machine.object(2)
    ints = machine.stack[-1].kinds == machine.stack[-2].kinds == INT
    machine.stack[-2:] = [LEFT["bool"] if arg & CURRENT.comparison_is_bool or ints else LEFT["object"]]


def _build_tuple(machine: Machine, arg: int) -> None:
    machine.need(arg)
    stack = machine.stack
    first = len(stack) - arg
    for place in range(arg, 0, -1):
        machine.object(place)
    items = tuple(value.detail if value.kinds == CELL and value.detail else value.kinds for value in stack[first:])
    stack[first:] = [Value(TUPLE, items)]


def _build_const_key_map(machine: Machine, arg: int) -> None:
    machine.need(arg + 1)
    keys = machine.stack[-1]
    if keys.kinds & ~TUPLE:
        machine.wrong(1, TUPLE, "tuple")
    if keys.detail is None or len(keys.detail) != arg:
        found = "others" if keys.detail is None else f"{len(keys.detail)}"
        message = f"expected a tuple of {arg} keys for BUILD_CONST_KEY_MAP, but found {found}"
        raise Fault("XT602", message, "load a constant tuple with as many keys as there are values")
    for place in range(arg + 1, 1, -1):
        machine.object(place)
    machine.stack[-arg - 1 :] = [LEFT["own"]]


def _build_template(machine: Machine, _: int) -> None:
    machine.need(2)
    strings, interpolations = machine.stack[-2], machine.stack[-1]
    for value, kind, word in ((strings, STR, "strings"), (interpolations, INTERPOLATION, "interpolations")):
        if value.kinds != TUPLE or value.detail is None or any(item != kind for item in value.detail):
            message = (
                f"expected a tuple of {word} for BUILD_TEMPLATE, but found {words_for(value.kinds)} of other things"
            )
            raise Fault(
                "XT602", message, "load the strings as a constant, and build the other tuple from BUILD_INTERPOLATION"
            )
    if len(strings.detail) != len(interpolations.detail) + 1:
        count = len(interpolations.detail)
        message = f"expected {count + 1} strings around {count} interpolations, but found {len(strings.detail)}"
        raise Fault("XT602", message, "there is a string before, between and behind the interpolations, empty or not")
    machine.stack[-2:] = [LEFT["object"]]


def _unpack_ex(machine: Machine, arg: int) -> None:
    machine.need(1)
    count = (arg & 0xFF) + 1 + (arg >> 8)
    machine.object(1)
    machine.grow(count - 1)
    machine.stack[-1:] = [LEFT["object"]] * count


def adds_to(word: str, taken: int, *, names_callable: bool) -> OpcodeStep:
    """The step of an instruction that puts what it takes in a collection further down, one of the kind `word`."""
    accepted = ACCEPTED[word]

    def step(machine: Machine, arg: int) -> None:
        # where keywords of a call come twice, the message names the callable, which must be there
        machine.need(taken + arg + ((2 if _MAYBE_FIRST else 3) if names_callable else 0))
        stack = machine.stack
        items = [machine.object(place) for place in range(taken, 0, -1)]
        value = stack[-taken - arg]
        if value.kinds & ~accepted:
            machine.wrong(taken + arg, accepted, word)
        if value.kinds & EXCS and (machine.opname() != "LIST_APPEND" or items[0].detail not in ("raised", "rest")):
            stack[-taken - arg] = Value(value.kinds & ~EXCS | LIST)
        if names_callable:
            machine.object(taken + arg + (2 if _MAYBE_FIRST else 3))
        del stack[-taken:]

    return step


def _intrinsics(opcode: int) -> OpcodeStep:
    words = CURRENT.words[opcode]
    steps = [step_of(CURRENT.intrinsics[word], opcode) if word in CURRENT.intrinsics else None for word in words]

    def step(machine: Machine, arg: int) -> None:
        known = steps[arg]
        if known is not None:
            known(machine, arg)

    return step


STEPS: dict[str, OpcodeStep] = {
    "COPY": _copy,
    "SWAP": _swap,
    "LOAD_CONST": _load_const,
    "LOAD_COMMON_CONSTANT": _load_common_constant,
    "COMPARE_OP": _compare,
    "BUILD_TUPLE": _build_tuple,
    "BUILD_CONST_KEY_MAP": _build_const_key_map,
    "BUILD_TEMPLATE": _build_template,
    "UNPACK_EX": _unpack_ex,
    **{
        name: _intrinsics(CURRENT.number[name])
        for name in ("CALL_INTRINSIC_1", "CALL_INTRINSIC_2")
        if name in CURRENT.number
    },
}
