from __future__ import annotations

import pytest

from xtab import CodeParts, ExceptionTableEntry, parse_exception_table
from xtab.analysis.verify.columns import read_instructions
from xtab.analysis.verify.handlers import check_handlers, check_units_before, cover
from xtab.analysis.verify.report import Report
from xtab.format.opcodes import CURRENT
from xtab.testing.code_parts import with_instructions

PARTS = with_instructions(CodeParts.of(lambda: 0), [("NOP", 0)] * 8)
LISTING = read_instructions(PARTS.code, Report(PARTS))


def E(start, end, target, depth=0, lasti=False):
    return ExceptionTableEntry(start, end, target, depth, lasti)


def codes(entries):
    report = Report(PARTS)
    check_handlers(entries, LISTING, report)
    return [problem.code for problem in report.problems()]


@pytest.mark.parametrize(
    "entries, expected",
    [
        ([E(0, 2, 4)], []),
        ([E(0, 2, 4), E(4, 6, 8), E(8, 10, 12)], []),
        ([E(0, 2, 4), E(2, 4, 4, 1)], ["XT303"]),
        ([E(0, 2, 4), E(2, 4, 4, lasti=True)], ["XT303"]),
        ([E(0, 2, 3)], ["XT302"]),
        ([E(0, 6, 4)], ["XT306"]),
        ([E(0, 2, 4), E(4, 6, 8), E(8, 10, 4)], ["XT306"]),
        ([E(0, 2, 4), E(4, 6, 0)], ["XT306"]),
    ],
)
def test_handlers(entries, expected):
    assert codes(entries) == expected


def test_a_long_chain_of_handlers_is_followed_in_a_loop():
    parts = with_instructions(PARTS, [("NOP", 0)] * 20_000)
    columns = read_instructions(parts.code, Report(parts))
    entries = [E(2 * index, 2 * index + 2, 2 * index + 2) for index in range(19_999)]
    report = Report(parts)
    check_handlers(entries, columns, report)
    assert report.problems() == ()


def test_cover():
    assert cover([E(2, 6, 0), E(8, 16, 0)], LISTING) == [-1, 0, 0, -1, 1, 1, 1, 1]


def test_the_unit_before_a_call():
    lines = ["a", ("NOP", 0), "b", ("CALL", 0), "c", ("NOP", 0)]
    for entries, fine in (
        ([("a", "c", "c", 0, False)], True),
        ([("b", "c", "c", 0, False)], False),
        ([("a", "b", "c", 0, False)], False),
    ):
        parts = with_instructions(PARTS, lines, entries)
        report = Report(parts)
        columns = read_instructions(parts.code, report)
        entries = parse_exception_table(parts.exceptiontable)
        check_units_before(entries, cover(entries, columns), columns, bytearray(b"\1" * 3), report)
        expected = [] if fine or not CURRENT.looks_up_unit_before else ["XT308"]
        assert [problem.code for problem in report.problems()] == expected
