from __future__ import annotations

import inspect
import marshal
import types

import pytest

from xtab import CodeParts
from xtab.format.code import code_objects
from xtab.format.marshalled import load_marshalled, marshalled_objects

STORED = """
def outer(a, *b, c=1, **d):
    x = a
    class Inner:
        def method(self):
            yield x
    return Inner
"""


def plain(a, /, b, *c, d=1, **e):
    return lambda: (a, b, c, d, e)


def raising():
    try:
        yield 1
    finally:
        next(iter(()), None)


@pytest.mark.parametrize("function", [plain, raising, plain(1, 2)], ids=["plain", "raising", "inner"])
def test_there_and_back(function):
    code = CodeParts.of(function).to_code()
    assert isinstance(code, types.CodeType)
    assert code == function.__code__
    assert CodeParts.of(code) == CodeParts.of(function)


def test_nothing_is_checked():
    parts = CodeParts.of(plain)._replace(code=None, varnames=7, stacksize="x")
    assert parts.code is None


def test_stored_code_has_the_same_parts():
    code = compile(STORED, "example.py", "exec")
    for stored, made in zip(marshalled_objects(load_marshalled(marshal.dumps(code))), code_objects(code), strict=True):
        assert CodeParts.of_stored(stored)._replace(consts=()) == CodeParts.of(made)._replace(consts=())


def test_nested_code_objects_look_the_same_from_outside():
    code = compile(STORED, "example.py", "exec")
    for stored, made in zip(marshalled_objects(load_marshalled(marshal.dumps(code))), code_objects(code), strict=True):
        for stub, constant in zip(CodeParts.of_stored(stored).consts, made.co_consts, strict=True):
            assert type(stub) is type(constant)
            if inspect.iscode(constant):
                assert stub.co_freevars == constant.co_freevars
                assert stub.co_flags & inspect.CO_GENERATOR == constant.co_flags & inspect.CO_GENERATOR
                assert stub.co_qualname == constant.co_qualname
                assert stub.co_code != constant.co_code


def test_what_no_stand_in_can_be_made_of(stored):
    inner = stored(flags=-1, name=("no", "text"), localsplusnames=(1,), localspluskinds=b"\x80")
    assert inspect.iscode(CodeParts.of_stored(stored(consts=(inner,))).consts[0])
