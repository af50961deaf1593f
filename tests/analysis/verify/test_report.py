from __future__ import annotations

from xtab import CodeParts, ExceptionTableEntry, verify_parts
from xtab.analysis.verify.report import MOST_OF_A_RULE, Report
from xtab.testing.code_parts import with_code

PARTS = CodeParts.of(lambda x: x + 1)


def test_by_offset_and_those_of_no_place_first():
    report = Report(PARTS)
    for offset in (6, None, 2):
        report.add("XT401", "m", offset=offset)
    assert [problem.offset for problem in report.problems()] == [None, 2, 6]
    assert report.errors == 3


def test_a_rule_speaks_once_of_one_place():
    report = Report(PARTS)
    report.add("XT401", "first", offset=2)
    report.add("XT401", "second", offset=2)
    report.add("XT402", "other rule", offset=2)
    report.add("XT401", "other entry", offset=2, entry=ExceptionTableEntry(0, 2, 4, 0, False))
    assert {problem.message for problem in report.problems()} == {"first", "other rule", "other entry"}


def test_a_rule_says_all_that_is_wrong_with_the_whole():
    report = Report(PARTS)
    for message in ("first", "second", "first"):
        report.add("XT513", message)
    assert [problem.message for problem in report.problems()] == ["first", "second"]


def test_warnings_are_no_errors():
    report = Report(PARTS)
    report.add("XT104", "m")
    assert (report.errors, len(report.problems())) == (0, 1)


def test_a_hundred_of_a_rule_are_told_and_the_rest_counted():
    problems = verify_parts(with_code(PARTS, bytes([0, 0]) * 5000))
    assert len(problems) == MOST_OF_A_RULE == 100
    assert {problem.code for problem in problems} == {"XT502"}
    assert [problem.message.endswith("(and 4,900 more like it)") for problem in problems] == [False] * 99 + [True]


def test_who_and_where():
    report = Report(PARTS._replace(qualname="a.b", filename="c.py"))
    report.add("XT401", "m", offset=2)
    (problem,) = report.problems()
    assert (problem.qualname, problem.filename, problem.line) == ("a.b", "c.py", PARTS.firstlineno)


def test_names_and_tables_of_any_kind():
    report = Report(PARTS._replace(qualname=None, filename=3, linetable=7, firstlineno="x"))
    report.add("XT401", "m", offset=2)
    (problem,) = report.problems()
    assert (problem.qualname, problem.filename, problem.line) == ("None", "3", None)
