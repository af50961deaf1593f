from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtab import CodeParts
from xtab.analysis.verify.columns import read_instructions
from xtab.analysis.verify.report import Report
from xtab.format.opcodes import CURRENT
from xtab.format.units import split_code
from xtab.testing.code_parts import with_instructions

PARTS = CodeParts.of(lambda x: x)
LEGAL = [op for op in range(256) if CURRENT.legal[op]]


def read(code):
    report = Report(PARTS._replace(code=code))
    return read_instructions(code, report), {problem.code for problem in report.problems()}


@given(st.binary(max_size=80))
def test_any_bytes(code):
    columns, codes = read(code)
    assert (columns is None) == bool(codes)
    assert codes <= {"XT501", "XT502", "XT503", "XT507", "XT508", "XT509"}


@given(st.lists(st.tuples(st.sampled_from(LEGAL), st.integers(0, 2**31 - 1)), min_size=1, max_size=20))
def test_what_is_read_covers_all_bytes(pairs):
    parts = with_instructions(PARTS, [(CURRENT.name[op], arg) for op, arg in pairs])
    columns, codes = read(parts.code)
    assert codes == set()
    assert list(zip(columns.opcodes, columns.args, strict=True)) == pairs
    assert [0, *columns.ends[:-1]] == columns.starts
    assert columns.ends[-1] == len(parts.code)
    assert columns.index_of == {start: index for index, start in enumerate(columns.starts)}
    assert [(each.start, each.end) for each in split_code(parts.code)] == list(
        zip(columns.starts, columns.ends, strict=True)
    )


@pytest.mark.parametrize(
    "code, expected",
    [
        (b"", "XT501"),
        (bytes([CURRENT.nop]), "XT501"),
        (bytes([CURRENT.extended_arg, 1]), "XT507"),
        (bytes([CURRENT.extended_arg, 0, CURRENT.nop, 0]), "XT509"),
        (bytes([CURRENT.extended_arg, 128]) + bytes([CURRENT.extended_arg, 0]) * 2 + bytes([CURRENT.nop, 0]), "XT503"),
        (bytes([CURRENT.number["BINARY_OP"], 0]), "XT507"),
        (bytes([CURRENT.number["BINARY_OP"], 0]) + b"\1" * 2 * CURRENT.caches[CURRENT.number["BINARY_OP"]], "XT508"),
        (bytes([CURRENT.unknown.index(1), 0]), "XT502"),
    ],
)
def test_what_is_wrong_is_named(code, expected):
    assert read(code) == (None, {expected})


def test_prefixes_without_end():
    assert read(bytes([CURRENT.extended_arg, 255]) * 100_000 + bytes([CURRENT.nop, 0])) == (None, {"XT503"})
