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
        ("def f(): return 1", "\ndef f(): return 1", ("first line", "1", "2")),
        ("def f(): return 1", "def g(): return 1", ("qualified name", "f", "g")),
    ],
)
def test_what_differs(left, right, expected):
    assert expected in changed_fields(listing(left), listing(right))
    assert not compare(listing(left), listing(right)).same
    assert compare(listing(left), listing(left)).same


def test_flags():
    left = listing("def f(): return 1")
    changed = left.code.replace(co_flags=left.code.co_flags | 0x100)
    (found,) = changed_fields(left, show(changed))
    assert found.name == "flags"
