"""What `fit` refuses and mends; test_rewrite.py has the same by way of the public functions."""

from __future__ import annotations

import pickle

import pytest

import xtab
from xtab.errors import RewriteError
from xtab.transform.fit import misfit, require_same_shape, with_free_variables


def inner():
    one, two = 1, 2
    return (lambda: (one, two)).__code__


def test_the_error_holds_its_facts():
    error = misfit(inner(), "this", "that")
    assert str(error) == f"inner.<locals>.<lambda> ({__file__}:{error.line}): expected this, but found that"
    again = pickle.loads(pickle.dumps(error))
    assert (again.expected, again.found, again.qualname, again.filename) == (
        "this",
        "that",
        "inner.<locals>.<lambda>",
        __file__,
    )


@pytest.mark.parametrize(
    "function, arguments",
    [
        (lambda: 0, "()"),
        (lambda a, b=1: 0, "(a, b)"),
        (lambda a, /: 0, "(a, /)"),
        (lambda a, /, b: 0, "(a, /, b)"),
        (lambda *, k: 0, "(*, k)"),
        (lambda a, *r, k, **m: 0, "(a, *r, k, **m)"),
        (lambda **m: 0, "(**m)"),
    ],
)
def test_arguments(function, arguments):
    with pytest.raises(RewriteError) as caught:
        require_same_shape(function.__code__, (lambda other, *, more: 0).__code__)
    assert caught.value.expected == f"code that takes the arguments {arguments}"
    require_same_shape(function.__code__, xtab.assemble(xtab.decode(function)))


def test_code_without_free_variables_gets_some():
    code = with_free_variables((lambda: [i + 1 for i in range(3)]).__code__, ("one", "two"), inner())
    assert code.co_freevars == ("one", "two")
    first = xtab.decode(code).instructions[0]
    assert (first.opname, first.operand) == ("COPY_FREE_VARS", 2)


def test_nothing_is_done_without_need():
    code = inner()
    assert with_free_variables(code, ("one", "two"), code) is code
    assert with_free_variables(code, None, code) is code


def test_many_free_variables():
    names = [f"v{number:03}" for number in range(300)]
    text = f"def f():\n  {' = '.join(names)} = 1\n  def g():\n    return {', '.join(names)}\n  return g.__code__"
    space = {}
    exec(text, space)
    code = space["f"]()
    assert with_free_variables(code, None, code) is code
    turned = with_free_variables(code, names[::-1], code)
    assert list(turned.co_freevars) == names[::-1]
    assert list(with_free_variables(turned, names, code).co_freevars) == names
