"""`Layout`: where instructions lie, as of the last decoding or assembly."""

from __future__ import annotations

import pytest

import xtab
from xtab import Instruction


def test_the_layout_is_that_of_the_last_assembly():
    """Editing the body does not change it; assembly does, and a failed one does not."""
    body = xtab.decode(lambda x: x)
    before = list(body.layout)
    body.instructions.insert(1, Instruction("NOP"))
    assert list(body.layout) == before
    broken = Instruction("JUMP_FORWARD")
    body.instructions.insert(1, broken)
    with pytest.raises(xtab.AssembleError):
        xtab.assemble(body)
    assert list(body.layout) == before
    body.instructions.remove(broken)
    code = xtab.assemble(body)
    assert [each for _, each in body.layout] == body.instructions
    assert body.layout.end_of(body.instructions[-1]) == len(code.co_code)


def test_every_byte_belongs_to_an_instruction():
    """Prefixes and caches included; outside there is nothing."""
    layout = xtab.decode(sum_of).layout
    for offset, each in layout:
        assert layout.offset_of(each) == offset
        assert {layout.instruction_at(at) for at in range(offset, layout.end_of(each))} == {each}
    for outside in (-1, layout.end_of([each for _, each in layout][-1]), None, 1.5, "4", True):
        with pytest.raises(xtab.XtabError, match="expected an offset from 0 to"):
            layout.instruction_at(outside)


def sum_of(numbers):
    return sum(each.real for each in numbers) + 1


def test_what_was_never_there_has_no_offset():
    with pytest.raises(xtab.XtabError, match="expected an instruction that was in the body when"):
        xtab.decode(sum_of).layout.offset_of(Instruction("NOP"))
