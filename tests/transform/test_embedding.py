"""`embedding`: names that become constants."""

from __future__ import annotations

import types

import pytest

import xtab
from xtab.transform.embedding import embed_names

NUMBER = 3


def embedded(function):
    body = xtab.decode(function)
    embed_names(body, function)
    return types.FunctionType(xtab.assemble(body), {"__builtins__": {}}, "made", None, function.__closure__)


def uses(x):
    return len(x) + NUMBER, [len([n, NUMBER]) for n in x], sorted(x, key=lambda n: max(x) - n)[0]


def makes_class(x):
    class Made(Exception):
        once = NUMBER + 1
        twice = once * 2
        name = __name__

        def method(self):
            return NUMBER, len(x)

    return Made.twice, Made.name, Made().method()


def test_globals_and_builtins_become_constants():
    assert embedded(uses)([1, 2]) == uses([1, 2]) == (5, [2, 2], 2)


def test_names_of_a_class_body_stay_its_own():
    """A class needs __build_class__, which is looked up by the interpreter itself."""
    body = xtab.decode(makes_class)
    embed_names(body, makes_class)
    made = types.FunctionType(xtab.assemble(body), {"__name__": "elsewhere"})
    assert made([1]) == makes_class([1]) == (8, __name__, (3, 1))


def sets():
    global NUMBER
    NUMBER = 4


def inner_sets():
    def inner():
        global NUMBER
        NUMBER = 4

    return inner


def lacks():
    return no_such_name  # noqa: F821


def class_sets():
    class Made:
        NUMBER = NUMBER + 1

    return Made


def relative():
    from . import x  # noqa: PLC0415

    return x


@pytest.mark.parametrize(
    "function, words",
    [
        (sets, "STORE_GLOBAL"),
        (inner_sets, "STORE_GLOBAL"),
        (lacks, "no_such_name"),
        (class_sets, "class body"),
        (relative, "relative import"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_can_be_no_constant_is_refused(function, words):
    with pytest.raises(xtab.XtabError, match=words):
        embed_names(xtab.decode(function), function)


def test_absolute_imports_stay():
    def imports():
        import os.path  # noqa: PLC0415

        return os.path.sep

    body = xtab.decode(imports)
    embed_names(body, imports)
    assert types.FunctionType(xtab.assemble(body), {})() == imports()
