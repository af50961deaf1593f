"""What is known of a frame before an instruction."""

from __future__ import annotations

import pytest

import xtab
from xtab import VerificationError, XtabError, stack_depths, typed_frame
from xtab.format.opcodes import CURRENT


def at(function, opname, number=0):
    return [row.offset for row in xtab.show(function).rows if row.opname.startswith(opname)][number]


def bindings(function, offset):
    return {variable.name: variable.binding for variable in typed_frame(function, offset).variables}


def loop(items):
    for item in items:
        last = item
    del items
    return last


def test_variables_are_bound_on_all_ways_on_some_or_on_none():
    assert bindings(loop, 0) == {"items": "bound", "item": "unbound", "last": "unbound"}
    assert bindings(loop, at(loop, "FOR_ITER")) == {"items": "bound", "item": "maybe", "last": "maybe"}
    assert bindings(loop, at(loop, "RETURN_VALUE")) == {"items": "unbound", "item": "maybe", "last": "bound"}


def test_the_name_of_an_exception_is_gone_behind_its_handler():
    def name(call):
        try:
            call()
        except KeyError as error:
            call(error)
        return call

    handler = next(region.handler for region in xtab.regions(name) if region.kind == "except")
    assert bindings(name, handler)["error"] == "unbound"
    rows = [row for row in xtab.show(name).rows if row.opname == "DELETE_FAST"]
    assert {bindings(name, row.offset)["error"] for row in rows} == {"bound"}
    assert {bindings(name, row.end)["error"] for row in rows} == {"unbound"}


def test_cells_and_free_variables():
    def outer(a):
        def inner():
            return a, b

        b = a
        return inner

    assert bindings(outer, at(outer, "RESUME")) == {"a": "cell", "inner": "unbound", "b": "cell"}
    inner = next(each for each in outer.__code__.co_consts if hasattr(each, "co_code"))
    assert bindings(inner, at(inner, "RESUME")) == {"a": "cell", "b": "cell"}


def test_slots_say_what_they_hold():
    def call(f, d):
        for _ in f(None):
            try:
                f(d)
            except KeyError:
                return 1

    null = typed_frame(call, at(call, "CALL", 0)).stack
    assert "NULL" in {slot.words for slot in null}
    for slot in null:
        assert slot.may_be_null == ("NULL" in slot.words)
        assert not (slot.may_be_null and slot.is_object)
    handling = typed_frame(call, at(call, "CHECK_EXC_MATCH"))
    assert handling.handling == 1
    assert [slot.words for slot in handling.stack][-3:-1] == ["the exception handled before", "an exception"]
    assert handling.stack[0].words == "an iterator"


def test_a_borrowed_reference_says_from_whom():
    def pair(one, other):
        return one + other

    frame = typed_frame(pair, at(pair, "BINARY_OP"))
    names = [("one",), ("other",)] if CURRENT.borrows else [(), ()]
    assert [slot.borrowed_from for slot in frame.stack] == names


@pytest.mark.parametrize("function", [loop, xtab.decode, xtab.show, xtab.Body.protect, xtab.nest, typed_frame])
def test_as_many_slots_as_the_stack_is_deep(function):
    for row, depth in zip(xtab.show(function).rows, stack_depths(function), strict=True):
        frame = typed_frame(function, row.offset)
        assert (None if frame is None else len(frame.stack)) == depth
        assert frame is None or frame.offset == row.offset


def test_what_is_bound_for_sure_may_be_bound():
    for row in xtab.show(xtab.nest).rows:
        frame = typed_frame(xtab.nest, row.offset)
        assert str(frame).startswith("stack: ")


def test_nothing_is_known_where_nothing_leads():
    body = xtab.decode(lambda: 0)
    body.instructions += [xtab.Instruction("LOAD_CONST", 5), xtab.Instruction("RETURN_VALUE")]
    code = xtab.assemble(body)
    assert typed_frame(code, len(code.co_code) - 2) is None


def test_code_that_is_not_valid_is_refused_with_its_problems():
    broken = (lambda x: (x, x)).__code__.replace(co_stacksize=1)
    with pytest.raises(VerificationError) as caught:
        typed_frame(broken, 0)
    assert [problem.name for problem in caught.value.problems] == ["stack-size-too-small"]


def test_a_bad_offset():
    with pytest.raises(XtabError, match="expected an offset"):
        typed_frame(loop, -1)
