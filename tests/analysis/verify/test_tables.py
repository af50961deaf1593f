from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from xtab import CodeParts
from xtab.analysis.verify.report import Report
from xtab.analysis.verify.tables import check_locations, read_entries
from xtab.format.exception_table import parse_exception_table


def ask(data):
    try:
        return data["key"]
    except KeyError:
        return None


PARTS = CodeParts.of(ask)


def test_a_good_table_is_read_in_silence():
    report = Report(PARTS)
    assert read_entries(PARTS, report) == parse_exception_table(ask)
    check_locations(PARTS, report)
    assert report.problems() == ()


@given(st.binary(max_size=60))
def test_any_bytes_of_an_exception_table(table):
    report = Report(PARTS._replace(exceptiontable=table))
    entries = read_entries(report.parts, report)
    assert (entries is None) == bool(report.errors)
    assert {problem.code[2] for problem in report.problems()} <= set("123")


@given(st.binary(max_size=60), st.integers(-5, 5))
def test_any_bytes_of_a_location_table(table, line):
    report = Report(PARTS._replace(linetable=table, firstlineno=line))
    check_locations(report.parts, report)
    assert {problem.code for problem in report.problems()} <= {"XT103", "XT104", "XT105"}


def test_a_warning_leaves_the_entries_to_be_used():
    report = Report(PARTS._replace(exceptiontable=b"\x80\x00\x00\x00" + PARTS.exceptiontable))
    assert read_entries(report.parts, report)[1:] == parse_exception_table(ask)
    assert [problem.code for problem in report.problems()] == ["XT203"]
