from __future__ import annotations

import pytest

from xtab.analysis.verify import Problem
from xtab.cli.places import place_in_words, source_path, source_uri


@pytest.mark.parametrize(
    "facts, words",
    [
        ({"qualname": "C.f", "offset": 14, "opname": "POP_TOP"}, "C.f at 14 (POP_TOP)"),
        ({"qualname": "f", "offset": 14}, "f at 14"),
        ({"qualname": "f"}, "f"),
        ({"offset": 0}, "? at 0"),
    ],
)
def test_in_words(facts, words):
    assert place_in_words(Problem("XT402", "", **facts)) == words


def test_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert source_path("src/a.py") == "src/a.py"
    assert source_path(str(tmp_path / "src" / "a.py")) == "src/a.py"
    assert source_path("/elsewhere/a.py") == "/elsewhere/a.py"


def test_uris(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert source_uri(str(tmp_path / "ä b.py")) == "%C3%A4%20b.py"
    assert source_uri("/elsewhere/a.py") == "file:///elsewhere/a.py"
    assert source_uri("<stdin>") == "%3Cstdin%3E"
