"""`source_lines`: the same lines as Python counts."""

from __future__ import annotations

import linecache

import pytest

from xtab.format.source import source_lines

ODD = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


@pytest.mark.parametrize(
    "text, lines",
    [
        ("", []),
        ("\n", ["\n"]),
        ("a", ["a\n"]),
        ("a\rb\r\nc\n\nd", ["a\n", "b\n", "c\n", "\n", "d\n"]),
        (f"x = '{ODD}'\ny", [f"x = '{ODD}'\n", "y\n"]),
    ],
    ids=range(5),
)
def test_lines(text, lines):
    assert source_lines(text) == lines


def test_they_are_those_of_tracebacks(tmp_path):
    text = f"x = 1\r\ny = '{ODD}'\r\x0c\nz = 2"
    path = tmp_path / "odd.py"
    path.write_bytes(text.encode())
    assert source_lines(text) == linecache.getlines(str(path))
    code = compile(text, str(path), "exec")
    assert source_lines(text)[max(line for *_, line in code.co_lines() if line) - 1] == "z = 2\n"
