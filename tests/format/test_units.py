from __future__ import annotations

import dis

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from xtab.format.opcodes import CURRENT
from xtab.format.units import RawInstruction, join_code, prefixes_for, split_code

EXTENDED, NOP = CURRENT.extended_arg, CURRENT.nop
WITH_CACHES = next(op for op in CURRENT.number.values() if CURRENT.caches[op])


@given(st.binary(max_size=60))
@example(bytes([EXTENDED, 1]) * 5)
@example(bytes([WITH_CACHES, 0]))
@example(bytes([NOP, 0, EXTENDED]))
def test_any_bytes_come_back(code):
    instructions = split_code(code)
    assert join_code(instructions) == code[: len(code) & ~1]
    assert [each.start for each in instructions[1:]] == [each.end for each in instructions[:-1]]


@pytest.mark.parametrize("function", [dis.dis, dis.get_instructions, pytest.importorskip])
def test_as_dis_has_them(function):
    wanted = [(i.offset, i.opcode, i.arg) for i in dis.get_instructions(function) if i.opname != "EXTENDED_ARG"]
    found = split_code(function.__code__.co_code)
    assert [(each.end - len(each.caches) - 2, each.opcode) for each in found] == [i[:2] for i in wanted]
    assert all(i[2] in (None, each.arg) for i, each in zip(wanted, found, strict=True))


def test_prefixes_at_the_end_are_instructions():
    code = bytes([NOP, 0, EXTENDED, 1, EXTENDED, 2])
    assert split_code(code)[1:] == [RawInstruction(2, EXTENDED, 1, 0, b""), RawInstruction(4, EXTENDED, 2, 0, b"")]


def test_caches_that_are_cut_short():
    code = bytes([WITH_CACHES, 7])
    assert split_code(code) == [RawInstruction(0, WITH_CACHES, 7, 0, b"")]


@pytest.mark.parametrize("arg", [0, 1, 0xFF, 0x100, 0xFFFF, 0x10000, 0xFFFFFF, 0x1000000, 0x7FFFFFFF])
def test_the_prefixes_that_an_operand_needs(arg):
    """The least that it can be written with, as for any number of bytes."""
    needed = prefixes_for(arg)
    arg.to_bytes(needed + 1, "big")
    if needed:
        with pytest.raises(OverflowError):
            arg.to_bytes(needed, "big")
