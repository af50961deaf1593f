"""What all tests share: which of them have nothing to ask of a debug build; and the tools that lie beside some."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PURE = (
    *("analysis", "cli", "format", "model/test_editing.py", "model/test_positions.py", "model/test_slices.py"),
    *("packages", "proof", "regions", "test_benchmarks.py", "test_docs.py", "test_errors.py", "test_house_rules.py"),
    "testing",
)
"""Tests that run no code which xtab has made or judged: a debug build could say no more of them than a release does."""


def pytest_collection_modifyitems(items):
    """Mark them, so that ``-m "not pure"`` leaves them out."""
    pure = [HERE / name for name in PURE]
    for item in items:
        if any(item.path.is_relative_to(path) for path in pure):
            item.add_marker(pytest.mark.pure)


@pytest.fixture
def tools(request, monkeypatch):
    """Import a tool that lies beside the test by its name, as the tools import each other, and forget it afterwards."""
    here, before = request.path.parent, set(sys.modules)
    monkeypatch.syspath_prepend(str(here))
    yield __import__
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == here:
            del sys.modules[name]


@pytest.fixture
def golden():
    """Compare a text with a golden file; with XTAB_BLESS=1, write that file."""

    def compare(name, text, **masks):
        for word, pattern in masks.items():
            text = re.sub(pattern, lambda match, word=word: match[0].replace(match[1], f" <{word}>"), text)
        path = HERE / "golden" / name
        if os.environ.get("XTAB_BLESS"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"run with XTAB_BLESS=1 to accept what is in {name} now"

    return compare
