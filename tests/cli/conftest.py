"""What the tests of the command line share."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from xtab.cli.app import app

GOLDEN = Path(__file__).parents[1] / "golden"
SAMPLE = """\
def reads(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return None


class Plain:
    number = 1
"""


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """The user's terminal must not show in what is compared."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def xtab(monkeypatch, tmp_path):
    """Run `xtab` with some arguments, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, **options):
        return CliRunner().invoke(app, arguments, prog_name="xtab", **options)

    return run


@pytest.fixture
def sample(tmp_path):
    """A file with three code objects, one of which has a table."""
    (tmp_path / "sample.py").write_text(SAMPLE)
    return "sample.py"


@pytest.fixture
def golden():
    """Compare a text with a golden file; with XTAB_BLESS=1, write that file."""

    def compare(name, text, **masks):
        for word, pattern in masks.items():
            text = re.sub(pattern, lambda match, word=word: match[0].replace(match[1], f" <{word}>"), text)
        path = GOLDEN / name
        if os.environ.get("XTAB_BLESS"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert text == path.read_text(), f"run with XTAB_BLESS=1 to accept what is in {path.name} now"

    return compare
