"""What differs beside instructions and regions."""

from __future__ import annotations

import pytest

from xtab.format.code import code_objects
from xtab.report.differences import compare
from xtab.report.fields import changed_fields
from xtab.report.listing import show


def listing(text):
    _, inner, *_ = code_objects(compile(text, "f.py", "exec"))
    return show(inner)


@pytest.mark.parametrize(
    "left, right, expected",
    [
        ("def f(a): return 1", "def f(*, a): return 1", ("arguments", "(a)", "(*, a)")),
        ("def f(*a): return 1", "def f(**a): return 1", ("arguments", "(*a)", "(**a)")),
        ("def f(a, b): return 1", "def f(a, /, b): return 1", ("arguments", "(a, b)", "(a, /, b)")),
        ("def f(a): return 1", "def f(b): return 1", ("local variables", "a", "b")),
        ("def f(): 'doc'", "def f(): 'other'", ("docstring", "'doc'", "'other'")),
        ("def f(): x = 1; return lambda: x", "def f(): x = 1; y = 2; return lambda: (x, y)", ("cells", "x", "x, y")),
        ("def f(): return [1]", "def f(): return [1]; 2", None),
        ("def f(): return 1", "def g(): return 1", ("qualified name", "f", "g")),
    ],
)
def test_what_differs(left, right, expected):
    if expected is None:
        assert changed_fields(listing(left), listing(right)) == ()
        return
    assert expected in changed_fields(listing(left), listing(right))
    assert not compare(listing(left), listing(right)).same
    assert compare(listing(left), listing(left)).same


def test_flags():
    left = listing("def f(): return 1")
    changed = left.code.replace(co_flags=left.code.co_flags | 0x100)
    (found,) = changed_fields(left, show(changed))
    assert found.name == "flags"


def test_free_variables_constants_and_code_within():
    left = listing("def f(): return 1.5")
    code = left.code.replace(co_consts=(*left.code.co_consts, "spare", left.code))
    found = {each.name: each[1:] for each in changed_fields(left, show(code))}
    assert found == {"constants not loaded": ("none", "'spare'"), "code in it": ("none", "f")}
    inner = listing("def f(x): return lambda: x").code.co_consts
    (free,) = [show(each) for each in inner if hasattr(each, "co_code")]
    assert ("free variables", "none", "x") in changed_fields(left, free)


def test_code_that_was_moved_is_the_same():
    moved = listing("\n\nif 1:\n    def f(): return 1").code
    assert changed_fields(listing("def f(): return 1"), show(moved.replace(co_filename="other.py"))) == ()
