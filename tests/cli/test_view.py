"""`xtab view`: the file it writes, and what it refuses."""

from __future__ import annotations

import click
import pytest


def test_a_function(xtab, sample, tmp_path):
    result = xtab("view", f"{sample}:reads", "-o", "out.html")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "wrote out.html\n")
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "<h1>sample.py:reads</h1>" in text
    assert text.count("<section") == 1
    assert "except OSError" in text


def test_a_file_has_a_section_a_code_object(xtab, sample, tmp_path):
    assert xtab("view", sample, "-o", "out.html").exit_code == 0
    assert (tmp_path / "out.html").read_text(encoding="utf-8").count("<section") == 3


def test_a_source_on_the_command_line_and_the_page_on_stdout(xtab):
    result = xtab("view", "-e", "with a: b", "-o", "-")
    assert result.exit_code == 0
    assert result.output.startswith("<!doctype html>")
    assert "No source found" not in result.output


def test_a_source_on_stdin(xtab):
    result = xtab("view", "-", "-o", "-", input="with a: b\n")
    assert result.exit_code == 0
    assert "No source found" not in result.output


def test_it_is_opened_when_asked(xtab, sample, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(click, "launch", opened.append)
    assert xtab("view", sample, "-o", "out.html").exit_code == 0
    assert not opened
    assert xtab("view", sample, "-o", "out.html", "--open").exit_code == 0
    assert opened == [(tmp_path / "out.html").as_uri()]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["nosuch.py", "-o", "out.html"], "nosuch.py"),
        (["sample.py", "-o", "no/folder/out.html"], "expected 'no/folder/out.html' to be a file that can be written"),
        (["sample.py", "-o", "-", "--open"], "expected a file to open"),
        (["-o", "out.html"], "expected a TARGET or -e SOURCE"),
    ],
)
def test_refused(xtab, sample, tmp_path, arguments, message):
    result = xtab("view", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "out.html").exists()


def test_code_that_can_not_be_read(xtab, write_pyc, stored):
    name = write_pyc(stored(exceptiontable=b"\xff"))
    result = xtab("view", name, "-o", "out.html")
    assert result.exit_code == 2
    assert "xtab verify says more" in result.output


def test_a_name_of_its_own(xtab, sample, tmp_path):
    assert xtab("view", f"{sample}:reads").stderr == "wrote sample.reads.html\n"
    assert xtab("view", sample).stderr == "wrote sample.html\n"
    assert xtab("view", "-e", "with a: b").stderr == "wrote xtab.html\n"
    again = xtab("view", sample)
    assert again.exit_code == 2
    assert "expected -o OUT.html, since sample.html exists already" in again.stderr


def test_help(xtab, golden):
    result = xtab("view", "--help")
    assert result.exit_code == 0
    golden("view_help.txt", result.stdout)
