from __future__ import annotations

import pytest

from xtab.analysis.verify.catalogue import RULES
from xtab.analysis.verify.problem import Problem


@pytest.mark.parametrize("code", RULES)
def test_a_problem_knows_its_rule(code):
    problem = Problem(code, "expected this, but found that")
    assert (problem.name, problem.severity) == RULES[code][1:3]
    assert str(problem) == f"{code} {problem.name}: expected this, but found that"


def test_a_place_is_told():
    assert ": at 4 (NOP): m" in str(Problem("XT401", "m", offset=4, opname="NOP"))


def test_problems_are_values():
    assert len({Problem("XT401", "m", offset=4), Problem("XT401", "m", offset=4)}) == 1
