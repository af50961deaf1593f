"""`Tables`: what operands stand for, and their numbers; inverse to each other."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

import xtab
from xtab.format.code import code_objects
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.model.decode import read_source
from xtab.model.tables import Cell, Free, Tables, constant_key

STDLIB = Path(sysconfig.get_path("stdlib"))
NUMBER = CURRENT.number


def outer():
    free = 1

    def f(argument, shared):
        own = free
        return lambda: (own, shared), argument

    return f


def test_variables_are_in_the_order_of_the_frame():
    """Locals, then cells that are no locals too, then free variables; cells are told apart."""
    tables = Tables(outer().__code__)
    variables = tables.variables()
    assert variables == ["argument", "shared", "own", "free"]
    assert [type(name) for name in variables] == [str, str, Cell, Free]
    assert tables.operand(NUMBER["LOAD_DEREF"], 1) == "shared"
    assert isinstance(tables.operand(NUMBER["LOAD_DEREF"], 1), Cell)
    assert isinstance(tables.operand(NUMBER["LOAD_DEREF"], 3), Free)
    assert type(tables.operand(NUMBER["LOAD_FAST"], 1)) is str
    assert (repr(Cell("x")), repr(Free("x"))) == ("Cell('x')", "Free('x')")


def test_new_locals_move_what_stands_behind():
    """Numbers of the code object keep their meaning: a new local is put before the cells."""
    tables = Tables(outer().__code__)
    assert not tables.grown()
    assert tables.number(NUMBER["STORE_FAST"], "new", 0) == 2
    assert tables.varnames == ["argument", "shared", "new"]
    assert tables.grown()
    assert [tables.current_variable(number) for number in range(4)] == [0, 1, 3, 4]
    assert [tables.operand(NUMBER["LOAD_DEREF"], number) for number in (1, 2, 3)] == ["shared", "own", "free"]
    assert [tables.number(NUMBER["LOAD_DEREF"], name, 0) for name in ("shared", "own", "free")] == [1, 3, 4]


def test_numbers_and_operands_are_inverse():
    """For every instruction of a few modules."""
    for name in ("contextlib", "typing", "dataclasses"):
        path = STDLIB / f"{name}.py"
        for code in code_objects(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)):
            source = read_source(code)
            tables = source.tables
            for opcode, arg in zip(source.opcodes, source.args, strict=True):
                if CURRENT.kind[opcode] not in (OperandKind.NONE, OperandKind.TARGET):
                    flags = arg & (1 << CURRENT.flag_bits[opcode]) - 1
                    operand = tables.operand(opcode, arg)
                    number = tables.number(opcode, operand, flags)
                    # the compiler may store equal constants twice
                    same = number == arg or constant_key(tables.operand(opcode, number)) == constant_key(operand)
                    assert same, (CURRENT.name[opcode], operand)
            assert tuple(map(id, tables.consts)) == tuple(map(id, code.co_consts))
            assert (tuple(tables.names), tuple(tables.varnames)) == (code.co_names, code.co_varnames)


@pytest.mark.parametrize("opname", ["LOAD_CONST", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF", "COMPARE_OP", "BINARY_OP"])
def test_numbers_outside_the_lists_are_refused(opname):
    tables = Tables(compile("", "example", "exec"))
    with pytest.raises(xtab.DecodeError, match=f"expected an operand of {opname} .*, but found 5000"):
        tables.operand(NUMBER[opname], 5000)


def test_new_names_and_constants_are_stored_once():
    """They are appended, and found again, also when somebody else appends to the list."""
    tables = Tables(compile("x = 1.5", "example", "exec"))
    first, names = len(tables.consts), len(tables.names)
    assert [tables.number(NUMBER["LOAD_CONST"], value, 0) for value in ("a", "b", "a")] == [first, first + 1, first]
    tables.consts.append("c")
    assert [tables.number(NUMBER["LOAD_CONST"], value, 0) for value in ("c", "d", "b")] == [
        first + 2,
        first + 3,
        first + 1,
    ]
    assert tables.number(NUMBER["LOAD_NAME"], "y", 0) == names
    assert tables.number(NUMBER["LOAD_ATTR"], "y", 0) >> CURRENT.flag_bits[NUMBER["LOAD_ATTR"]] == names


def test_what_was_added_can_be_forgotten():
    """After `cut`, the lists are as before, and the next that is appended is not taken for what stood there."""
    tables = Tables(compile("x = 1.5", "example", "exec"))
    sizes = tables.sizes()
    before = tables.consts.copy(), tables.names.copy(), tables.varnames.copy()
    for opname, operand in (("LOAD_CONST", "new"), ("LOAD_NAME", "new"), ("STORE_FAST", "new")):
        tables.number(NUMBER[opname], operand, 0)
    tables.cut(sizes)
    assert (tables.consts, tables.names, tables.varnames) == before
    for items in (tables.consts, tables.names, tables.varnames):
        items.append("other")
    for opname, size in zip(("LOAD_CONST", "LOAD_NAME", "STORE_FAST"), sizes, strict=True):
        assert tables.number(NUMBER[opname], "new", 0) == size + 1
    assert tables.variables() == ["other", "new"]


def test_keys_of_constants():
    """By type and sign, within tuples and sets too; by identity where nothing else is sure."""
    nan = float("nan")
    apart = [
        0,
        0.0,
        -0.0,
        False,
        0j,
        -0j,
        "",
        b"",
        None,
        (),
        (0,),
        (0.0,),
        (-0.0,),
        (False,),
        frozenset(),
        frozenset({0}),
    ]
    apart += [frozenset({False}), ..., nan, -nan, [], [], {}]
    keys = list(map(constant_key, apart))
    assert [keys.index(key) for key in keys] == list(range(len(keys)))
    assert constant_key((1, ("a", 2.5))) == constant_key((1, ("a", 5 / 2)))
    assert constant_key(nan) == constant_key(nan)
