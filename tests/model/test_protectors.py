"""Which span handles what is new: by policy, and beside the instructions that don't carry the span around them."""

from __future__ import annotations

import pytest

import xtab
from xtab import Instruction as I
from xtab import Span, XtabError
from xtab.format.opcodes import CURRENT
from xtab.model.protectors import Protectors


def ask(data):
    data.begin()
    try:
        return data["key"]
    except KeyError:
        data.log()


def close_all(items):
    try:
        for each in items:
            try:
                each.close()
            except OSError:
                continue
            except ValueError:
                each.log()
    finally:
        items.end()


def delegate(items):
    try:
        yield from items
    finally:
        items.close()


class Places:
    """The instructions of a function by name, and what is said of the places beside them."""

    def __init__(self, function):
        self.instructions = xtab.decode(function).instructions
        self.protectors = Protectors(self.instructions)

    def places(self, opname):
        return [place for place, each in enumerate(self.instructions) if each.opname == opname]

    def before(self, place, protect="anchor"):
        """The span of what is put before the instruction at a place."""
        return self.protectors.span_for(protect, self.instructions[place], place)

    def own(self, place):
        return self.instructions[place].exn_tab_entry


@pytest.fixture
def row():
    """NOPs of which the two in the middle lie in one span, in another one."""
    handler = I("PUSH_EXC_INFO")
    outer = Span(handler)
    inner = Span(handler, outer=outer)
    instructions = [I("LOAD_CONST", 0) for _ in range(6)]
    for each, span in zip(instructions, [None, outer, inner, inner, outer, None], strict=True):
        each.exn_tab_entry = span
    return [*instructions, handler], outer, inner


@pytest.mark.parametrize(
    "protect, expected",
    [
        ("anchor", [None, "outer", "inner", "inner", "outer", None, None]),
        ("before", [None, None, "outer", "inner", "inner", "outer", None]),
        ("after", [None, "outer", "inner", "inner", "outer", None, None]),
        (None, [None] * 7),
    ],
    ids=["anchor", "before", "after", "none"],
)
def test_the_policies(row, protect, expected):
    instructions, outer, inner = row
    named = {None: None, "outer": outer, "inner": inner}
    protectors = Protectors(instructions)
    found = [protectors.span_for(protect, each, place) for place, each in enumerate(instructions)]
    assert found == [named[name] for name in expected]


def test_the_anchor_may_be_the_instruction_before(row):
    """As for what is put behind an instruction."""
    instructions, outer, inner = row
    protectors = Protectors(instructions)
    found = [protectors.span_for("anchor", each, place + 1) for place, each in enumerate(instructions)]
    assert found == [None, outer, inner, inner, outer, None, None]


def test_the_ends_of_the_list(row):
    instructions, *_ = row
    protectors = Protectors(instructions)
    assert protectors.span_for("before", instructions[0], 0) is None
    assert protectors.span_for("after", instructions[-1], len(instructions)) is None


def test_a_span_is_taken_as_it_is(row):
    instructions, *_ = row
    span = Span(instructions[-1])
    assert Protectors(instructions).span_for(span, instructions[0], 0) is span


@pytest.mark.parametrize("protect", ["Anchor", "", 1, True])
def test_other_words_are_refused(row, protect):
    instructions, *_ = row
    with pytest.raises(XtabError, match=r"^expected protect to be 'anchor', 'before', 'after', a Span or None, but "):
        Protectors(instructions).span_for(protect, instructions[0], 0)


@pytest.mark.parametrize("function", [ask, close_all])
def test_before_push_exc_info_the_span_around_it_protects(function):
    """Its own span keeps the exception that it has yet to push."""
    places = Places(function)
    for place in places.places("PUSH_EXC_INFO"):
        own = places.own(place)
        assert own is not None
        assert places.before(place) is places.before(place, "after") is own.outer
        assert places.protectors.span_for("anchor", places.instructions[place], place + 1) is own, "behind it"


def test_before_pop_except_the_span_of_what_leads_there_protects():
    """The compiler leaves POP_EXCEPT out of the span that ends the handling, since it can't raise."""
    places = Places(ask)
    first = places.places("POP_EXCEPT")[0]
    leading = places.own(first - 1)
    assert places.own(first) is None
    assert leading.target.opname == "COPY"
    assert places.before(first) is places.before(first, "after") is leading
    assert places.protectors.span_for("anchor", places.instructions[first], first + 1) is None, "behind it"


def test_before_a_pop_except_that_is_jumped_to():
    """What stands in the line above it doesn't lead there."""
    places = Places(ask)
    target = places.places("POP_EXCEPT")[0]
    jump = I("JUMP_FORWARD", places.instructions[target])
    handling = places.own(target - 1)
    jump.exn_tab_entry = handling
    places.instructions[target:target] = [jump, I("RERAISE", 0)]
    assert places.before(target + 2) is handling
    del places.instructions[target]
    places.protectors = Protectors(places.instructions)
    assert places.before(target + 1) is None, "nothing leads there at all"


