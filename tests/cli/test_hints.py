"""What messages say of targets that aren't there."""

from __future__ import annotations

import pytest

from xtab.cli.hints import close_matches, close_names, no_module, no_package, not_found


def test_close_names():
    assert close_matches("wher", ["where", "dis"]) == "; close to it: where"
    assert close_matches("x", ["where"]) == ""
    assert close_names("inner", ["f.<locals>.inner", "inner_"]) == "; close to it: f.inner"
    assert close_names("ineer", ["inner"]) == "; close to it: inner"


@pytest.mark.parametrize(
    "target, end",
    [
        ("with a: b", "xtab dis -e SOURCE shows source that is typed"),
        ("f(1)", "xtab dis -e SOURCE shows source that is typed"),
        ("two words", "but found 'two words'"),
        ("folder/:1", "expected a file or a module before ':1', but found that folder/ is a folder"),
        ("a.py:", "behind the colon of 'a.py:'"),
        ("b.py", "expected a file or folder, but found no 'b.py'; close to it: a.py"),
    ],
)
def test_not_found(target, end, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.py").touch()
    assert str(not_found(target)).endswith(end)


def test_names_behind_modules(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(no_package("a", ["B", "c"], "a.B.c")).endswith("; a name in it is written a:B.c")
    (tmp_path / "raises.py").touch()
    assert str(no_package("raises", ["pyy"], "raises.pyy")).endswith("; close to it: raises.py")
    assert str(no_module("a.B", [])).endswith("a name in a is written a:B")
    assert str(no_module("sys", [])).endswith("sys is built in")
