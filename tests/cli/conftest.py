"""What the tests of the command line share."""

from __future__ import annotations

from importlib.util import MAGIC_NUMBER

import pytest
from click.testing import CliRunner

from xtab.cli.app import app
from xtab.format.marshalled import MarshalledCode, dump_marshalled
from xtab.format.opcodes import CURRENT

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


def _code_bytes(*instructions):
    """The code of instructions that all versions have, given as name or (name, operand); with caches."""
    parts = []
    for each in instructions:
        name, arg = (each, 0) if isinstance(each, str) else each
        opcode = CURRENT.number[name]
        parts.append(bytes([opcode, arg]) + bytes(2 * CURRENT.caches[opcode]))
    return b"".join(parts)


def _stored(*instructions, **parts):
    """A code object as it is stored, whether or not it could be made."""
    code = _code_bytes(*(instructions or ("RESUME", "LOAD_CONST", "RETURN_VALUE")))
    fields = {
        **dict.fromkeys(("argcount", "posonlyargcount", "kwonlyargcount", "flags"), 0),
        "stacksize": 1,
        "code": code,
        "consts": (None,),
        "names": (),
        "localsplusnames": (),
        "localspluskinds": b"",
        "filename": "made.py",
        "name": "f",
        "qualname": "f",
        "firstlineno": 1,
        "exceptiontable": b"",
        **parts,
    }
    units = len(fields["code"]) // 2
    lines = b"".join(bytes([0xF8 | min(8, units - at) - 1]) for at in range(0, units, 8))
    return MarshalledCode(**{"linetable": lines, **fields})


@pytest.fixture
def code_bytes():
    """Code from the names of instructions."""
    return _code_bytes


@pytest.fixture
def stored():
    """A code object as it is stored, from the names of instructions and from parts."""
    return _stored


@pytest.fixture
def write_pyc(tmp_path):
    """Write a code object to a .pyc in the working directory, without ever making it; returns the name."""

    def write(code, name="made.pyc"):
        (tmp_path / name).write_bytes(MAGIC_NUMBER + bytes(12) + dump_marshalled(code))
        return name

    return write
