"""`check_types`, `check_filename` and `require_body`."""

from __future__ import annotations

import pytest

import xtab
from xtab.transform.arguments import check_filename, check_types, require_body


@pytest.mark.parametrize(
    "kind, arguments, message",
    [
        (str, {"name": 1}, "expected a string for name, but found 1 of type int"),
        (int, {"lines": "1"}, "expected an integer for lines, but found '1' of type str"),
        (str, {"a": "x", "b": b"x"}, "expected a string for b"),
    ],
    ids=range(3),
)
def test_a_wrong_type(kind, arguments, message):
    with pytest.raises(TypeError, match=message):
        check_types(kind, **arguments)


def test_none_is_for_what_is_left_out():
    check_types(str, or_none=True, name=None, other="x")
    with pytest.raises(TypeError, match="expected a string for name, but found None of type NoneType"):
        check_types(str, name=None)


def test_a_body_is_wanted():
    body = xtab.decode(lambda: 0)
    assert require_body(body) is body
    with pytest.raises(xtab.XtabError, match=r"expected a Body, as xtab.decode makes, but found <code object"):
        require_body(test_a_body_is_wanted.__code__)


def test_a_file_name_has_no_null():
    check_filename(None)
    check_filename("<odd \ud800 \n name>")
    with pytest.raises(xtab.XtabError, match=r"without null characters, but found 'a\\x00'"):
        check_filename("a\0")
