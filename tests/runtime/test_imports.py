"""``python -m xtab.runtime.imports`` runs a program as ``python`` does, but rewritten."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import xtab

TRANSFORMS = """
def nothing(body): pass

def tenfold(body):
    for instruction in body.instructions:
        operand = instruction.operand
        if type(operand) is int and operand == 10 and instruction.opname.startswith(("LOAD_", "RETURN_CONST")):
            instruction.operand = 100

def fails(body):
    return 1 / 0

def unsafe(body):
    if body.name == "ten":
        new = body.instruction("PUSH_NULL"), body.instruction("LOAD_ATTR", "x"), body.instruction("POP_TOP")
        body.insert_before(body.start, new)
    tenfold(body)
"""
STATE = """
import sys
shown_apart = "sys", "__builtins__", "__loader__", "__spec__", "shown_apart"
state = {name: value for name, value in sorted(vars().items()) if name not in shown_apart}
print(state, type(__loader__), sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals(), __builtins__)
print(__spec__ and (__spec__.name, __spec__.origin, __spec__.cached, __spec__.parent), (lambda: 0).__code__.co_filename)
"""
NUMBER = "def ten(): return 10\nprint(10, ten(), __name__)\n"
ROOT = str(Path(xtab.__file__).parents[1])


@pytest.fixture
def folder(tmp_path):
    files = {
        "house_transforms.py": TRANSFORMS,
        "state.py": STATE,
        "number.py": NUMBER,
        "pkg/__init__.py": NUMBER,
        "pkg/__main__.py": "from . import inner\n" + NUMBER,
        "pkg/inner.py": NUMBER,
        "pkg/plain.py": STATE,
        "app/__main__.py": STATE,
        "deep/script.py": "import beside\n" + NUMBER,
        "deep/beside.py": NUMBER,
        "not_called.py": "def ten(): return 10\nprint(10)\n",
        "ends.py": "import sys\nif __name__ == '__main__': sys.exit(7)\n",
        "raises.py": "def f():\n    raise KeyError(10)\nf()\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as file:
        file.writestr("__main__.py", STATE)
    return tmp_path


@pytest.fixture
def python(folder):
    def run(*arguments, flags=()):
        environment = {**os.environ, "PYTHONPATH": ROOT}
        command = [sys.executable, *flags, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)

    return run


@pytest.fixture
def rewritten(python):
    def run(*arguments, transform="tenfold", **options):
        return python(
            "-m", "xtab.runtime.imports", "--transform", f"house_transforms:{transform}", *arguments, **options
        )

    return run


@pytest.mark.parametrize(
    "program",
    [
        ["state.py"],
        ["./deep/../state.py", "a", "-m", "--transform"],
        ["-m", "state", "-x"],
        ["-m", "pkg.plain", "--", "b"],
        ["app"],
        ["app.zip", "c"],
    ],
    ids=" ".join,
)
def test_the_program_finds_what_it_finds_under_python(python, rewritten, program):
    plain, new = python(*program), rewritten(*program, transform="nothing")
    assert (new.returncode, new.stderr) == (plain.returncode, plain.stderr) == (0, "")
    assert new.stdout == plain.stdout


@pytest.mark.parametrize(
    "program, lines",
    [
        (["number.py"], ["100 100 __main__"]),
        (["-m", "number"], ["100 100 __main__"]),
        (["-m", "pkg"], ["100 100 pkg", "100 100 pkg.inner", "100 100 __main__"]),
        (["--include", "nothing", "-m", "pkg"], ["10 10 pkg", "10 10 pkg.inner", "100 100 __main__"]),
        (["--exclude", "*.inner", "-m", "pkg"], ["100 100 pkg", "10 10 pkg.inner", "100 100 __main__"]),
        (["--exclude", "__main__", "-m", "pkg"], ["100 100 pkg", "100 100 pkg.inner", "10 10 __main__"]),
        (["deep/script.py"], ["100 100 beside", "100 100 __main__"]),
        (["--include", "beside", "--include", "x", "deep/script.py"], ["100 100 beside", "100 100 __main__"]),
    ],
    ids=range(8),
)
def test_everything_is_rewritten(rewritten, program, lines):
    result = rewritten(*program)
    assert (result.stderr, result.stdout.splitlines()) == ("", lines)


def test_the_cache(rewritten, folder):
    for _ in range(2):
        result = rewritten("--cache", "kept", "-m", "pkg")
        assert result.stdout.splitlines() == ["100 100 pkg", "100 100 pkg.inner", "100 100 __main__"]
    names = sorted(path.name.partition("-")[0] for path in (folder / "kept").iterdir())
    assert [name for name in names if name.startswith("pkg")] == ["pkg", "pkg.__main__", "pkg.inner"]
    assert rewritten("--cache", "kept", "-m", "pkg", transform="nothing").stdout.startswith("10 10 pkg\n")


def test_how_it_ends(rewritten):
    assert rewritten("ends.py").returncode == 7
    result = rewritten("raises.py")
    assert result.returncode == 1
    assert 'raises.py", line 2, in f\n    raise KeyError(10)\n' in result.stderr
    assert result.stderr.endswith("KeyError: 100\n")


def test_a_transform_that_fails(rewritten):
    result = rewritten("-m", "pkg.inner", transform="fails")
    assert result.returncode == 0
    assert result.stdout == "10 10 pkg\n10 10 __main__\n"
    assert (
        "RewriteWarning: expected house_transforms:fails to rewrite module pkg, but found ZeroDivisionError"
        in result.stderr
    )
    result = rewritten("--on-error", "raise", "-m", "pkg.inner", transform="fails")
    assert result.returncode == 1
    assert "while module pkg was imported" in result.stderr


def test_what_is_not_safe_is_not_run(rewritten):
    result = rewritten("-m", "pkg.inner", transform="unsafe")
    assert (result.returncode, result.stdout) == (0, "10 10 pkg\n10 10 __main__\n")
    assert "to rewrite module pkg, but found VerificationError: expected code that is safe to run" in result.stderr
    assert "XT601 null-used: ten at " in result.stderr
    result = rewritten("--verify", "--on-error", "raise", "-m", "pkg.inner", transform="unsafe")
    assert result.returncode == 1
    assert "while module pkg was imported" in result.stderr


def test_the_proof_can_be_left_out(rewritten):
    """Only of a module that doesn't run what isn't safe."""
    result = rewritten("--no-verify", "-c", transform="unsafe")
    assert result.returncode == 2
    result = rewritten("--no-verify", "not_called.py", transform="unsafe")
    assert (result.returncode, result.stdout, result.stderr) == (0, "100\n", "")


def test_the_safe_path(rewritten, python, folder):
    module = f"import sys; sys.path += [{ROOT!r}, {str(folder)!r}]; from xtab.runtime.imports import main; main()"
    result = python("-P", "-c", module, "--transform", "house_transforms:nothing", "deep/script.py")
    assert "ModuleNotFoundError: No module named 'beside'" in result.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "expected --transform PKG.MOD:NAME"),
        (["--transform", "house_transforms:nothing"], "expected a script, or -m and a module"),
        (["--transform", "house_transforms", "x.py"], "expected a transform as package.module:name"),
        (["--transform", "nowhere:x", "x.py"], "but found no module 'nowhere'"),
        (["--transform", "house_transforms:no", "x.py"], "but found no 'no'"),
        (["--transform", "house_transforms:nothing", "x.py"], "expected a script, but found no file 'x.py'"),
        (["--transform", "house_transforms:nothing", "x.pyc"], "expected a script, but found no file 'x.pyc'"),
        (["--transform", "house_transforms:nothing", "deep"], "expected a __main__ module in 'deep', but found none"),
        (["--transform", "house_transforms:nothing", "-m", "nowhere"], "but found none named nowhere"),
        (["--transform", "house_transforms:nothing", "-m", "number.x"], "but found none named number.x"),
        (["--transform", "house_transforms:nothing", "-m", "deep"], "but found none named deep.__main__"),
        (
            ["--transform", "house_transforms:nothing", "-m", "sys"],
            "expected a module with Python code, but found that sys has none",
        ),
        (["--transform", "house_transforms:nothing", "--on-error", "no", "x.py"], "option --on-error: invalid choice"),
        (["--none"], "no such option: --none"),
    ],
    ids=range(14),
)
def test_wrong_usage(python, arguments, message):
    result = python("-m", "xtab.runtime.imports", *arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stderr.startswith("Usage: python -m xtab.runtime.imports --transform PKG.MOD:NAME")


def test_help(python):
    result = python("-m", "xtab.runtime.imports", "--help")
    assert result.returncode == 0
    assert "--cache-version=TEXT" in result.stdout
