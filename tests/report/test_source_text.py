"""Where code came from."""

from __future__ import annotations

import linecache
from pathlib import Path

from xtab.report.source_text import holds_line, line_bounds, remember_text, source_text


def outer():
    def inner():
        return 1

    return inner


def test_the_text_of_the_file():
    assert source_text(outer.__code__) == Path(__file__).read_text(encoding="utf-8")


def test_no_file():
    assert source_text(compile("x", "<no such file>", "eval")) == ""


def test_lines_with_what_is_inside():
    first = outer.__code__.co_firstlineno
    assert line_bounds(outer.__code__) == (first, first + 4)


def test_no_lines_at_all():
    code = compile("x", "example", "eval")
    bare = code.replace(co_linetable=bytes([0xF8 | len(code.co_code) // 2 - 1]), co_consts=())
    assert line_bounds(bare) == (1, 1)


def test_a_text_that_is_in_no_file():
    text = "def f():\n    return 1\nx = 2"
    remember_text("<remembered>", text)
    code = compile(text, "<remembered>", "exec")
    assert source_text(code) == text + "\n"
    assert linecache.getline("<remembered>", 2) == "    return 1\n"


def test_lines_that_it_holds():
    first = outer.__code__.co_firstlineno
    held = [line for line in range(first - 2, first + 8) if holds_line(outer.__code__, line)]
    assert held == list(range(first, first + 5))


def test_lines_end_where_python_ends_them():
    text = "x = '\x0c\u2028\x1c'\r\x0c\ny = 1\n"
    remember_text("<odd ends>", text)
    assert linecache.getline("<odd ends>", 3) == "y = 1\n"
