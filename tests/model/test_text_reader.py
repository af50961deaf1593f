"""Reading: labels, spans, code objects; and what is wrong is refused with the line where it stands."""

from __future__ import annotations

import re

import pytest

import xtab
from xtab.errors import StackError, TextError
from xtab.model.text_reader import read


def spans(text):
    return [each.exn_tab_entry for each in read(text, {}).instructions]


def test_labels():
    """Several at one instruction, on lines of their own or not, in front of a span or in it."""
    body = read("function f()\n JUMP_FORWARD c\na: b:\n# x\n\nc: try to a\n NOP\n end\n JUMP_BACKWARD b", {})
    jump, nop, back = body.instructions
    assert jump.target is nop
    assert back.target is nop
    assert nop.exn_tab_entry.target is nop


def test_directions_are_found():
    body = read("function f()\n a: NOP\n JUMP_FORWARD a", {})
    assert [each.opname for each in body.instructions] == ["NOP", "JUMP_BACKWARD"]


def test_what_assembly_puts_in_is_in_the_body():
    """Such as the jump behind a conditional one that must lead back; it is in the span of that."""
    name = next(name for name in ("POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_TRUE") if _has(name))
    body = read(f"function f(x)\n try to b\n a: LOAD_FAST x\n {name} a\n end\n LOAD_FAST x\n b: RETURN_VALUE", {})
    inside = [each for each in body.instructions if each.exn_tab_entry is not None]
    assert [each.is_jump for each in inside][-1]
    assert len({id(each.exn_tab_entry) for each in inside}) == 1
    assert [each for _, each in body.layout] == body.instructions


def _has(name):
    try:
        xtab.Instruction(name)
    except xtab.XtabError:
        return False
    return True


def test_the_body_is_like_a_decoded_one():
    body = read("function f(x)\n LOAD_FAST x\n RETURN_VALUE", {})
    assert [offset for offset, _ in body.layout] == [0, 2]
    assert body.instructions[0].arg == 0
    body.instructions.insert(0, xtab.Instruction("NOP"))
    assert len(xtab.assemble(body).co_code) == 6


def test_spans_lie_in_each_other():
    outer, inner, again, none, last = spans(
        "function f()\n try to a\n NOP\n try S to a depth 2\n NOP\n end S\n try S\n NOP\n end\n end\n NOP\n"
        " try to a lasti\n a: NOP\n end"
    )
    assert inner is again
    assert inner.outer is outer
    assert (inner.depth, outer.depth, none) == (2, None, None)
    assert (last.lasti, last.outer) == (True, None)


def test_code_objects_below():
    body = read(
        "function f()\n file 'x.py'\n LOAD_CONST <code g>\n NOP\nfunction g()\n LOAD_CONST <code <h>>\n NOP\n"
        "class h as <h>\n file 'y.py'\n NOP",
        {},
    )
    inner = body.consts[-1]
    assert (inner.co_name, inner.co_filename) == ("g", "x.py")
    assert (inner.co_consts[-1].co_name, inner.co_consts[-1].co_filename) == ("h", "y.py")


def test_free_variables_and_cells_from_use():
    body = read("function f()\n MAKE_CELL b\n MAKE_CELL a\n LOAD_DEREF c\n LOAD_DEREF b\n STORE_DEREF d", {})
    assert (body.cellvars, body.freevars) == (["b", "a"], ["c", "d"])


