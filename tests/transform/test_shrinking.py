from __future__ import annotations

import dis
import json
import marshal
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtab.format.locations import parse_location_table
from xtab.format.marshalled import MarshalledCode, dump_marshalled, load_marshalled
from xtab.format.opcodes import CURRENT
from xtab.format.table_fields import RawEntry, read_raw_entries, write_raw_entries
from xtab.transform.shrinking import CONSTS, NAMES, CutCode, count_not_nops

FUNCTIONS = [json.load, json.JSONDecoder.raw_decode, pytest.importorskip, re.Scanner.__init__, dis.dis]


def stored(function):
    return load_marshalled(marshal.dumps(function.__code__))


def code_from(data, **parts):
    empty = MarshalledCode(0, 0, 0, 0, 0, data, (), (), (), b"", "", "", "", 1, b"", b"")
    return empty._replace(**parts)


def op(name, arg=0):
    number = CURRENT.number[name]
    return bytes([number, arg]) + bytes(2 * CURRENT.caches[number])


def made(code):
    return marshal.loads(dump_marshalled(code))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_left_out_changes_nothing(function):
    code = stored(function)
    built = CutCode(code).built()
    assert built._replace(linetable=b"") == code._replace(linetable=b"")
    assert list(made(built).co_positions()) == list(made(code).co_positions())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_instruction_left_out(function):
    code = stored(function)
    cut = CutCode(code)
    for index, gone in enumerate(cut.instructions):
        built = cut.built(kept=[each for each in range(len(cut.instructions)) if each != index])
        assert len(built.code) == len(code.code) - (gone.end - gone.start)

        def moved(offset, gone=gone):
            return offset if offset <= gone.start else max(offset - (gone.end - gone.start), gone.start)

        found = {
            each.offset: each.argval for each in dis.get_instructions(made(built)) if CURRENT.distance[each.opcode]
        }
        for each in dis.get_instructions(made(code)):
            if CURRENT.distance[each.opcode] and each.opcode not in CURRENT.marks and each.offset in range(gone.start):
                assert found[each.offset] == moved(each.argval)
        parsed = dis._parse_exception_table(made(code))
        wanted = [tuple(map(moved, (entry.start, entry.end, entry.target))) for entry in parsed]
        assert [(e.start, e.end, e.target) for e in dis._parse_exception_table(made(built))] == [
            each for each in wanted if each[0] < each[1]
        ]
        lines = list(made(code).co_positions())
        assert list(made(built).co_positions()) == lines[: gone.start // 2] + lines[gone.end // 2 :]


def test_a_nop_in_the_place_of_an_instruction():
    code = code_from(op("RESUME") + op("LOAD_GLOBAL", 1) + op("RETURN_VALUE"))
    built = CutCode(code).built(nops=[1])
    assert built.code == op("RESUME") + op("NOP") + op("RETURN_VALUE")
    assert CutCode(built).not_nops == [0, 2]
    assert (count_not_nops(code.code), count_not_nops(built.code)) == (3, 2)


def test_a_range_of_which_nothing_is_left():
    table = write_raw_entries([RawEntry(0, 1, 2, 0), RawEntry(1, 1, 2, 0)])
    built = CutCode(code_from(op("NOP") * 3, exceptiontable=table)).built(kept=[1, 2])
    assert read_raw_entries(built.exceptiontable) == [RawEntry(0, 1, 1, 0)]


def test_what_leads_into_an_instruction_goes_on_doing_so():
    code = op("JUMP_FORWARD", 2) + op("NOP") + op("LOAD_GLOBAL") + op("NOP")
    built = CutCode(code_from(code)).built(kept=[0, 2, 3])
    assert built.code[:2] == op("JUMP_FORWARD", 1)
    assert CutCode(code_from(code)).built(kept=[0, 3]).code[:2] == op("JUMP_FORWARD", 0)


def test_a_jump_out_of_the_code():
    assert CutCode(code_from(op("JUMP_FORWARD", 9) + op("NOP"))).built(kept=[0]).code == op("JUMP_FORWARD", 8)
    far_back = op("NOP") + op("JUMP_BACKWARD", 99)
    assert CutCode(code_from(far_back)).built(kept=[1]).code == op("JUMP_BACKWARD", 98)


def test_surplus_prefixes():
    prefix = bytes([CURRENT.extended_arg, 0])
    code = code_from(prefix + op("LOAD_CONST", 3) + prefix + op("JUMP_FORWARD", 0) + op("NOP"))
    cut = CutCode(code)
    assert cut.with_surplus == [0, 1]
    assert cut.built(trimmed=[0]).code == op("LOAD_CONST", 3) + prefix + op("JUMP_FORWARD", 0) + op("NOP")
    assert cut.built(trimmed=[0, 1]).code == op("LOAD_CONST", 3) + op("JUMP_FORWARD", 0) + op("NOP")


def test_without_lines():
    code = stored(json.load)
    bare = CutCode(code).without_lines()
    entries = parse_location_table(bare.linetable, bare.firstlineno, code_size=len(bare.code))
    assert {entry.location for entry in entries} == {None}
    assert CutCode(code_from(b"")).without_lines().linetable == b""


def test_without_what_is_not_used():
    code = code_from(
        op("LOAD_CONST", 2) + op("LOAD_CONST", 0) + op("LOAD_GLOBAL", 5) + op("LOAD_NAME", 1) + op("LOAD_CONST", 4),
        consts=("a", "b", "c"),
        names=("x", "y", "z"),
    )
    cut = CutCode(code)
    assert (cut.unused(*CONSTS), cut.unused(*NAMES)) == ([1], [0])
    fewer_consts = cut.without_items(*CONSTS, [1])
    assert fewer_consts.consts == ("a", "c")
    assert fewer_consts.code[:4] == op("LOAD_CONST", 1) + op("LOAD_CONST", 0)
    assert fewer_consts.code[-2:] == op("LOAD_CONST", 3), "an operand that is too large stays so"
    fewer_names = cut.without_items(*NAMES, [0])
    assert fewer_names.names == ("y", "z")
    assert fewer_names.code[4:] == op("LOAD_GLOBAL", 3) + op("LOAD_NAME", 0) + op("LOAD_CONST", 4)
    assert cut.without_items(*NAMES, []) == code


def test_tables_that_can_not_be_read_stay():
    code = code_from(op("NOP") * 3, exceptiontable=b"\x80", linetable=b"\x7f")
    built = CutCode(code).built(kept=[0])
    assert (built.exceptiontable, built.linetable) == (b"\x80", b"\x7f")


OPCODES = st.sampled_from(sorted(CURRENT.number.values())) | st.integers(0, 255)
CODE = st.lists(st.tuples(OPCODES, st.integers(0, 255)), max_size=20).map(lambda units: bytes(sum(units, ())))


@given(CODE, st.binary(max_size=12), st.binary(max_size=12), st.data())
def test_any_bytes_can_be_cut(code, table, lines, data):
    cut = CutCode(code_from(code, exceptiontable=table, linetable=lines, consts=(1, 2, 3), names=("a", "b")))
    indices = range(len(cut.instructions))
    kept = sorted(data.draw(st.sets(st.sampled_from(indices)))) if indices else []
    nops = data.draw(st.sets(st.sampled_from(kept))) if kept else ()
    built = cut.built(kept=kept, nops=nops, trimmed=kept)
    assert len(built.code) <= len(code)
    dropped = [cut.without_items(*which, cut.unused(*which)) for which in (CONSTS, NAMES)]
    for variant in (cut.without_lines(), *dropped):
        assert dump_marshalled(variant)
