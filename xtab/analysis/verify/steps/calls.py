"""Calls and functions: the order of what is called, NULL or self, and arguments; what a function is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify.kinds import (
    ACCEPTED,
    CELL,
    CODE,
    DICT,
    FUNCTION,
    GENERATOR,
    ITER,
    KEPT,
    LEFT,
    NULL,
    STR,
    TRUSTING,
    TUPLE,
    UNFINISHED,
    Value,
    words_for,
)
from xtab.analysis.verify.machine import Fault
from xtab.format.opcodes import CURRENT, OperandKind, signatures

if TYPE_CHECKING:
    from xtab.analysis.verify.machine import Machine
    from xtab.analysis.verify.signatures import OpcodeStep

__all__ = ["STEPS"]

_ANNOTATIONS, _CLOSURE = 4, 8  # bits in the operand that says what a function is given
_KEYWORDS = CURRENT.numbers("CALL_KW", "KW_NAMES")
_MAYBE_FIRST = CURRENT.null_first  # whether NULL, or self, lies under the callable


def _check_call(machine: Machine, count: int) -> None:
    """A callable, NULL or self, and arguments, in the version's order, under what was taken already."""
    machine.need(count + 2)
    for place in range(1, count + 1):
        machine.object(place)
    callable_at, self_at = (count + 1, count + 2) if _MAYBE_FIRST else (count + 2, count + 1)
    if _calls_trusting(machine, count):
        return
    machine.object(callable_at)
    if machine.stack[-self_at].kinds & ~ACCEPTED["maybe"]:
        machine.wrong(self_at, ACCEPTED["maybe"], "maybe")


def _calls_trusting(machine: Machine, count: int) -> bool:
    """Whether a function is called that takes arguments on trust; Fault if they aren't what it trusts them to be."""
    below, above = machine.stack[-count - 2], machine.stack[-count - 1]
    if below.kinds == TRUSTING:
        function, first = below, count if above.kinds == NULL else count + 1
    elif above.kinds == TRUSTING and below.kinds == NULL and _MAYBE_FIRST:
        function, first = above, count
    else:
        return False
    trusted = function.detail[3]
    by_name = not _KEYWORDS.isdisjoint(machine.columns.opcodes[max(machine.index - 1, 0) : machine.index + 1])
    if first < len(trusted) or by_name:
        found = f"{first} arguments" if first < len(trusted) else "keywords"
        message = f"expected {len(trusted)} arguments, given by position, for {machine.opname()}, but found {found}"
        raise Fault("XT602", message, "the code of this function, as the compiler makes it, takes them on trust")
    for place, kinds in zip(range(first, 0, -1), trusted, strict=False):
        if machine.stack[-place].kinds & ~kinds:
            machine.wrong(place, kinds, "iter" if kinds == ITER else "trusted")
    return True


def _call(machine: Machine, arg: int) -> None:
    _check_call(machine, arg)
    function = machine.stack[-arg - 1 if _MAYBE_FIRST else -arg - 2]
    makes_generator = function.kinds in (FUNCTION, TRUSTING) and function.detail is not None and function.detail[2]
    machine.stack[-arg - 2 :] = [GENERATOR if makes_generator else LEFT["object"]]


def _precall(machine: Machine, arg: int) -> None:
    _check_call(machine, arg)
    if arg:
        del machine.stack[-arg:]


def _call_behind_precall(machine: Machine, _: int) -> None:
    _check_call(machine, 0)
    machine.stack[-2:] = [LEFT["object"]]


def _check_keywords(names: Value, most: int) -> None:
    fine = names.kinds == TUPLE and names.detail is not None and all(item == STR for item in names.detail)
    if not fine or len(names.detail) > most:
        found = f"{len(names.detail)} of them" if fine else words_for(names.kinds)
        message = f"expected a tuple of at most {most} strings for the names of keyword arguments, but found {found}"
        raise Fault("XT610", message, "load a constant tuple, with a name for each of the last arguments")


