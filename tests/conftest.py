"""What all tests share: which of them have nothing to ask of a debug build."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
PURE = (
    *("analysis", "cli", "format", "model/test_editing.py", "model/test_positions.py", "model/test_slices.py"),
    *("packages", "proof", "test_benchmarks.py", "test_docs.py", "test_errors.py", "test_house_rules.py", "testing"),
)
"""Tests that run no code which xtab has made or judged: a debug build could say no more of them than a release does."""


def pytest_collection_modifyitems(items):
    """Mark them, so that ``-m "not pure"`` leaves them out."""
    pure = [HERE / name for name in PURE]
    for item in items:
        if any(item.path.is_relative_to(path) for path in pure):
            item.add_marker(pytest.mark.pure)
