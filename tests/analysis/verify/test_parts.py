from __future__ import annotations

import types

import pytest

from xtab import CodeParts


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
