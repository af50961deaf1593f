from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from xtab.format.opcodes import CURRENT

README = Path(__file__).parents[2] / "README.md"
SOURCE = """\
def copy(src, dst):
    try:
        try:
            with open(src) as f:
                data = f.read()
        except OSError:
            data = b""
        else:
            log("yes")
    finally:
        cleanup()

    # a comment
    return open(dst).write(
        data[0
        ],
    )


try:
    def inner(): return sum(1 / x for x in data)
except ValueError:
    pass
"""


SPOTS = """\
def spots(path):
    try:
        class Made(base()):
            made = call()

            with open(path) as a, open(path + fail()) as b: pass
        [1 / y
         for y in path]
    except ValueError:
        later = lambda: call()
    except (tuple(path), OSError):
        # a comment
        pass
    finally:
        if path:
            return 1
    for each in path:

        # a comment
        yield each
    else:
        try:
            call()
        finally:
            with (
                open(path),
                lock,
            ):
                raise Other
"""


@pytest.fixture
def source(tmp_path):
    (tmp_path / "copying.py").write_text(SOURCE)
    return "copying.py"


def test_help(xtab, golden):
    result = xtab("where", "--help")
    assert result.exit_code == 0
    golden("where_help.txt", result.stdout)


def test_every_line(xtab, source, golden):
    """One text for all versions: they agree on what a person wrote."""
    lines = range(1, SOURCE.count("\n") + 1)
    result = xtab("where", *(f"{source}:{line}" for line in lines if line not in {2, 3, 21}))
    assert result.exit_code == 0
    golden("where.txt", result.stdout)


def test_what_runs_on_the_spot(xtab, tmp_path, golden):
    (tmp_path / "spots.py").write_text(SPOTS)
    lines = range(1, SPOTS.count("\n") + 1)
    result = xtab("where", *(f"spots.py:{line}" for line in lines))
    assert result.exit_code == 0
    golden("where_spots.txt", re.sub(r"[A-Z](, [A-Z])* (?=with|except|finally)", "", result.stdout))


def test_a_module_stdin_and_colour(xtab, source):
    plain = xtab("where", f"{source}:5").stdout
    assert xtab("where", "copying:5").stdout.splitlines()[1:] == plain.splitlines()[1:]
    assert xtab("where", "-:5", input=SOURCE).stdout.splitlines()[1:] == plain.splitlines()[1:]
    assert "\x1b[" in xtab("where", f"{source}:5", "--color", "always").stdout


@pytest.mark.parametrize(
    "target, message",
    [
        ("copying.py", "expected FILE.py:LINE, but found 'copying.py'"),
        ("copying.py:x", "expected copying.py:LINE"),
        ("copying.py:0", "copying.py: expected a line from 1 to"),
        ("copying.py:400", "copying.py: expected a line from 1 to"),
        ("copyin.py:4", "close to it: copying.py"),
        ("made.pyc:4", "expected a file with Python source, but found 'made.pyc'"),
    ],
)
def test_wrong_usage(target, message, xtab, source, stored, write_pyc):
    write_pyc(stored())
    result = xtab("where", target)
    assert result.exit_code == 2
    assert message in result.stderr


