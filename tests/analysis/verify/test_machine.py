from __future__ import annotations

import pytest

from xtab import CodeParts
from xtab.analysis.verify.columns import read_instructions
from xtab.analysis.verify.kinds import EXC, EXCS, ITER, LASTI, NULL, OBJECT, OTHER, STALE, Value
from xtab.analysis.verify.machine import Fault, Machine, copy_of
from xtab.analysis.verify.report import Report
from xtab.format.opcodes import CURRENT


def outer(x):
    def inner(y):
        return x, y

    return inner


def machine_for(function):
    parts = CodeParts.of(function)
    return Machine(parts, read_instructions(parts.code, Report(parts)))


def test_need():
    machine = machine_for(outer)
    machine.stack = [Value(OTHER)]
    machine.need(1)
    with pytest.raises(Fault) as caught:
        machine.need(2)
    assert caught.value.code == "XT401"


def test_grow_refuses_before_anything_is_laid_out():
    with pytest.raises(Fault) as caught:
        machine_for(outer).grow(1 << 40)
    assert caught.value.code == "XT403"


@pytest.mark.parametrize(
    "kinds, accepted, word, code",
    [
        (OTHER, EXC, "exc", "XT606"),
        (NULL, OBJECT, "object", "XT601"),
        (STALE | OTHER, OBJECT, "object", "XT612"),
        (OTHER, ITER, "iter", "XT609"),
        (OTHER, LASTI, "lasti", "XT305"),
        (OTHER | NULL, EXC, "exc", "XT601"),
    ],
)
def test_the_rule_hangs_on_what_was_found(kinds, accepted, word, code):
    machine = machine_for(outer)
    machine.stack = [Value(kinds)]
    with pytest.raises(Fault) as caught:
        machine.wrong(1, accepted, word)
    assert caught.value.code == code
    assert "expected " in caught.value.message
    assert ", but found " in caught.value.message


def test_free_variables_and_names():
    machine = machine_for(outer(1))
    assert [machine.name(variable) for variable in range(2)] == ["y", "x"]
    assert machine.free == 0b10


def test_what_borrowed_goes_stale():
    machine = machine_for(outer)
    machine.stack, machine.borrowed = [Value(OTHER, None, 1), Value(OTHER, None, 2), Value(OTHER)], 3
    machine.forget_borrowed(0)
    assert [bool(value.kinds & STALE) for value in machine.stack] == [True, False, False]
    assert machine.borrowed == 2


def test_a_copy_of_what_moves_alone_is_some_object():
    assert copy_of(Value(EXCS)).kinds == OTHER
    assert copy_of(Value(ITER)).kinds == (ITER if CURRENT.iterator_slots == 1 else OTHER)
    assert copy_of(Value(EXC)) == Value(EXC)
