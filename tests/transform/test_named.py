from __future__ import annotations

import functools

import pytest

from xtab.errors import XtabError
from xtab.transform.named import load_transform, transform_name


class Outer:
    def method(self):
        pass


def test_there_and_back():
    for function in (load_transform, transform_name):
        assert load_transform(transform_name(function)) is function
    assert load_transform("os.path:join").__name__ == "join"


def test_names():
    assert transform_name(Outer.method) == f"{__name__}:Outer.method"
    assert transform_name(Outer()) == f"{__name__}:Outer"
    assert transform_name(functools.partial(print)) == "functools:partial"
    assert transform_name(print) == "builtins:print"


@pytest.mark.parametrize(
    "name, message",
    [
        ("os", "expected a transform as package.module:name, but found 'os'"),
        (":join", "expected a transform as package.module:name, but found ':join'"),
        ("os:", "expected a transform as package.module:name, but found 'os:'"),
        ("no.where:x", "expected a module with the transform no.where:x, but found no module 'no'"),
        ("os.where:x", "expected a module with the transform os.where:x, but found no module 'os.where'"),
        ("os:path.no", "expected the transform path.no in os, but found no 'no'"),
        ("os:sep", "expected os:sep to be callable, but found '/'"),
    ],
)
def test_what_is_not_there(name, message):
    with pytest.raises(XtabError) as caught:
        load_transform(name)
    assert str(caught.value) == message


def test_what_the_module_raises_comes_through(tmp_path, monkeypatch):
    (tmp_path / "needs_more.py").write_text("import not_installed_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere"):
        load_transform("needs_more:x")
