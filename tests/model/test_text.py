"""Bodies as text: the standard library and edited bodies come back as they were, and any text is safe."""

from __future__ import annotations

import runpy
import sysconfig
import types
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtab
from xtab import Instruction, Span
from xtab.errors import TextError
from xtab.format.opcodes import CURRENT
from xtab.model.tables import constant_key
from xtab.model.text import from_text, objects_in, to_text

CASES = Path(__file__).parents[1] / "cases"
LIBRARY = Path(sysconfig.get_path("stdlib"))
MODULES = [path for path in sorted(LIBRARY.glob("*.py")) if path.exists() and path.stat().st_size < 12_000][::3][:40]
PARTS = 4  # so that several processes can share them
FIELDS = (
    *("co_code", "co_exceptiontable", "co_linetable", "co_stacksize", "co_flags"),
    *("co_names", "co_varnames", "co_cellvars", "co_freevars", "co_nlocals"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
    *("co_name", "co_qualname", "co_filename", "co_firstlineno"),
)


def differences(code, other):
    """Return what differs between two code objects, those inside them included."""
    found = [name for name in FIELDS if getattr(code, name) != getattr(other, name)]
    waiting = [(code.co_consts, other.co_consts)]
    while waiting:
        one, two = waiting.pop()
        if isinstance(one, types.CodeType) and isinstance(two, types.CodeType):
            found += differences(one, two)
        elif type(one) is tuple and type(two) is tuple and len(one) == len(two):
            waiting += zip(one, two, strict=True)
        elif type(one) is slice and type(two) is slice:
            waiting.append(((one.start, one.stop, one.step), (two.start, two.stop, two.step)))
        elif constant_key(one) != constant_key(two) and not (one != one and two != two):
            found.append((one, two))
    return found


def check(body):
    """A body comes back from its text, and the text from that."""
    code = xtab.assemble(body)
    objects = objects_in(body)
    text = to_text(body)
    again = from_text(text, objects=objects)
    assert differences(code, xtab.assemble(again)) == []
    assert to_text(again) == text
    return text


def all_code(root):
    waiting = [root]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


@pytest.mark.parametrize("part", range(PARTS))
def test_the_standard_library_comes_back(part):
    for path in MODULES[part::PARTS]:
        check(xtab.decode(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))


def test_the_cases_come_back():
    path = CASES / "tracers.py"
    check(xtab.decode(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))
    for name, (_, source, _) in runpy.run_path(str(CASES / "bytecode_defects.py"))["SOURCES"].items():
        try:
            code = compile(source, name, "exec", dont_inherit=True)
        except SyntaxError:
            continue  # of a later version
        check(xtab.decode(code))


# edited bodies


def put_nops(body):
    nops = {anchor: [Instruction("NOP")] for anchor in body.insertion_points()}
    body.insert_before_each(nops)


def protect_all(body):
    """Put a new span, whose depth is still to be computed, around all that there is."""
    handler = [Instruction("PUSH_EXC_INFO"), Instruction("RERAISE", 0)]
    resume = next(place for place, each in enumerate(body.instructions) if each.opname == "RESUME")
    first = next((each for each in body.insertion_points() if each in set(body.instructions[resume:])), None)
    if first is not None:
        body.protect(first, body.instructions[-1], handler[0])
        body.instructions += handler


def make_long(body):
    """Put so much in that jumps get longer, and add names and constants."""
    for anchor in body.insertion_points()[::5]:
        new = [Instruction("NOP") for _ in range(60)]
        new += [Instruction("LOAD_CONST", ("new", anchor.opname)), Instruction("STORE_FAST", "new name")]
        body.insert_before(anchor, new)


def make_names(body):
    """Use many names and constants, so that their numbers need more than a byte."""
    anchor = body.insertion_points()[0]
    new = []
    for number in range(300):
        new += [Instruction("LOAD_CONST", f"constant {number}"), Instruction("STORE_GLOBAL", f"name{number}")]
    body.insert_before(anchor, new)


@pytest.mark.parametrize("edit, step", [(put_nops, 5), (protect_all, 3), (make_long, 10), (make_names, 30)])
def test_edited_bodies_come_back(edit, step):
    path = CASES / "tracers.py"
    codes = list(all_code(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))
    for code in codes[::step]:
        body = xtab.decode(code)
        if not body.insertion_points():
            continue
        edit(body)
        before = [list(body.consts), list(body.names), list(body.varnames), list(body.instructions)]
        to_text(body)
        assert [list(body.consts), list(body.names), list(body.varnames), list(body.instructions)] == before
        check(body)


def test_depth_that_is_to_be_computed_stays_so():
    body = xtab.decode(lambda x: x.y)
    protect_all(body)
    again = from_text(to_text(body))
    spans = [each.exn_tab_entry for each in again.instructions if each.exn_tab_entry is not None]
    assert spans[0].depth is None
    assert spans[0].target.opname == "PUSH_EXC_INFO"


def test_the_spans_around_a_span_come_back():
    """Also those that no instruction carries itself."""
    body = xtab.decode(lambda x: x.y)
    handlers = [Instruction("NOP") for _ in range(3)]
    outermost = Span(handlers[0], 0)
    outer = Span(handlers[1], 1, lasti=True, outer=outermost)
    inner = Span(handlers[2], 2, outer=outer)
    for place, span in ((1, inner), (2, outermost), (3, inner)):
        body.instructions[place].exn_tab_entry = span
    body.instructions += [*handlers, Instruction("RERAISE", 0)]
    again = from_text(to_text(body)).instructions
    names = {each.opname for each in body.instructions[1:4]}  # a NOP may have been put between them
    first, second, third = (each.exn_tab_entry for each in again if each.opname in names)
    assert first is third
    assert first.outer.outer is second
    assert [(span.depth, span.lasti) for span in (first, first.outer, second)] == [(2, False), (1, True), (0, False)]
    assert [again.index(span.target) for span in (second, first.outer, first)] == [len(again) - n for n in (4, 3, 2)]


def test_jumps_that_are_longer_than_they_need_stay_so():
    """And so do EXTENDED_ARG in front of small operands."""
    prefix = CURRENT.extended_arg
    for count in (1, 2, 3):
        text = (
            f"function f()\n RESUME 0\n JUMP_FORWARD L +wide={count}\n L: LOAD_CONST None +wide={count}\n RETURN_VALUE"
        )
        code = xtab.assemble(from_text(text))
        assert list(code.co_code[::2]).count(prefix) == 2 * count
        text = check(xtab.decode(code))
        assert text.count(f"+wide={count}") == 2


def test_a_long_jump_is_not_marked():
    text = "function f()\n RESUME 0\n JUMP_FORWARD L\n" + " NOP\n" * 300 + "L: LOAD_CONST None\n RETURN_VALUE"
    assert "wide" not in check(from_text(text))


def test_code_that_looks_the_same_twice():
    """Names and constants that stand twice in their lists are told apart by their numbers."""
    code = (lambda a, b: (a, b, 300, 301)).__code__
    body = xtab.decode(code.replace(co_consts=(*code.co_consts, 300, 300), co_varnames=("a", "a")))
    load = next(place for place, each in enumerate(body.instructions) if each.opname == "LOAD_CONST")
    body.instructions[load]._touch().arg = len(body.consts) - 1
    text = check(body)
    assert f"LOAD_CONST [{len(body.consts) - 1}]" in text
    assert "[1]" in text


@pytest.mark.parametrize("kind", ["a local", "a cell", "free"])
def test_variables_of_one_name(kind):
    """A cell, a free variable and a local of one name are three."""
    code = from_text(
        "function f(a)\n cells x, y\n free z, y\n RESUME 0\n LOAD_DEREF y\n POP_TOP\n LOAD_DEREF free y\n RETURN_VALUE"
    )
    assert [each.operand for each in code.instructions if each.opname == "LOAD_DEREF"] == ["y", "y"]
    assert [type(each.operand) for each in code.instructions if each.opname == "LOAD_DEREF"] == [xtab.Cell, xtab.Free]
    assert "LOAD_DEREF free y" in check(code)


def test_one_object_in_two_places_is_one():
    body = from_text(
        "function f()\n LOAD_CONST <code g>\n POP_TOP\n LOAD_CONST <code g>\n POP_TOP\n LOAD_CONST (nan, <code g>)\n"
        " POP_TOP\n LOAD_CONST complex(nan, 0.0)\n POP_TOP\n LOAD_CONST complex(nan, 0.0)\n RETURN_VALUE\n"
        "function g()\n LOAD_CONST 1\n RETURN_VALUE"
    )
    consts = [each for each in body.consts if each is not None]
    assert len(consts) == 3
    assert consts[1][1] is consts[0]
    check(body)


def test_a_code_object_that_two_others_hold():
    inner = compile("1", "inner", "eval")
    holders = [compile("x", "holder", "eval").replace(co_consts=(inner,)) for _ in range(2)]
    holders[1] = holders[1].replace(co_consts=(inner, holders[0]))
    body = xtab.decode(compile("x", "main", "eval").replace(co_consts=tuple(holders)))
    text = check(body)
    assert text.count("\nmodule") == 3


def test_objects_without_a_literal():
    """They have names, which stand for what is given to from_text."""
    body = xtab.decode(lambda: 0)
    things = [print, [1], [2], (3, {4: 5})]
    resume = body.instructions[0]
    for thing in things:
        body.insert_after(resume, [Instruction("LOAD_CONST", thing), Instruction("POP_TOP")])
    text = check(body)
    assert "<object list.2>" in text
    again = from_text(text, objects=objects_in(body))
    assert [each for each in again.consts if isinstance(each, list)] == [[2], [1]]
    with pytest.raises(TextError, match=r"object that was given to from_text in `objects` \(none\), but found 'dict'"):
        from_text(text, objects={})


# text written by hand


def run(text, *arguments, **names):
    code = xtab.assemble(from_text(text))
    return types.FunctionType(code, {"__builtins__": __builtins__, **names})(*arguments)


def test_a_function_of_five_lines():
    assert (
        run(
            "function add(a, b)\n    RESUME 0\n    LOAD_FAST a\n    LOAD_FAST b\n    BINARY_OP +\n    RETURN_VALUE",
            1,
            2,
        )
        == 3
    )


def test_a_function_that_catches():
    text = """
    # what is left out has a default: lists, locations, flags, the depth of the span
    function divide(a, b, otherwise)
        RESUME 0
        LOAD_CONST 'the result is'      ; a comment
        try to caught                   # one value is on the stack here
            LOAD_FAST a
            LOAD_FAST b
            BINARY_OP /
        end
        BUILD_TUPLE 2
        RETURN_VALUE

    caught:
        PUSH_EXC_INFO
        POP_TOP
        POP_EXCEPT
        LOAD_FAST otherwise
        BUILD_TUPLE 2
        RETURN_VALUE
    """
    assert run(text, 6, 3, None) == ("the result is", 2)
    assert run(text, 6, 0, "nothing") == ("the result is", "nothing")
    assert [entry.depth for entry in xtab.parse_exception_table(xtab.assemble(from_text(text)))] == [1]


def test_functions_in_a_module():
    text = """
    module
        RESUME 0
        LOAD_CONST <code double>
        {make}
        STORE_NAME double
        LOAD_CONST None
        RETURN_VALUE
    function double(x)
        RESUME 0
        LOAD_FAST x
        LOAD_FAST x
        BINARY_OP +
        RETURN_VALUE
    """
    make = "MAKE_FUNCTION" if CURRENT.kind[CURRENT.number["MAKE_FUNCTION"]] == 0 else "MAKE_FUNCTION 0"
    namespace = {}
    exec(xtab.assemble(from_text(text.format(make=make))), namespace)
    assert namespace["double"](4) == 8


def test_a_string_is_no_docstring():
    function = types.FunctionType(xtab.assemble(from_text("function f()\nLOAD_CONST 'x'\nRETURN_VALUE")), {})
    assert function.__doc__ is None


def test_nothing_is_mended():
    """A span that begins right at a call, for which assembly of an edited body owes a NOP, stays as it is written."""
    text = "function f(a)\n RESUME 0\n LOAD_FAST a\n try to L\n LOAD_ATTR x\n end\n RETURN_VALUE\n L: RERAISE 0"
    assert [each.opname for each in xtab.decode(xtab.assemble(from_text(text))).instructions][2] == "LOAD_ATTR"


# any text


TEXT = to_text(xtab.decode(runpy.run_path(str(CASES / "tracers.py"))["b1"]))
WORDS = [
    *TEXT.split(),
    *"module class generator as /\\ \" ' ( , [9] <code f> <object x> +flags=9 @-1 # ; L1: \0 \ud800".split(" "),
]


def is_safe(text):
    """Whether reading gives a body, which can be written again, or an error that xtab raises on purpose."""
    try:
        body = from_text(text)
    except TextError as error:
        return "expected" in str(error) and 0 < error.line <= text.count("\n") + 1
    return to_text(from_text(to_text(body))) == to_text(body)


LARGE_OR_ODD = [
    "(" * 100_000,
    "function f()\nLOAD_CONST " + "(" * 100_000,
    "function f()\nLOAD_CONST " + "9" * 100_000,
    "function f()\nLOAD_CONST " + "9" * 100_000 + "x",
    "function f()\nLOAD_CONST '" + "\\x" * 50_000,
    "function f()\nLOAD_CONST " + "-" * 100_000,
    "function f(" + "a, " * 50_000,
    "function f()\n" + "try to L\n" * 10_000 + "L: NOP",
    "function f()\n line 2147483647\n NOP @2147483647:2147483647-2147483647",
    "function f()\n stack 2147483647\n NOP\n",
    "module\nLOAD_CONST <code f>\nRETURN_VALUE\nfunction f()\n stack 2147483647\n JUMP_FORWARD L\n NOP\n L: NOP",
    "function f(a, a)\n cells a, a\n free a, a\n NOP\n MAKE_CELL a\n LOAD_DEREF [3]",
]


@pytest.mark.parametrize("text", LARGE_OR_ODD, ids=range(len(LARGE_OR_ODD)))
def test_large_and_odd_text_is_safe(text):
    assert is_safe(text)


@pytest.mark.pure
@settings(deadline=None)
@given(st.text())
def test_arbitrary_text_is_safe(text):
    assert is_safe(text)


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=12).map("\n".join))
def test_arbitrary_words_are_safe(text):
    assert is_safe("function f(a)\n" + text)


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_damaged_text_is_safe(chance, count):
    text = TEXT
    for _ in range(count):
        start = chance.randrange(len(text))
        end = start + chance.choice([0, 1, 1, 2, 5, 30])
        text = text[:start] + chance.choice(["", "", "0", "\n", "'", *WORDS]) + text[end:]
    assert is_safe(text)


def test_the_time_is_linear():
    """Ten times the blocks, one inside the other, don't reach the recursion limit."""
    depth = 3000
    text = "function f()\n" + "try to L\n" * depth + "NOP\n" + "end\n" * depth + "L: RERAISE 0"
    assert to_text(from_text(text)).count("try") == depth


def test_only_text_is_read():
    with pytest.raises(TypeError, match="expected text, but found b''"):
        from_text(b"")
