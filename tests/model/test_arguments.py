"""What is asked of arguments; `tests/test_wrong_arguments.py` tries all that edits with wrong ones."""

from __future__ import annotations

import pytest

from xtab import Instruction, XtabError
from xtab.model.arguments import instructions_given, require


def test_what_is_right_comes_back():
    nop = Instruction("NOP")
    assert require(nop, Instruction, "an Instruction") is nop
    assert instructions_given((each for each in [nop]), "to put here") == [nop]


@pytest.mark.parametrize("found, kind", [("x", int), (True, int), (None, str), (Instruction, Instruction)])
def test_another_type(found, kind):
    with pytest.raises(XtabError, match=f"expected what is wanted, but found .* of type {type(found).__name__}"):
        require(found, kind, "what is wanted")


@pytest.mark.parametrize(
    "given, message",
    [
        (Instruction("NOP"), r"but found one instruction, Instruction\('NOP'\): write \[instruction\]"),
        ("ab", r"expected a list of instructions to put here, but found 'ab' of type str"),
        (5, "but found 5 of type int"),
        ([5], "expected an Instruction in a list of instructions to put here, but found 5"),
    ],
    ids=range(4),
)
def test_no_instructions(given, message):
    with pytest.raises(XtabError, match=message):
        instructions_given(given, "to put here")


@pytest.mark.parametrize(
    "given, maker, example",
    [
        ("ab", "load_const", "load_const('ab')"),
        (1.5, "load_const", "load_const(1.5)"),
        (print, "load_const", "load_const(...)"),
        ("f", "load_global", "load_global('f')"),
        (5, "load_global", "load_global(...)"),
    ],
    ids=range(5),
)
def test_an_operand_is_advised(given, maker, example):
    with pytest.raises(XtabError) as caught:
        instructions_given([given], "as an argument", maker=maker)
    assert f"such as emit.{example} makes, but found" in str(caught.value)
