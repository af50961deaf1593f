"""`Source`: what instructions know before anyone touches them, and that a copy is independent of it."""

from __future__ import annotations

import copy
import dis

import pytest

import xtab
from xtab.model.decode import read_source


def sample(a, b):
    for x in a:
        try:
            a.attr = b[x] + 1
        except ValueError:
            return "constant"
    return len(a, b)


def test_the_columns_are_those_of_dis():
    """Opcodes, operands and starts, prefixes and caches left out."""
    code = sample.__code__
    source = read_source(code)
    known = [each for each in dis.get_instructions(code) if each.opname != "EXTENDED_ARG"]
    assert list(source.opcodes) == [each.opcode for each in known]
    assert [2 * start for start in source.starts] == [*(each.offset for each in known), len(code.co_code)]
    assert [sum(source.sizes[:place]) for place in range(len(known) + 1)] == source.starts
    for place, each in enumerate(known):
        assert source.is_jump(place) == (place in source.targets) == (each.opcode in {*dis.hasjrel, *dis.hasjabs})
        location = source.location(place)
        assert (location.line if location else None) == each.positions.lineno
        if source.is_jump(place):
            assert known[source.targets[place]].offset == each.argval
    assert source.jumps == list(source.targets)
    assert not source.prefixes
    assert len(source.entries) == len(source.shape.entries)


def test_reading_touches_nothing():
    body = xtab.decode(sample)
    for each in body.instructions:
        assert repr(each) == repr(copy.copy(each))
        _ = each.opcode, each.operand, each.flags, each.arg, each.target, each.location
    body.instructions[0].exn_tab_entry = None
    assert not body._source.touched


@pytest.mark.parametrize("attribute", ["opname", "operand", "flags", "location", "target"])
def test_setting_touches_the_one(attribute):
    """What was set, to the same value even, is an instruction's own from then on; all others remain as they were."""
    body = xtab.decode(sample)
    place = next(place for place, each in enumerate(body.instructions) if each.opname == "STORE_ATTR")
    if attribute == "target":
        place = next(iter(body._source.targets))
    each = body.instructions[place]
    setattr(each, attribute, getattr(each, attribute))
    assert body._source.touched == {place}
    assert xtab.assemble(body) == sample.__code__


def test_a_copy_is_independent():
    """Changing one leaves the other alone; a copy may stand beside its original, or in another body."""
    body = xtab.decode(sample)
    for original in body.instructions:
        made = copy.copy(original)
        assert made is not original
        assert repr(made) == repr(original)
        assert (made.location, made.flags, made.target) == (original.location, original.flags, original.target)
        assert made.exn_tab_entry is original.exn_tab_entry
        shown, location = repr(original), original.location
        made.opname = "NOP"
        made.location = (9, 9, 9, 9)
        made.exn_tab_entry = xtab.Span(original)
        assert (repr(original), original.location) == (shown, location)
        assert original.exn_tab_entry is not made.exn_tab_entry
    assert not body._source.touched
    body.instructions[:] = [copy.copy(each) for each in body.instructions[:1]] + body.instructions[1:]
    assert xtab.assemble(body).co_code == sample.__code__.co_code

    other = xtab.decode(lambda q: None)
    constant = next(each for each in body.instructions if each.operand == "constant")
    other.instructions[1:1] = [made := copy.copy(constant), xtab.Instruction("POP_TOP")]
    made.exn_tab_entry = None
    assert "constant" in xtab.assemble(other).co_consts


def test_instructions_are_not_copied_deeply():
    """Each hangs on its whole body."""
    with pytest.raises(TypeError, match=r"copy\.copy makes a new one"):
        copy.deepcopy(xtab.decode(sample).instructions[0])
