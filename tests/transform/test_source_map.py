"""Source maps: what stands in both texts is where the compiler puts it, and what was put in is beside it."""

from __future__ import annotations

import ast
import sys
import textwrap
import warnings
from importlib import util
from pathlib import Path

import pytest

import xtab
from xtab.format.code import code_objects
from xtab.format.locations import Location
from xtab.transform.relocate import relocate
from xtab.transform.source_map import source_map

RUN = Path(__file__).parents[1] / "relocation" / "run.py"


def library():
    spec = util.spec_from_file_location("relocation_run", RUN)
    sys.modules["relocation_run"] = module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def extent(text, part, which=0):
    """The location of a part of a text."""
    at = -1
    for _ in range(which + 1):
        at = text.index(part, at + 1)
    line, end_line = text.count("\n", 0, at) + 1, text.count("\n", 0, at + len(part)) + 1
    column = len(text[:at].rpartition("\n")[2].encode())
    return Location(line, end_line, column, len(text[: at + len(part)].rpartition("\n")[2].encode()))


def check(original, generated, pairs):
    """Each part of the generated text is from a part of the original, or only from a line."""
    where = source_map(original, generated)
    for now, before in pairs.items():
        expected = (
            Location(before, before, None, None) if isinstance(before, int) else before and extent(original, before)
        )
        assert where(extent(generated, now)) == expected, now


def test_the_same_text_elsewhere():
    text = "def f(x):\n    return [x + 1 for é in 'é' + x]\n"
    where = source_map(text, f"\n\n{text}")
    for part in ("x + 1", "'é' + x", "[x + 1 for é in 'é' + x]"):
        there = extent(text, part)
        assert where(there._replace(line=there.line + 2, end_line=there.end_line + 2)) == there


def test_wrapped_expressions():
    check(
        "y = self.a(self.b(x),\n  self.a(2))",
        "y = wrap(self.a(wrap(self.b(x), 'b'), wrap(self.a(2), 'a')), 'a')",
        {
            "wrap(self.a(wrap(self.b(x), 'b'), wrap(self.a(2), 'a')), 'a')": "self.a(self.b(x),\n  self.a(2))",
            "self.a(wrap(self.b(x), 'b'), wrap(self.a(2), 'a'))": "self.a(self.b(x),\n  self.a(2))",
            "wrap(self.b(x), 'b')": "self.b(x)",
            "self.b(x)": "self.b(x)",
            "'b'": "self.b(x)",
            "wrap(self.a(2), 'a')": "self.a(2)",
            "self.a(2)": "self.a(2)",
            "2": "2",
        },
    )


def test_a_wrapped_callee():
    check(
        "y = self.a(x)",
        "y = wrap(self.a, 'a')(x)",
        {"wrap(self.a, 'a')(x)": "self.a(x)", "wrap(self.a, 'a')": "self.a", "x": "x", "'a'": "self.a"},
    )


def test_unwrapped_and_exchanged_expressions():
    check("y = old(f(x))", "y = f(x)", {"f(x)": "f(x)", "x": "x"})
    check("y = a + g(b)", "y = add(a, g(b))", {"add(a, g(b))": "a + g(b)", "g(b)": "g(b)", "add": "a + g(b)"})
    check("y = f(a)", "y = f(a, extra=1)", {"f(a, extra=1)": "f(a)", "1": "f(a)", "a": "a"})


def test_statements_put_in_and_taken_out():
    check(
        "a()\nb()\nif c:\n    d()\nelse:\n    e()\n",
        "new(1)\na()\nif c:\n    d()\n    new(2)\nelse:\n    new(3)\n    e()\nnew(4)\n",
        {"new(1)": 1, "a()": "a()", "d()": "d()", "new(2)": 4, "new(3)": 6, "e()": "e()", "new(4)": 3, "1": 1},
    )


def test_a_block_put_around_statements():
    check(
        "def f():\n    a()\n    return b(1)\n",
        "def f():\n    with guard('x'):\n        a()\n        return wrap(b(1))\n",
        {"guard('x')": 2, "a()": "a()", "b(1)": "b(1)", "wrap(b(1))": "b(1)", "return wrap(b(1))": "return b(1)"},
    )


