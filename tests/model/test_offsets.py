"""`Layout`: offsets of instructions, and what isn't there."""

from __future__ import annotations

import pytest

import xtab


def test_offsets_tell_the_instructions():
    code = compile("x = 1\ny = x + 1", "example", "exec")
    layout = xtab.decode(code).layout
    assert len(layout) == len(list(layout))
    for offset, instruction in layout:
        assert layout.offset_of(instruction) == offset
        assert layout.instruction_at(offset) is layout.instruction_at(layout.end_of(instruction) - 1) is instruction


def test_what_is_not_there_is_refused():
    layout = xtab.decode(lambda: None).layout
    with pytest.raises(xtab.XtabError, match="expected an offset from 0"):
        layout.instruction_at(1000)
    with pytest.raises(xtab.XtabError, match="that was in the body when it was decoded"):
        layout.offset_of(xtab.Instruction("NOP"))