def _call_kw(machine: Machine, arg: int) -> None:
    machine.need(arg + 3)
    _check_keywords(machine.stack[-1], arg)
    del machine.stack[-1]
    _call(machine, arg)


def _kw_names(machine: Machine, arg: int) -> None:
    following = machine.index + 1
    _check_keywords(machine.constant(arg), machine.columns.args[following])


def _make_function(machine: Machine, arg: int) -> None:
    machine.need(1)
    code = machine.stack[-1]
    if code.kinds & ~CODE:
        machine.wrong(1, CODE, "code")
    if code.detail is None:
        raise Fault(
            "XT611", "expected one code object for MAKE_FUNCTION, but found one of several", "load it as a constant"
        )
    del machine.stack[-1]
    needed, makes_generator, trusted = code.detail
    function = _function(needed, 0, makes_generator, trusted)
    if CURRENT.kind[machine.columns.opcodes[machine.index]] != OperandKind.NONE:
        for bit, word in reversed(signatures.FUNCTION_PARTS):
            if arg & bit:
                machine.need(1)
                function = _given(machine, function, bit, word)
    machine.stack.append(function)


def _set_function_attribute(machine: Machine, arg: int) -> None:
    machine.need(2)
    function = machine.stack[-1]
    if function.kinds & ~(FUNCTION | UNFINISHED | TRUSTING) or function.detail is None:
        machine.wrong(1, FUNCTION | UNFINISHED, "func")
    del machine.stack[-1]
    word = dict(signatures.FUNCTION_PARTS).get(arg)
    if word is None or function.detail[1] & arg:
        message = f"expected a part that the function wasn't given yet, one of 1, 2, 4, 8, 16, but found {arg}"
        raise Fault("XT503", message, "1 defaults, 2 keyword defaults, 4 annotations, 8 closure, 16 annotate")
    machine.stack.append(_given(machine, function, arg, word))


def _given(machine: Machine, function: Value, bit: int, word: str) -> Value:
    """The function, with one more part, which is taken from the top."""
    value = machine.stack[-1]
    if value.kinds & ~ACCEPTED[word] and not (bit == _ANNOTATIONS and value.kinds == DICT):
        machine.wrong(1, ACCEPTED[word], word)
    if bit == _ANNOTATIONS and value.kinds != DICT and (value.detail is None or len(value.detail) & 1):
        message = (
            "expected names and annotations in turn in the tuple, but found an odd number, or one that isn't known"
        )
        raise Fault("XT602", message, "reading __annotations__ takes them two by two")
    needed, given, makes_generator, trusted = function.detail
    if bit == _CLOSURE:
        # a cell that the compiler keeps something in goes by its own name only
        cells = tuple(name if name in KEPT else CELL for name in needed)
        if value.detail != cells:
            found = words_for(value.kinds) if value.detail is None else f"{len(value.detail)} values, or others"
            message = f"expected a closure of {len(needed)} cells, for {', '.join(needed)}, but found {found}"
            raise Fault("XT611", message, "one cell for each of the code's co_freevars, in their order")
        needed = ()
    del machine.stack[-1]
    return _function(needed, given | bit, makes_generator, trusted)


def _function(needed: tuple[str, ...], given: int, makes_generator: bool, trusted: tuple[int, ...]) -> Value:
    kinds = UNFINISHED if needed else TRUSTING if trusted else FUNCTION
    return Value(kinds, (needed, given, makes_generator, trusted))


STEPS: dict[str, OpcodeStep] = {
    "PRECALL": _precall,
    "CALL": _call_behind_precall if "PRECALL" in CURRENT.number else _call,
    "CALL_KW": _call_kw,
    "KW_NAMES": _kw_names,
    "MAKE_FUNCTION": _make_function,
    "SET_FUNCTION_ATTRIBUTE": _set_function_attribute,
}
