"""The text of a source, and its lines."""

from __future__ import annotations

import ast
import codecs

import pytest

from xtab.format.source_code import decode_source, split_lines


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_python(end):
    odd = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
    text = end.join([f"a = '{odd}'", "\x0c", f"b = '''{odd}", f"{odd}'''", "c"])
    lines = split_lines(text)
    assert [line.rstrip("\n") for line in lines] == text.split(end)
    assert [node.lineno for node in ast.parse(text).body] == [1, 3, 5]
    assert lines[4] == "c"


def test_no_lines():
    assert split_lines("") == []
    assert split_lines("\n") == ["\n"]


@pytest.mark.parametrize("start", [b"", codecs.BOM_UTF8, b"# coding: utf-8\n", b"# coding: latin-1\n"])
def test_encodings(start):
    encoding = "latin-1" if b"latin" in start else "utf-8"
    assert decode_source(start + "ä".encode(encoding)).endswith("ä")
    assert not decode_source(start).startswith("\ufeff")


@pytest.mark.parametrize(
    "coding", ["idna", "punycode", "undefined", "hex", "rot13", "no such", "latin-1", "unicode_escape"]
)
def test_no_codec_is_too_odd(coding):
    assert "coding" in decode_source(f"# coding: {coding}\nx = '".encode() + b"\xff\\")[:9] or coding == "rot13"


def test_idna():
    assert decode_source(b"# coding: idna\nx = 1\n") == "# coding: idna\nx = 1\n"
