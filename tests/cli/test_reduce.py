from __future__ import annotations

import marshal
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib.util import MAGIC_NUMBER

import pytest

from xtab.cli import reduce as reduce_module
from xtab.format.marshalled import MarshalledCode, dump_marshalled, load_marshalled

PYTHON = shlex.quote(sys.executable)
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the commands are for a POSIX shell")


@pytest.fixture
def big(write_pyc, stored):
    """A .pyc with a constant "pin" somewhere inside."""
    code = "NOP", "LOAD_CONST", "POP_TOP", "LOAD_CONST", "RETURN_VALUE"
    inner = stored(*code, consts=("pin", 2, 3), qualname="g")
    consts = None, stored(*code, qualname="h"), stored(*code, consts=(inner, stored(*code)))
    return write_pyc(stored(*code, consts=consts), "big.pyc")


def read(path):
    return load_marshalled(path.read_bytes()[16:])


def test_help(xtab, golden):
    result = xtab("reduce", "--help")
    assert result.exit_code == 0
    golden("reduce_help.txt", result.stdout)


@pytest.mark.parametrize(
    "command", ["grep -q pin {}", "grep -q pin", "grep -q pin < {}", "test -f {} && grep -q pin {}"]
)
def test_the_smallest_file_is_written(xtab, big, tmp_path, golden, command):
    before = (tmp_path / big).read_bytes()
    result = xtab("reduce", big, "--keep", command)
    assert (result.exit_code, result.stderr) == (0, "")
    found = read(tmp_path / "big.reduced.pyc")
    assert (found.code, found.consts, found.qualname) == (b"", ("pin",), "g")
    assert (tmp_path / "big.reduced.pyc").read_bytes()[:16] == before[:16]
    assert (tmp_path / big).read_bytes() == before
    golden("reduce.txt", result.stdout)


def test_another_file_to_write(xtab, big, tmp_path):
    result = xtab("reduce", big, "--keep", "grep -q pin", "-o", "small.pyc")
    assert result.stdout.startswith("small.pyc: ")
    assert {path.name for path in tmp_path.iterdir()} == {"big.pyc", "small.pyc"}


def test_what_marshal_wrote(xtab, tmp_path, stored):
    (tmp_path / "code.bin").write_bytes(dump_marshalled(stored(consts=("pin", 1, (2, 3)))))
    result = xtab("reduce", "code.bin", "--keep", "grep -q pin")
    assert result.exit_code == 0
    assert load_marshalled((tmp_path / "code.reduced.bin").read_bytes()).consts == ("pin",)


def test_a_file_that_can_not_be_made_smaller(xtab, big, tmp_path):
    same = shlex.quote(str(tmp_path / big))
    result = xtab("reduce", big, "--keep", f"cmp {same} {{}}")
    assert result.exit_code == 0
    assert (tmp_path / "big.reduced.pyc").read_bytes() == (tmp_path / big).read_bytes()


