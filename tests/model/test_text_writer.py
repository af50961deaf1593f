"""Writing: what a text shows, and what it leaves out. What comes back from it is tested in test_text.py."""

from __future__ import annotations

import textwrap

import pytest

import xtab
from xtab import Instruction, Span, XtabError
from xtab.model.text import from_text
from xtab.model.text_writer import write


def written(text):
    """Return what the body of a text is written as."""
    return write(from_text(textwrap.dedent(text)))[0]


def test_a_text_in_full():
    text = textwrap.dedent("""\
        generator f(a, *, b)
            qualname C.f
            file 'f.py'
            line 12
            flags NESTED
            free d
                RESUME 0                                          @12
                try S1 to L3 depth 1 lasti
                    LOAD_FAST a                                   @13:4-9
                    try to L2
                        LOAD_FAST b
        L1:             POP_TOP                                   @13:4-14:9
                    end
                end S1
                NOP                                               @-
                try S1
        L2:         JUMP_BACKWARD L1
                end S1
        L3:     LOAD_CONST <code g>
                LOAD_CONST (1, <code g.2>)
                STORE_GLOBAL x
                RERAISE 0

        function g()
                LOAD_CONST 'x'
                RETURN_VALUE

        function g() as g.2
            file 'g.py'
            consts None, 1
                NOP
        """)
    assert written(text) == text


def test_deep_spans_are_not_indented_for_ever():
    text = "function f()\n" + "try to L1\n" * 300 + "L1: NOP\n" + "end\n" * 300
    assert max(map(len, written(text).splitlines())) < 100


def test_a_body_stays_as_it_is():
    body = xtab.decode(lambda x: x)
    body.instructions[1:1] = [Instruction("LOAD_CONST", "new"), Instruction("STORE_GLOBAL", "new")]
    before = [*body.consts], [*body.names], [*body.instructions]
    write(body)
    assert ([*body.consts], [*body.names], [*body.instructions]) == before


def test_spans_in_a_circle_are_refused():
    body = xtab.decode(lambda x: x)
    first, second = (Span(body.instructions[0], 0) for _ in range(2))
    first.outer, second.outer = second, first
    body.instructions[1].exn_tab_entry = first
    with pytest.raises(XtabError, match="go round in a circle"):
        write(body)


def test_a_span_whose_handler_is_elsewhere():
    """Nothing carries the outer one itself, so that assembly has no use for its handler; text has."""
    body = xtab.decode(lambda x: x)
    outer = Span(Instruction("NOP"), 0)
    body.instructions[1].exn_tab_entry = Span(body.instructions[0], 0, outer=outer)
    with pytest.raises(XtabError, match=r"expected the handler of Span.* in this body, but found that it is not in it"):
        write(body)


def test_a_target_that_is_missing():
    body = xtab.decode(lambda x: x)
    body.instructions.insert(1, Instruction("JUMP_FORWARD"))
    with pytest.raises(xtab.AssembleError, match="expected JUMP_FORWARD to lead to an instruction"):
        write(body)