ERRORS = [
    ("", "line 1: expected a line such as 'function f(a, b)', but found the end of the text"),
    ("\n # only\n", "line 3: expected a line such as"),
    (" NOP", "line 1, column 2: expected a line such as 'function f(a, b)' first, but found NOP"),
    ("module", "line 1: expected at least one instruction, but found none"),
    ("module\nNO", "line 2, column 1: expected an instruction of CPython"),
    ("module\nRETURN_VALU", "'RETURN_VALU'; close to it: RETURN_VALUE"),
    ("module\nqualnam x", "'qualnam'; close to it: qualname"),
    ("module\nCACHE", "line 2, column 1: expected an instruction of CPython"),
    ("module\nEXTENDED_ARG 1", "line 2, column 1: expected an instruction of CPython"),
    ("module\n?", "line 2, column 1: expected an instruction, but found ?"),
    ("module\nNOP [x]", "line 2, column 6: expected a number, but found x"),
    ("module\nNOP [1", "line 2, column 7: expected ']', but found the end of the line"),
    ("module\nJUMP_FORWARD a", "line 2: expected a label of this code object (it has none), but found 'a'"),
    ("module\nJUMP_FORWARD la\nlb: NOP", "line 2: expected a label of this code object (lb), but found 'la'"),
    ("module\na: NOP\na: NOP", "line 3, column 1: expected a new label, but found 'a', which stands at line 2 too"),
    ("module\nJUMP_FORWARD a\na:", "line 3: expected an instruction behind the label 'a', but found none"),
    ("module\ntry\nNOP", "line 2, column 4: expected 'to' and the label of the handler, but found the end of the line"),
    (
        "module\ntry S\nNOP",
        "line 2, column 6: expected 'to' and the label of the handler, but found the end of the line",
    ),
    ("module\ntry to\nNOP", "line 2, column 7: expected the label of the handler, but found the end of the line"),
    ("module\ntry to a depth\nNOP", "line 2, column 15: expected a number of values, but found the end of the line"),
    ("module\ntry to a x", "expected 'depth NUMBER', 'lasti' or the end of the line, but found x"),
    ("module\ntry to a lasti x", "expected the end of the line, but found x"),
    ("module\na: try to a\nNOP", "line 2: expected 'end', but found the end of the code object"),
    ("module\nNOP\nend", "line 3, column 1: expected an instruction, since no span is open, but found 'end'"),
    (
        "module\na: try S to a\nNOP\nend T",
        "line 4, column 5: expected 'end' of the span begun at line 2, S, but found 'end T'",
    ),
    ("module\na: try to a\nNOP\nend T", "expected 'end' of the span begun at line 2, but found 'end T'"),
    (
        "module\na: try S to a\nNOP\nend\ntry S to a",
        "line 5, column 7: expected the end of the line, since S was begun before",
    ),
    (
        "module\na: try S to a\nNOP\nend\ntry to a\ntry S\nNOP\nend\nend",
        "line 6, column 1: expected S opened again inside the same span as the first time, but found another one",
    ),
    (
        "module\nLOAD_CONST <code g>",
        "expected the name of a code object that stands below this one (none), but found 'g'",
    ),
    ("module\nLOAD_CONST <code gg>\nclass g\nNOP", "that stands below this one (g), but found 'gg'"),
    (
        "module\nNOP\nclass g\nLOAD_CONST <code g>",
        "line 4, column 20: expected the name of a code object that stands below",
    ),
    (
        "module\nNOP\nclass g\nNOP\nclass g\nNOP",
        "line 3: expected one code object called 'g', but found another one below",
    ),
    (
        "module\nLOAD_CONST <object x>",
        "expected an object that was given to from_text in `objects` (xy), but found 'x'",
    ),
    ("module\nNOP\nclass g\nNOP\nPOP_TOP", "line 5: expected 1 values or more on the stack for POP_TOP, but found 0"),
    (
        "module\nfree x\nLOAD_DEREF y",
        "line 3: expected a cell or free variable of this body for LOAD_DEREF, but found 'y'",
    ),
    (
        "module\na: NOP\nFOR_ITER a",
        "line 3: expected FOR_ITER to lead forward, but found its target at 0, further back",
    ),
    ("module\nNOP @-1", "expected"),
]


@pytest.mark.parametrize("text, message", ERRORS, ids=range(len(ERRORS)))
def test_errors(text, message):
    with pytest.raises(TextError, match=re.escape(message)) as caught:
        read(text, {"xy": 1})
    assert caught.value.line is not None


def test_a_wrong_depth_is_for_assembly_to_find():
    body = read("module\nPOP_TOP\nNOP", {})
    assert body.stacksize == 0
    with pytest.raises(StackError):
        xtab.assemble(body)
