from __future__ import annotations

import functools

import pytest

from xtab.transform.functions import twin, unwrapped, wrapped_again


class Owner:
    def method(self, x, *, y=1):
        return self, x, y

    @staticmethod
    def static():
        return "static"

    @classmethod
    def of_class(cls):
        return cls

    @property
    def value(self):
        return 1


def outer(x):
    def inner(y: int = 2) -> int:
        """Add."""
        return x + y

    inner.attribute = "kept"
    return inner


@pytest.mark.parametrize(
    "wrapped",
    [outer, Owner().method, Owner.of_class, *(vars(Owner)[name] for name in ("method", "static", "of_class"))],
    ids=["function", "bound method", "bound to a class", "plain method", "staticmethod", "classmethod"],
)
def test_there_and_back(wrapped):
    plain, wrappers = unwrapped(wrapped)
    again = wrapped_again(plain, wrappers)
    assert type(again) is type(wrapped)
    assert unwrapped(again)[0] is plain
    assert getattr(again, "__self__", None) is getattr(wrapped, "__self__", None)


def test_wrappers_in_wrappers_keep_their_order():
    wrapped = classmethod(staticmethod(outer))
    again = wrapped_again(*unwrapped(wrapped))
    assert type(again) is classmethod
    assert type(again.__func__) is staticmethod


class Odd(staticmethod):
    def __new__(cls, function, *, label):
        return super().__new__(cls, function)

    def __init__(self, function, *, label):
        super().__init__(function)
        self.label = label


@pytest.mark.parametrize("wrapped", [staticmethod(outer), classmethod(outer), Odd(outer, label="kept")], ids=range(3))
def test_wrappers_keep_their_class_and_their_attributes(wrapped):
    wrapped.flag = 1
    wrapped.__doc__ = "Its own."
    plain, wrappers = unwrapped(wrapped)
    other = twin(plain, plain.__code__, {})
    other.__name__ = "another"
    again = wrapped_again(other, wrappers)
    assert (type(again), again.flag, again.__doc__, again.__name__) == (type(wrapped), 1, "Its own.", "another")
    assert getattr(again, "label", None) == getattr(wrapped, "label", None)


@pytest.mark.parametrize(
    "found, hint",
    [
        (outer.__code__, ": rewrite_code takes code objects"),
        (Owner, ": pass one of its methods"),
        (vars(Owner)["value"], ": pass its fget"),
        (functools.partial(outer), ": pass its func"),
        (len, ""),
    ],
    ids=["code", "class", "property", "partial", "built-in"],
)
def test_what_has_no_function(found, hint):
    with pytest.raises(TypeError, match="expected a function, method, staticmethod or classmethod") as caught:
        unwrapped(found)
    assert str(caught.value).endswith(f"of type {type(found).__qualname__}{hint}")


def test_a_twin_has_everything_but_the_code():
    plain = outer(1)
    code = plain.__code__.replace(co_firstlineno=7)
    other = twin(plain, code, dict(zip(code.co_freevars, plain.__closure__, strict=True)))
    assert other.__code__ is code
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__annotations__", "attribute"):
        assert getattr(other, name) == getattr(plain, name)
    assert other.__closure__[0] is plain.__closure__[0]
    assert other() == 3


def test_a_twin_shares_nothing_that_can_change():
    plain = unwrapped(Owner.method)[0]
    other = twin(plain, plain.__code__, {})
    other.__kwdefaults__["y"] = 5
    other.attribute = 1
    other.__annotations__["x"] = int
    assert plain.__kwdefaults__ == {"y": 1}
    assert not hasattr(plain, "attribute")
    assert plain.__annotations__ == {}
