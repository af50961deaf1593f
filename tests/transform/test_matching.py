"""Which node of a generated tree is which of the original one."""

from __future__ import annotations

import ast
import collections
import inspect
import random
import shutil
import subprocess
import textwrap

import pytest

from xtab.transform.matching import paired
from xtab.transform.syntax import Tree, location_of


def trees(original, generated):
    numbers = {}
    return [Tree(ast.parse(text), numbers) for text in (original, generated)]


def lines(original, generated):
    """Of each expression statement and `return` of the generated text, and what is called in it, the original lines."""
    old, new = trees(original, generated)
    pairs = paired(old, new)
    nodes = [node for node in new.nodes if isinstance(node, ast.Expr | ast.Return | ast.Call | ast.Attribute)]
    return [(ast.unparse(node), pairs[node].lineno if node in pairs else None) for node in nodes]


MOVED = [
    ("a()\nb()\nc()", "c()\na()\nb()"),
    ("for i in x:\n    a(i)\n    b(i)", "a(i)\nb(i)\na(i)\nb(i)"),
    ("x = f(a(1),\n  b(2))", "t1 = a(1)\nt2 = b(2)\n"),
    ("x = [a(i)\n  for i in b()]", "for i in b():\n    y = a(i)"),
    ("f(a(1),\n  b(2))", "f(b(2), a(1))"),
    (
        "def f(x):\n    x.append(1)\n    return x.id",
        "def f(x):\n    def g(x):\n        x.append(1)\n        return x.id\n",
    ),
]
PUT_INTO = [
    "try:\n    BODY\nfinally:\n    z = 1",
    "with y:\n    BODY",
    "while y:\n    BODY\n    break",
    "if y:\n    BODY",
    "for y in z:\n    BODY",
    "def g():\n    BODY",
    "class C:\n    BODY",
    "with y:\n    try:\n        if z:\n            BODY\n    finally:\n        z = 1",
]
BODIES = [
    "if not node.ctx:\n    raise ValueError()\na(node.id)",
    "b()\nwith x():\n    a()",
    "if x():\n    a()\nb()",
    "for i in x():\n    a(i)\nb()",
    "try:\n    a()\nexcept b():\n    c()\nd()",
]


def put_into(block, body):
    line = next(line for line in block.splitlines() if "BODY" in line)
    return block.replace(line, textwrap.indent(body, line[: line.index("B")]))


def away_from_home(original, generated):
    """What stands once in the original, and is not paired with just that, wherever it is."""
    home = collections.defaultdict(set)
    for number, line in enumerate(original.splitlines(), 1):
        for node, _ in lines(original, original):
            if node in line:
                home[node].add(number)
    found = [(node, line) for node, line in lines(original, generated) if len(home[node]) == 1]
    assert found
    return [(node, line) for node, line in found if line not in home[node]]


@pytest.mark.parametrize("original, generated", MOVED, ids=range(len(MOVED)))
def test_moved_copied_and_hoisted(original, generated):
    assert away_from_home(original, generated) == []


@pytest.mark.parametrize("block", PUT_INTO)
@pytest.mark.parametrize("body", BODIES)
def test_put_into_a_block_and_taken_out(block, body):
    assert away_from_home(body, put_into(block, body)) == []
    assert away_from_home(put_into(block, body), body) == []


@pytest.mark.parametrize("block", PUT_INTO)
def test_put_into_a_block_and_changed(block):
    """Where nothing is quite the same, the blocks are still opened on the side that has one more."""
    original = "if node.ctx:\n    raise a(1)\nreturn b(2)"
    changed = "if w(node.ctx):\n    raise w(a(1))\nreturn w(b(2))"
    found = dict(lines(original, put_into(block, changed)))
    assert (found["a(1)"], found["b(2)"]) == (2, 3)
    if "if" not in block:  # one that is like the original's is taken for it, and only what is the same is found in it
        assert (found["w(node.ctx)"], found["w(a(1))"], found["w(b(2))"], found["return w(b(2))"]) == (1, 2, 3, 3)


def test_what_has_moved_is_in_nobody_elses_place():
    found = dict(lines("a(x)\nb(x)", "def g(x):\n    a(x)\n    return b(x)\nrun(g, x)"))
    assert (found["a(x)"], found["b(x)"], found["run(g, x)"]) == (1, 2, None)


