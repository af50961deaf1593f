"""`places_of`: stretches, runs of copies, single instructions."""

from __future__ import annotations

import pytest

import xtab
from xtab.model.parts import places_of, unwoven


def test_an_untouched_body_is_one_stretch():
    body = xtab.decode(lambda x: x + 1)
    places = places_of(body.instructions, body)
    assert places.parts == [(0, 0, len(body.instructions))]
    assert [places.find(each) for each in body.instructions] == list(range(len(body.instructions)))


def test_what_is_new_or_touched_stands_alone_and_copies_stand_together():
    body = xtab.decode(lambda x: x + 1)
    body.instructions[-1].location = None
    body.insert_copies_before([body.instructions[1]], [xtab.Instruction("NOP"), xtab.Instruction("NOP")])
    count = len(body.instructions)
    places = places_of(body.instructions, body)
    assert places.parts == [(0, 0, 1), (1, -1, 2), (3, 1, count - 4), (count - 1, -1, 1)]
    assert places.find(body.instructions[2]) == 2
    assert places.of_old(1) == 3
    assert places.of_decoded(count - 3) == count - 1


def test_stretches_that_change_places_are_out_of_order():
    body = xtab.decode(lambda x: x + 1)
    body.instructions.append(body.instructions.pop(0))
    places = places_of(body.instructions, body)
    assert not places.in_order
    assert places.of_old(0) == len(body.instructions) - 1
    assert places.find(xtab.Instruction("NOP")) is None


def looked_at(body):
    """What `places_of` finds when it knows nothing beforehand."""
    known, body._woven = body._woven, unwoven([])
    places = places_of(body.instructions, body)
    body._woven = known
    return places


def with_copies():
    body = xtab.decode(lambda x: [each for each in x if each])
    pattern = [xtab.Instruction("LOAD_CONST", 1), xtab.Instruction("POP_TOP")]
    body.insert_copies_before(reversed(body.insertion_points()), pattern)
    return body


def test_what_copies_leave_is_known_without_looking():
    for body in xtab.decode(lambda x: x + 1), with_copies():
        known, found = places_of(body.instructions, body), looked_at(body)
        assert known.woven
        assert not found.woven
        assert (known.parts, list(known.now)) == (found.parts, list(found.now))
        assert (known.in_order, known.whole) == (found.in_order, found.whole)
        assert [known.find(each) for each in body.instructions] == [found.find(each) for each in body.instructions]


def touch(body):
    body.instructions[-1].location = None


def touch_a_copy(body):
    next(each for each in body.instructions if each.opname == "LOAD_CONST" and each.operand == 1).operand = 2


def protect_a_copy(body):
    copy = next(each for each in body.instructions if each.opname == "LOAD_CONST" and each.operand == 1)
    copy.exn_tab_entry = xtab.Span(body.instructions[-1])


def take_one_out(body):
    del body.instructions[-1]


def put_one_in(body):
    body.instructions.insert(1, xtab.Instruction("NOP"))


@pytest.mark.parametrize("change", [touch, touch_a_copy, protect_a_copy, take_one_out, put_one_in])
def test_what_was_known_holds_no_more_once_something_is_changed(change):
    body = with_copies()
    change(body)
    places = places_of(body.instructions, body)
    assert not places.woven
    assert places.parts == looked_at(body).parts
