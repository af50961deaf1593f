"""`moves`: what single instructions do to the stack."""

from __future__ import annotations

import pytest

from xtab import Instruction
from xtab.format.opcodes import CURRENT
from xtab.transform.moves import reach, taken_and_made


@pytest.mark.parametrize(
    "opname, operand, moved, reached",
    [
        ("NOP", None, (0, 0), 0),
        ("POP_TOP", None, (1, 0), 1),
        ("LOAD_CONST", 5, (0, 1), 0),
        ("STORE_FAST", "x", (1, 0), 1),
        ("BUILD_LIST", 3, (3, 1), 3),
        ("UNPACK_SEQUENCE", 3, (1, 3), 1),
        ("BINARY_OP", "+", (2, 1), 2),
        ("SWAP", 4, (0, 0), 4),
        ("COPY", 4, (0, 1), 0),
        ("RETURN_VALUE", None, (1, 0), 1),
        ("STORE_SUBSCR", None, (3, 0), 3),
    ],
)
def test_moves(opname, operand, moved, reached):
    instruction = Instruction(opname) if operand is None else Instruction(opname, operand)
    assert taken_and_made(instruction) == moved
    assert reach(instruction) == reached


def test_flags_count():
    assert taken_and_made(Instruction("LOAD_GLOBAL", "x", flags=1)) == (0, 2)
    assert taken_and_made(Instruction("LOAD_GLOBAL", "x")) == (0, 1)


def test_the_way_out_of_a_loop_takes_the_iterator():
    takes = 1 if CURRENT.number["FOR_ITER"] in CURRENT.jump_effect else 0
    assert reach(Instruction("FOR_ITER", Instruction("NOP"))) == takes
