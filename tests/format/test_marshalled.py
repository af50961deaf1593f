from __future__ import annotations

import argparse
import inspect
import marshal
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtab import TableFormatError
from xtab.format.code import code_objects
from xtab.format.marshalled import CELL, FREE, LOCAL, MarshalledCode, dump_marshalled, load_marshalled

ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(1 << 200), 1 << 200)
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.binary()
    | st.text()
    | st.text("abc")
    | st.just(...)
)
HASHABLE = st.recursive(ATOMS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=6)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HASHABLE, inner, max_size=3) | st.sets(HASHABLE),
    max_leaves=6,
)


@given(VALUES)
def test_values_are_read_and_written_as_by_marshal(value):
    assert repr(load_marshalled(marshal.dumps(value))) == repr(marshal.loads(marshal.dumps(value)))
    assert marshal.loads(dump_marshalled(value)) == value


@pytest.mark.parametrize("value", [-0.0, complex(-0.0, 0.0), "\ud800", (1 << 15) - 1, 1 << 31, -(1 << 31), (0, 0.0)])
def test_values_that_are_easily_mistaken(value):
    assert repr(load_marshalled(marshal.dumps(value))) == repr(value)
    assert repr(marshal.loads(dump_marshalled(value))) == repr(value)


def test_not_a_number():
    assert math.isnan(marshal.loads(dump_marshalled(load_marshalled(marshal.dumps(math.nan)))))


@pytest.mark.parametrize("module", [argparse, inspect], ids=lambda module: module.__name__)
def test_code_objects_come_back(module):
    code = compile(inspect.getsource(module), module.__file__, "exec")
    again = marshal.loads(dump_marshalled(load_marshalled(marshal.dumps(code))))
    assert again == code
    pairs = list(zip(code_objects(code), code_objects(again), strict=True))
    assert len(pairs) > 50
    for one, other in pairs:
        assert (one.co_linetable, one.co_exceptiontable) == (other.co_linetable, other.co_exceptiontable)
        assert (one.co_filename, one.co_stacksize) == (other.co_filename, other.co_stacksize)


def test_the_fields_of_a_code_object():
    def outer(a, b=1):
        c = a
        return lambda: (c, a)

    found = load_marshalled(marshal.dumps(outer.__code__))
    code = outer.__code__
    assert found.variables(LOCAL) == code.co_varnames
    assert found.variables(CELL) == code.co_cellvars
    inner = next(each for each in found.consts if isinstance(each, MarshalledCode))
    assert inner.variables(FREE) == ("a", "c")
    assert found.code == code.co_code
    assert (found.argcount, found.stacksize, found.flags) == (2, code.co_stacksize, code.co_flags)
    assert (found.firstlineno, found.linetable) == (code.co_firstlineno, code.co_linetable)


def test_slices():
    data = b":" + b"i\1\0\0\0" + b"N" * 2
    assert load_marshalled(data) == slice(1, None)
    assert dump_marshalled(slice(1, None)) == data


def test_deep_nesting():
    value = ()
    for _ in range(1500):
        value = (value,)
    assert dump_marshalled(load_marshalled(marshal.dumps(value))) == b"(\1\0\0\0" * 1500 + b"(\0\0\0\0"


def test_what_marshal_can_not_write():
    with pytest.raises(TypeError, match="expected an object that marshal has a form for, but found object"):
        dump_marshalled((object(),))


@pytest.mark.parametrize(
    "data, fault",
    [
        (b"", "truncated"),
        (b"i\1", "truncated"),
        (b"(\xff\xff\xff\xff", "truncated"),
        (b"?", "unknown type"),
        (b"r\0\0\0\0", "bad reference"),
        (b"\xa9\1r\0\0\0\0", "bad reference"),  # a tuple in itself
        (b"z\1\xff", "not a text"),
        (b"<\1\0\0\0[\0\0\0\0", "unhashable"),
        (b"c" + bytes(20) + b"N", "wrong type"),
        (b"0", "stray NULL"),
        (b")\x010", "stray NULL"),
        (b"{N0", "stray NULL"),
    ],
)
def test_what_marshal_never_writes(data, fault):
    with pytest.raises(TableFormatError) as caught:
        load_marshalled(data)
    assert caught.value.fault == fault


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_an_error(data):
    try:
        value = load_marshalled(data)
    except TableFormatError as error:
        assert error.fault
    else:
        assert type(load_marshalled(dump_marshalled(value))) is type(value)
