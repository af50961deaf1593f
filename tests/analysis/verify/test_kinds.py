from __future__ import annotations

from types import CodeType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtab.analysis.verify import kinds
from xtab.analysis.verify.kinds import ACCEPTED, LEFT, Value, constant, join, wants_iterator, words_for
from xtab.format.opcodes import CURRENT

BITS = [getattr(kinds, name) for name in kinds.__all__ if name.isupper() and type(getattr(kinds, name)) is int]
SINGLE = sorted({bit for bit in BITS if bit.bit_count() == 1})
NOP_AND_GET_ANEXT = bytes([CURRENT.number["NOP"], 0, CURRENT.number["GET_ANEXT"], 0])
VALUES = st.builds(
    Value,
    st.integers(1, (1 << len(SINGLE)) - 1),
    st.sampled_from([None, 0, 1, "generator", (1, 2)]),
    st.integers(0, 7),
)


def at_least(joined, one):
    """Whether `joined` says no more than `one`."""
    return not one.kinds & ~joined.kinds and not one.borrowed & ~joined.borrowed and joined.detail in (None, one.detail)


def test_kinds_are_bits_of_their_own():
    names = [name for name in kinds.__all__ if name.isupper() and type(getattr(kinds, name)) is int]
    single = [name for name in names if getattr(kinds, name).bit_count() == 1]
    assert len({getattr(kinds, name) for name in single}) == len(single)


@given(VALUES, VALUES)
def test_join_is_commutative(one, other):
    assert join(one, other) == join(other, one)


@given(VALUES, VALUES)
def test_join_only_loses_knowledge(one, other):
    joined = join(one, other)
    assert at_least(joined, one)
    assert at_least(joined, other)
    assert join(joined, one) == joined


@given(VALUES, VALUES, VALUES)
def test_join_is_monotone(one, other, third):
    """What says less before says less after: otherwise the walk might not end."""
    assert at_least(join(join(one, other), third), join(one, third))


@given(VALUES)
def test_join_with_itself(value):
    assert join(value, value) == value


def test_a_constant_is_known_by_its_exact_type():
    class Text(str):
        __slots__ = ()

    assert constant("a").kinds == kinds.STR
    assert constant(True).kinds == kinds.BOOL
    assert constant(1).kinds == kinds.INT
    assert constant(Text("a")) == LEFT["object"]
    assert constant(("a", None, ("b",))) == Value(kinds.TUPLE, (kinds.STR, kinds.NONE, kinds.TUPLE))
    assert constant((lambda: (yield)).__code__) == Value(kinds.CODE, ((), True, ()))


def test_what_is_left_is_accepted_under_the_same_word():
    for word, value in LEFT.items():
        if word in ACCEPTED and word != "list":
            assert not value.kinds & ~ACCEPTED[word], word


@given(st.integers(0, max(SINGLE) * 2 - 1))
def test_every_set_has_words(found):
    assert words_for(found)


@pytest.mark.skipif(CURRENT.iterator_slots != 1, reason="this version makes the iterator in the comprehension")
def test_only_what_begins_with_async_for_takes_any_object():
    """Also when something was put between the load and GET_ANEXT."""
    for text, wanted in (
        ("(x for x in y)", True),
        ("(x async for x in y)", False),
        ("(x for y in z async for x in y)", True),
        ("(x async for y in z for x in y)", False),
    ):
        outer = compile(f"async def f(y, z): return {text}", "example", "exec").co_consts[0]
        code = next(each for each in outer.co_consts if isinstance(each, CodeType))
        for units in (code.co_code, code.co_code.replace(bytes([CURRENT.number["GET_ANEXT"], 0]), NOP_AND_GET_ANEXT)):
            assert wants_iterator(1, code.co_varnames, code.co_flags, units) == wanted