def test_a_block_put_around_blocks():
    original = "def f(node):\n    if not node.ctx:\n        raise ValueError()\n    return node.id\n"
    body = textwrap.indent(original.partition("\n")[2], "    ")
    same = {part: part for part in ("not node.ctx", "ValueError()", "node.id", "return node.id")}
    for head in ("try:", "with guard():", "while True:", "def inner(node):", "class K:"):
        end = "    finally:\n        done()\n" if head == "try:" else "    done()\n"
        check(original, f"def f(node):\n    {head}\n{body}{end}", same)
    check("b()\nwith x():\n    a()\n", "with y():\n    b()\n    with x():\n        a()\n", {"b()": "b()", "y()": 1})
    check("if x():\n    a()\nb()\n", "if y():\n    if x():\n        a()\n    b()\n", {"b()": "b()", "x()": "x()"})


def test_a_body_put_into_a_function():
    check(
        "def f(x):\n    x.append(1)\n    return x.missing\n",
        "def f(x):\n    def inner(x):\n        x.append(1)\n        return x.missing\n    return run(inner, x)\n",
        {"x.append(1)": "x.append(1)", "return x.missing": "return x.missing", "x.missing": "x.missing", "run": 2},
    )


def test_moved_copied_and_hoisted():
    check("a()\nb()\nc()", "c()\na()\nb()", {part: part for part in ("a()", "b()", "c()")})
    check("x = f(a(1), b(2))", "t = a(1)\nu = b(2)\nx = f(t, u)", {"a(1)": "a(1)", "b(2)": "b(2)", "t": 1})
    check("y()\nx = f(a(1))", "t = w(a(1))\ny()\nx = f(t)", {"w(a(1))": "a(1)", "a(1)": "a(1)"})
    loop, unrolled = "for i in x:\n    a(i)\n    b(i)\n", "a(i)\nb(i)\na(i)\nb(i)\n"
    where = source_map(loop, unrolled)
    for part in ("a(i)", "b(i)"):
        assert [where(extent(unrolled, part, which)) for which in (0, 1)] == [extent(loop, part)] * 2
    check(
        "def f(x):\n    a(x)\n    return b(x)\n",
        "def f(x):\n    def inner():\n        a(x)\n        return w(b(x))\n    log(x)\n    run(inner)\n",
        {"w(b(x))": "b(x)", "log(x)": 2, "run(inner)": 2},
    )


def test_what_was_put_in_and_looks_like_something_else():
    check(
        "def f(x):\n    a(1)\n    b(1)\n    y = x.c\n",
        "def f(x):\n    if z:\n        hook(x.c)\n    a(1)\n    b(1)\n    y = x.c\n",
        {"hook(x.c)": 2, "x.c": 2, "a(1)": "a(1)", "y = x.c": "y = x.c"},
    )


def test_a_block_that_was_removed():
    check(
        "def f():\n    with guard():\n        a()\n        b()\n    c()\n",
        "def f():\n    a()\n    new()\n    b()\n    c()\n",
        {"a()": "a()", "b()": "b()", "c()": "c()", "new()": 4},
    )


def test_nothing_in_common():
    assert source_map("", "f(x)")(Location(1, 1, 0, 4)) is None
    assert source_map("x", "x")(Location(9, 9, 0, 4)) is None
    assert source_map("x", "x")(Location(None, None, None, None)) is None


def test_lines_alone():
    original = "x = 1\n\n@deco\n@more\ndef f():\n    pass\n"
    where = source_map(original, "@deco\n@more\ndef f():\n    pass\n")
    assert [where(Location(line, line, None, None)).line for line in (1, 3, 4)] == [3, 5, 6]


def test_indented_originals():
    original = "    @deco\n    def f(self):\n        return self.g(\n            1)\n"
    where = source_map(original, textwrap.dedent(original))
    assert where(Location(3, 4, 11, 10)) == Location(3, 4, 15, 14)
    assert where(Location(1, 1, None, None)) == Location(1, 1, None, None)
    assert where(Location(2, 2, None, None)).line == 2