def test_what_the_readme_shows(xtab, tmp_path, monkeypatch):
    readme = README.read_text(encoding="utf-8")
    for name, text in re.findall(r"^\$ cat (\S+)\n(.*?)^\$ ", readme, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(text)
    monkeypatch.delitem(sys.modules, "mytools", raising=False)
    commands = re.findall(r"^\$ xtab ([^\n]*)\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert [command.split()[0] for command, _ in commands] == ["where", "dis", "diff"]
    shown = xtab("dis", "copying.py:copy").stdout
    assert xtab(*commands[0][0].split()).stdout == commands[0][1]
    if "CPython {}.{} ".format(*CURRENT.version) in commands[1][1]:
        assert shown == commands[1][1]
        assert xtab(*commands[2][0].split()).stdout == commands[2][1]


def test_json(xtab, source):
    lines = [line for line in range(1, SOURCE.count("\n") + 1) if line != 7]
    document = json.loads(xtab("where", "--json", *(f"{source}:{line}" for line in lines)).stdout)
    schema = json.loads((files("xtab.cli") / "schemas" / "where.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    assert [answer["line"] for answer in document["results"]] == lines
    (way,) = document["results"][4]["ways"]
    assert way["qualname"] == "copy"
    assert [region["kind"] for region in way["inside"]] == ["finally", "except", "with"]
    assert way["inside"][1]["classes"] == ["OSError"]
    assert [stop["region"] and stop["region"]["letter"] for stop in way["stops"]] == ["C", "B", "A", None]
    assert document["results"][11]["has_code"] is False
    way["stops"] = []
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_a_source_in_another_encoding(xtab, tmp_path):
    (tmp_path / "old.py").write_bytes(b'# -*- coding: latin-1 -*-\nprint("\xe4")\n')
    assert xtab("where", "old.py:2").stdout.startswith('old.py:2   print("ä")\n')


def test_what_does_not_compile_is_named(xtab, tmp_path):
    (tmp_path / "bad.py").write_text("def f(:\n")
    assert "bad.py: SyntaxError" in xtab("where", "bad.py:1").stderr


def test_a_number_too_long_for_a_line(xtab, source):
    assert ":LINE, but found" in xtab("where", f"{source}:{'9' * 5000}").stderr


def test_a_source_that_is_typed(xtab):
    every = xtab("where", "-e", "with a:\n    b\n# c\n").stdout
    assert "<string>:1 " in every
    assert "<string>:2 " in every
    assert "<string>:3 " not in every
    assert xtab("where", "-e", "with a:\n    b", "2").stdout in every + "\n"
    assert "expected numbers of lines behind -e SOURCE, but found 'x'" in xtab("where", "-e", "a", "x").stderr


def test_a_name_in_place_of_a_line(xtab, source):
    assert "xtab dis copying:copy shows what has that name" in xtab("where", "copying:copy").stderr


def test_a_column_is_left_out(xtab, source):
    assert xtab("where", f"{source}:5:9").stdout == xtab("where", f"{source}:5").stdout


def test_several_lines_of_stdin(xtab):
    result = xtab("where", "-:1", "-:2", input="try: a()\nexcept: b()\n")
    assert result.exit_code == 0
    assert "try: a()" in result.stdout
    assert "except: b()" in result.stdout


@pytest.mark.parametrize("line", ["-1", "3-4", "\u00b3"])
def test_what_is_no_name_has_no_hint_for_names(line, xtab, source):
    result = xtab("where", f"{source}:{line}")
    assert result.exit_code == 2
    assert "shows what has that name" not in result.stderr


def test_lines_are_those_of_python(xtab, tmp_path):
    text = "def f(x):\n    a = '\u2028'\n\x0c\n    try:\n        x.a()\n    except OSError:\n        pass\n"
    for end in ("\n", "\r\n", "\r"):
        (tmp_path / "odd.py").write_bytes(text.replace("\n", end).encode())
        result = xtab("where", "odd.py:5")
        assert result.stdout.startswith("odd.py:5   x.a()\n\nin f, inside A except OSError (5)\n")
        assert "expected a line from 1 to 7, but found 8" in xtab("where", "odd.py:8").stderr
        shown = xtab("dis", "--source", "-", input=text.replace("\n", end).encode()).stdout
        assert re.search(r"^ +5 +x\.a\(\)$", shown, re.MULTILINE)


@pytest.mark.parametrize("coding", ["idna", "raw_unicode_escape"])
def test_codecs_that_replace_nothing(xtab, tmp_path, coding):
    (tmp_path / "odd.py").write_text(f"# coding: {coding}\ndef f(x):\n    return x.a\n")
    assert xtab("where", "odd.py:3").stdout.startswith("odd.py:3   return x.a\n\nin f, ")
    assert xtab("dis", "--source", "odd.py").exit_code == 0
    assert xtab("view", "-o", "odd.html", "odd.py").exit_code == 0


def test_code_without_columns(tmp_path):
    """Without columns statements are found by their lines; what lines alone don't tell is said to be unknown."""
    source = SOURCE.replace(
        "except OSError:", "except (OSError,\n                KeyError):\n            e()\n        except B:"
    )
    (tmp_path / "copying.py").write_text(source)
    lines = [f"copying.py:{line}" for line in range(4, 15)]
    told = {}
    for options in ([], ["-X", "no_debug_ranges"]):
        command = [sys.executable, *options, "-m", "xtab", "where", *lines]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(README.parent), *sys.path])}
        result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        told[bool(options)] = re.split(r"\n\n(?=copying)", result.stdout.strip())
    note = "note: the code was compiled without columns (PYTHONNODEBUGRANGES or -X no_debug_ranges): "
    for plain, bare in zip(told[False], told[True], strict=True):
        assert note not in plain
        assert bare.startswith(plain)
        assert bare.count(note) == 1
    assert "except OSError, KeyError, B, lines 6 and 9: the first clause" in told[True][1]


def test_what_is_not_told(xtab):
    """Docstrings can't raise, and nothing gets to what was left out."""
    source = '"""a\n\nb"""\nclass C:\n    "c"\ndef f():\n    "f"\n    return 1\n    d()\n'
    told = [xtab("where", "-e", source, str(line)).stdout.split("\n\n", 1)[1] for line in (1, 3, 5, 7, 9)]
    nothing = "nothing in this line can raise\n"
    none = "no instruction stands in this line\n"
    left = "\nnote: the compiler left out line 9, for nothing ever gets there\n"
    assert told == [nothing, nothing, nothing, none, none + left]
