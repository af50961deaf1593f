from __future__ import annotations

import pytest

from xtab.format.printable import one_line, without_addresses


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("a\nb", "a\\nb"), ("\x1b[1m", "\\x1b[1m"), ("\u202e", "\\u202e"), ("\u2028", "\\u2028"),
        ("\udcff", "\\udcff"), ("ä →", "ä →"), ("", ""), (5, "5"),
    ],
)  # fmt: skip
def test_one_line(text, wanted):
    assert one_line(text) == wanted
    assert one_line(text).isprintable()


def test_without_addresses():
    assert without_addresses(repr([object(), test_one_line])) == "[<object object>, <function test_one_line>]"
    assert without_addresses("at 0x1, met at 0x1 or 0x2") == "at 0x1, met or 0x2"