def test_trees():
    text = "def f():\n    return g(h(1))\n"
    tree = ast.parse(text)
    assert source_map(ast.parse(text), tree)(extent(text, "h(1)")) == extent(text, "h(1)")
    returned = tree.body[0].body[0]
    returned.value = ast.copy_location(ast.Call(ast.Name("wrap", ast.Load()), [returned.value], []), returned.value)
    where = source_map(text, tree)
    assert where(extent(text, "g(h(1))")) == extent(text, "g(h(1))")
    assert where(extent(text, "return g(h(1))")) == extent(text, "return g(h(1))")


@pytest.mark.parametrize("arguments", [(1, "x"), ("x", None), (b"x", "x")])
def test_wrong_types(arguments):
    with pytest.raises(TypeError, match=r"expected a text or a syntax tree for (original|generated), but found"):
        source_map(*arguments)


@pytest.mark.parametrize(
    "arguments, which, line",
    [
        (("x\ny +", "x"), "original", 2),
        (("x", "\n\nx +"), "generated", 3),
        (("  x\n  y +\n", "x"), "original", 2),
        (("  x\ny\n", "x"), "original", 1),
        (("x", "  x\n z\n"), "generated", 2),
        (("x", "'\ud800'"), "generated", 1),
        (("  '\ud800'", "x"), "original", 1),
        (("x = '\0'", "x"), "original", 1),
        (("(" * 5000 + ")" * 5000, "x"), "original", 1),
    ],
    ids=range(9),
)
def test_what_can_not_be_parsed(arguments, which, line):
    with pytest.raises(SyntaxError, match=rf"\(<{which} text of source_map>, line {line}\)$") as caught:
        source_map(*arguments)
    assert (caught.value.filename, caught.value.lineno) == (f"<{which} text of source_map>", line)


@pytest.mark.parametrize("part", range(4))
def test_the_library_written_anew(part):
    """The library, unparsed and compiled, gets the very locations back that it has; a few depend on how lines break."""
    run = library()
    count = exact = 0
    for path in run.files(80, 7)[part::4]:
        text = run.read(path)
        try:
            code = run.compiled(text, "x.py")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                generated = ast.unparse(ast.parse(text))
                where = source_map(text, generated)
            new = run.compiled(generated, "x.py")
        except (SyntaxError, ValueError, TypeError):
            continue
        for ours, theirs in zip(code_objects(relocate(new, positions=where)), code_objects(code), strict=True):
            if ours.co_code == theirs.co_code:
                positions = list(zip(ours.co_positions(), theirs.co_positions(), strict=True))
                count += len(positions)
                exact += sum(one == other for one, other in positions)
                assert ours.co_firstlineno == theirs.co_firstlineno
    assert count > 200
    assert exact >= 0.999 * count


def test_deep_and_wide_texts():
    """No recursion of its own, and time that grows with the text, whatever was changed."""
    deep = "(" * 60 + "x" + "+1)" * 60
    assert source_map(deep, f"wrap({deep})")(Location(1, 1, 0, len(deep) + 6)) is not None
    original = "".join(f"a{number}(b, c)\n" for number in range(3000))
    generated = "".join(f"wrap(z{number}(b, c))\n" for number in range(3000))
    where = source_map(original, generated)
    assert where(Location(3000, 3000, 0, 17)).line == 3000


def test_it_is_public():
    assert xtab.source_map is source_map


def test_a_node_in_several_places():
    """Whoever edits a tree may put a node into it twice."""
    call = ast.parse("f(x)", mode="eval").body
    other = ast.parse("y = 2\nz = 3").body
    wrapped = ast.Return(ast.Call(ast.Name("wrap", ast.Load()), [call, call], []))
    tree = ast.Module([ast.Return(call), other[0], ast.Return(call), other[1], wrapped, other[0]], [])
    where = source_map("return f(x)\ny = 2\nreturn f(x)\nz = 3\nreturn f(x)\ny = 2", ast.fix_missing_locations(tree))
    assert where(Location(1, 1, 0, 4)) is not None
    assert source_map(tree, "return f(x)\ny = 2\nreturn f(x)\nz = 3\nreturn wrap(f(x))")(Location(9, 9, 0, 1)) is None
    assert tree.body[0].value is call, "the tree itself stays"
