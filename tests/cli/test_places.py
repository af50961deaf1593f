from __future__ import annotations

from xtab.cli.places import source_path, source_uri


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
