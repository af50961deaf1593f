from __future__ import annotations

import pytest

from xtab.analysis.verify.catalogue import RULES
from xtab.analysis.verify.problem import Problem


@pytest.mark.parametrize("code", RULES)
def test_a_problem_knows_its_rule(code):
    problem = Problem(code, "expected this, but found that")
    assert (problem.name, problem.severity) == RULES[code][1:3]
    assert problem.is_error == (problem.severity == "error")
    assert str(problem) == f"{code} {problem.name}: ?: expected this, but found that"


@pytest.mark.parametrize(
    "facts, words",
    [
        ({"qualname": "C.f", "offset": 14, "opname": "POP_TOP"}, "C.f at 14 (POP_TOP)"),
        ({"qualname": "f", "offset": 14}, "f at 14"),
        ({"qualname": "f"}, "f"),
        ({"offset": 0}, "? at 0"),
    ],
)
def test_a_place_is_told(facts, words):
    problem = Problem("XT402", "m", **facts)
    assert problem.place == words
    assert str(problem) == f"XT402 merge-conflict: {words}: m"


def test_problems_are_values():
    assert len({Problem("XT401", "m", offset=4), Problem("XT401", "m", offset=4)}) == 1
