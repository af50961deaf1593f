"""`code_of` finds the code behind all that has one, and says what to pass instead of what has none."""

from __future__ import annotations

import functools
import inspect
import sys
import types

import pytest

from xtab.format import code as flags
from xtab.format.code import argument_count, code_length, code_objects, code_of


def plain():
    pass


def generate():
    yield


async def wait():
    pass


async def stream():
    yield


class Holder:
    def method(self):
        pass

    @classmethod
    def of_class(cls):
        pass

    @staticmethod
    def static():
        pass


def test_functions_and_methods():
    """Functions, and methods however they are bound, give the code of the function."""
    holder = Holder()
    assert code_of(plain) is plain.__code__
    assert code_of(plain.__code__) is plain.__code__
    assert code_of(holder.method) is Holder.method.__code__
    assert code_of(Holder.of_class) is Holder.__dict__["of_class"].__func__.__code__
    assert code_of(Holder.static) is Holder.__dict__["static"].__func__.__code__
    assert code_of(types.MethodType(holder.method, 1)) is Holder.method.__code__


def test_what_runs():
    """Generators, coroutines and async generators give the code they run, before they start and after they ended."""
    generator, coroutine, async_generator = generate(), wait(), stream()
    for _ in range(2):
        assert code_of(generator) is generate.__code__
        assert code_of(coroutine) is wait.__code__
        assert code_of(async_generator) is stream.__code__
        generator.close()
        coroutine.close()


def test_frames_and_tracebacks():
    """A frame gives its code, a traceback that of its first frame."""
    assert code_of(sys._getframe()) is test_frames_and_tracebacks.__code__
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("x")
    assert code_of(caught.value.__traceback__) is test_frames_and_tracebacks.__code__


@pytest.mark.parametrize(
    "source,hint",
    [
        (Holder, "one of its methods"),
        (sys, "compile its source"),
        (len, "written in C"),
        ([].append, "written in C"),
        (types.MethodType(repr, ()), "written in C"),
        (Holder.__dict__["static"], "__func__"),
        (Holder.__dict__["of_class"], "__func__"),
        ("def f(): pass", "compile it first"),
        (bytearray(), "pass bytes"),
        (functools.partial(plain), "of type partial"),
        (None, "of type NoneType"),
        (7, "of type int"),
    ],
)
def test_the_rest_is_refused(source, hint):
    """What has no code of its own is a TypeError that names it and what to pass instead."""
    with pytest.raises(TypeError, match="expected a code object, function, method") as caught:
        code_of(source)
    assert hint in str(caught.value)


def test_the_length_is_that_of_co_code():
    """`code_length` counts the bytes of co_code, also once the code has run and was specialised."""
    code = compile("total = 0\nfor i in range(50): total += i\n", "sample", "exec")
    before = code_length(code)
    for _ in range(20):
        exec(code, {})
    assert code_length(code) == before == len(code.co_code)


def test_code_objects_come_in_the_order_of_the_source():
    source = "def a():\n  def b(): pass\n  def c(): pass\nclass d:\n  def e(self): pass\n"
    assert [code.co_name for code in code_objects(compile(source, "x", "exec"))] == ["<module>", *"abcde"]


def test_deeply_nested_code_objects_are_walked():
    code = plain.__code__
    for _ in range(5000):
        code = plain.__code__.replace(co_consts=(code,))
    assert sum(1 for _ in code_objects(code)) == 5001


@pytest.mark.parametrize("name", [name for name in flags.__all__ if name.startswith("CO_")])
def test_flags_are_those_of_python(name):
    assert getattr(inspect, name, getattr(flags, name)) == getattr(flags, name)


@pytest.mark.parametrize("signature", ["", "a, b, /, c, *, d, e", "a, *b", "a, *b, c, **d", "**a"])
def test_all_arguments_are_counted(signature):
    code = eval(f"lambda {signature}: 0").__code__
    assert argument_count(code.co_argcount, code.co_kwonlyargcount, code.co_flags) == code.co_nlocals
