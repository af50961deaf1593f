from __future__ import annotations

import pytest

from xtab.analysis.verify.steps import calls, exceptions, flow, plain, variables
from xtab.analysis.verify.values import STEPS
from xtab.format.opcodes import CURRENT


@pytest.mark.parametrize("op", [op for op in range(256) if CURRENT.legal[op]], ids=lambda op: CURRENT.name[op])
def test_every_legal_opcode_has_a_step(op):
    assert callable(STEPS[op])


def test_no_other_has_one():
    assert [CURRENT.name[op] for op in range(256) if not CURRENT.legal[op] and STEPS[op]] == []


def test_no_name_has_two_steps():
    names = [name for room in (variables, plain, calls, flow, exceptions) for name in room.STEPS]
    assert len(names) == len(set(names))
