"""What stands in a source file, by place."""

from __future__ import annotations

import ast

import pytest

from xtab import Location
from xtab.report.source_tree import SourceTree, caught, exits, extent_of

SOURCE = """\
with a, b(
    1
): c()

# a comment
try:
    '''text

    '''.d()
except (e, f): pass
except:
    pass
finally:
    g
"""


@pytest.fixture(scope="module")
def tree():
    return SourceTree(SOURCE)


def test_lines_that_hold_code(tree):
    held = [line for line in range(1, 16) if tree.holds_code(line)]
    assert held == [1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14]


def test_logical_lines(tree):
    assert [tree.logical_line(line) for line in (2, 4, 8)] == [(1, 3), None, (7, 9)]


def test_a_string_in_parts():
    tree = SourceTree("a(f'''{\nb}\n\n''')\n")
    assert [tree.holds_code(line) for line in (1, 2, 3, 4, 5)] == [True, True, True, True, False]


def test_texts(tree):
    assert tree.text((1, 8, 3, 1)) == "b(1)"
    assert tree.text((99, 0, 99, 1)) == ""
    long = SourceTree("x" * 100).text((1, 0, 1, 100))
    assert long == "x" * 39 + "…"


def test_columns_are_bytes_whatever_the_encoding():
    source = "# coding: latin-1\nä = b, c\n".encode("latin-1")
    assert SourceTree(source).text((2, 5, 2, 6)) == "b"


def test_items_and_withs(tree):
    item = tree.with_of(Location(1, 3, 8, 1))
    assert (item.number, item.extent, item.protects) == (1, (1, 8, 3, 1), (3, 3))
    assert tree.with_of(Location(1, 1, 5, 6)).protects == (1, 3)
    assert isinstance(tree.with_of(Location(1, 3, 0, 6)), ast.With)
    assert tree.with_of(Location(1, None, None, None)) is tree.with_of(None) is None


def test_clauses(tree):
    assert tree.except_of(Location(10, 10, 8, 9)) is tree.except_of(Location(11, 12, 0, 8))
    assert tree.except_of(Location(12, 12, 4, 8)) is None
    assert tree.finally_of(Location(14, 14, 4, 5)) is tree.except_of(Location(10, 10, 8, 9))
    assert tree.finally_of(Location(12, 12, 4, 8)) is tree.finally_of(None) is None


@pytest.mark.parametrize(
    "source, words",
    [
        ("return", "return"),
        ("for a in b: break", ""),
        ("while a:\n  b\nelse: continue", "continue"),
        ("def f(): return", ""),
        ("if a: raise b", "raise"),
        ("try: raise b\nexcept c: raise", ""),
        ("raise", ""),
    ],
)
def test_exits(source, words):
    assert " ".join(each.word for each in exits(ast.parse(source).body)) == words


def test_small_ones():
    [handler] = ast.parse("try: a\nexcept (b, (c, d)): e").body[0].handlers
    assert [each.id for each in caught(handler)] == ["b", "c", "d"]
    assert extent_of(Location(1, 2, 3, 4)) == (1, 3, 2, 4)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_python(end):
    tree = SourceTree(end.join(["a = '\x0c\u2028'", "\x0c", "b(", "  1)", "# c"]))
    assert tree.last_line == 5
    assert [tree.holds_code(line) for line in range(1, 7)] == [True, False, True, True, False, False]
    assert tree.text((3, 0, 4, 4)) == "b(1)"


@pytest.mark.parametrize("coding", ["idna", "raw_unicode_escape", "utf_7"])
def test_codecs_that_replace_nothing(coding):
    tree = SourceTree(f"# coding: {coding}\nwith a: b\n".encode())
    assert tree.holds_code(2)
    assert tree.text((2, 5, 2, 6)) == "a"


def test_the_mark_of_the_byte_order_has_no_column():
    assert SourceTree("\ufeffa = b".encode()).text((1, 4, 1, 5)) == "b"


def test_places_without_columns(tree):
    """A line tells which statement is meant; what enters a with stands beside its body, so it is asked by itself."""
    place = {line: Location(line, line, None, None) for line in range(1, 20)}
    first_try = tree.except_of(Location(10, 10, 8, 9))
    assert tree.except_of(place[10]) is tree.except_of(place[11]) is first_try
    assert tree.except_of(place[12]) is None
    assert tree.finally_of(place[14]) is first_try
    assert tree.finally_of(place[12]) is None
    assert tree.with_around(place[1]) is tree.with_around(place[2]) is tree.with_of(Location(1, 3, 0, 6))
    assert tree.with_around(place[4]) is tree.with_around(None) is tree.with_around(Location(1, 1, 0, 1)) is None
