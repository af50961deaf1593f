"""Trees that can be compared: their order, their numbers, and where nodes are."""

from __future__ import annotations

import ast
import sys
import types

import pytest

from xtab.format.locations import Location
from xtab.transform.syntax import Tree, first_line, is_statement, location_of, locations_of


def tree(text, numbers=None):
    return Tree(ast.parse(text), {} if numbers is None else numbers)


def node(text):
    return ast.parse(text).body[0].value


def test_all_that_is_in_a_node_follows_it():
    built = tree("x = f(1, g(2))\ny = 3\n")
    assert set(built.nodes) == {each for each in ast.walk(built.root) if not isinstance(each, ast.expr_context)}
    for each in built.nodes:
        inside = built.inside(each)
        assert inside[0] is each
        assert {one for one in ast.walk(each) if not isinstance(one, ast.expr_context)} == set(inside)


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("f(x)", "f( x )", True),
        ("f(x)", "f(y)", False),
        ("1", "True", False),
        ("1", "1.0", False),
        ("x", "x = 1", False),
        ("'a' 'b'", "'ab'", True),
        ("u'a'", "'a'", True),
        ("[*a, b]", "[*a,b,]", True),
        ("f(x=1)", "f(y=1)", False),
        ("a + b", "a - b", False),
    ],
)
def test_whole(one, other, same):
    numbers = {}
    first, second = tree(one, numbers), tree(other, numbers)
    assert (first.whole[first.root] == second.whole[second.root]) is same


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("f(x)", "f(y, 1)", True),
        ("f(x)", "g(x)", False),
        ("a.f(x)", "b.f(x)", True),
        ("f(x)(1)", "f(2)(3)", True),
        ("a + b", "c + d", True),
        ("a + b", "c - d", False),
        ("x[1]", "x[2]", True),
        ("if a: b", "if a: c", False),
        ("def f(): a", "def f(): b", True),
        ("x = 1", "x = 2", True),
        ("x = 1", "y = 1", False),
    ],
)
def test_head(one, other, same):
    numbers = {}
    first, second = tree(one, numbers), tree(other, numbers)
    nodes = [built.root.body[0] for built in (first, second)]
    assert (first.head[nodes[0]] == second.head[nodes[1]]) is same


def test_find():
    built = tree("f(g(1), g(2))")
    call = built.root.body[0].value
    assert built.find(call, built.whole[call.args[1]]) is call.args[1]
    assert built.find(call, built.head[call.args[1]]) is call.args[0]
    assert built.find(call, built.whole[call]) is None
    assert built.find(call.args[0], built.whole[call.args[1]]) is None


def test_opened_blocks():
    built = tree("with a:\n    b\ntry:\n    c\nexcept d:\n    e\nfinally:\n    f\ng\n")
    names = [type(each).__name__ for each in built.opened(built.root.body)]
    assert names == ["Expr", "Expr", "ExceptHandler", "Expr", "Expr"]
    assert built.opened(built.opened(built.root.body))[2].value.id == "e"


def test_lines():
    assert first_line(ast.parse("\n@a\n@b\nclass C: pass").body[0]) == 2
    assert first_line(ast.Load()) == 0
    assert is_statement(ast.parse("x").body[0])
    assert not is_statement(node("x"))


def instruction_locations(text):
    return {Location(*each) for each in compile(text, "x.py", "exec", dont_inherit=True).co_positions()}


@pytest.mark.parametrize("text", ["(a\n.b)", "(a\n.b\n.c(1,\n2))", "a.b(1,\n2)", "a(\n1).b", "a(\n1).b(\n2)"])
def test_locations_are_the_compilers(text):
    assert location_of(node(text)) in instruction_locations(text)


def test_locations_of_comprehensions():
    text = "{a: b\n for a, b in c}"
    codes = [compile(text, "x.py", "exec", dont_inherit=True)]
    codes += [each for each in codes[0].co_consts if isinstance(each, types.CodeType)]
    own, item = locations_of(node(text))
    assert own == location_of(node(text)) == Location(1, 2, 0, 15)
    assert item == Location(1, 1, 1, 5)
    used = any(item in {Location(*each) for each in code.co_positions()} for code in codes)
    assert used == (sys.version_info >= (3, 12)), "on 3.11 all is where the comprehension is"


def test_without_a_place():
    assert location_of(ast.Load()) is None
    assert locations_of(ast.Call(ast.Name("f"), [], [])) == []