def test_a_crash_is_reduced_to_what_crashes(xtab, tmp_path):
    source = "import os, signal\ndef f(x):\n  return x\nx = f(1)\nos.kill(os.getpid(), signal.SIGSEGV)\nprint(x)\n"
    code = compile(source, "a.py", "exec")
    (tmp_path / "a.pyc").write_bytes(MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    options = "--status", str(128 + signal.SIGSEGV), "--no-new-problems"  # code that makes no sense crashes as well
    result = xtab("reduce", "a.pyc", "--keep", f"{PYTHON} -IS {{}}", *options)
    assert result.exit_code == 0
    found = read(tmp_path / "a.reduced.pyc")
    assert not any(isinstance(each, MarshalledCode) for each in found.consts)
    assert len(found.code) < len(code.co_code)
    ran = subprocess.run([sys.executable, "-IS", "a.reduced.pyc"], cwd=tmp_path, capture_output=True, check=False)
    assert ran.returncode == -signal.SIGSEGV


@pytest.mark.slow
def test_a_problem_of_the_verifier(xtab, tmp_path, write_pyc, stored):
    wrong = stored("RESUME", "LOAD_CONST", "POP_TOP", "POP_TOP", "LOAD_CONST", "RETURN_VALUE", qualname="wrong")
    write_pyc(stored(consts=(None, stored(), wrong)))
    command = f"{PYTHON} -m xtab verify --select XT401"
    assert xtab("reduce", "made.pyc", "--keep", command, "--status", "1").exit_code == 0
    found = read(tmp_path / "made.reduced.pyc")
    assert found.qualname == "wrong"
    assert len(found.code) < len(wrong.code)
    assert "XT401" in xtab("verify", "made.reduced.pyc").stdout


def test_no_new_problems(xtab, tmp_path):
    source = "def f(x):\n  y = x\n  try:\n    print(y)\n  finally:\n    z = 'pin', y\n  return z\n"
    code = compile(source, "a.py", "exec")
    (tmp_path / "a.pyc").write_bytes(MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    assert xtab("reduce", "a.pyc", "--keep", "grep -q pin", "--no-new-problems").exit_code == 0
    found = read(tmp_path / "a.reduced.pyc")
    assert "pin" in found.consts
    assert found.code
    assert len(found.code) < len(code.co_consts[0].co_code)
    assert "XT" not in xtab("verify", "a.reduced.pyc", "--ignore", "XT1,XT203").stdout


def test_problems_that_are_there_may_stay(xtab, tmp_path, write_pyc, stored):
    write_pyc(stored("RESUME", "LOAD_CONST", "POP_TOP", "POP_TOP", "LOAD_CONST", "RETURN_VALUE", consts=("pin",)))
    assert xtab("reduce", "made.pyc", "--keep", "grep -q pin", "--no-new-problems").exit_code == 0
    assert len(read(tmp_path / "made.reduced.pyc").code) < len((tmp_path / "made.pyc").read_bytes())
    assert set(re.findall(r"XT\d+", xtab("verify", "made.reduced.pyc").stdout)) <= {"XT401"}


def test_a_source(xtab, tmp_path):
    (tmp_path / "a.py").write_text("def f(x):\n    try:\n        return needle(x)\n    finally:\n        print()\n")
    result = xtab("reduce", "a.py", "--keep", "grep -q needle")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (tmp_path / "a.reduced.py").read_text().strip() == "needle"


def test_a_source_without_the_extra(xtab, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pysource_minimize", None)
    (tmp_path / "a.py").write_text("x = 1\n")
    result = xtab("reduce", "a.py", "--keep", "true")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: reducing source needs pysource-minimize: pip install 'xtab-bytecode[cli,reduce]'\n"
    )


def test_a_source_that_shows_nothing_once_it_is_unparsed(xtab, tmp_path):
    (tmp_path / "a.py").write_text("x = 1  # needle\n")
    result = xtab("reduce", "a.py", "--keep", "grep -q needle")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "failed to reproduce" in result.stderr
    assert not (tmp_path / "a.reduced.py").exists()


@pytest.mark.parametrize(
    "options, message",
    [
        (["--keep", "false"], "expected exit status 0 of the command for big.pyc, but found exit status 1"),
        (
            ["--keep", "exit 3", "--status", "4"],
            "expected exit status 4 of the command for big.pyc, but found exit status 3",
        ),
        (["--keep", "kill -9 $$ #"], "expected exit status 0 of the command for big.pyc, but found exit status 137"),
        (
            ["--keep", "sleep 60 #", "--timeout", "0.2"],
            "expected exit status 0 of the command for big.pyc, but found no end in time",
        ),
    ],
    ids=range(4),
)
def test_a_command_that_does_not_succeed(xtab, big, tmp_path, options, message):
    result = xtab("reduce", big, *options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"Error: {message}\n"
    assert not (tmp_path / "big.reduced.pyc").exists()


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("none.pyc", None, "expected 'none.pyc' to be a file that can be read, but found: "),
        ("a.pyc", b"x", "expected a .pyc file, but found something else"),
        ("a.bin", b"N", "expected a code object in a.bin, but found NoneType"),
        ("a.bin", b"?", "expected a .pyc file or a code object that marshal wrote, but found: marshalled data, byte 1"),
        ("a.py", b"x = (", "expected Python source in UTF-8, but found: "),
        ("a.py", b"\xff", "expected Python source in UTF-8, but found: "),
    ],
    ids=range(6),
)
def test_what_can_not_be_used(xtab, tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    result = xtab("reduce", name, "--keep", "true")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {message}")


@pytest.mark.parametrize("output", ["no/small.pyc", "."], ids=["no-folder", "folder"])
def test_what_can_not_be_written(xtab, big, output):
    result = xtab("reduce", big, "--keep", "grep -q pin", "-o", output)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: expected {output!r} to be a file that can be written, but found: ")


@pytest.mark.parametrize(
    "arguments", [[], ["big.pyc"], ["--keep", "true"], ["big.pyc", "--keep", "true", "--status", "x"]]
)
def test_wrong_usage(xtab, arguments):
    result = xtab("reduce", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: xtab reduce [OPTIONS] FILE\n")


def test_ctrl_c_writes_the_smallest_until_then(xtab, big, tmp_path, monkeypatch):
    right = reduce_module._Command.keeps

    def keeps(command, data):
        if command.tries == 3:
            raise KeyboardInterrupt
        return right(command, data)

    monkeypatch.setattr(reduce_module._Command, "keeps", keeps)
    result = xtab("reduce", big, "--keep", "grep -q pin")
    assert result.exit_code == 130
    assert result.stderr == "interrupted: the smallest until now is written\n"
    data = (tmp_path / "big.reduced.pyc").read_bytes()
    assert b"pin" in data
    assert len(data) < len((tmp_path / big).read_bytes())


#: as `xtab`; what started the tests may have Ctrl-C ignored
WITH_CTRL_C = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from xtab.cli import main
main()
"""


def test_a_real_ctrl_c(big, tmp_path):
    command = [sys.executable, "-c", WITH_CTRL_C, "reduce", big]
    keep = ["--keep", "grep -q pin {} && touch started && sleep 0.2"]
    with subprocess.Popen([*command, *keep], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == "interrupted: the smallest until now is written\n"
    assert (tmp_path / "big.reduced.pyc").exists()


def test_what_a_command_started_ends_with_it(xtab, big, tmp_path):
    result = xtab("reduce", big, "--keep", "(sleep 3; touch late) & sleep 60 #", "--timeout", "0.2")
    assert result.exit_code == 1
    time.sleep(3.2)
    assert not (tmp_path / "late").exists()


def test_the_file_has_its_name_and_a_path_with_spaces_is_quoted(xtab, big, tmp_path, monkeypatch):
    (tmp_path / "a folder").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "a folder"))
    result = xtab("reduce", big, "--keep", "test $(basename {}) = big.pyc && grep -q pin {}")
    assert (result.exit_code, result.stderr) == (0, "")
    assert list((tmp_path / "a folder").iterdir()) == []


def test_a_terminal_shows_how_far_it_is(xtab, big, tmp_path):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "xtab", "reduce", big, "--keep", "sleep 0.1; grep -q pin {}"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 4096):
                shown += data
        except OSError:  # that is how the end of a terminal looks
            pass
        assert process.wait(60) == 0
    os.close(ours)
    assert b"reducing: 1" in shown
    assert b" tries" in shown
