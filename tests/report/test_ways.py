"""Where exceptions of a line go."""

from __future__ import annotations

import warnings

import pytest

import xtab
from xtab.report.ways import ways


def told(source, line, name=None, **options):
    with warnings.catch_warnings(action="ignore"):
        code = compile(source, "sample", "exec", dont_inherit=True)
    if name:
        code = next(each for each in code.co_consts if getattr(each, "co_name", "") == name)
    found = ways(xtab.show(code), line, **options)
    return [[(stop.region.label if stop.region else "", stop.line, stop.words) for stop in way.stops] for way in found]


TRY = "try:\n    a()\nexcept KeyError:\n    b()\nfinally:\n    c()\n"
OUT = ("", None, "the code that imports or executes the module")


def test_handlers_in_order():
    assert told(TRY, 2) == [
        [
            ("except KeyError", 3, "runs if the class matches"),
            ("finally", 6, "runs, then the exception goes on"),
            OUT,
        ]
    ]
    assert told(TRY, 4) == [[("finally", 6, "runs, then the exception goes on"), OUT]]
    assert told(TRY, 6) == [[OUT]]


def test_a_line_that_is_not_there():
    assert told(TRY, 9) == []


@pytest.mark.parametrize(
    "source, words",
    [
        ("def f():\n    a()\n", "the caller of f"),
        ("def f():\n    yield a()\n", "the code that asks f for its next value"),
        ("async def f():\n    a()\n", "the code that awaits f"),
    ],
)
def test_who_gets_it_in_the_end(source, words):
    [[*_, (_, _, last)]] = told(source, 2, "f")
    assert last == words


def test_a_handler_that_ends_it_is_the_last():
    [[(label, line, words)]] = told("try:\n    a()\nexcept:\n    b()\n", 2)
    assert (label, line, words) == ("bare except", 3, "runs")


def test_a_finally_that_returns():
    source = "def f():\n    try:\n        a()\n    finally:\n        return 1\n"
    [[(label, _, words)]] = told(source, 3, "f")
    assert (label, words) == ("finally", "runs, and may end the exception")


def test_what_an_except_star_clause_raises_goes_out_in_the_end():
    source = "try:\n    a()\nexcept* OSError:\n    b()\n"
    [[*_, last]] = told(source, 4)
    assert last[0] in {"except* item", ""}
    assert last[2].startswith(("it is kept until", "the code that imports"))


def test_every_way_has_an_end(shapes):
    for code in shapes.values():
        listing = xtab.show(code)
        for line in {row.line for row in listing.rows if row.line}:
            assert all(way.stops for way in ways(listing, line))


def test_a_class_has_no_caller():
    [[(_, _, words)]] = told("class C:\n    a()\n", 2, "C")
    assert words == "the code that makes the class C"


def test_a_line_within_a_statement():
    source = "a(\n    1,\n\n)\n"
    assert told(source, 3) == []
    assert told(source, 3, spanned=True) == [[OUT]]


def test_what_cannot_raise_is_marked():
    code = compile(TRY, "sample", "exec")
    [way] = ways(xtab.show(code), 1)
    assert not way.raises
