"""Walks along spans."""

from __future__ import annotations

import pytest

import xtab
from xtab import Instruction as I
from xtab import Span
from xtab.model.spans import all_of, chain_of, lies_in, spans_of


def test_all_spans_are_found_once():
    target = I("NOP")
    outer = Span(target, 0)
    inner = Span(target, 1, outer=outer)
    instructions = [I("NOP", exn_tab_entry=span) for span in (None, inner, inner, None)]
    assert spans_of(instructions) == {outer, inner}
    assert spans_of([]) == set()


def test_lying_in_a_span():
    target = I("NOP")
    outer = Span(target, 0)
    middle, beside = Span(target, 1, outer=outer), Span(target, 1, outer=outer)
    inner = Span(target, 2, outer=middle)
    known = {None: False}
    answers = [lies_in(span, middle, known) for span in (None, inner, middle, beside, outer)]
    assert answers == [False, True, True, False, False]
    assert known[inner] is True


def test_spans_in_a_circle_end():
    one, two = Span(I("NOP"), 0), Span(I("NOP"), 0)
    one.outer, two.outer = two, one
    assert not lies_in(one, Span(I("NOP"), 0), {None: False})
    for walk in (lambda: spans_of([I("NOP", exn_tab_entry=one)]), lambda: chain_of(one)):
        with pytest.raises(xtab.XtabError, match="go round in a circle"):
            walk()


def test_chains_are_walked_outwards():
    outer = Span(I("NOP"), 0)
    inner = Span(I("NOP"), 1, outer=outer)
    assert chain_of(inner) == [inner, outer]
    assert chain_of(None) == []


def generator(x):
    yield x.a + x.b


@pytest.mark.parametrize(
    "use",
    [
        lambda body: body.protect(body.instructions[4], body.instructions[6], body.instructions[-1], 0),
        lambda body: body.copy(body.instructions[4], body.instructions[6]),
        lambda body: (body.insert_after(body.instructions[4], [I("NOP")]), xtab.assemble(body)),
    ],
    ids=["protect", "copy", "assemble"],
)
def test_a_circle_ends_nothing_but_the_edit(use):
    """Whoever walks along spans that go round in a circle says so, or has no need to."""
    body = xtab.decode(generator)
    one, two = Span(body.instructions[-1], 0), Span(body.instructions[-1], 0)
    one.outer, two.outer = two, one
    for each in body.instructions[4:]:
        each.exn_tab_entry = one
    try:
        use(body)
    except xtab.XtabError as error:
        assert "go round in a circle" in str(error) or isinstance(error, xtab.StackError)


def test_all_of_some_spans_stand_in_the_order_in_which_they_are_met():
    target = I("NOP")
    outer = Span(target, 0)
    inner, other = Span(target, 1, outer=outer), Span(target, 2, outer=outer)
    assert all_of([None, inner, other, inner]) == [inner, outer, other]
