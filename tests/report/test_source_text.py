"""Where code came from."""

from __future__ import annotations

import linecache
from pathlib import Path

from xtab.report.source_text import has_columns, holds_line, line_bounds, line_of, remember_text, source_text


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
    assert source_text(code) == text
    assert linecache.getline("<remembered>", 2) == "    return 1\n"


def test_lines_that_it_holds():
    first = outer.__code__.co_firstlineno
    held = [line for line in range(first - 2, first + 8) if holds_line(outer.__code__, line)]
    assert held == list(range(first, first + 5))


def test_lines_are_those_of_python():
    text = "a = 1\n\x0c\nb = '\u2028\x1c'\r\nc = 2"
    remember_text("<odd lines>", text)
    code = compile(text, "<odd lines>", "exec")
    assert [line_of(code, line) for line in range(6)] == ["", "a = 1", "\x0c", "b = '\u2028\x1c'", "c = 2", ""]
    assert linecache.getline("<odd lines>", 4) == "c = 2"


def test_a_file_that_the_compiler_reads_and_linecache_does_not(tmp_path):
    path = tmp_path / "odd.py"
    path.write_bytes(b"# coding: idna\nx = 1\n" + b"y = 2\n" * 2000)
    code = compile(path.read_bytes(), str(path), "exec")
    assert line_of(code, 2) in {"", "x = 1"}
    assert source_text(code) in {"", path.read_text(encoding="ascii")}


def test_columns(without_columns):
    code = compile("def f(): a()", "example", "exec")
    assert has_columns(code)
    assert not has_columns(without_columns(code))
