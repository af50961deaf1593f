from __future__ import annotations

import importlib.util
import marshal
import subprocess
import sys

import pytest

TRANSFORMS = """
def tenfold(body):
    for instruction in body.instructions:
        if instruction.operand == 10 and instruction.opname.startswith(("LOAD_", "RETURN_CONST")):
            instruction.operand = 100

def fails(body):
    return 1 / 0

def fails_below(body):
    fails(body)

def edits_where_it_may_not(body):
    body.insert_before(body.instructions[0], [body.instruction("NOP")])

def takes_too_much(body):
    body.insert_before(body.start, [body.instruction("POP_TOP")])

def not_to_be_kept(body):
    if body.name == "ten":
        body.insert_before(body.start, [body.instruction("LOAD_CONST", fails), body.instruction("POP_TOP")])

def unsafe(body):
    if body.name == "ten":
        new = body.instruction("PUSH_NULL"), body.instruction("LOAD_ATTR", "x"), body.instruction("POP_TOP")
        body.insert_before(body.start, new)

number = 5
"""
SAMPLE = """\
def ten():
    return 10

if __name__ == "__main__":
    print(10, ten(), __file__)
    ten(1)
"""


@pytest.fixture
def folder(xtab, tmp_path, monkeypatch):
    """The working directory, with a sample and a module of transforms."""
    (tmp_path / "in.py").write_text(SAMPLE)
    (tmp_path / "house_transforms.py").write_text(TRANSFORMS)
    monkeypatch.delitem(sys.modules, "house_transforms", raising=False)
    yield tmp_path
    sys.modules.pop("house_transforms", None)


def test_help(xtab, golden):
    result = xtab("rewrite", "--help")
    assert result.exit_code == 0
    golden("rewrite_help.txt", result.stdout)


@pytest.mark.parametrize("options, function", [([], 100), (["--recursive"], 100), (["--no-recursive"], 10)])
def test_what_was_rewritten_runs(xtab, folder, options, function):
    path = sys.path.copy()
    result = xtab("rewrite", "in.py", "--transform", "house_transforms:tenfold", "-o", "out.pyc", *options)
    assert (result.exit_code, result.output) == (0, "")
    assert sys.path == path
    ran = subprocess.run([sys.executable, "out.pyc"], capture_output=True, text=True, check=False, cwd=folder)
    assert ran.stdout == f"100 {function} {folder / 'out.pyc'}\n"
    assert f'  File "{folder / "in.py"}", line 6, in <module>\n    ten(1)\n' in ran.stderr


def test_the_header(xtab, folder):
    assert xtab("rewrite", "in.py", "--transform", "house_transforms:tenfold", "-o", "out.pyc").exit_code == 0
    data = (folder / "out.pyc").read_bytes()
    assert data[:4] == importlib.util.MAGIC_NUMBER
    assert data[4:8] == b"\1\0\0\0"
    assert data[8:16] == importlib.util.source_hash(SAMPLE.encode())
    assert marshal.loads(data[16:]).co_filename == str(folder / "in.py")
    assert sorted(path.name for path in folder.glob("*out.pyc*")) == ["out.pyc"]


def test_a_touched_source_does_not_bring_the_plain_code_back(xtab, folder):
    cached = importlib.util.cache_from_source(str(folder / "in.py"))
    (folder / "__pycache__").mkdir(exist_ok=True)
    assert xtab("rewrite", "in.py", "--transform", "house_transforms:tenfold", "-o", cached).exit_code == 0
    (folder / "in.py").write_text(SAMPLE + "\n")
    code = "import importlib; print(importlib.import_module('in').ten())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder)
    assert ran.stdout == "100\n"


@pytest.mark.parametrize(
    "transform, message",
    [
        ("fails", "ZeroDivisionError: division by zero\nin the transform house_transforms:fails, on ten, "),
        ("not_to_be_kept", "but found <function fails> of type function; load it when the code runs, with emit.load_"),
        ("not_to_be_kept", "in.py:2): expected constants that can be kept in a file"),
        (
            "takes_too_much",
            "on the stack for POP_TOP, but found 0\nin the transform house_transforms:takes",
        ),
    ],
)
def test_a_transform_that_fails(xtab, folder, transform, message):
    result = xtab("rewrite", "in.py", "--transform", f"house_transforms:{transform}", "-o", "out.pyc")
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr
    assert not (folder / "out.pyc").exists()


