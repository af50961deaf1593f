from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtab import CodeParts, verify_parts


def sample(a, /, b, *c, d=1, **e):
    x = a
    return lambda: (x, b)


PARTS = CodeParts.of(sample)
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.binary(max_size=9), st.text(max_size=9),
    st.builds(bytearray, st.binary(max_size=4)),
    st.lists(st.integers(), max_size=3), st.tuples(st.text(max_size=3), st.integers()), st.tuples(st.text(max_size=2)),
)  # fmt: skip


def codes(**changes):
    return {problem.code for problem in verify_parts(PARTS._replace(**changes))}


def test_as_compiled():
    assert codes() == set()


@pytest.mark.parametrize(
    "changes, code",
    [
        ({"nlocals": 1}, "XT513"),
        ({"argcount": 50}, "XT513"),
        ({"posonlyargcount": 3}, "XT513"),
        ({"argcount": -1}, "XT513"),
        ({"flags": 1 << 31}, "XT513"),
        ({"stacksize": -1}, "XT406"),
        ({"stacksize": 1 << 31}, "XT406"),
        ({"stacksize": (1 << 20) + 1}, "XT406"),
        ({"stacksize": True}, "XT513"),
        ({"code": bytearray(b"")}, "XT513"),
        ({"names": ["a"]}, "XT513"),
        ({"varnames": ("a", b"b")}, "XT513"),
        ({"cellvars": ("b", "b")}, "XT513"),
    ],
)
def test_fields(changes, code):
    assert codes(**changes) == {code}


@pytest.mark.parametrize("field", CodeParts._fields)
def test_a_field_of_any_type(field):
    @given(ODD)
    def never_raises(value):
        verify_parts(PARTS._replace(**{field: value}))

    never_raises()


@given(st.tuples(*[ODD] * len(CodeParts._fields)))
def test_all_fields_of_any_type(values):
    assert verify_parts(CodeParts(*values))


@given(st.binary(max_size=60), st.binary(max_size=20), st.binary(max_size=20))
def test_any_bytes(code, linetable, exceptiontable):
    assert verify_parts(PARTS._replace(code=code, linetable=linetable, exceptiontable=exceptiontable))
