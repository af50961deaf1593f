from __future__ import annotations

import dis
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtab.analysis.verify import CodeParts
from xtab.format.opcodes import CURRENT
from xtab.model.stack import stack_depths
from xtab.report.excerpt import excerpt

ROW = re.compile(r"(>| ) +(\d+)(?: +(\?|-?\d+))?  (\S+) *(.*)")


def rows(lines):
    """What stands in the lines behind the headline."""
    return [ROW.fullmatch(line).groups() for line in lines[1:]]


def test_what_is_shown(stored):
    parts = CodeParts.of_stored(stored("NOP", "LOAD_CONST", "POP_TOP", "LOAD_CONST", "RETURN_VALUE"))
    assert excerpt(parts, 4) == [
        "    off dep",
        "      0   0  NOP",
        "      2   0  LOAD_CONST             None",
        ">     4   1  POP_TOP",
        "      6   ?  LOAD_CONST             None",
        "      8   ?  RETURN_VALUE",
    ]


@pytest.mark.parametrize("function", [json.load, json.JSONDecoder.raw_decode, pytest.importorskip, re.Scanner.__init__])
def test_each_instruction_of_functions(function):
    parts = CodeParts.of(function)
    depths = iter(stack_depths(function))
    for each in dis.get_instructions(function):
        if each.opname != "EXTENDED_ARG":
            (fault,) = [row for row in rows(excerpt(parts, each.offset)) if row[0] == ">"]
            depth = next(depths)
            assert fault[1:4] == (str(each.offset), "?" if depth is None else str(depth), each.opname)


def test_only_what_is_near_is_shown():
    found = rows(excerpt(CodeParts.of(json.JSONDecoder.raw_decode), 40))
    assert [row[0] for row in found].index(">") == 4
    assert len(found) == 8


def test_operands(stored, code_bytes):
    names = "LOAD_CONST", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF", ("STORE_FAST", 2), "COMPARE_OP", ("BINARY_OP", 0)
    code = stored(
        *names,
        consts=("text",),
        names=("name",),
        localsplusnames=("local", "cell", "free"),
        localspluskinds=b"\x20\x40\x80",
    )
    parts = CodeParts.of_stored(code)
    shown = [row[4] for row in rows([*excerpt(parts, 6), *excerpt(parts, 8)[5:]])]
    assert shown[:7] == ["'text'", "name", "local", "local", "free", "<", "+"]


def test_operands_that_stand_for_nothing(stored):
    names = ("LOAD_CONST", 7), ("LOAD_NAME", 7), ("LOAD_FAST", 7), ("LOAD_DEREF", 7)
    assert {row[4] for row in rows(excerpt(CodeParts.of_stored(stored(*names)), 0))} == {"7 (there is none)"}


def test_jumps_say_where_to(stored):
    lines = excerpt(CodeParts.of_stored(stored(("JUMP_FORWARD", 1), "NOP", "LOAD_CONST", "RETURN_VALUE")), 0)
    assert rows(lines)[0][3:] == ("JUMP_FORWARD", "to 4")


def test_code_objects_are_not_looked_into(stored):
    parts = CodeParts.of_stored(stored("LOAD_CONST", consts=(stored(qualname="f.<locals>.g"),)))
    assert rows(excerpt(parts, 0))[0][4] == "<code f.<locals>.g>"


@pytest.mark.parametrize(
    "parts",
    [
        {"exceptiontable": b"\x00"},
        {"exceptiontable": b"\x80\x01\x09\x00"},
        {"code": bytes([CURRENT.nop, 0, 0, 0, CURRENT.nop, 0])},
        {"code": bytes([CURRENT.nop, 0, CURRENT.number["JUMP_FORWARD"], 99])},
        {"code": bytes([CURRENT.nop, 0, CURRENT.extended_arg, 0])},
        {"code": bytes([CURRENT.nop, 0, 255])},
    ],
    ids=str,
)
def test_no_depths_where_they_can_not_be_known(stored, parts):
    lines = excerpt(CodeParts.of_stored(stored(**parts)), 0)
    assert lines[0] == "    off"
    assert rows(lines)[0][:2] == (">", "0")
    assert {row[2] for row in rows(lines)} == {None}


def test_an_opcode_that_is_none(stored):
    unknown = next(op for op in range(1, 256) if CURRENT.name[op] is None)
    lines = excerpt(CodeParts.of_stored(stored(code=bytes([unknown, 0]))), 0)
    assert rows(lines)[0][3] == f"<{unknown}>"


@pytest.mark.parametrize("offset", [None, -2, 6, 100])
def test_no_lines_where_no_instruction_is(stored, offset):
    assert excerpt(CodeParts.of_stored(stored("NOP", "LOAD_CONST", "RETURN_VALUE")), offset) == []


def test_an_offset_inside_an_instruction(stored):
    assert rows(excerpt(CodeParts.of_stored(stored("BINARY_OP")), 2))[0][:2] == (">", "0")


@given(
    st.lists(st.sampled_from(sorted(CURRENT.number.values())) | st.integers(0, 255), max_size=60).map(bytes),
    st.binary(max_size=8),
    st.integers(0, 60),
)
def test_any_bytes_can_be_shown(code, table, offset):
    parts = CodeParts.of(rows)._replace(code=code, exceptiontable=table)
    lines = excerpt(parts, offset)
    assert bool(lines) == (offset < len(code) & ~1)
    assert all(line.isprintable() for line in lines)
