"""The comparison of our data with the interpreter: silent where all agrees, and not blind."""

from __future__ import annotations

import opcode
import subprocess
import sys

import pytest

from xtab import selfcheck
from xtab.format.opcodes import CURRENT


def test_the_running_python_agrees():
    """All that xtab knows of the running Python is what that says itself."""
    assert selfcheck.differences() == []


def test_it_runs_as_a_program():
    """``python -m xtab.selfcheck`` is silent and successful."""
    done = subprocess.run([sys.executable, "-m", "xtab.selfcheck"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture
def planted(monkeypatch):
    """Return a function that plants a difference and returns what `differences` says then."""

    def plant(owner, name, value):
        monkeypatch.setattr(owner, name, value)
        return "\n".join(selfcheck.differences())

    return plant


def changed(table, index, value):
    kind = type(table)
    return kind([*table[:index], value, *table[index + 1 :]])


def test_a_wrong_magic_number_is_found(planted):
    """Another magic number than that of .pyc files here is a difference."""
    assert planted(CURRENT, "magic", 1).startswith("magic number: 1 in xtab, ")


def test_a_missing_opcode_is_found(planted):
    """An opcode that the interpreter has and xtab lacks, or the other way round, is a difference."""
    numbers = dict(CURRENT.number)
    number = numbers.pop("NOP")
    assert planted(CURRENT, "number", numbers) == f"NOP: number None in xtab, {number} here"
    found = planted(opcode, "opmap", {**opcode.opmap, "NEW": 3})
    assert "NEW: number None in xtab, 3 here" in found


def test_an_opcode_that_is_gone_is_found(planted):
    """An opcode that the interpreter has no longer is a line, although ``stack_effect`` refuses its number."""
    real, gone = opcode.stack_effect, CURRENT.number["GET_LEN"]

    def without_it(op, arg=None, *, jump=None):
        if op == gone:
            raise ValueError("invalid opcode or oparg")
        return real(op, arg, jump=jump)

    opmap = {name: number for name, number in opcode.opmap.items() if name != "GET_LEN"}
    planted(opcode, "stack_effect", without_it)
    assert f"GET_LEN: number {gone} in xtab, None here" in planted(opcode, "opmap", opmap)


def test_a_wrong_cache_is_found(planted):
    """A wrong number of caches is a difference."""
    number = CURRENT.number["LOAD_ATTR"]
    assert "LOAD_ATTR: 1 caches in xtab" in planted(CURRENT, "caches", changed(CURRENT.caches, number, 1))


def test_a_wrong_kind_is_found(planted):
    """A wrong kind of operand is a difference."""
    number = CURRENT.number["LOAD_CONST"]
    assert "LOAD_CONST: kind 0 in xtab" in planted(CURRENT, "kind", changed(CURRENT.kind, number, 0))


def test_a_wrong_effect_is_found(planted):
    """An effect on the stack other than the interpreter's is a difference, with jumps and without."""
    real = opcode.stack_effect
    wrong = CURRENT.number["LOAD_CONST"]
    found = planted(opcode, "stack_effect", lambda op, arg=None, *, jump=None: real(op, arg, jump=jump) + (op == wrong))
    assert "LOAD_CONST 0: effect 1 (jump=False) in xtab, 2 here" in found
    assert "LOAD_CONST 0: effect 1 (jump=True) in xtab, 2 here" in found


def test_a_wrong_word_is_found(planted):
    """Another list of operators is a difference."""
    assert planted(opcode, "cmp_op", ("<",)).startswith("COMPARE_OP: ['<', '<='")
