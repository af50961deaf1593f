"""Spans over runs: nested rightly, with what is in the run and around it."""

from __future__ import annotations

import runpy
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtab
from xtab import EditError
from xtab import Instruction as I

CASES = runpy.run_path(str(Path(__file__).parents[1] / "cases" / "tracers.py"))


def nested(a):
    try:
        a.one()
        try:
            a.two()
        except KeyError:
            a.three()
        a.four()
    finally:
        a.five()


def generator(a):
    try:
        yield a.one()
        with a:
            yield a.two()
    except KeyError:
        yield a.three()


FILLERS = {"NOP", "NOT_TAKEN", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}  # holes stay filled
SAMPLES = [nested, generator, CASES["b22"], CASES["b14"], CASES["b34"], CASES["b15"]]


def handlers(body):
    """For each instruction its (handler, lasti), as the assembled code has it."""
    code = xtab.assemble(body)
    found = {}
    for offset, each in body.layout:
        entry = xtab.find_handler(code.co_exceptiontable, offset)
        found[each] = entry and (body.layout.instruction_at(entry.target), entry.lasti)
    return {each: found[each] for each in body.instructions}


def handler_for(body):
    handler = I("RERAISE", 0)
    body.instructions.append(handler)
    return handler


def calls(body, name):
    """The place where an attribute is loaded."""
    return next(place for place, each in enumerate(body.instructions) if each.operand == name)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_run_is_covered_and_nothing_else_changes(data):
    """What was handled inside the run is handled there still; all else in the run is handled by the new handler."""
    body = xtab.decode(data.draw(st.sampled_from(SAMPLES)))
    handler = handler_for(body)
    first_place = next(place for place, each in enumerate(body.instructions) if each.opname == "RESUME")
    first = data.draw(st.integers(first_place, len(body.instructions) - 2))
    last = data.draw(st.integers(first, len(body.instructions) - 2))
    run = body.instructions[first : last + 1]
    before = handlers(body)
    spans = [each.exn_tab_entry for each in body.instructions]
    try:
        new = body.protect(run[0], run[-1], handler)
    except EditError as error:
        assert "can lie inside the other" in str(error)
        assert [each.exn_tab_entry for each in body.instructions] == spans
        return
    try:
        after = handlers(body)
    except xtab.AssembleError as error:  # where a version has a pair that ends with a call
        assert "which must stay together, in the same span" in str(error)
        return
    reach = {each: frozenset(other for other in before if before[other] == before[each]) for each in run}
    for each, found in after.items():
        if each not in run:
            assert found == before[each]
        elif before[each] is None or (reach[each] > set(run) and each.exn_tab_entry is new):
            assert found == (handler, False)
        else:
            assert found in (before[each], (handler, False))
    assert (handler, False) in {after[each] for each in run} or all(before[each] is not None for each in run)
    for each in run:
        chain = chain_of(each)
        assert sum(span.target is handler for span in chain) == 1
    while made := {span for each in body.instructions for span in chain_of(each) if span.target is handler}:
        body.unprotect(made.pop())
    now = handlers(body)
    assert all(now[each] == found for each, found in before.items() if found or each.opname not in FILLERS)


def chain_of(instruction):
    chain, span = [], instruction.exn_tab_entry
    while span is not None:
        chain.append(span)
        span = span.outer
    return chain


def test_inside_what_contains_it():
    body = xtab.decode(nested)
    place = calls(body, "two")
    around = body.instructions[place].exn_tab_entry
    new = body.protect(body.instructions[place], body.instructions[place], handler_for(body))
    assert new.outer is around
    assert body.instructions[place].exn_tab_entry is new
    assert body.instructions[place - 1].exn_tab_entry is around


def test_around_what_it_contains():
    body = xtab.decode(nested)
    inner = body.instructions[calls(body, "two")].exn_tab_entry
    outer = inner.outer
    first, last = body.instructions[calls(body, "one")], body.instructions[calls(body, "four")]
    new = body.protect(first, last, handler_for(body))
    assert inner.outer is new
    assert new.outer is outer
    assert outer.outer is None


def test_holes_in_the_run_are_covered():
    """The NOP of a `try:` line is in no range; in the run it is, inside of what the run lies in."""
    body = xtab.decode(nested)
    place = calls(body, "two")
    while body.instructions[place].opname != "NOP":
        place -= 1
    hole = body.instructions[place]
    assert hole.exn_tab_entry is None
    first, last = body.instructions[calls(body, "one")], body.instructions[calls(body, "four")]
    outer = first.exn_tab_entry
    new = body.protect(first, last, handler_for(body))
    assert hole.exn_tab_entry is new
    assert new.outer is outer


def test_a_whole_generator_is_wrapped():
    """The span of a generator's StopIteration handler covers RESUME as well: the part in the run gets a clone."""
    body = xtab.decode(generator)
    resume = next(place for place, each in enumerate(body.instructions) if each.opname == "RESUME")
    before = body.instructions[resume].exn_tab_entry
    run = body.instructions[resume + 1 :]
    new = body.protect(run[0], run[-1], handler_for(body))
    assert new.outer is None
    assert all(chain_of(each)[-1] is new for each in run)
    assert body.instructions[resume].exn_tab_entry is before
    clones = {chain_of(each)[-2] for each in run if len(chain_of(each)) > 1} - {before}
    if before is not None:
        assert any(
            (span.target, span.depth, span.lasti) == (before.target, before.depth, before.lasti) for span in clones
        )
    xtab.decode(xtab.assemble(body))


def test_the_prologue_is_left_out():
    body = xtab.decode(generator)
    body.protect(body.instructions[0], body.instructions[-1], handler_for(body))
    resume = next(place for place, each in enumerate(body.instructions) if each.opname == "RESUME")
    assert [each.exn_tab_entry for each in body.instructions[:resume]] == [None] * resume
    assert body.instructions[resume].exn_tab_entry is not None
    if resume:
        with pytest.raises(EditError, match="expected a run that reaches the first RESUME"):
            body.protect(body.instructions[0], body.instructions[0], body.instructions[-1])


def test_a_cut_through_a_block_is_refused():
    """The run holds a part of a block whose handler is elsewhere: both spans are named."""
    body = xtab.decode(nested)
    first, last = body.instructions[calls(body, "one")], body.instructions[calls(body, "two")]
    with pytest.raises(EditError, match=r"found Span\(PUSH_EXC_INFO, .*neither it nor Span\(RERAISE, ") as caught:
        body.protect(first, last, handler_for(body))
    assert caught.value.instruction is first


def test_lasti_and_depth_are_taken_over():
    body = xtab.decode(nested)
    each = body.instructions[calls(body, "two")]
    new = body.protect(each, each, handler_for(body), 1, True)
    assert (new.depth, new.lasti) == (1, True)
    assert new in chain_of(each)


def test_every_flat_run_can_be_wrapped():
    """A run with one innermost span never is a cut."""
    for function in SAMPLES:
        body = xtab.decode(function)
        handler = handler_for(body)
        for span, run in [
            (span, list(run)) for span, run in groupby(body.instructions, lambda each: each.exn_tab_entry)
        ]:
            if span is not None:
                body.protect(run[0], run[-1], handler)
                assert {each.exn_tab_entry.target for each in run} <= {handler, span.target}
        xtab.assemble(body)
