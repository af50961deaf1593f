"""`dump_code`: what `marshal` writes, and which constant it can't."""

from __future__ import annotations

import array
import enum
import marshal
import types

import pytest

import xtab
from xtab.transform import emit
from xtab.transform.stored_code import dump_code


def callback():
    pass


class Color(enum.Enum):
    RED = 1


class Word(str):
    __slots__ = ()


class Unshowable:
    def __repr__(self):
        raise RuntimeError


def outer():
    first = 1

    def inner():
        return first, 2

    return inner


def with_constant(value, code=outer.__code__):
    """The code of `outer`, with a constant more in `inner`."""

    def transform(body):
        if body.name == "inner":
            body.insert_before(body.start, [*emit.load_const(value), *emit.pop()])

    return xtab.rewrite_code(code, transform, recursive=True)


@pytest.mark.parametrize(
    "value", [1, "a", b"a", 1.5, 2j, True, None, ..., (1, ("a", None)), frozenset({1}), [1, {2}], {"a": 1}], ids=str
)
def test_what_can_be_kept(value):
    code = with_constant(value)
    (inner,) = (each for each in marshal.loads(dump_code(code)).co_consts if isinstance(each, types.CodeType))
    assert value in inner.co_consts


@pytest.mark.parametrize(
    "value, found, advice",
    [
        (callback, "<function callback> of type function", f"emit.load_import('{__name__}', 'callback')"),
        (len, "<built-in function len> of type builtin_function_or_method", "emit.load_import('builtins', 'len')"),
        (Unshowable, f"<class '{__name__}.Unshowable'> of type type", f"emit.load_import('{__name__}', 'Unshowable')"),
        (lambda: 0, "<function <lambda>> of type function", "emit.load_import(MODULE, NAME)"),
        (object(), "<object object> of type object", "emit.load_import(MODULE, NAME)"),
        ((1, (callback,)), "<function callback> of type function", f"emit.load_import('{__name__}', 'callback')"),
        (Color.RED, "<Color.RED: 1> of type Color", "emit.load_import(MODULE, NAME)"),
        (Word("x"), "'x' of type Word", "emit.load_import(MODULE, NAME)"),
        (array.array("b", b"ab"), "array('b', [97, 98]) of type array", "emit.load_import(MODULE, NAME)"),
        (bytearray(b"ab"), "bytearray(b'ab') of type bytearray", "emit.load_import(MODULE, NAME)"),
        (Unshowable(), "one that can't be shown of type Unshowable", "emit.load_import(MODULE, NAME)"),
    ],
    ids=range(11),
)
def test_what_can_not(value, found, advice):
    with pytest.raises(xtab.ConstantError) as caught:
        dump_code(with_constant(value))
    line = outer.__code__.co_firstlineno + 4
    text = str(caught.value)
    assert text.startswith(f"outer.<locals>.inner ({__file__}:{line}): expected constants that can be kept in a file, ")
    assert f"but found {found}; load it when the code runs, with {advice}" in text
    assert caught.value.line == line
    assert isinstance(caught.value, ValueError)


def test_a_constant_that_nothing_loads_has_no_line():
    code = outer.__code__.replace(co_consts=(*outer.__code__.co_consts, object()))
    with pytest.raises(xtab.ConstantError, match=r"^outer \([^:]*test_stored_code.py\): ") as caught:
        dump_code(code)
    assert caught.value.line is None


def test_what_holds_itself_ends():
    circle = []
    circle.append(circle)
    (read,) = marshal.loads(dump_code(outer.__code__.replace(co_consts=(circle,)))).co_consts
    assert read[0] is read


def test_what_is_nested_too_deeply():
    deep = ()
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(xtab.ConstantError, match=r"what marshal refuses: .*too deep"):
        dump_code(outer.__code__.replace(co_consts=(deep,)))
