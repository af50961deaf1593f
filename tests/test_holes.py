"""What once crashed although the verifier accepted it is refused. The cases are in `cases/holes.py`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

import xtab

CASES = Path(__file__).parent / "cases" / "holes.py"
HOLES = runpy.run_path(str(CASES))["HOLES"]
HERE = [hole for hole in HOLES if hole.first <= sys.version_info[:2] <= hole.last]


@pytest.mark.parametrize("hole", HERE, ids=[hole.name for hole in HERE])
def test_what_crashed_is_refused(hole):
    assert {problem.code for problem in xtab.verify_parts(hole.parts()) if problem.severity == "error"} == {hole.rule}
