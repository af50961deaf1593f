from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from xtab.cli import batch as batch_module
from xtab.cli.batch import Batch, collect_sources, run_batch
from xtab.cli.targets import SourceFile


@dataclass
class Report:
    name: str
    named: bool = True
    error: str | None = None


def report_of(source):
    return Report(source.name, source.named, "broken" if "bad" in source.name else None)


SOURCES = [SourceFile(f"{number}.py") for number in range(3)]


def test_each_source_has_its_report():
    batch = run_batch(report_of, SOURCES, None, progress=False)
    assert [report.name for report in batch.reports] == ["0.py", "1.py", "2.py"]
    assert batch.end is None


def test_ctrl_c_keeps_what_was_done(capsys):
    def interrupted(source):
        if source.name == "2.py":
            raise KeyboardInterrupt
        return report_of(source)

    batch = run_batch(interrupted, SOURCES, 1, progress=False)
    assert (len(batch.reports), batch.end) == (2, 130)
    assert capsys.readouterr().err == "interrupted: 2 of 3 files were checked\n"


def dies(source):
    os._exit(1)


def test_a_process_that_dies_is_told(capsys):
    batch = run_batch(dies, SOURCES * 4, 2, progress=False)
    assert (batch.reports, batch.end) == ([], 1)
    assert "--jobs 1: 0.py, 1.py, 2.py, " in capsys.readouterr().err


@pytest.mark.parametrize(
    "names, end, status, wanted",
    [
        (["a.py"], None, 0, 0),
        (["a.py"], None, 1, 1),
        (["bad.py"], None, 0, 2),
        (["bad.py"], None, 1, 1),
        (["bad.py"], 130, 1, 130),
    ],
)
def test_exit_status(names, end, status, wanted, capsys):
    batch = Batch([report_of(SourceFile(name)) for name in names], end)
    assert batch.exit_status(status) == wanted
    assert capsys.readouterr().err == ("Error: bad.py: broken\n" if "bad.py" in names else "")


def test_only_what_was_named_is_an_error():
    assert Batch([report_of(SourceFile("bad.py", named=False))], None).exit_status(0) == 0


def test_a_file_is_collected_once(monkeypatch):
    monkeypatch.setattr(batch_module, "find_sources", lambda target: [SourceFile("a.py", named=target == "a.py")])
    assert collect_sources(["a.py", "."]) == collect_sources([".", "a.py"]) == [SourceFile("a.py")]
    assert collect_sources([".", "."]) == [SourceFile("a.py", named=False)]
