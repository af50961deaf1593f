"""The order of the checks: what one step finds wrong keeps those from speaking that rely on it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from xtab import CodeParts, verify_parts
from xtab.analysis.verify.checks import find_problems
from xtab.testing.code_parts import with_instructions

PARTS = CodeParts.of(lambda x: x)
UNDERFLOW = [("RESUME", 0), ("POP_TOP", 0), ("LOAD_FAST", 0), ("RETURN_VALUE", 0)]


def codes(parts):
    return [problem.code for problem in find_problems(parts)]


def test_sound_parts():
    assert find_problems(PARTS) == verify_parts(PARTS) == ()


def test_the_last_step():
    assert codes(with_instructions(PARTS, UNDERFLOW)) == ["XT401"]


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"stacksize": -1}, ["XT406"]),
        ({"exceptiontable": b"\x80"}, ["XT101"]),
        ({"exceptiontable": bytes.fromhex("82013f00")}, ["XT301"]),
        ({"linetable": b""}, ["XT105", "XT401"]),
    ],
    ids=["counts", "table", "handler", "locations"],
)
def test_a_step_before_it(changes, expected):
    """Only a location table leaves the stack as clear as it was."""
    assert codes(with_instructions(PARTS, UNDERFLOW)._replace(**changes)) == expected


def test_who_does_not_verify_does_not_import_the_checks():
    script = """
import sys, xtab
assert "xtab.analysis.verify.checks" not in sys.modules and "xtab.analysis.verify.stack" not in sys.modules
xtab.verify(lambda: 0)
assert "xtab.analysis.verify.stack" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
