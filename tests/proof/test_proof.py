"""The short form of the proof: a few modules of CPython's tests, three transforms; and the tools of the long form."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from xtab.transform.rewrite import rewrite_code

pytest.importorskip("test.test_with", reason="this Python comes without its tests")

HERE = Path(__file__).parent
QUICK = ["test_with", "test_except_star", "test_generator_stop"]
TRANSFORMS = ["nothing", "nops", "guarded"]
REWRITTEN = [
    "test.test_*",
    "unittest.*",
    "contextlib",
]  # rewriting all else that is imported takes longer than the tests


def test_short_form(tmp_path):
    """Every test of the modules ends as it does on untouched code."""
    results = tmp_path / "results.json"
    command = [sys.executable, str(HERE / "run.py"), "--transform", *TRANSFORMS, "--modules", *QUICK, "--jobs", "1"]
    options = ["--cache", str(tmp_path / "cache"), "--results", str(results), "--once", "--include", *REWRITTEN]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(results.read_text())["transforms"]
    assert sorted(found) == sorted(TRANSFORMS)
    kept = (tmp_path / "cache").rglob("test.test_with-*.xtabc")
    assert {path.parent.name for path in kept} == {*TRANSFORMS}, "expected the tests to be rewritten by each transform"
    for modules in found.values():
        assert sorted(modules) == sorted(QUICK)
        assert sum(result["same"] for result in modules.values()) > 100
        assert not any(result["differences"] for result in modules.values())


def test_a_module_that_dies_is_a_difference(tools, tmp_path):
    """The test that was running, and those that never ran, are named; so is a process that ended too late."""
    records = tools("records")
    facts = [{"start": "a"}, {"id": "a", "outcome": "ok", "detail": ""}, {"start": "b"}]
    rest = [{"id": "b", "outcome": "ok", "detail": ""}, {"id": "c", "outcome": "fail x2", "detail": ""}, {"end": 1}]

    def record(name, *facts):
        path = tmp_path / name
        path.write_text("".join(json.dumps(fact) + "\n" for fact in facts))
        return records.read(path)

    before = record("before", *facts, *rest, {"exit": 0, "seconds": 1})
    after = record("after", *facts, {"exit": -11, "seconds": 1})
    assert records.compare(before, before) == {}
    assert records.compare(before, after) == {
        "b": ("ok", "died: SIGSEGV"),
        "c": ("fail x2", "not run"),
        "<module>": ("ended", "SIGSEGV"),
    }
    late = record("late", *facts, *rest, {"exit": None, "seconds": 1})
    assert records.compare(before, late) == {"<module>": ("ended", "time-out")}
    assert not records.read(tmp_path / "not there").complete


def test_a_reason_holds_for_its_versions_and_transforms(tools):
    explained = tools("explained")
    entry = {"tests": ["test.a.*.b"], "transforms": ["nops"], "since": "3.12", "until": "3.13", "reason": "so"}
    versions = ["3.11", "3.12", "3.13-dbg", "3.14"]
    assert [explained.reason([entry], each, "nops", "test.a.C.b") for each in versions] == [None, "so", "so", None]
    assert explained.reason([entry], "3.12", "wide", "test.a.C.b") is None
    assert explained.reason([entry], "3.12", "nops", "test.a.C.c") is None


def test_the_file_of_reasons_can_be_read(tools, tmp_path):
    explained = tools("explained")
    entries = explained.load()
    transforms = tools("transforms").TRANSFORMS
    assert {name for entry in entries for name in entry["transforms"]} <= transforms.keys()
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[[explained]]\ntests = []\ntransforms = []\nreasn = ""\n')
    with pytest.raises(ValueError, match="reasn"):
        explained.load(wrong)


def test_the_table_counts_what_the_results_hold(tools):
    report = tools("report")
    differs = ["ok", "fail", "why"]
    result = {"tests": 5, "same": 2, "differences": {"a": differs, "b": differs}, "unsteady": {"c": ["ok", "fail"]}}
    documents = {"3.14-dbg": {"python": "3.14.0", "transforms": {"nops": {"test_x": result}}}}
    entries = [{"tests": ["a"], "transforms": ["nops"], "reason": "so"}]
    assert report.table(documents, entries).splitlines()[2:] == ["| 3.14.0 debug | `nops` | 1 | 5 | 2 | 1 | 1 | 1 |"]
    assert list(report.listing(documents, entries)) == [
        "3.14-dbg nops a: ok -> fail: so",
        "3.14-dbg nops b: ok -> fail: UNEXPLAINED why",
        "3.14-dbg nops c: unsteady: ok, fail",
    ]


def test_every_transform_changes_what_it_says(tools):
    """More instructions each but for the one that does nothing; and what is computed stays the same."""
    transforms = tools("transforms")

    def sample(items):
        seen = []
        for item in items:
            try:
                seen.append(1 / item)
            except ZeroDivisionError:
                seen.append(None)
            finally:
                seen.append(item)
        return seen

    code = sample.__code__
    for name, transform in transforms.TRANSFORMS.items():
        new = rewrite_code(code, transform)
        assert (len(new.co_code) > len(code.co_code)) == (name != "nothing")
        assert type(sample)(new, {"ZeroDivisionError": ZeroDivisionError})([1, 0]) == [1.0, 1, None, 0]
