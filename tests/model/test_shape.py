"""`read_body`: the parts of a body, and the depths of new spans."""

from __future__ import annotations

import pytest

import xtab
from xtab import Instruction, Span
from xtab.format.opcodes import CURRENT
from xtab.model.shape import read_body


def sample(a, b):
    for x in a:
        try:
            a.attr = b[x] + 1
        except ValueError:
            return "constant"
    return len(a, b)


def test_an_untouched_body_is_one_part():
    body = xtab.decode(sample)
    found = read_body(body)
    assert found.parts == [(0, 0, len(body.instructions))]
    assert found.instructions == body.instructions
    assert found.instructions is not body.instructions
    assert found.prefixes == {}


def test_edits_cut_it():
    """Stretches are as long as can be; what is new or touched has no place in the source."""
    body = xtab.decode(sample)
    size = len(body.instructions)
    body.instructions.insert(5, Instruction("NOP"))
    assert read_body(body).parts == [(0, 0, 5), (5, -1, 1), (6, 5, size - 5)]
    body.instructions[9].location = (1, 1, 0, 0)  # was 8
    assert read_body(body).parts == [(0, 0, 5), (5, -1, 1), (6, 5, 3), (9, -1, 1), (10, 9, size - 9)]
    del body.instructions[0:2]
    assert read_body(body).parts[0] == (0, 2, 3)


def test_stretches_that_moved_are_found():
    body = xtab.decode(sample)
    size = len(body.instructions)
    body.instructions[:] = body.instructions[10:] + body.instructions[:10]
    found = read_body(body)
    assert found.parts == [(0, 10, size - 10), (size - 10, 0, 10)]
    before = xtab.decode(sample)
    old = {
        before.instructions.index(each): before.instructions.index(each.target)
        for each in before.instructions
        if each.is_jump
    }
    assert found.shape.targets == {(jump - 10) % size: (target - 10) % size for jump, target in old.items()}
    assert list(found.shape.targets) == sorted(found.shape.targets)


def test_jumps_lead_to_what_was_touched():
    """A target stays a target when something of it is set."""
    body = xtab.decode(sample)
    jump = next(each for each in body.instructions if each.is_jump)
    jump.target.location = (1, 1, 0, 0)
    place = body.instructions.index
    assert read_body(body).shape.targets[place(jump)] == place(jump.target)


@pytest.mark.parametrize(
    "wrong", [3, "span", Span(Instruction("NOP"), -1), Span(Instruction("NOP"), "1"), Span(None, 0)]
)
def test_what_is_no_span_is_refused(wrong):
    body = xtab.decode(sample)
    body.instructions[2].exn_tab_entry = wrong
    with pytest.raises(xtab.AssembleError, match=r"instruction 2: expected .* but found") as caught:
        read_body(body)
    assert caught.value.index == 2
    assert caught.value.instruction is body.instructions[2]


def protected(*instructions, before=()):
    """Return the depth that a new span around the instructions gets, when these stand before it."""
    body = xtab.decode(lambda x, y: x)
    handler = Instruction("RERAISE", 0)
    span = Span(handler)
    place = next(place for place, each in enumerate(body.instructions) if each.opname == "RESUME") + 1
    for each in instructions:
        each.exn_tab_entry = span
    body.instructions[place:] = [*before, *instructions, Instruction("RETURN_VALUE"), handler]
    (entry,) = read_body(body).shape.entries
    assert span.depth is None
    return entry.depth


def loads(count):
    return [Instruction("LOAD_FAST", "x") for _ in range(count)]


def test_the_depth_of_a_new_span():
    """It is what the protected part leaves alone: values that it takes from before it don't count."""
    assert protected(*loads(1)) == 0
    assert protected(*loads(1), before=loads(2)) == 2
    assert protected(Instruction("BUILD_TUPLE", 3), before=loads(3)) == 0
    assert protected(Instruction("BUILD_TUPLE", 2), before=loads(3)) == 1
    # one instruction takes what the other has put there: nothing from before
    assert protected(*loads(2), Instruction("BUILD_TUPLE", 2), before=loads(3)) == 3
    assert protected(*loads(1), Instruction("BUILD_TUPLE", 2), before=loads(3)) == 2
    assert protected(Instruction("STORE_GLOBAL", "a"), Instruction("STORE_GLOBAL", "b"), before=loads(3)) == 1
    # it puts back as many as it takes
    assert protected(Instruction("LOAD_ATTR", "z"), before=loads(1)) == 0


def test_the_depth_of_a_new_span_around_another():
    """The outer one covers all that the inner one does; what cannot be reached has the depth of its handler."""
    body = xtab.decode(lambda x: x)
    handler, other = Instruction("RERAISE", 0), Instruction("RERAISE", 0)
    outer = Span(handler)
    inner = Span(other, outer=outer)
    dead = Span(handler)
    place = next(place for place, each in enumerate(body.instructions) if each.opname == "RESUME") + 1
    body.instructions[place:] = [
        *(*loads(2), Instruction("BUILD_TUPLE", 1, exn_tab_entry=inner), Instruction("BUILD_TUPLE", 2)),
        *(Instruction("NOP", exn_tab_entry=outer), Instruction("RETURN_VALUE"), handler, other),
        Instruction("RERAISE", 0, exn_tab_entry=dead),
    ]
    depths = {(entry.first - place, entry.depth) for entry in read_body(body).shape.entries}
    assert depths == {(2, 1), (4, 1), (8, 1)}  # one handler, one depth
    assert CURRENT.pops(CURRENT.number["BUILD_TUPLE"], 1) == 1


def test_a_changed_span_is_noticed_whatever_was_changed():
    """Its depth, its lasti, its handler, and the span of an instruction, each by itself."""

    def sample(a):
        try:
            return a.b
        except ValueError:
            return a

    before = read_body(xtab.decode(sample)).shape.entries
    for attribute, value in (("depth", 7), ("lasti", True), ("target", None)):
        body = xtab.decode(sample)
        span = next(each.exn_tab_entry for each in body.instructions if each.exn_tab_entry)
        setattr(span, attribute, body.instructions[-1] if value is None else value)
        assert read_body(body).shape.entries[0] != before[0]
    body = xtab.decode(sample)
    next(each for each in body.instructions if each.exn_tab_entry).exn_tab_entry = None
    assert read_body(body).shape.entries[0].first == before[0].first + 1
