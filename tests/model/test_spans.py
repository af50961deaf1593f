"""Walks along spans."""

from __future__ import annotations

from xtab import Instruction as I
from xtab import Span
from xtab.model.spans import lies_in, spans_of


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
    assert spans_of([I("NOP", exn_tab_entry=one)]) == {one, two}
