from __future__ import annotations

import pytest

import xtab
from xtab.report.words import count, file_line, line_words, lines_of_source


@pytest.mark.parametrize("number, words", [(0, "0 rows"), (1, "1 row"), (2, "2 rows")])
def test_counts(number, words):
    assert count(number, "row") == words


def test_a_file_name_breaks_no_line():
    assert file_line("a\nb.py", 3) == "a\\nb.py:3"
    assert file_line("a.py", None) == "a.py"


@pytest.mark.parametrize(
    "location, text",
    [
        (None, ""),
        (xtab.Location(None, None, None, None), ""),
        (xtab.Location(4, None, None, None), "4"),
        (xtab.Location(4, 4, 0, 3), "4"),
        (xtab.Location(4, 6, 0, 3), "4-6"),
    ],
    ids=str,
)
def test_lines(location, text):
    assert lines_of_source(location) == text


def test_lines_in_words():
    assert (line_words(4, 4), line_words(4, None), line_words(4, 6)) == ("line 4", "line 4", "lines 4-6")
