from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from xtab.format.opcodes import CURRENT

README = Path(__file__).parents[2] / "README.md"
SOURCE = """\
def copy(src, dst):
    try:
        try:
            with open(src) as f:
                data = f.read()
        except OSError:
            data = b""
        else:
            log("yes")
    finally:
        cleanup()

    # a comment
    return open(dst).write(
        data[0
        ],
    )


try:
    def inner(): return sum(1 / x for x in data)
except ValueError:
    pass
"""


@pytest.fixture
def source(tmp_path):
    (tmp_path / "copying.py").write_text(SOURCE)
    return "copying.py"


def test_help(xtab, golden):
    golden("where_help.txt", xtab("where", "--help").stdout)


def test_every_line(xtab, source, golden):
    """One text for all versions: they agree on what a person wrote."""
    lines = range(1, SOURCE.count("\n") + 1)
    result = xtab("where", *(f"{source}:{line}" for line in lines if line not in {2, 3, 21}))
    assert result.exit_code == 0
    golden("where.txt", result.stdout)


def test_a_module_stdin_and_colour(xtab, source):
    plain = xtab("where", f"{source}:5").stdout
    assert xtab("where", "copying:5").stdout.splitlines()[1:] == plain.splitlines()[1:]
    assert xtab("where", "-:5", input=SOURCE).stdout.splitlines()[1:] == plain.splitlines()[1:]
    assert "\x1b[" in xtab("where", f"{source}:5", "--color", "always").stdout


@pytest.mark.parametrize(
    "target, message",
    [
        ("copying.py", "expected FILE.py:LINE, but found 'copying.py'"),
        ("copying.py:x", "expected FILE.py:LINE"),
        ("copying.py:0", "copying.py: expected a line from 1 to"),
        ("copying.py:400", "copying.py: expected a line from 1 to"),
        ("copyin.py:4", "close to it: copying.py"),
        ("made.pyc:4", "expected a file with Python source, but found 'made.pyc'"),
    ],
)
def test_wrong_usage(target, message, xtab, source, stored, write_pyc):
    write_pyc(stored())
    result = xtab("where", target)
    assert result.exit_code == 2
    assert message in result.stderr


def test_what_the_readme_shows(xtab, tmp_path, monkeypatch):
    readme = README.read_text(encoding="utf-8")
    for name, text in re.findall(r"^\$ cat (\S+)\n(.*?)^\$ ", readme, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(text)
    monkeypatch.delitem(sys.modules, "mytools", raising=False)
    commands = re.findall(r"^\$ xtab ([^\n]*)\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert [command.split()[0] for command, _ in commands] == ["where", "dis", "diff"]
    shown = xtab("dis", "copying.py:copy").stdout
    assert xtab(*commands[0][0].split()).stdout == commands[0][1]
    if "CPython {}.{} ".format(*CURRENT.version) in commands[1][1]:
        assert shown == commands[1][1]
        assert xtab(*commands[2][0].split()).stdout == commands[2][1]
