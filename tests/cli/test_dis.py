from __future__ import annotations

import asyncio.base_events
import json
import marshal
import os
import py_compile
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

import xtab as library
from xtab.format.code import code_objects


def test_help(xtab, golden):
    result = xtab("dis", "--help")
    assert result.exit_code == 0
    golden("dis_help.txt", result.stdout)


def test_it_prints_what_str_gives(xtab, sample, tmp_path):
    result = xtab("dis", sample)
    assert result.exit_code == 0
    code = compile((tmp_path / sample).read_text(), sample, "exec")
    assert result.stdout == str(library.show(code)) + "\n"
    assert xtab("dis", "sample.py:reads").stdout == str(library.show(code.co_consts[0])) + "\n"
    assert xtab("dis", "sample:reads").stdout.splitlines()[2:] == xtab("dis", "sample.py:reads").stdout.splitlines()[2:]


def test_a_line_means_the_code_object_that_holds_it(xtab, sample):
    assert xtab("dis", "sample.py:4").stdout == xtab("dis", "sample.py:reads").stdout
    result = xtab("dis", "sample.py:99")
    assert result.exit_code == 2
    assert result.stderr == "Error: sample.py: expected a line from 1 to 10, but found 99\n"


def test_source_from_stdin_and_from_an_option(xtab):
    result = xtab("dis", "-", "--source", input="with a:\n    b()\n")
    assert "    1 with a:" in result.stdout
    assert result.stdout.replace("<stdin>", "<string>") == xtab("dis", "-s", "-e", "with a:\n    b()\n").stdout


def test_views(xtab, sample):
    assert "a handler clean-up" in xtab("dis", sample, "--all-regions").stdout
    assert "#0" in xtab("dis", sample, "--flat").stdout
    assert xtab("dis", sample, "--ascii").stdout.isascii()
    assert "\x1b[" in xtab("dis", sample, "--color", "always").stdout
    assert "\x1b[" not in xtab("dis", sample).stdout


@pytest.mark.parametrize("name, value", [("NO_COLOR", "1"), ("FORCE_COLOR", "1")])
def test_the_environment_is_heeded(name, value, xtab, sample, monkeypatch):
    monkeypatch.setenv(name, value)
    assert ("\x1b[" in xtab("dis", sample, color=True).stdout) == (name == "FORCE_COLOR")


def test_json(xtab, sample):
    result = xtab("dis", sample, "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    schema = json.loads((files("xtab.cli") / "schemas" / "dis.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    assert [code["qualname"] for code in document["results"]] == ["<module>", "reads", "Plain"]
    reads = document["results"][1]
    assert {each["opname"] for each in reads["instructions"] if each["handles"]} >= {"PUSH_EXC_INFO"}
    letters = {region["letter"] for region in reads["regions"]}
    assert {entry["region"] for entry in reads["entries"]} == letters
    del reads["instructions"][0]["regions"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_json_of_a_module(xtab):
    document = json.loads(xtab("dis", "asyncio.base_events", "--json").stdout)
    path = asyncio.base_events.__file__
    module = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    assert [each["qualname"] for each in document["results"]] == [each.co_qualname for each in code_objects(module)]
    jsonschema.validate(document, json.loads((files("xtab.cli") / "schemas" / "dis.json").read_text()))


def test_problems_are_shown_and_end_with_status_1(xtab, tmp_path):
    code = compile("def f():\n    return a + b\n", "made.py", "exec")
    inner = next(each for each in code_objects(code) if each.co_name == "f")
    wrong = inner.replace(co_stacksize=1)
    made = code.replace(co_consts=tuple(wrong if each is inner else each for each in code.co_consts))
    path = tmp_path / "made.pyc"
    py_compile.compile(__file__, str(path))
    path.write_bytes(path.read_bytes()[:16] + marshal.dumps(made))
    result = xtab("dis", "made.pyc:f")
    assert result.exit_code == 1
    assert "1 problem\n" in result.stdout
    assert "made.py:2: XT403" in result.stdout
    assert json.loads(xtab("dis", "made.pyc:f", "--json").stdout)["results"][0]["problems"]


def test_what_cannot_be_decoded_is_told_apart(xtab, tmp_path):
    code = compile("try: a\nexcept OSError: b\n", "made.py", "exec")
    path = tmp_path / "made.pyc"
    py_compile.compile(__file__, str(path))
    path.write_bytes(path.read_bytes()[:16] + marshal.dumps(code.replace(co_exceptiontable=b"\x80\x05\x7f")))
    result = xtab("dis", "made.pyc")
    assert result.exit_code == 1
    assert result.stdout.startswith("<module>  made.py:1   exception table, entry 0")
    assert "XT" in result.stdout
    document = json.loads(xtab("dis", "made.pyc", "--json").stdout)
    assert "exception table" in document["results"][0]["error"]
    jsonschema.validate(document, json.loads((files("xtab.cli") / "schemas" / "dis.json").read_text()))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "expected a TARGET or -e SOURCE, but found neither"),
        (("x.py", "-e", "x"), "expected a TARGET or -e SOURCE, but found both"),
        (("-e", "x", "--flat", "-a"), "expected --flat or --all-regions, but found both"),
        (("-e", "x +"), "<string>: SyntaxError"),
        (("sample.py:raeds",), "close to it: reads"),
    ],
)
def test_wrong_usage(arguments, message, xtab, sample):
    result = xtab("dis", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not result.stdout


def run(*arguments, **environment):
    return [sys.executable, "-m", "xtab", *arguments], {**os.environ, **environment}


def test_an_old_terminal_gets_ascii(sample, tmp_path):
    (tmp_path / "umlaut.py").write_text("try: print('ä')\nexcept OSError: pass\n", encoding="utf-8")
    command, environment = run("dis", "umlaut.py", "-s", PYTHONIOENCODING="ascii")
    result = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=True)
    assert b"'\\xe4'" in result.stdout
    assert b"<- A except OSError" in result.stdout


def test_a_reader_that_has_seen_enough(sample, tmp_path):
    (tmp_path / "big.py").write_text((tmp_path / sample).read_text() * 200)
    command, environment = run("dis", "big.py")
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline().startswith(b"<module>")
        process.stdout.close()
        assert process.stderr.read() == b""


def test_stdin_twice(xtab):
    result = xtab("dis", "-", "-", input="seen = 1")
    assert result.exit_code == 0
    assert result.stdout.count("STORE_NAME") == 2
