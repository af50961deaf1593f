"""Names and constants as text, and the scanner that reads them."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xtab.errors import TextError
from xtab.model.tables import constant_key
from xtab.model.text_tokens import Scanner, constant_text, name_text, read_constant


def read(text, **references):
    """Return the constant that all of the text is."""
    scan = Scanner(text, 7)
    value = read_constant(scan, lambda kind, name, scan: references[f"{kind}_{name}"])
    scan.expect_end()
    return value


def refuse(value):
    raise AssertionError(value)


ATOMS = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(), st.just(...)),
    st.complex_numbers(allow_nan=False),
)
CONSTANTS = st.recursive(
    ATOMS, lambda inner: st.lists(inner, max_size=4).map(tuple) | st.lists(inner, max_size=4).map(frozenset)
)


@settings(deadline=None)
@given(CONSTANTS)
def test_constants_come_back(value):
    text = constant_text(value, refuse)
    again = read(text)
    assert constant_key(again) == constant_key(value)
    assert constant_text(again, refuse) == text


@pytest.mark.parametrize(
    "value, text",
    [
        (-0.0, "-0.0"),
        (True, "True"),
        ((1,), "(1,)"),
        ((), "()"),
        (frozenset(), "frozenset()"),
        (frozenset({2, 1}), "frozenset({1, 2})"),
        (2j, "2j"),
        (complex(-0.0, 1), "complex(-0.0, 1.0)"),
        (complex(0, -1.0), "complex(0.0, -1.0)"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (slice(None, 1, (2,)), "slice(None, 1, (2,))"),
        (..., "..."),
        ("a\n'\ud800\x85", '"a\\n\'\\ud800\\x85"'),
        (1 << 4001, hex(1 << 4001)),
        (1 << 100, str(1 << 100)),
    ],
    ids=str,
)
def test_how_constants_are_written(value, text):
    assert constant_text(value, refuse) == text
    again = read(text)
    assert (type(again), repr(again)) == (type(value), repr(value))


def test_nans():
    """They are one object, so that a text means one constant."""
    assert math.isnan(read("nan"))
    assert read("nan") is read("nan")
    assert constant_text(math.nan, refuse) == "nan"


def test_what_only_hand_written_text_has():
    assert read(' ( 1 , ( 2 ) , "x\\"" , ) # c') == (1, 2, 'x"')
    assert read("0XfF") == 255
    assert read("-1j") == -1j
    assert read(".5e-1") == 0.05
    assert read("frozenset( { 1, } )") == frozenset({1})
    assert read("(<code <lambda>>, <object a.b>)", **{"code_<lambda>": 1, "object_a.b": 2}) == (1, 2)


def test_what_has_no_literal_is_left_to_the_caller():
    class Number(int):
        pass

    assert constant_text((1, Number(2), [3]), lambda value: f"<{type(value).__name__}>") == "(1, <Number>, <list>)"


def test_numbers_of_many_digits():
    value = (-1 << 20_000, frozenset({1 << 20_000, 1}))
    assert read(constant_text(value, refuse)) == value


def test_deep_constants():
    value = ()
    for _ in range(400):
        value = (value,)
    assert read(constant_text(value, refuse)) == value


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "expected a constant, but found the end of the line"),
        ("# x", "column 1: expected a constant, but found the end of the line"),
        ("name", "expected a constant, but found name"),
        ("'x", "expected a constant, but found '"),
        (r"'\d'", r"column 1: expected a constant, but found '\d'"),
        (r"'\U00110000'", "expected a constant, but found"),
        ("b'é'", "column 1: expected a constant, but found b"),
        ("(1 2)", "column 4: expected ',' or the closing bracket, but found 2"),
        ("(1, 2", "column 6: expected ',' or the closing bracket, but found the end of the line"),
        ("(1,, 2)", "column 4: expected a constant, but found ,"),
        ("[1]", "expected a constant, but found ["),
        ("1x", "expected a constant, but found 1x"),
        ("1 2", "column 3: expected the end of the line, but found 2"),
        ("slice(1, 2)", "column 1: expected slice(START, STOP, STEP), but found slice"),
        ("complex(1, 2)", "expected complex(REAL, IMAGINARY), of two floats, but found complex"),
        ("frozenset(1)", "expected frozenset({...}) or frozenset(), but found frozenset"),
        ("(" * 501 + ")" * 501, "column 502: expected at most 500 brackets one inside the other, but found one more"),
        ("9" * 5000, "expected a number of fewer digits, or one that begins with 0x, but found 9999"),
        ("frozenset({<object a>})", "column 1: expected members that can be hashed, but found a slice or an object"),
    ],
    ids=range(19),
)
def test_errors(text, message):
    with pytest.raises(TextError, match=re.escape(message)) as caught:
        read(text, object_a=[])
    assert caught.value.line == 7
    assert 1 <= caught.value.column <= len(text) + 1


@pytest.mark.parametrize("name", ["x", ".0", "os.path", "é", "a b", "", "'", "\n", "<x>"])
def test_names_come_back(name):
    scan = Scanner(f"  {name_text(name)} {name_text(name, label=True)}", 1)
    assert (scan.name("a name"), scan.label("a name")) == (name, name)
    scan.expect_end()


def test_numbers():
    scan = Scanner("17 2147483647 2147483648", 1)
    assert (scan.number("a number"), scan.number("a number")) == (17, 2**31 - 1)
    with pytest.raises(TextError, match=r"column 15: expected a number below 2\*\*31, but found 2147483648"):
        scan.number("a number")
    with pytest.raises(TextError, match="expected a string, but found bytes"):
        Scanner("b'x'", 1).string("a string")
