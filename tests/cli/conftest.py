"""What the tests of the command line share."""

from __future__ import annotations

from importlib.util import MAGIC_NUMBER

import pytest
from click.testing import CliRunner

from xtab.cli.app import app
from xtab.format.marshalled import dump_marshalled

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


LAYERS = """\
import os

def f():
    x = 1

    def g(): return 2
    return [
        y
        for y in x
    ]

class C:
    z = [lambda: 0 for _ in ()]
"""


@pytest.fixture
def layers():
    """The code object of a module with code objects in it, and in those."""
    return compile(LAYERS, "sample", "exec")


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
def write_pyc(tmp_path):
    """Write a code object to a .pyc in the working directory, without ever making it; returns the name."""

    def write(code, name="made.pyc"):
        (tmp_path / name).write_bytes(MAGIC_NUMBER + bytes(12) + dump_marshalled(code))
        return name

    return write
