from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from xtab import ExceptionTableEntry
from xtab.analysis.verify import RULES, Problem
from xtab.cli import batch as batch_module
from xtab.cli import findings as findings_module
from xtab.format.opcodes import CURRENT

SCHEMA = json.loads((files("xtab.cli") / "schemas" / "verify.json").read_text(encoding="utf-8"))
SARIF = json.loads((Path(__file__).parents[1] / "data" / "sarif-subset.json").read_text())
COMMAND = [sys.executable, "-m", "xtab"]
CODE = "NOP", "LOAD_CONST", "POP_TOP", "NOP", "LOAD_CONST", "RETURN_VALUE"


@pytest.fixture
def told(monkeypatch, write_pyc, stored):
    """A file, with a verifier that tells what it is told to."""

    def tell(*problems):
        monkeypatch.setattr(findings_module, "verify_parts", lambda parts: problems)
        return write_pyc(stored(*CODE))

    return tell


def problem(code, **facts):
    return Problem(
        code,
        "expected depth 1, as from 2, but found 2 from 8",
        **{"hint": "both ways must leave as many values", "offset": 4, "opname": "POP_TOP", **facts},
        qualname="f",
        filename="made.py",
        line=3,
    )


ERROR = problem("XT402", related=(2, 8))
WARNING = problem("XT203", offset=None, opname=None, hint="", entry=ExceptionTableEntry(2, 2, 6, 0, True))


def test_help(xtab, golden):
    result = xtab("verify", "--help")
    assert result.exit_code == 0
    golden("verify_help.txt", result.stdout)


def test_nothing_is_said_where_nothing_is_wrong(xtab, sample):
    result = xtab("verify", sample)
    assert (result.exit_code, result.output) == (0, "")


def test_text(xtab, told, golden):
    result = xtab("verify", told(WARNING, ERROR, ERROR))
    assert (result.exit_code, result.stderr) == (1, "")
    golden("verify.txt", result.stdout)
    assert re.findall("^made.py:3: XT402 merge-conflict: f at 4 [(]POP_TOP[)]: expected", result.stdout, re.MULTILINE)


def test_verbose(xtab, told, golden, tmp_path):
    (tmp_path / "bad.py").write_text("x = (\n")
    result = xtab("verify", told(ERROR, WARNING), ".", "-v")
    assert result.exit_code == 1
    golden("verify_verbose.txt", result.stdout)
    assert xtab("verify", ".").output == ""


def test_what_a_file_says_can_not_forge_lines(xtab, told):
    forged = Problem("XT402", "a\nmade.py:1: b", qualname="f\x1b[2J", filename="x\ny.py", line=1)
    first, _, _ = xtab("verify", told(forged)).stdout.partition("\n\n")
    assert first == "x\\ny.py:1: XT402 merge-conflict: f\\x1b[2J: a\\nmade.py:1: b"


def test_colour(xtab, told):
    name = told(ERROR)
    assert "\x1b[" not in xtab("verify", name).stdout
    coloured = xtab("verify", name, "--color", "always", color=True).stdout
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == xtab("verify", name).stdout != coloured


def test_the_real_verifier(xtab, write_pyc, stored):
    broken = stored("RESUME", "POP_TOP", "LOAD_CONST", "RETURN_VALUE")
    result = xtab("verify", write_pyc(stored(consts=(None, broken), stacksize=0)))
    assert result.exit_code == 1
    assert re.findall(r"^made.py:1: (XT\d+)", result.stdout, re.MULTILINE) == ["XT403", "XT401"]
    assert result.stdout.endswith("\n\nsee: xtab explain XT401\nsee: xtab explain XT403\n")


def test_hostile_code_is_only_read(write_pyc, stored, tmp_path):
    code = stored(code=bytes([CURRENT.number["LOAD_GLOBAL"], 255] * 99), linetable=b"\x80\xff", exceptiontable=b"\xff")
    command = [*COMMAND, "verify", write_pyc(stored(consts=(None, code)))]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (1, "")


@pytest.mark.parametrize(
    "problems, options, status",
    [
        ([ERROR], [], 1),
        ([WARNING], [], 0),
        ([WARNING], ["--strict"], 1),
        ([], ["--strict"], 0),
        ([ERROR, WARNING], ["--ignore", "XT402"], 0),
        ([ERROR, WARNING], ["--ignore", "XT402", "--strict"], 1),
        ([ERROR, WARNING], ["--ignore", "XT4,range-empty", "--strict"], 0),
        ([ERROR, WARNING], ["--select", "XT2"], 0),
        ([ERROR, WARNING], ["--select", "XT4", "--select", "XT2", "--ignore", "merge-conflict"], 0),
        ([ERROR], ["--select", "merge-conflict"], 1),
    ],
    ids=str,
)
def test_exit_status(xtab, told, problems, options, status):
    name = told(*problems)
    for output_format in ("text", "json", "github", "sarif"):
        result = xtab("verify", name, *options, "--format", output_format)
        assert (result.exit_code, result.stderr) == (status, "")


