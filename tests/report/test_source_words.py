"""Regions in the words of the source."""

from __future__ import annotations

import pytest

import xtab
from xtab.report.source_tree import SourceTree
from xtab.report.source_words import SourceWords

SOURCE = """\
try:
    with (
        a,
        b as c,
    ):
        d()
except tuple(e): f
except* g: h
finally:
    i()
""".replace("except* g: h\n", "except g: h\n")


@pytest.fixture(params=[True, False], ids=["source", "no source"])
def words(request):
    listing = xtab.show(compile(SOURCE, "sample", "exec"))
    return listing, SourceWords(listing, SourceTree(SOURCE) if request.param else None), request.param


def test_labels(words):
    listing, told, has_source = words
    labels = [told.label(each) for each in listing.shown]
    known = ["finally", "except tuple(e), g", "with a", "with b"]
    assert labels == (known if has_source else ["finally", "except ..., g", "with", "with"])


def test_lines_of_a_with(words):
    listing, told, has_source = words
    if has_source:
        assert [told.lines(each) for each in listing.shown][2:] == ["4-6", "6"]


def test_handlers(words):
    listing, told, has_source = words
    handlers = [told.handler(each, last=False) for each in listing.shown]
    assert handlers[0].words == "runs, then the exception goes on"
    assert handlers[0].line == 10
    if has_source:
        assert [each.lines for each in handlers] == ["line 10", "lines 7 and 8", "line 3", "line 4"]
        assert handlers[1].words == "the first clause whose class matches runs"


def test_what_enters_a_with_stands_at_its_item(words):
    listing, told, has_source = words
    if has_source:
        enters = [told.line(row) for row in listing.rows if row.opname in {"BEFORE_WITH", "LOAD_SPECIAL"}]
        assert set(enters) == {3, 4}


def test_code_without_columns(words, without_columns):
    """The lines of a statement's head are enough to find it, and regions are told apart by how many are around."""
    listing, told, has_source = words
    bare = xtab.show(without_columns(listing.code))
    if has_source:
        other = SourceWords(bare, SourceTree(SOURCE))
        for name in ("label", "lines"):
            assert [getattr(other, name)(each) for each in bare.shown] == [
                getattr(told, name)(each) for each in listing.shown
            ]
        assert [other.handler(each, last=False) for each in bare.shown] == [
            told.handler(each, last=False) for each in listing.shown
        ]
