from __future__ import annotations

import dis
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from xtab.analysis import roundtrip
from xtab.analysis.verify import Problem
from xtab.cli import batch as batch_module
from xtab.cli import corpus as corpus_module
from xtab.cli.targets import find_sources, load
from xtab.format.code import code_objects

NUMBERS = {
    "VERSION": r"xtab( \S+) on",
    "PYTHON": r"CPython( \S+)",
    "ENTRIES": r"entries( +\S+)",
    "COUNT": r"instructions( +\S+)",
    "TIME": r"seconds( +\S+)",
}


@pytest.fixture
def broken_assembler(monkeypatch):
    """An assembler that gives every function another name."""
    right = roundtrip.assemble
    monkeypatch.setattr(roundtrip, "assemble", lambda body: right(body).replace(co_name=f"{body.name}_again"))


def numbers(text):
    """The table that was printed, as a dictionary."""
    return {
        name: float(number.replace(",", "")) for name, number in re.findall(r"^ *([a-z ]+?)  +([\d,.]+)", text, re.M)
    }


def test_all_is_well(xtab, sample, golden):
    result = xtab("check", sample)
    assert result.exit_code == 0
    assert result.stderr == ""
    golden("check.txt", result.stdout, **NUMBERS)


def test_what_is_counted(xtab, sample):
    found = numbers(xtab("check", sample).stdout)
    codes = list(code_objects(load(find_sources(sample)[0])[0]))
    assert found["code objects"] == len(codes) == 3
    assert found["with a table"] == 1
    assert found["entries"] == sum(len(dis._parse_exception_table(code)) for code in codes)
    wanted = [i for code in codes for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
    assert found["instructions"] == len(wanted)


def test_a_broken_assembler_is_found(xtab, sample, golden, broken_assembler):
    result = xtab("check", sample)
    assert result.exit_code == 1
    assert result.stderr == ""
    assert numbers(result.stdout)["differences"] == 3
    golden("check_differences.txt", result.stdout, **NUMBERS)


def test_broken_bytes_are_found(xtab, sample, monkeypatch):
    right = roundtrip.assemble
    monkeypatch.setattr(
        roundtrip, "assemble", lambda body: (code := right(body)).replace(co_code=code.co_code[:-2] + b"\x09\x63")
    )
    result = xtab("check", "sample.py:Plain")
    assert result.exit_code == 1
    last = load(find_sources("sample.py:Plain")[0])[0].co_code[-2:].hex(" ")
    assert re.search(rf"  co_code, byte \d+\n    expected  {last}\n    found     09 63\n", result.stdout)


def test_a_crash_is_found_with_its_traceback(xtab, sample, monkeypatch):
    monkeypatch.setattr(roundtrip, "decode", lambda code: list(code.co_names)[100])
    result = xtab("check", "sample.py:Plain")
    assert result.exit_code == 1
    assert "    found     crashed: IndexError: list index out of range\n" in result.stdout
    assert "\n              Traceback (most recent call last):\n" in result.stdout


def test_a_difference_can_be_pasted_back(xtab, sample, broken_assembler):
    (commands := re.findall(r"^xtab (check .*)$", xtab("check", sample).stdout, re.MULTILINE)).sort()
    assert [shlex.split(command, comments=True) for command in commands] == [
        ["check", "sample.py:<module>"],
        ["check", "sample.py:Plain"],
        ["check", "sample.py:reads"],
    ]
    result = xtab(*shlex.split(commands[-1], comments=True))
    assert result.exit_code == 1
    assert numbers(result.stdout)["code objects"] == numbers(result.stdout)["differences"] == 1


def test_only_the_first_differences_are_shown(xtab, tmp_path, broken_assembler):
    (tmp_path / "many.py").write_text("def f(): pass\n" * 20)
    result = xtab("check", "many.py")
    assert result.stdout.count("  co_name\n") == 10
    assert result.stdout.endswith("\nand 11 more differences (--verbose shows them)\n")
    assert xtab("check", "many.py", "-v").stdout.count("  co_name\n") == 21


def test_a_smaller_stack_is_shown(xtab, tmp_path):
    (tmp_path / "small.py").write_text("def f():\n  try:\n    g()\n  except* E as e:\n    4\n")
    result = xtab("check", "-v", "small.py")
    assert result.exit_code == 0
    assert "\nsmaller stack: 1, each with an unreachable handler\n" in result.stdout
    assert re.search(r"\n  xtab check small.py:f  # line 1: the handler at \d+ is unreachable\n", result.stdout)


@pytest.fixture
def folder(tmp_path):
    """A folder with one file that compiles, and two that don't."""
    (tmp_path / "good.py").write_text("x = 1\n")
    (tmp_path / "bad.py").write_text("x = (\n")
    (tmp_path / "gone.py").symlink_to("nowhere")
    return tmp_path


def test_files_that_do_not_compile_are_counted_and_listed(xtab, folder, golden):
    result = xtab("check", ".")
    assert result.exit_code == 0
    assert "\n  not compilable             2  (--verbose lists them)\n" in result.stdout
    result = xtab("check", ".", "-v")
    assert result.exit_code == 0
    golden("check_not_compilable.txt", result.stdout, **NUMBERS)


def test_a_named_file_that_does_not_compile_is_an_error(xtab, folder):
    result = xtab("check", "bad.py")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: bad.py: SyntaxError: '(' was never closed (line 1)\n"
    result = xtab("check", "bad.py", "good.py")
    assert result.exit_code == 2
    assert numbers(result.stdout)["code objects"] == 1


def test_differences_weigh_more_than_files_that_do_not_compile(xtab, folder, broken_assembler):
    assert xtab("check", "bad.py", "good.py").exit_code == 1


def test_stdin(xtab, broken_assembler):
    result = xtab("check", "-", input="def f(): pass\n")
    assert result.exit_code == 1
    assert "\nxtab check -  # f, line 1\n" in result.stdout


def test_a_target_that_is_not_there(xtab, sample):
    result = xtab("check", "smaple.py")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: expected a file or folder, but found no 'smaple.py'; close to it: sample.py\n"


@pytest.mark.parametrize(
    "arguments", [[], ["-j", "0", "."], ["--shard", "3/2", "."], ["--shard", "x", "."], ["--nope"]]
)
def test_wrong_usage(xtab, arguments):
    result = xtab("check", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: xtab check [OPTIONS] TARGET...\n")


def test_json(xtab, folder, broken_assembler):
    result = xtab("check", "good.py", ".", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert list(document) == ["schema", "xtab", "python", "results", "summary"]
    assert document["schema"] == 1
    found, bad, gone = document["results"]
    assert (bad["name"], bad["code_objects"]) == ("bad.py", 0)
    assert bad["error"] == "SyntaxError: '(' was never closed (line 1)"
    assert gone["error"].startswith("expected a file that can be read")
    assert found.pop("instructions") > 0
    assert found == {
        "name": "good.py",
        "named": True,
        "error": None,
        "code_objects": 1,
        "with_table": 0,
        "entries": 0,
        "smaller_stacks": [],
        "problems": None,
        "differences": [
            {
                "qualname": "<module>",
                "line": 1,
                "what": "co_name",
                "expected": "'<module>'",
                "found": "'<module>_again'",
                "where": None,
            }
        ],
    }
    assert document["summary"].keys() >= {"files", "not_compilable", "code_objects", "differences", "seconds"}
    assert document["summary"]["not_compilable"] == 2


@pytest.fixture
def many(tmp_path):
    """More files than are done without starting processes."""
    for number in range(20):
        (tmp_path / f"m{number:02}.py").write_text("def f():\n  pass\n" * (number + 1))
    return tmp_path


def test_jobs_change_nothing_but_the_time(xtab, many):
    documents = [json.loads(xtab("check", ".", "--json", "--jobs", str(jobs)).stdout) for jobs in (1, 2)]
    for document in documents:
        del document["summary"]["seconds"]
        assert [result["code_objects"] for result in document["results"]] == list(range(2, 22))
    assert documents[0] == documents[1]


def test_shards_are_a_partition(xtab, many):
    found = [
        result["name"]
        for shard in ("1/3", "2/3", "3/3")
        for result in json.loads(xtab("check", ".", "--json", "--jobs", "1", "--shard", shard).stdout)["results"]
    ]
    assert found[:3] == ["m00.py", "m03.py", "m06.py"]
    assert sorted(found) == [f"m{number:02}.py" for number in range(20)]


def test_a_file_is_checked_once(xtab, sample):
    assert numbers(xtab("check", sample, ".", sample).stdout)["files"] == 1


def test_colour(xtab, sample, monkeypatch):
    assert "\x1b[" not in xtab("check", sample).stdout
    assert "\x1b[" in xtab("check", sample, "--color", "always", color=True).stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in xtab("check", sample, color=True).stdout


def test_ctrl_c_prints_what_was_done(xtab, many, monkeypatch):
    def interrupted(function, things, jobs):
        yield from map(function, things[:3])
        raise KeyboardInterrupt

    monkeypatch.setattr(batch_module, "in_order", interrupted)
    result = xtab("check", ".")
    assert result.exit_code == 130
    assert numbers(result.stdout)["files"] == 3
    assert result.stderr == "interrupted: 3 of 20 files were checked\n"


def test_ctrl_c_before_anything_was_done(xtab, monkeypatch):
    def interrupted(target):
        raise KeyboardInterrupt

    monkeypatch.setattr(batch_module, "find_sources", interrupted)
    result = xtab("check", ".")
    assert (result.exit_code, result.output) == (130, "")


def test_a_worker_that_dies_is_a_failure(xtab, many, monkeypatch):
    def dies(function, things, jobs):
        yield function(things[0])
        raise batch_module.WorkerDiedError(1)

    monkeypatch.setattr(batch_module, "in_order", dies)
    result = xtab("check", ".")
    assert result.exit_code == 1
    assert result.stderr.startswith("a worker process died, so the rest was not checked.")
    assert "--jobs 1: m01.py, m02.py, " in result.stderr


#: as `xtab`, but as if somebody pressed Ctrl-C after the third file
CTRL_C = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # what started the tests may have it ignored
from xtab.cli import batch, main

class Bar(batch.Bar):
    def advance(self, what):
        super().advance(what)
        if self._done == 3:
            os.killpg(0, signal.SIGINT)

batch.Bar = Bar
main()
"""
COMMAND = [sys.executable, "-m", "xtab"]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a process group")
def test_a_real_ctrl_c(many):
    command = [sys.executable, "-c", CTRL_C, "check", str(many), "--jobs", "2"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, start_new_session=True, timeout=60)
    assert result.returncode == 130
    assert result.stderr == "interrupted: 3 of 20 files were checked\n"
    assert numbers(result.stdout)["files"] == 3


def test_a_reader_that_goes_away_is_no_error(many):
    command = [*COMMAND, "check", str(many), "--json", "--jobs", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""


def test_the_sample_is_not_executed(tmp_path):
    (tmp_path / "trap.py").write_text("raise SystemExit(77)\n")
    command = [*COMMAND, "check", str(tmp_path / "trap.py"), "--no-progress"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == [Path(tmp_path / "trap.py")]


def test_verifying_too(xtab, sample):
    result = xtab("check", sample, "--verify")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-2:] == ["errors                       0", "warnings                     0"]
    assert not {"errors", "warnings"} & set(numbers(xtab("check", sample).stdout))


@pytest.mark.parametrize("code, status, counts", [("XT402", 1, (3, 0)), ("XT203", 0, (0, 3))])
def test_problems_are_counted(xtab, sample, monkeypatch, code, status, counts):
    monkeypatch.setattr(corpus_module, "verify", lambda each: (Problem(code, "wrong"),))
    result = xtab("check", sample, "--verify")
    assert result.exit_code == status
    assert (numbers(result.stdout)["errors"], numbers(result.stdout)["warnings"]) == counts
    assert "  (xtab verify shows them)\n" in result.stdout
    document = json.loads(xtab("check", sample, "--verify", "--json").stdout)
    wanted = {"errors": counts[0], "warnings": counts[1]}
    assert document["summary"]["problems"] == document["results"][0]["problems"] == wanted
    assert xtab("check", sample).exit_code == 0
    assert json.loads(xtab("check", sample, "--json").stdout)["summary"]["problems"] is None
