from __future__ import annotations

import functools
import json
import sys

import pytest

from xtab.runtime.code_cache import CodeCache, version_of, write_atomically
from xtab.transform.named import load_transform

CODE = compile("x = 1", "one.py", "exec")


@pytest.fixture
def cache(tmp_path):
    return CodeCache(tmp_path / "cache", "pkg:transform", "1")


def test_nothing_is_there_at_first(cache):
    assert cache.load("one", "one.py", b"") is None
    assert not cache.folder.exists()


def test_what_the_key_holds(cache, monkeypatch):
    cache.store("one", "one.py", b"x = 1", CODE)
    assert cache.load("one", "one.py", b"x = 1") == CODE
    others = [
        cache.load("two", "one.py", b"x = 1"),
        cache.load("one", "other/one.py", b"x = 1"),
        cache.load("one", "one.py", b"x = 2"),
        CodeCache(cache.folder, "pkg:other", "1").load("one", "one.py", b"x = 1"),
        CodeCache(cache.folder, "pkg:transform", "2").load("one", "one.py", b"x = 1"),
    ]
    monkeypatch.setattr("xtab.runtime.code_cache.MAGIC_NUMBER", b"none")
    others.append(cache.load("one", "one.py", b"x = 1"))
    assert others == [None] * 6


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: d[:40], lambda d: b"", lambda d: d[:-1] + b"?"], ids=range(4)
)
def test_damaged_files_are_passed_over(cache, damage):
    cache.store("one", "one.py", b"x = 1", CODE)
    (file,) = cache.folder.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert cache.load("one", "one.py", b"x = 1") is None
    cache.store("one", "one.py", b"x = 1", CODE)
    assert cache.load("one", "one.py", b"x = 1") == CODE


def test_what_marshal_can_not_write(cache):
    with pytest.raises(ValueError, match="can be kept in a file, but found <object object>"):
        cache.store("one", "one.py", b"", CODE.replace(co_consts=(object(),)))
    assert not cache.folder.exists()


def test_write_atomically(tmp_path):
    write_atomically(tmp_path / "file", b"one")
    write_atomically(tmp_path / "file", b"two")
    assert (tmp_path / "file").read_bytes() == b"two"
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_atomically(tmp_path / "folder", b"three")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_version_of():
    assert version_of(load_transform) == version_of(load_transform)
    assert version_of(load_transform) != version_of(json.dumps)
    for without in (lambda: 0, functools.partial(json.dumps), len, sys.intern, 5):
        assert version_of(without) is None
