from __future__ import annotations

from xtab.analysis.verify import Problem
from xtab.cli.github import annotation


def test_an_error():
    facts = {"offset": 14, "opname": "POP_TOP", "qualname": "f", "filename": "a.py", "line": 7}
    assert annotation(Problem("XT402", "expected 1, but found 2", "pop it", **facts), "a.pyc") == (
        "::error file=a.py,line=7,title=XT402 merge-conflict::f at 14 (POP_TOP): expected 1, but found 2%0Apop it"
    )


def test_a_warning_without_a_line():
    line = annotation(Problem("XT203", "nothing", qualname="f"), "a.pyc")
    assert line == "::warning file=a.pyc,title=XT203 range-empty::f: nothing"


def test_what_would_end_a_command_is_escaped():
    line = annotation(Problem("XT402", "50%\r\n::error::", qualname="f", filename="a,b:c%.py"), "")
    assert line == "::error file=a%2Cb%3Ac%25.py,title=XT402 merge-conflict::f: 50%25%0D%0A::error::"
