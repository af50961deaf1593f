"""The names of the package: they are loaded when they are asked for, and all lists of them agree."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import xtab

TREE = ast.parse(Path(xtab.__file__).read_text(encoding="utf-8"))


def imports_for_type_checkers():
    [block] = [node for node in TREE.body if isinstance(node, ast.If)]
    return {(node.module, alias.name) for node in block.body for alias in node.names}


def test_the_lists_agree():
    homes = {(home, name) for home, names in xtab._HOMES.items() for name in names.split()}
    assert homes == {(home, name) for home, name in imports_for_type_checkers() if name in xtab.__all__}
    assert sorted(name for _, name in homes) == sorted(xtab.__all__)
    assert xtab.__all__ == sorted(xtab.__all__)


@pytest.mark.parametrize("name", xtab.__all__)
def test_each_name_is_there(name):
    home = next(home for home, names in xtab._HOMES.items() if name in names.split())
    assert getattr(xtab, name) is getattr(import_module(home), name)
    assert name in dir(xtab)


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_loads_nothing_else():
    code = "import sys; before = set(sys.modules); import xtab; print(sorted(set(sys.modules) - before))"
    assert python(code).stdout in {"['xtab']\n", "['__future__', 'xtab']\n"}


@pytest.mark.parametrize(
    "code",
    [
        "from xtab import *; assert decode and Region and XtabError",
        "from xtab import decode, Kind; assert decode.__name__ == 'decode'",
        "import xtab; assert xtab.errors.XtabError is xtab.XtabError; assert xtab.transform",
        "import xtab; import xtab.model; assert xtab.decode is xtab.decode",
    ],
)
def test_names_come_in_every_way(code):
    result = python(code)
    assert result.returncode == 0, result.stderr


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'xtab' has no attribute 'decod'"):
        xtab.decod
    assert "cannot import name 'decod' from 'xtab'" in python("from xtab import decod").stderr
