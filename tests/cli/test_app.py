from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

import xtab as library
from xtab.cli.app import COMMANDS, app


def test_version(xtab):
    result = xtab("--version")
    assert result.exit_code == 0
    assert result.stdout == (
        f"xtab {library.__version__} on CPython {platform.python_version()} "
        "(supports CPython 3.11, 3.12, 3.13, 3.14, 3.15)\n"
    )


@pytest.mark.parametrize("command", [(), ("check",)], ids=" ".join)
def test_help(command, xtab, golden):
    result = xtab(*command, "--help")
    assert result.exit_code == 0
    golden("_".join([*command, "help.txt"]), result.stdout)
    assert xtab(*command, "-h").stdout == result.stdout


def test_an_unknown_command(xtab):
    result = xtab("chekc")
    assert result.exit_code == 2
    assert "No such command 'chekc'" in result.stderr


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_library_loads_nothing_of_the_command_line():
    code = "import sys, xtab; print([name for name in ('click', 'rich', 'xtab.cli') if name in sys.modules])"
    assert python(code).stdout == "[]\n"


@pytest.mark.parametrize("package", ["click", "rich"])
def test_without_the_extra_one_line_says_what_to_install(package):
    code = (
        f"import sys; sys.modules[{package!r}] = None; sys.argv = ['xtab', 'explain', 'XT402']; "
        "from xtab.cli import main; main()"
    )
    result = python(code)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == f"xtab: the command line needs {package}: pip install 'xtab-bytecode[cli]'\n"


def test_another_missing_module_is_a_fault_and_not_hidden():
    result = python("import sys; sys.modules['xtab.cli.app'] = None; from xtab.cli import main; main()")
    assert "ModuleNotFoundError" in result.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_says_of_each_command_what_it_says_of_itself(name):
    command = app.get_command(None, name)
    assert command.name == name
    assert " ".join(command.help.split("\n\n")[0].split()) == COMMANDS[name]


def test_nothing_is_loaded_that_is_not_needed():
    code = (
        "import sys; sys.argv = ['xtab', {}]; from xtab.cli import main\n"
        "try: main()\n"
        "finally: print(sorted(name for name in sys.modules if name.startswith(('rich', 'xtab.cli.', 'jinja2'))))"
    )
    assert python(code.format("'--help'")).stdout.splitlines()[-1] == "['xtab.cli.app', 'xtab.cli.output']"
    loaded = python(code.format("'dis', '-e', 'x'")).stdout.splitlines()[-1]
    assert "'xtab.cli.dis'" in loaded
    assert "rich" not in loaded
    assert "xtab.cli.verify" not in loaded


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "xtab", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("xtab ")


COMMANDS_TO_RUN = [
    ("dis", "sample.py"),
    ("table", "sample.py"),
    ("where", "sample.py:3"),
    ("dis", "--json", "sample.py"),
]


@pytest.mark.skipif(os.name != "posix", reason="closes streams by their numbers")
@pytest.mark.parametrize("arguments", [*COMMANDS_TO_RUN, ("dis", "-"), ("where", "-:1")])
def test_streams_that_are_closed(arguments, sample, tmp_path):
    command = 'exec "$0" -m xtab "$@" <&- >&-'
    result = subprocess.run(
        ["sh", "-c", command, sys.executable, *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False
    )
    assert "Traceback" not in result.stderr
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", COMMANDS_TO_RUN)
def test_an_output_that_is_full(arguments, sample, tmp_path):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "xtab", *arguments], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    assert result.returncode == 2
    assert "expected an output that can be written, but found: " in result.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize(
    "arguments", [*COMMANDS_TO_RUN, ("diff", "sample.py:é", "sample.py"), ("table", "--json", "-e", "'→'")]
)
def test_what_a_stream_can_not_carry(arguments, encoding, sample, tmp_path):
    (tmp_path / "sample.py").write_text(
        "def é():\n    try:\n        x('→', '\\udc80')\n    except Ä: pass\n", encoding="utf-8"
    )
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    result = subprocess.run(
        [sys.executable, "-m", "xtab", *arguments], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert b"Traceback" not in result.stderr
    assert result.returncode in {0, 1}
    assert result.stdout.decode(encoding)


def test_a_reader_that_has_gone_is_no_difference(tmp_path):
    """`head` closes the pipe: 1 would say that the verifier has found something."""
    (tmp_path / "long.py").write_text("def f(): pass\n" * 3000)
    command = [sys.executable, "-m", "xtab", "dis", "long.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141
