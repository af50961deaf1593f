from __future__ import annotations

import json
import sys
from importlib.resources import files

import jsonschema
import pytest

TRANSFORMS = """
def nop(body):
    body.insert_after(body.instructions[0], [body.instruction("NOP")])

def fails(body):
    return 1 / 0
"""


@pytest.fixture
def folder(xtab, sample, tmp_path, monkeypatch):
    (tmp_path / "diff_transforms.py").write_text(TRANSFORMS)
    (tmp_path / "other.py").write_text((tmp_path / "sample.py").read_text().replace("OSError", "ValueError"))
    monkeypatch.delitem(sys.modules, "diff_transforms", raising=False)
    yield tmp_path
    sys.modules.pop("diff_transforms", None)


def test_help(xtab, golden):
    result = xtab("diff", "--help")
    assert result.exit_code == 0
    golden("diff_help.txt", result.stdout)


def test_no_difference(xtab, sample):
    result = xtab("diff", sample, sample)
    assert (result.exit_code, result.stdout) == (0, "no difference\n")


def test_two_files(xtab, folder):
    result = xtab("diff", "sample.py:reads", "other.py:reads")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("reads  sample.py:1 | other.py:1   instructions ")
    assert any("LOAD_GLOBAL OSError" in line and "  -" in line for line in lines)
    assert any("LOAD_GLOBAL ValueError" in line and "  +  " in line for line in lines)
    assert any("except OSError" in line and "except ValueError" in line for line in lines)


def test_what_a_transform_does(xtab, folder):
    result = xtab("diff", "sample.py:reads", "--transform", "diff_transforms:nop")
    assert result.exit_code == 1
    assert sum("  +  " in line for line in result.stdout.splitlines()) == 1


def test_a_transform_that_fails(xtab, folder):
    result = xtab("diff", "sample.py:reads", "--transform", "diff_transforms:fails")
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.stderr


def test_imported_functions(xtab, folder):
    text = "import xtab, diff_transforms as d, sample\nrewritten = xtab.rewrite(sample.reads, d.nop)\n"
    (folder / "at_run_time.py").write_text(text)
    result = xtab("diff", "--import", "sample:reads", "at_run_time:rewritten")
    assert result.exit_code == 1
    assert sum("  +  " in line for line in result.stdout.splitlines()) == 1


def test_two_pyc(xtab, folder, tmp_path):
    for name, transform in (("a.pyc", "nop"), ("b.pyc", "nop")):
        assert xtab("rewrite", "sample.py", "--transform", f"diff_transforms:{transform}", "-o", name).exit_code == 0
    assert xtab("diff", "a.pyc", "b.pyc").exit_code == 0
    assert xtab("diff", "sample.py", "b.pyc").exit_code == 1


def test_json(xtab, folder):
    result = xtab("diff", "sample.py", "other.py", "--json")
    found = json.loads(result.stdout)
    assert found["compared"] == 3
    jsonschema.validate(found, json.loads((files("xtab.cli") / "schemas" / "diff.json").read_text()))
    (difference,) = found["results"]
    assert difference["qualname"] == "reads"
    assert {row["mark"] for row in difference["rows"]} == {"=", "+", "-"}
    region = difference["regions"][0]
    assert region["left"]["classes"] == ["OSError"]
    assert region["left"]["pieces"]


def test_json_says_of_regions_and_instructions_what_dis_says(xtab, folder):
    (shown,) = json.loads(xtab("dis", "sample.py:reads", "--json").stdout)["results"]
    (difference,) = json.loads(xtab("diff", "sample.py:reads", "other.py:reads", "--json").stdout)["results"]
    assert [pair["left"] for pair in difference["rows"] if pair["left"]] == shown["instructions"]
    assert [pair["left"] for pair in difference["regions"] if pair["left"]] == shown["regions"]


@pytest.mark.parametrize("arguments", [[], ["--transform", "m:f", "sample.py"]])
def test_one_other_side_exactly(xtab, sample, arguments):
    result = xtab("diff", sample, *arguments)
    assert result.exit_code == 2
    assert "expected two targets, or one and --transform" in result.stderr


def test_a_folder_is_no_side(xtab, folder):
    result = xtab("diff", ".", "sample.py")
    assert result.exit_code == 2
    assert "expected one file, module or code object, but found 3 files" in result.stderr


def test_colour_by_what_became_of_it(xtab, folder):
    result = xtab("diff", "sample.py:reads", "other.py:reads", "--color", "always")
    assert "\x1b[34m" in result.stdout
    assert "\x1b[35m" in result.stdout


def test_what_else_differs_is_a_difference(xtab, tmp_path):
    (tmp_path / "old.py").write_text("def f(a): return 1")
    (tmp_path / "new.py").write_text("def f(*, a): return 1")
    result = xtab("diff", "old.py", "new.py")
    assert result.exit_code == 1
    assert "  arguments: (a) -> (*, a)\n" in result.stdout
    result = xtab("diff", "--json", "old.py", "new.py")
    found = json.loads(result.stdout)
    schema = json.loads((files("xtab.cli") / "schemas/diff.json").read_text())
    jsonschema.validate(found, schema)
    assert {"name": "arguments", "left": "(a)", "right": "(*, a)"} in found["results"][0]["fields"]


def test_stdin_is_one_side_only(xtab):
    result = xtab("diff", "-", "-", input="x = 1")
    assert result.exit_code == 2
    assert "found stdin twice" in result.stderr


def test_a_transform_of_stdin(xtab, folder):
    result = xtab("diff", "-", "--transform", "diff_transforms:nop", input="x = 1")
    assert result.exit_code == 1
    assert "NOP" in result.stdout
    assert "only on the" not in result.stdout


def test_what_can_not_be_compiled_is_named(xtab, tmp_path, sample):
    (tmp_path / "bad.py").write_text("def")
    result = xtab("diff", sample, "bad.py")
    assert result.exit_code == 2
    assert "bad.py: SyntaxError" in result.stderr
