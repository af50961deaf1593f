"""Operands in words, whatever they hold."""

from __future__ import annotations

from xtab import CodeParts
from xtab.format.opcodes import CURRENT
from xtab.report.listing import show
from xtab.report.operands import constant_text, operand_text


def test_operands_in_words():
    parts = CodeParts.of(lambda some_name: some_name + 1)
    assert operand_text(parts, CURRENT.number["LOAD_FAST"], 0) == "some_name"
    assert operand_text(parts, CURRENT.number["BINARY_OP"], 0) == "+"
    assert operand_text(parts, CURRENT.number["LOAD_FAST"], 9) == "9 (there is none)"
    assert operand_text(parts, CURRENT.number["NOP"], 0) == ""


def test_flags_in_words():
    def operands(function):
        return [row.operand for row in show(function).rows]

    assert {"open + NULL", "NULL + open"} & set(operands(lambda: open(1)))
    assert {"a < 1", "<", "bool(<)"} & set(operands(lambda a: 2 if a < 1 else 3))
    assert "is not" in operands(lambda a: a is not a)
    assert "not in" in operands(lambda a: a not in a)
    assert "defaults" in operands(lambda: lambda a=[]: a)


def test_a_code_object_is_named_not_read():
    assert constant_text((lambda: None).__code__) == "<code test_a_code_object_is_named_not_read.<locals>.<lambda>>"


def test_constants_are_the_same_in_each_run():
    class Broken:
        def __repr__(self):
            raise ValueError

    def f(): ...

    assert "0x" not in constant_text((f, f.__code__, [object()]))
    assert constant_text(" at 0x12") == "' at 0x12'"
    assert constant_text(Broken()) == "<Broken instance>"
    assert len(constant_text(type("x" * 100, (), {}))) == 40