@pytest.mark.parametrize(
    "original, generated, inserted",
    [
        ("a(x)\nx = None", "if y:\n    x = None\na(x)\nx = None", ast.Assign),
        ("for x in y:\n    a(x)\n    break", "for x in y:\n    if x: break\n    a(x)\n    break", ast.Break),
        ("a(1)\ny = self.x", "hook(self.x)\na(1)\ny = self.x", ast.Attribute),
        ("b(1)\na(x)\na(x)", "if y:\n    a(x)\nb(1)\na(x)\na(x)", ast.Call),
    ],
)
def test_what_merely_looks_the_same(original, generated, inserted):
    """Names and constants tell nothing, nor does what stands twice, or an attribute that is still in its place."""
    old, new = trees(original, generated)
    node = next(node for node in new.nodes if isinstance(node, inserted))
    assert node not in paired(old, new)


def block(text, body):
    """A statement, with others in place of what its text has in its own block."""
    (made,) = ast.parse(text).body
    made.body[:] = body + made.body[1:]
    return made


def put_into_a_function(body):
    return [block("def inner(x):\n    pass", body), *ast.parse("run(inner)").body]


def split(body):
    half = len(body) // 2
    return [block("def resume():\n    pass", body[half:]), *body[:half], *ast.parse("resume()").body]


class TakenApart(ast.NodeTransformer):
    def visit_Return(self, node):
        if node.value is None:
            return node
        return [ast.Assign([ast.Name("result", ast.Store())], node.value), *ast.parse("leave()\nreturn result").body]


class Ticking(ast.NodeTransformer):
    def generic_visit(self, node):
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                setattr(node, name, [each for one in statements for each in (*ast.parse("tick()").body, one)])
        return node


TRANSFORMS = {
    "function": put_into_a_function,
    "try": lambda body: [block("try:\n    pass\nfinally:\n    done()", body)],
    "while": lambda body: [block("while True:\n    pass\n    break", body)],
    "class": lambda body: [block("class K:\n    pass", body)],
    "guard": lambda body: [*ast.parse("if cached:\n    return cached\nstart()").body, *body],
    "return": lambda body: TakenApart().visit(ast.Module(body, [])).body,
    "ticks": lambda body: Ticking().visit(ast.Module(body, [])).body,
    "first last": lambda body: body[1:] + body[:1],
    "split": split,
}
"""What people do to the body of a function."""


def functions(count):
    """Functions of the library, as `ast.unparse` writes them."""
    found = []
    for module in (shutil, subprocess, textwrap, inspect):
        tree = ast.parse(inspect.getsource(module))
        found += [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    random.Random(3).shuffle(found)
    return [text for text in found if len(text) < 3000][:count]


def calls(tree):
    """What is called in a tree, and where."""
    found = collections.defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found[ast.dump(node)].append(node)
    return found


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_call_that_stands_once_is_at_its_own_location(name):
    count = 0
    for original in functions(50):
        edited = ast.parse(original)
        edited.body[0].body = TRANSFORMS[name](edited.body[0].body)
        old, new = trees(original, ast.unparse(ast.fix_missing_locations(edited)))
        pairs = paired(old, new)
        before, now = calls(old.root), calls(new.root)
        for text in before.keys() & now.keys():
            if len(before[text]) == len(now[text]) == 1:
                pair = pairs.get(now[text][0])
                assert pair is not None, text
                assert location_of(pair) == location_of(before[text][0]), text
                count += 1
    assert count > 80


def test_the_work_grows_with_the_text(steps):
    def spent(count):
        body = "".join(
            f"    if a{number}.x:\n        raise b{number}(c)\n    d{number}(e)\n" for number in range(count)
        )
        texts = {
            "put into blocks": "def f():\n  try:\n   with x:\n" + body + "  finally:\n    y()\n",
            "moved": "".join(reversed([f"a{number}.x\nd{number}(e)\n" for number in range(count)])),
            "copied": "".join(f"d{number}(e)\n" * 3 for number in range(count)),
        }
        found = {}
        for name, text in texts.items():
            old, new = trees("def f():\n" + body, text)
            found[name] = steps(paired, old, new)
        return found

    few, many = spent(100), spent(500)
    assert [name for name in few if many[name] > 7 * few[name]] == []
