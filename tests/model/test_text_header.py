"""The header of a body's text: what is left out, and what is said, means the same to writer and reader."""

from __future__ import annotations

import inspect
import re

import pytest

import xtab
from xtab.errors import TextError
from xtab.model.text import from_text, to_text

END = "\n RESUME 0\n LOAD_CONST None\n RETURN_VALUE"


def header(text):
    """Return the header that a body with this one is written with."""
    return to_text(from_text(text + END)).partition("\n        RESUME")[0]


@pytest.mark.parametrize(
    "text",
    [
        "function f()",
        "function f(a, b)",
        "function f(a, /, b, *, c)",
        "function f(a, *b, c, **d)",
        "function f(*b)",
        "function f(**d)",
        "function f(a, b, /)",
        "generator <genexpr>(.0)",
        "coroutine f()",
        "async generator f()",
        "function 'two words'('an argument')",
        "class C",
        "class C(a)",
        "module",
        "function f()\n    qualname C.f",
        "function f()\n    qualname 'C.<locals> f'",
        'function f()\n    file "it\'s.py"',
        "function f()\n    line 0",
        "function f()\n    flags NESTED",
        "function f()\n    flags -NEWLOCALS NESTED 0x4000",
        "module\n    flags FUTURE_ANNOTATIONS",
        "function f()\n    stack 12",
        "function f()\n    consts 'doc', 1",
        "class f\n    consts 1, 2",
        "function f()\n    names a.b, 'c d'",
        "function f(a)\n    locals x, .0",
        "function f()\n    cells x, y",
        "function f()\n    free x, y",
    ],
)
def test_headers_come_back(text):
    if "-NEWLOCALS" in text:  # then it is no function any more
        assert header(text) == "class f()\n    flags OPTIMIZED NESTED 0x4000".replace("f()", "f")
    else:
        assert header(text) == text


def test_what_the_arguments_mean():
    body = from_text("function f(a, b, /, c, *d, e, f, **g)" + END)
    assert (body.argcount, body.posonlyargcount, body.kwonlyargcount) == (3, 2, 2)
    assert body.varnames == ["a", "b", "c", "e", "f", "d", "g"]
    assert body.flags == inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS | inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def test_defaults():
    body = from_text("function f()" + END)
    assert (body.qualname, body.filename, body.first_line, body.stacksize) == ("f", "<text>", 1, 1)
    assert body.consts == [None]


def test_long_lists_take_several_lines():
    names = [f"a_name_of_some_length_{number}" for number in range(100)]
    text = header("module\n names " + ",".join(names))
    assert max(map(len, text.split("\n"))) < 125
    assert from_text(text + END).names == names


def test_an_empty_list_can_be_said():
    assert from_text("function f()\n consts\n cells\n NOP").consts == []


@pytest.mark.parametrize("kind", ["module", "class C", "function f()"])
def test_lists_grow_from_use(kind):
    text = f"{kind}\n LOAD_CONST 2\n LOAD_CONST 1\n LOAD_CONST 2\n STORE_FAST x\n STORE_NAME n\n STORE_FAST y"
    body = from_text(text)
    assert [each for each in body.consts if each is not None] == [2, 1]
    assert (body.names, body.varnames) == (["n"], ["x", "y"])
    assert [line.split()[0] for line in to_text(body).splitlines()[1:]] == [
        *("LOAD_CONST", "LOAD_CONST", "LOAD_CONST", "STORE_FAST", "STORE_NAME", "STORE_FAST")
    ]


@pytest.mark.parametrize(
    "text, message",
    [
        ("function", "expected the name of the function, but found the end of the line"),
        ("function f", "expected '(' and the names of the arguments, but found the end of the line"),
        ("function f(a b)", "column 14: expected ',' or ')', but found b"),
        ("function f(", "expected the name of an argument, but found the end of the line"),
        ("function f(/)", "expected the names of arguments in front of '/', but found none"),
        ("function f(a, /, b, /)", "expected the names of arguments in front of '/', but found none"),
        ("function f(*a, *b)", "expected one argument with '*', but found another"),
        ("function f(**a, b)", "expected ')' behind the argument with '**', but found 'b'"),
        ("function f() x", "expected 'as NAME' or the end of the line, but found x"),
        ("function f() as", "expected a name for this code object, but found the end of the line"),
        (
            "module\n line 1\n line 2",
            "line 3, column 1: expected one line with 'line', but found another; the first is line 2",
        ),
        ("module\n line x", "expected the number of a line, but found x"),
        ("module\n file x", "expected the name of a file between quotes, but found x"),
        ("module\n file b'x'", "expected the name of a file between quotes, but found bytes"),
        ("module\n stack", "expected a number of values, but found the end of the line"),
        ("module\n flags NESTET", "expected the name of a flag, such as NESTED, but found 'NESTET'"),
        ("module\n flags 0xz", "expected the name of a flag"),
        ("module\n flags 0x80000000", "expected the name of a flag"),
        ("module\n names a b", "expected the end of the line, but found b"),
        ("module\n names a,\n consts x", "expected a constant, but found x"),
    ],
    ids=range(20),
)
def test_errors(text, message):
    with pytest.raises(TextError, match=re.escape(message)):
        from_text(text + END)


def test_missing_names_of_arguments():
    body = xtab.decode(lambda a: a)
    body.argcount = 3
    with pytest.raises(xtab.XtabError, match=r"expected the names of 3 arguments in varnames, but found \['a'\]"):
        to_text(body)
