from __future__ import annotations

import linecache
import os
import subprocess
import sys

import pytest

from xtab.cli.code_targets import TargetType, find_code, remember_source
from xtab.cli.targets import SourceFile
from xtab.errors import TargetError

DECORATED = """\
import functools
print("imported")

def twice(function):
    @functools.wraps(function)
    def wrapper():
        return function() + function()
    return wrapper

@twice
def one():
    return 1

class Box:
    def get(self):
        return 1
    @staticmethod
    def make():
        return Box()
    class Inner:
        def deep(self): pass

number = 1
"""


@pytest.fixture
def decorated(tmp_path, monkeypatch):
    (tmp_path / "decorated_sample.py").write_text(DECORATED)
    monkeypatch.chdir(tmp_path)
    yield "decorated_sample"
    sys.modules.pop("decorated_sample", None)


def names(*targets, **options):
    return [found.code.co_qualname for found in find_code(targets, None, **options)]


def test_nothing_is_executed_unless_import_is_given(decorated, capsys):
    assert "one" in names(decorated)
    assert capsys.readouterr().out == ""
    assert names(f"{decorated}:one", do_import=True) == ["twice.<locals>.wrapper"]
    assert capsys.readouterr() == ("", "imported\n"), "what a module prints is none of the output"


@pytest.mark.parametrize("target", ["decorated_sample", "decorated_sample.py"])
def test_all_functions_of_a_module_and_of_a_class(target, decorated):
    found = names(target, do_import=True)
    assert found == [
        "twice",
        "twice.<locals>.wrapper",
        "twice.<locals>.wrapper",
        "Box.get",
        "Box.make",
        "Box.Inner.deep",
    ]
    assert names(f"{target}:Box", do_import=True) == ["Box.get", "Box.make", "Box.Inner.deep"]
    assert names(f"{target}:Box.get", do_import=True) == ["Box.get"]


@pytest.mark.parametrize(
    "target, message",
    [
        ("decorated_sample:noe", "close to it: one"),
        ("decorated_sample:number", "expected a code object"),
        ("no_such_module_at_all", "ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_imported(target, message, decorated):
    with pytest.raises(TargetError, match=message):
        names(target, do_import=True)


WRAPPED = """
import functools
@functools.lru_cache
def cached(): pass
part = functools.partial(cached, 1)
class Box:
    @property
    def value(self): pass
    @value.setter
    def value(self, new): pass
    @functools.cached_property
    def once(self): pass
    @staticmethod
    @functools.lru_cache
    def both(): pass
builtin = functools.partial(len)
"""


def test_functions_in_wrappers_are_found(tmp_path, monkeypatch):
    (tmp_path / "wrapped_sample.py").write_text(WRAPPED)
    monkeypatch.chdir(tmp_path)
    try:
        found = names("wrapped_sample", do_import=True)
        assert found == ["cached", "Box.value", "Box.value", "Box.once", "Box.both"]
        assert names("wrapped_sample:part", "wrapped_sample:cached", do_import=True) == ["cached", "cached"]
        assert names("wrapped_sample:Box.value", do_import=True) == ["Box.value", "Box.value"]
        assert names("wrapped_sample:Box.once", "wrapped_sample:Box.both", do_import=True) == ["Box.once", "Box.both"]
        with pytest.raises(TargetError, match="it is written in C and has no bytecode"):
            names("wrapped_sample:builtin", do_import=True)
    finally:
        sys.modules.pop("wrapped_sample", None)


def test_a_source_that_is_in_no_file_is_remembered():
    remember_source(SourceFile("<string>", data=b"a\nb\n"))
    assert linecache.getline("<string>", 2) == "b\n"


def complete(incomplete):
    return [item.value for item in TargetType().shell_complete(None, None, incomplete)]


def test_completion(decorated, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inner.py").write_text("")
    (tmp_path / "other.txt").write_text("")
    assert complete("deco") == ["decorated_sample.py", "decorated_sample"]
    assert complete("fol")[0] == f"folder{os.sep}"
    assert complete("oth") == []
    assert complete(f"folder{os.sep}") == [f"folder{os.sep}inner.py"]
    assert "asyncio.base_events" in complete("asyncio.base_e")
    assert complete("decorated_sample.py:o") == ["decorated_sample.py:one"]
    assert complete("decorated_sample.py:Box.g") == ["decorated_sample.py:Box.get"]
    assert complete("nothing.py:x") == []
    assert complete(f"no{os.sep}such{os.sep}") == []


def test_completion_by_the_shell(decorated, tmp_path):
    environment = {
        **os.environ, "_XTAB_COMPLETE": "bash_complete", "COMP_WORDS": "xtab dis deco", "COMP_CWORD": "2",
    }  # fmt: skip
    command = [sys.executable, "-c", "from xtab.cli import main; main()"]
    result = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["plain,decorated_sample.py", "plain,decorated_sample"]


def test_completion_reads_neither_stdin_nor_a_library(tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("read")

    monkeypatch.setattr("xtab.cli.targets._stdlib", refuse)
    monkeypatch.setattr("xtab.cli.targets._in_folder", refuse)
    monkeypatch.setattr(sys, "stdin", None)
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("def own(): ...")
    (tmp_path / "pack" / "inner.py").write_text("def inside(): ...")
    monkeypatch.chdir(tmp_path)
    assert {start: complete(start) for start in ("-:", "stdlib:", ".:", "pack:")} == {
        "-:": [], "stdlib:": [], ".:": [], "pack:": ["pack:own"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "text, message", [("raise SystemExit(0)", "found: SystemExit: 0"), ("number = 1", "expected functions of its own")]
)
def test_a_module_that_has_no_functions_or_leaves(text, message, tmp_path, monkeypatch):
    (tmp_path / "odd_sample.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TargetError, match=message):
        names("odd_sample.py", do_import=True)
    sys.modules.pop("odd_sample", None)
