"""`places_of`: stretches, runs of copies, single instructions."""

from __future__ import annotations

import xtab
from xtab.model.parts import places_of


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
