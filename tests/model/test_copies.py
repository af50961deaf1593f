"""`insert_copies`: what it makes is what inserting one by one makes."""

from __future__ import annotations

import copy
import types

import pytest

import xtab
from xtab.transform import emit

SOURCE = (
    """
def simple(a, b):
    return [a +
            b]

def loops(items):
    total = 0
    for item in items:
        if item:
            continue
        total += item
        while total > 10: total -= 1
    return total

def handles(a):
    try:
        with a as b:
            yield b
    except ValueError as error:
        print(error)
    finally:
        a = None

async def waits(a):
    async for each in a:
        await each
    return (lambda: a)
"""
    "def long(a):\n    for b in a:\n" + "".join(f"        a.b{n} = (b, a.c{n})\n" for n in range(90))
)


def codes(code: types.CodeType):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


CODES = list(codes(compile(SOURCE, "example", "exec")))


def a_call():
    return emit.call_method(emit.load_const(()), "__len__") + emit.pop()


def line_starts_by_location(body):
    lines = [None if each.location is None else each.location.line for each in body.instructions]
    pairs = zip(body.instructions, [None, *lines], lines, strict=False)
    return [(each, line) for each, before, line in pairs if line not in (before, None)]


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.co_name)
@pytest.mark.parametrize("jumps", ["new", "stay"])
@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("new", [a_call, lambda: [xtab.Instruction("NOP")]], ids=["call", "nop"])
def test_copies_are_like_instructions_put_in_one_by_one(code, jumps, everywhere, new):
    bodies = xtab.decode(code), xtab.decode(code)
    for body, many in zip(bodies, (True, False), strict=True):
        free = body.insertion_points(jumps=jumps)
        anchors = free if everywhere else [each for each, _ in body.line_starts() if each in free]
        if many:
            body.insert_copies_before(anchors, new(), jumps=jumps)
        else:
            body.insert_before_each({anchor: new() for anchor in anchors}, jumps=jumps)
    made, expected = map(xtab.assemble, bodies)
    assert made.co_code == expected.co_code
    assert list(made.co_positions()) == list(expected.co_positions())
    assert made == expected
    assert [repr(each) for each in bodies[0].instructions] == [repr(each) for each in bodies[1].instructions]
    assert [each.location for each in bodies[0].instructions] == [each.location for each in bodies[1].instructions]


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.co_name)
def test_lines_start_where_locations_say(code):
    body = xtab.decode(code)
    assert body.line_starts() == line_starts_by_location(body)
    body.instructions.insert(1, xtab.Instruction("NOP"))
    assert body.line_starts() == line_starts_by_location(body)


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.co_name)
@pytest.mark.parametrize("jumps", ["new", "stay"])
def test_insertion_points_are_those_without_a_reason(code, jumps):
    body = xtab.decode(code)
    expected = [each for each in body.instructions if body.why_not_before(each, jumps=jumps) is None]
    assert body.insertion_points(jumps=jumps) == expected


def test_a_copy_that_is_touched_leaves_the_others_alone():
    body = xtab.decode(lambda x: x + 1)
    body.insert_copies_before(body.insertion_points(), [xtab.Instruction("LOAD_CONST", 1), xtab.Instruction("POP_TOP")])
    loads = [each for each in body.instructions[:-4] if each.opname == "LOAD_CONST" and each.operand == 1]
    loads[0].operand = 2
    loads[1].location = None
    assert loads[0].operand == 2
    assert loads[1].operand == 1
    assert loads[0].location is not None
    assert loads[1].location is None
    assert copy.copy(loads[2]).location == loads[2].location
    assert 2 in xtab.assemble(body).co_consts


def test_copies_can_be_moved_taken_out_and_not_stand_twice():
    body = xtab.decode(lambda x: x + 1)
    pattern = [xtab.Instruction("NOP"), xtab.Instruction("NOP")]
    body.insert_copies_before(body.instructions[1:], pattern)
    body.instructions[1], body.instructions[4] = body.instructions[4], body.instructions[1]
    del body.instructions[2]
    xtab.assemble(body)
    body.instructions += body.instructions[3:5]
    with pytest.raises(xtab.AssembleError, match="each instruction once"):
        xtab.assemble(body)


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.co_name)
def test_the_order_of_the_anchors_makes_no_difference(code):
    bodies = xtab.decode(code), xtab.decode(code)
    for body, step in zip(bodies, (1, -1), strict=True):
        body.insert_copies_before(body.insertion_points()[::step], a_call())
    assert xtab.assemble(bodies[0]) == xtab.assemble(bodies[1])


def test_a_copy_can_get_a_span_of_its_own():
    body = xtab.decode(lambda x: x + 1)
    body.insert_copies_before(body.insertion_points(), [xtab.Instruction("NOP")])
    handler = [xtab.Instruction("PUSH_EXC_INFO"), xtab.Instruction("RERAISE", 0)]
    copy = next(each for each in body.instructions if each.opname == "NOP")
    copy.exn_tab_entry = xtab.Span(handler[0])
    body.instructions += handler
    (entry,) = xtab.parse_exception_table(xtab.assemble(body))
    assert entry.start == body.layout.offset_of(copy)
    assert entry.target == body.layout.offset_of(handler[0])


def test_jumps_among_copies_lead_to_copies():
    body = xtab.decode(lambda x: x + 1)
    end = xtab.Instruction("NOP")
    body.insert_copies_before(body.instructions[1:3], [xtab.Instruction("JUMP_FORWARD", end), end])
    jumps = [each for each in body.instructions if each.is_jump]
    assert [body.instructions[body.instructions.index(each) + 1] for each in jumps] == [each.target for each in jumps]
    assert end not in body.instructions
    xtab.assemble(body)


def test_new_variables_in_copies_move_those_that_are_there():
    def outer(a):
        return lambda: a

    body = xtab.decode(outer)
    pattern = [xtab.Instruction("LOAD_CONST", 1), xtab.Instruction("STORE_FAST", "new")]
    body.insert_copies_before([body.instructions[-1]], pattern)
    body.insert_copies_before([body.instructions[-2]], pattern)
    code = xtab.assemble(body)
    assert types.FunctionType(code, {})(5)() == 5
    assert "new" in code.co_varnames


def test_anchors_must_be_in_the_body_and_their_places_open():
    body = xtab.decode(lambda x: x + 1)
    nop = xtab.Instruction("NOP")
    with pytest.raises(xtab.XtabError, match="which is not in it"):
        body.insert_copies_before([nop], [nop])
    with pytest.raises(xtab.EditError, match="expected a place"):
        body.insert_copies_before([body.instructions[0]], [nop])
    with pytest.raises(xtab.XtabError, match="expected an Instruction in a list of instructions to copy"):
        body.insert_copies_before([body.instructions[1]], ["NOP"])
    assert len(body.instructions) == len(xtab.decode(lambda x: x + 1).instructions)
    body.instructions.insert(1, nop)
    with pytest.raises(xtab.XtabError, match="to put copies before, but found 'NOP' of type str"):
        body.insert_copies_before(["NOP"], [nop])
    body.insert_copies_before([], [nop])
