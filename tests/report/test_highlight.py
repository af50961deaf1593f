"""Source as HTML: nothing in it can become markup, and nothing hides."""

from __future__ import annotations

import html
import re

import pytest

from xtab.report import highlight
from xtab.report.highlight import highlighted, highlighted_stretch

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&amp;"


def plain(lines):
    return [html.unescape(re.sub(r"<[^>]*>", "", line)) for line in lines]


@pytest.mark.parametrize(
    "text", ["", "x", "x\n", "\n\nx = 1\n", "def f():\n\treturn 0  # c\n", 'a = """1\n2\n"""\nb\n', "(\n"]
)
def test_lines_are_those_of_the_text(text):
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    assert plain(highlighted(text)) == lines


@pytest.mark.parametrize("text", [f"x = {HOSTILE!r}", f"# {HOSTILE}", HOSTILE, f'"""{HOSTILE}\n{HOSTILE}"""'])
def test_nothing_becomes_markup(text):
    for line in highlighted(text):
        assert not re.sub(r'<span class="[a-z]+">|</span>', "", line).count("<")
        assert line.count("<span") == line.count("</span>")


def test_classes():
    (line,) = highlighted("def f(): return 'a', 1  # why")
    assert re.findall(r'class="(\w+)">([^<]*)', line) == [
        ("ke", "def"), ("fu", "f"), ("ke", "return"), ("st", "&#39;a&#39;"), ("nu", "1"), ("co", "# why"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "odd, shown", [("\u202e", "\\u202e"), ("\x1b", "\\x1b"), ("\u200b", "\\u200b"), ("\x0c", "\\x0c")]
)
def test_what_can_not_be_seen_is_an_escape(odd, shown):
    (line,) = highlighted(f"# a{odd}b")
    assert odd not in line
    assert f'<span class="esc">{shown}</span>' in line


STRINGS = '''\
x = """
def f(): return "
# no comment
"""; y = 1
def g(a="""
'"""):
    return f"""{[b
    for b in a]} #
    """, (\'a\'
      "b"  # c
      \\"""d
      """), \'e\\
    f\'
g()
'''


def test_a_stretch_is_the_same_in_the_whole_text():
    whole = highlighted(STRINGS)
    last = len(whole)
    for first in range(1, last + 1):
        for end in range(first, last + 2):
            assert highlighted_stretch(STRINGS, first, end) == whole[first - 1 : end]


@pytest.mark.parametrize("text", ["x = ???\n'''\n1\n'''\n", "x\n\0\n'''1\n2'''", ""])
def test_a_stretch_of_what_is_no_python(text):
    assert highlighted_stretch(text, 2, 3) == highlighted(text)[1:3]


def test_a_stretch_of_other_lines():
    assert plain(highlighted_stretch("a\r\nb = 'c\x0cd'\rc\n", 2, 2)) == ["b = 'c\\x0cd'"]


def test_only_what_is_shown_is_cut(monkeypatch):
    cut = []
    monkeypatch.setattr(highlight, "highlighted", lambda text: cut.append(text) or [])
    highlighted_stretch("x = 1\n" * 10_000 + "def f():\n    return 1\n" + "x = 1\n" * 10_000, 10_001, 10_002)
    assert cut == ["def f():\n    return 1\n"]
