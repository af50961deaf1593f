"""Where something may be put: the data of each version, in words."""

from __future__ import annotations

import pytest

import xtab
from xtab import EditError
from xtab import Instruction as I
from xtab.format.opcodes import CURRENT
from xtab.model.seams import Seams, refuse_half_pairs


def made(*names):
    return [I(name, *[0] * (CURRENT.kind[CURRENT.number[name]] == 1)) for name in names]


def test_the_prologue_is_closed_and_the_rest_open():
    instructions = made("RESUME", "NOP", "POP_TOP")
    seams = Seams(instructions)
    assert seams.first == 1
    assert [seams.why_not(seam) is None for seam in range(4)] == [False, True, True, True]


def test_without_resume_there_is_no_prologue():
    seams = Seams(made("NOP", "NOP"))
    assert seams.first == 0
    assert seams.why_not(0) is None


def test_pairs_of_each_version():
    """Every pair in the data is refused, by name; the same instructions the other way round aren't."""
    for first, seconds in CURRENT.adjacent.items():
        for second in seconds:
            pair = [made("RESUME")[0], *(xtab.decode(lambda: None).instructions[:0]), fake(first), fake(second)]
            reason = Seams(pair).why_not(2)
            assert reason
            assert CURRENT.name[second] in reason
            if second not in CURRENT.keep_before and first not in CURRENT.keep_before:
                turned = [pair[0], pair[2], pair[1]]
                assert Seams(turned).why_not(2) is None or first in CURRENT.adjacent.get(second, ())


def fake(opcode):
    """An instruction of an opcode, whatever its operand."""
    instruction = I("NOP")
    instruction._touch().opcode = opcode
    return instruction


def test_what_the_interpreter_expects_is_not_parted():
    for opcode in CURRENT.keep_before:
        instructions = [*made("RESUME"), *made("NOP"), fake(opcode)]
        assert "the interpreter expects" in Seams(instructions).why_not(2)


def test_loops_that_throw_looks_up_keep_their_target():
    for opcode in CURRENT.keep_as_target:
        seams = Seams([*made("RESUME"), *made("NOP"), fake(opcode)])
        assert seams.why_not(2) is None
        assert "must go on doing so" in seams.why_not(2, led_to=True)


def test_the_error_names_the_next_place():
    instructions = made("RESUME", "NOP", "POP_TOP")
    with pytest.raises(
        EditError, match=r"found instruction 0, Instruction\('RESUME', 0\).* before instruction 1, .*body.start$"
    ) as error:
        Seams(instructions).refuse(0)
    assert error.value.next_place is instructions[1]
    Seams(instructions).refuse(3)


def test_halves_are_refused_and_wholes_are_not():
    first, seconds = next(iter(CURRENT.adjacent.items()))
    instructions = [*made("RESUME", "NOP"), fake(first), fake(min(seconds)), *made("NOP")]
    for begin, end in ((2, 3), (3, 4), (1, 3), (3, 5)):
        with pytest.raises(EditError, match="must stay beside"):
            refuse_half_pairs(instructions, begin, end)
    for begin, end in ((1, 2), (2, 4), (1, 5), (4, 5)):
        refuse_half_pairs(instructions, begin, end)
    refuse_half_pairs(instructions, 3, 4, [fake(min(seconds))])
    with pytest.raises(EditError, match="belongs to the start"):
        refuse_half_pairs(instructions, 0, 1)