def frames(text):
    return [line.split()[-1] for line in text.splitlines() if line.startswith('  File "')]


@pytest.mark.parametrize(
    "transform, names",
    [
        ("fails", ["fails"]),
        ("fails_below", ["fails_below", "fails"]),
        ("edits_where_it_may_not", ["edits_where_it_may_not"]),
        ("takes_too_much", []),
        ("not_to_be_kept", []),
    ],
)
def test_the_frames_that_are_shown_are_the_users(xtab, folder, monkeypatch, transform, names):
    arguments = ["rewrite", "in.py", "--transform", f"house_transforms:{transform}", "-o", "out.pyc"]
    result = xtab(*arguments)
    assert result.exit_code == 1
    assert frames(result.stderr) == names
    monkeypatch.setenv("XTAB_DEBUG", "1")
    found = frames(xtab(*arguments).stderr)
    assert found[0] == "transformed"
    assert len(found) > len(names)


def test_a_module_of_transforms_that_fails(xtab, folder):
    (folder / "broken_transforms.py").write_text("def f():\n    return {}[1]\nf()\n")
    result = xtab("rewrite", "in.py", "--transform", "broken_transforms:x", "-o", "out.pyc")
    assert (result.exit_code, result.stdout) == (1, "")
    assert frames(result.stderr) == ["<module>", "f"]
    assert result.stderr.endswith("KeyError: 1\n")


def test_what_is_not_safe_is_not_written(xtab, folder):
    arguments = ["rewrite", "in.py", "--transform", "house_transforms:unsafe", "-o", "out.pyc"]
    result = xtab(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"{folder / 'in.py'}:2: XT601 null-used: ten at ")
    assert "\n  >     " in result.stderr
    assert "\nhint: " in result.stderr
    assert result.stderr.endswith("out.pyc is not written: the new code is not safe to run (--no-verify writes it)\n")
    assert not (folder / "out.pyc").exists()
    assert not frames(result.stderr)
    result = xtab(*arguments, "--no-verify")
    assert (result.exit_code, result.output) == (0, "")
    assert xtab("verify", "out.pyc").exit_code == 1


@pytest.mark.parametrize(
    "source, transform, output, message",
    [
        ("none.py", "house_transforms:tenfold", "out.pyc", "expected a file with Python source, but found 'none.py'"),
        ("in.py", "house_transforms", "out.pyc", "expected a transform as package.module:name, but found"),
        (
            "in.py",
            "nowhere:x",
            "out.pyc",
            "expected a module with the transform nowhere:x, but found no module 'nowhere'",
        ),
        ("in.py", "house_transforms:no", "out.pyc", "expected the transform no in house_transforms, but found no 'no'"),
        ("in.py", "house_transforms:number", "out.pyc", "expected house_transforms:number to be callable, but found 5"),
        ("in.py", "house_transforms:tenfold", "in.py", "expected another file to write than the source, but found"),
        (
            "in.py",
            "house_transforms:tenfold",
            "no/out.pyc",
            "expected 'no/out.pyc' to be a file that can be written, but found",
        ),
        ("bad.py", "house_transforms:tenfold", "out.pyc", "SyntaxError: '(' was never closed (line 1)"),
    ],
    ids=range(8),
)
def test_what_can_not_be_used(xtab, folder, source, transform, output, message):
    (folder / "bad.py").write_text("x = (\n")
    result = xtab("rewrite", source, "--transform", transform, "-o", output)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {message}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [[], ["in.py"], ["in.py", "-o", "x.pyc"], ["in.py", "--transform", "a:b"]], ids=str
)
def test_wrong_usage(xtab, folder, arguments):
    result = xtab("rewrite", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: xtab rewrite [OPTIONS] FILE.py\n")
