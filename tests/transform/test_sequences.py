"""`sequences`: copies, spans and locations of new instructions."""

from __future__ import annotations

import xtab
from xtab import Instruction, Span
from xtab.transform.sequences import become, copies, put_behind, settle

HERE = xtab.Location(1, 1, 0, 4)


def test_copies_lead_to_each_other():
    outside, handler = Instruction("NOP"), Instruction("PUSH_EXC_INFO")
    outer = Span(handler, 1, True)
    inner = Span(outside, None, False, outer)
    first = Instruction("JUMP_FORWARD", handler, location=HERE, exn_tab_entry=inner)
    second = Instruction("JUMP_FORWARD", outside, exn_tab_entry=outer)
    made = copies([first, second, handler])
    assert [each.opname for each in made] == ["JUMP_FORWARD", "JUMP_FORWARD", "PUSH_EXC_INFO"]
    assert not set(made) & {first, second, handler}
    assert made[0].target is made[2]
    assert made[1].target is outside
    new = made[0].exn_tab_entry
    assert (new.target, new.depth, new.lasti) == (outside, None, False)
    assert new.outer is made[1].exn_tab_entry
    assert (new.outer.target, new.outer.depth, new.outer.lasti, new.outer.outer) == (made[2], 1, True, None)
    assert made[0].location == HERE
    assert (inner.outer, outer.target) == (outer, handler)


def test_copies_of_nothing():
    assert copies([]) == []


def test_settled_instructions_are_in_the_span_and_at_the_location():
    around = Span(Instruction("NOP"))
    own = Span(Instruction("NOP"))
    bare, placed = Instruction("NOP"), Instruction("NOP", location=HERE._replace(line=5), exn_tab_entry=own)
    assert settle([bare, placed], around, HERE) == [bare, placed]
    assert (bare.exn_tab_entry, bare.location) == (around, HERE)
    assert (placed.exn_tab_entry, own.outer, placed.location.line) == (own, around, 5)
    settle([bare, placed], around, HERE)  # once more changes nothing
    assert (bare.exn_tab_entry, placed.exn_tab_entry, own.outer, around.outer) == (around, own, around, None)
    assert settle([Instruction("NOP")], None, None)[0].exn_tab_entry is None


def test_become_keeps_what_leads_there():
    body = xtab.decode(lambda x: x + 1)
    load = next(each for each in body.instructions if each.opname.startswith("LOAD_FAST"))
    become(load, Instruction("LOAD_CONST", 4))
    function = type(become)(xtab.assemble(body), {})
    assert function(100) == 5


def test_put_behind():
    span = Span(Instruction("NOP"))
    one, two, new = Instruction("NOP", location=HERE, exn_tab_entry=span), Instruction("NOP"), Instruction("NOP")
    assert put_behind([one, two], {one: [new], Instruction("NOP"): [Instruction("NOP")]}) == [one, new, two]
    assert (new.location, new.exn_tab_entry) == (HERE, span)
