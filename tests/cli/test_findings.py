from __future__ import annotations

import pickle

import pytest

from xtab.analysis.verify import RULES
from xtab.cli.findings import verify_source
from xtab.cli.targets import SourceFile


def found(name, codes=RULES, **options):
    report = verify_source(SourceFile(name, **options), codes=codes)
    assert pickle.loads(pickle.dumps(report)) == report
    return report


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def test_nothing_is_wrong(write_pyc, stored):
    assert found(write_pyc(stored())).findings == ()
    report = found("-", data=b"def f(): pass\n")
    assert (report.error, report.code_objects, report.findings) == (None, 2, ())


def test_a_problem_at_an_instruction(write_pyc, stored, code_bytes):
    at = len(code_bytes("RESUME"))
    (finding,) = found(write_pyc(stored("RESUME", "POP_TOP", "LOAD_CONST", "RETURN_VALUE"))).findings
    assert (finding.problem.code, finding.problem.offset, finding.problem.qualname) == ("XT401", at, "f")
    assert finding.excerpt[2].startswith(f">     {at}   0  POP_TOP")


def test_a_problem_of_the_whole(write_pyc, stored):
    (finding,) = found(write_pyc(stored(stacksize=-1))).findings
    assert (finding.problem.code, finding.excerpt) == ("XT406", ())


def test_nested_code_objects(write_pyc, stored):
    name = write_pyc(stored(consts=(stored(qualname="inner", stacksize=0),)))
    report = found(name)
    assert report.code_objects == 2
    assert [(each.problem.code, each.problem.qualname) for each in report.findings] == [("XT403", "inner")]


def test_only_the_rules_that_count(write_pyc, stored):
    name = write_pyc(stored(stacksize=0))
    assert found(name, codes=["XT401"]).findings == ()
    assert len(found(name, codes=["XT403"]).findings) == 1


def test_what_can_not_be_read():
    report = found("none.py")
    assert report.error.startswith("expected a file that can be read, but found: ")
    assert (report.code_objects, report.findings) == (0, ())


def test_code_that_would_crash_when_it_is_read(write_pyc, stored):
    report = found(write_pyc(stored(code=b"\xff\xff" * 40, linetable=b"\x80", exceptiontable=b"\xff" * 9)))
    assert report.findings