def test_a_hole_in_front_of_pop_except():
    """What can't raise may be left out there too."""
    places = Places(ask)
    first = places.places("POP_EXCEPT")[0]
    handling = places.own(first - 1)
    places.instructions[first:first] = [I("NOP"), I("NOP")]
    assert places.before(first + 2) is handling


def test_a_hole_at_a_try_line():
    """The NOP of the inner try is in no span, but what lies on both sides is in that of the outer one."""
    places = Places(close_all)
    outer = places.own(places.places("GET_ITER")[0])
    holes = [place for place in places.places("NOP") if places.own(place) is None]
    between = [place for place in holes if places.own(place - 1) is outer]
    (hole, *_) = between
    assert places.own(hole + 1).outer is outer
    for protect in ("anchor", "before", "after"):
        assert places.before(hole, protect) is outer
    assert places.before(hole + 1, "before") is outer


def test_a_hole_at_the_first_try_line():
    """Before it nothing is protected, so nothing is there."""
    places = Places(ask)
    (hole,) = places.places("NOP")
    assert places.own(hole + 1) is not None
    assert places.before(hole) is places.before(hole + 1, "before") is None


def hole_in(row, size, *, side=True):
    """The row with a hole of NOPs in the span in the middle; `side`: whether it goes on behind the hole."""
    instructions, outer, inner = row
    nops = [I("NOP") for _ in range(size)]
    return [*instructions[:3], *nops, *instructions[3 if side else 5 :]], outer, inner


@pytest.mark.parametrize("size", [1, 2, 8])
def test_a_hole_of_several(row, size):
    instructions, _, inner = hole_in(row, size)
    protectors = Protectors(instructions)
    found = [protectors.span_for("anchor", instructions[place], place) for place in range(3, 3 + size)]
    assert found == [inner] * size


def test_a_hole_that_is_none(row):
    """No compiler leaves out so many, and what could raise there is left out on purpose."""
    instructions, *_ = hole_in(row, 20)
    assert Protectors(instructions).span_for("anchor", instructions[12], 12) is None
    instructions, *_ = hole_in(row, 1)
    instructions[3] = I("LOAD_NAME", "name")
    assert Protectors(instructions).span_for("anchor", instructions[3], 3) is None


def test_an_end_that_is_no_hole(row):
    instructions, *_ = hole_in(row, 1, side=False)
    assert Protectors(instructions).span_for("anchor", instructions[3], 3) is None


def test_a_hole_between_different_spans(row):
    """What lies around both sides is the span."""
    instructions, outer, _ = row
    instructions[3].exn_tab_entry = Span(instructions[-1], outer=outer)
    instructions.insert(3, I("NOP"))
    assert Protectors(instructions).span_for("anchor", instructions[3], 3) is outer


def test_a_hole_behind_a_jump(row):
    """What stands in the line above doesn't lead there: a jump in another place does."""
    instructions, _, inner = hole_in(row, 1)
    hole = instructions[3]
    instructions[2].exn_tab_entry = None
    instructions.insert(3, I("RERAISE", 0))
    assert Protectors(instructions).span_for("anchor", hole, 4) is None, "nothing leads there"
    jump = I("JUMP_FORWARD", hole)
    jump.exn_tab_entry = inner
    instructions.insert(2, jump)
    assert Protectors(instructions).span_for("anchor", hole, 5) is inner
    jump.exn_tab_entry = None
    assert Protectors(instructions).span_for("anchor", hole, 5) is None


def test_a_hole_that_jumps_away(row):
    """Behind it control goes on where the jump leads."""
    instructions, outer, inner = row
    jump = I("JUMP_BACKWARD", instructions[1])
    instructions[3:] = [jump, *instructions[4:]]
    assert Protectors(instructions).span_for("anchor", jump, 3) is outer
    jump.target = instructions[2]
    assert Protectors(instructions).span_for("anchor", jump, 3) is inner
    jump.target = instructions[0]
    assert Protectors(instructions).span_for("anchor", jump, 3) is None


@pytest.mark.skipif("CLEANUP_THROW" not in CURRENT.number, reason="this version has no CLEANUP_THROW")
def test_cleanup_throw_handles_nothing_that_is_new():
    """It is for what throw() brings into a generator that waits."""
    places = Places(delegate)
    waiting = [place for place, each in enumerate(places.instructions) if thrown_into(each.exn_tab_entry)]
    assert waiting
    for place in waiting:
        expected = places.own(place).outer
        assert expected is not None
        assert places.before(place) is places.before(place + 1, "before") is expected


def thrown_into(span):
    return span is not None and span.target.opname == "CLEANUP_THROW"
