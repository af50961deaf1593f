"""A run of the benchmarks over very little code gives all rows. No time is asserted."""

from __future__ import annotations

import dis
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, str(ROOT / "benchmarks" / "run.py")]
TINY = ["--modules", "queue", "--processes", "1", "--rounds", "2", "--largest", "10000"]

ROWS = {
    ("parse", "dis"),
    ("lookup", "dis"),
    ("decode", "dis"),
    ("decode", "floor"),
    ("decode", "bytecode"),
    ("decode", "bytecode, raw"),
    ("stack size", "bytecode"),
    ("assemble", "bytecode"),
    ("assemble", "bytecode, raw"),
    ("round trip", "floor"),
    ("round trip", "bytecode"),
    ("round trip", "bytecode, raw"),
}
DYNAMO_ROWS = {(what, "TorchDynamo") for what in ("decode", "stack size", "assemble", "round trip")}


def run(*arguments):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_a_run_gives_all_rows(tmp_path):
    done = run(*TINY, "--json", str(tmp_path / "found.json"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "progress is for terminals"
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    has_torch = importlib.util.find_spec("torch") is not None
    assert {(row["what"], row["peer"]) for row in found["rows"]} == (ROWS | DYNAMO_ROWS if has_torch else ROWS)
    for row in found["rows"]:
        assert 0 < row["low"] <= row["median"] <= row["high"], row
        assert row["items"] > 0
        assert row["peer"] in done.stdout
    assert [limit["unit"] for limit in found["limits"]] == ["bytes an instruction", "times as long as a tenth"]
    assert "NaN" not in done.stdout
    assert str(Path.home()) not in done.stdout + json.dumps(found)


def test_markdown_has_the_calls():
    done = run(*TINY, "--markdown", "--only", "decode")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {7}
    assert "list(dis.get_instructions(code))" in done.stdout
    assert "scaling" not in done.stdout


def test_pyperf_reads_the_seconds(tmp_path):
    pyperf = pytest.importorskip("pyperf")
    done = run(*TINY, "--only", "parse", "--pyperf", str(tmp_path / "seconds.json"))
    assert done.returncode == 0, done.stderr
    suite = pyperf.BenchmarkSuite.load(str(tmp_path / "seconds.json"))
    assert suite.get_benchmark_names() == ["parse, dis: xtab", "parse, dis: the other"]
    assert suite.get_benchmark("parse, dis: xtab").get_nvalue() == 2
    assert "hostname" not in suite.get_metadata()


@pytest.mark.parametrize(
    "arguments, found",
    [(["--modules", "no_such_module"], "no_such_module"), (["--modules", "sys"], "sys"), (["--only", "x"], "'x'")],
)
def test_bad_usage(arguments, found):
    done = run(*arguments)
    assert done.returncode == 2
    assert found in done.stderr.splitlines()[-1]


def test_the_round_trip_does_the_work(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    peers = importlib.import_module("peers")
    run_module = importlib.import_module("run")
    for code in run_module.compiled("queue"):
        before = [each for each in dis.get_instructions(code) if each.opname != "EXTENDED_ARG"]
        result = peers.ROUND_TRIP.run(code)
        after = [each for each in dis.get_instructions(result) if each.opname != "EXTENDED_ARG"]
        place = next(index for index, each in enumerate(after) if each.opname == "RESUME") + 1
        assert after.pop(place).opname == "NOP"
        assert [(each.opname, each.positions) for each in after] == [(each.opname, each.positions) for each in before]
        assert result.co_stacksize == code.co_stacksize
        assert len(dis._parse_exception_table(result)) == len(dis._parse_exception_table(code))