def test_ignored_problems_are_not_shown(xtab, told):
    result = xtab("verify", told(ERROR, WARNING), "--ignore", "XT402")
    assert "XT402" not in result.stdout
    assert result.stdout.startswith("made.py:3: XT203 range-empty: warning: f: expected ")


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_a_rule_that_is_not_there(xtab, sample, option):
    result = xtab("verify", sample, option, "mrge-conflict")
    assert result.exit_code == 2
    assert result.stderr.endswith("found 'mrge-conflict'; close to it: XT402 merge-conflict\n")


def test_json(xtab, told, tmp_path):
    (tmp_path / "bad.py").write_text("x = (\n")
    result = xtab("verify", told(ERROR, WARNING), ".", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    jsonschema.validate(document, SCHEMA)
    assert result.stdout == xtab("verify", "made.pyc", ".", "--format", "json").stdout
    made, bad = document["results"]
    assert (made["name"], made["named"], made["error"], made["code_objects"]) == ("made.pyc", True, None, 1)
    assert made["problems"][0] == {
        "code": "XT402",
        "name": "merge-conflict",
        "severity": "error",
        "message": ERROR.message,
        "hint": ERROR.hint,
        "offset": 4,
        "opname": "POP_TOP",
        "entry": None,
        "related": [2, 8],
        "qualname": "f",
        "filename": "made.py",
        "line": 3,
    }
    assert made["problems"][1]["entry"] == {"start": 2, "end": 2, "target": 6, "depth": 0, "lasti": True}
    assert bad["error"] == "SyntaxError: '(' was never closed (line 1)"
    assert document["summary"] == {
        "files": 2,
        "not_compilable": 1,
        "code_objects": 1,
        "errors": 1,
        "warnings": 1,
        "rules": {"XT203": 1, "XT402": 1},
    }


def test_json_where_nothing_is_wrong(xtab, sample):
    result = xtab("verify", sample, "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    jsonschema.validate(document, SCHEMA)
    assert document["summary"]["code_objects"] == 3
    assert document["summary"]["rules"] == {}


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for wrong in ({"schema": 1}, {"schema": 2, "xtab": "", "python": "", "results": [], "summary": {}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


def test_json_and_another_format(xtab, sample):
    result = xtab("verify", sample, "--json", "--format", "sarif")
    assert result.exit_code == 2
    assert result.stderr.endswith("expected --json or --format sarif, but found both\n")
    assert xtab("verify", sample, "--json", "--format", "json").exit_code == 0


def test_github(xtab, told, golden):
    result = xtab("verify", told(ERROR, WARNING), "--format", "github")
    golden("verify_github.txt", result.stdout)


def test_sarif(xtab, told, tmp_path):
    (tmp_path / "bad.py").write_text("x = (\n")
    result = xtab("verify", told(ERROR, WARNING), "bad.py", "--format", "sarif")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    jsonschema.validate(document, SARIF)
    (run,) = document["runs"]
    assert [each["ruleId"] for each in run["results"]] == ["XT402", "XT203"]
    assert len(run["tool"]["driver"]["rules"]) == len(RULES)
    assert run["invocations"][0]["executionSuccessful"] is False


def test_a_file_that_can_not_be_read(xtab, tmp_path):
    (tmp_path / "bad.py").write_text("x = (\n")
    result = xtab("verify", "bad.py")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: bad.py: SyntaxError: '(' was never closed (line 1)\n"
    assert xtab("verify", "gone.py").exit_code == 2


def test_processes_and_shards_find_the_same(xtab, tmp_path, write_pyc, stored):
    for number in range(12):
        write_pyc(stored(stacksize=number % 2), f"m{number:02}.pyc")
    names = sorted(path.name for path in tmp_path.glob("*.pyc"))
    texts = [xtab("verify", *names, "--jobs", jobs).stdout for jobs in "12"]
    assert texts[0] == texts[1]
    assert texts[0].count("XT403 stack-size-too-small") == 6
    shards = [xtab("verify", *names, "--jobs", "1", "--shard", f"{shard}/2") for shard in (1, 2)]
    assert [shard.exit_code for shard in shards] == [1, 0]


def test_ctrl_c_prints_what_was_found(xtab, told, monkeypatch):
    def interrupted(function, things, jobs):
        yield from map(function, things)
        raise KeyboardInterrupt

    monkeypatch.setattr(batch_module, "in_order", interrupted)
    result = xtab("verify", told(ERROR))
    assert result.exit_code == 130
    assert "XT402 merge-conflict" in result.stdout


@pytest.mark.parametrize("arguments", [[], ["-j", "0", "."], ["--shard", "3/2", "."], ["--format", "xml", "."]])
def test_wrong_usage(xtab, arguments):
    result = xtab("verify", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: xtab verify [OPTIONS] TARGET...\n")
