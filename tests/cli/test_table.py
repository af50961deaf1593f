from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest

from xtab.format.marshalled import dump_marshalled
from xtab.format.opcodes import CURRENT, SUPPORTED, for_version

OTHER = next(version for version in SUPPORTED if version != CURRENT.version)
TABLE = bytes.fromhex("82020203")


@pytest.fixture
def foreign(tmp_path, stored):
    """A .pyc of another Python."""
    code = stored("RESUME", "NOP", "NOP", "LOAD_CONST", "RETURN_VALUE", exceptiontable=TABLE)
    header = for_version(OTHER).magic.to_bytes(2, "little") + b"\r\n" + bytes(12)
    (tmp_path / "foreign.pyc").write_bytes(header + dump_marshalled(code))
    return "foreign.pyc"


def test_help(xtab, golden):
    result = xtab("table", "--help")
    assert result.exit_code == 0
    golden("table_help.txt", result.stdout)


def test_text(xtab, sample, golden):
    version = "{}.{}".format(*CURRENT.version)
    results = [xtab("table", sample, *options) for options in ((), ("--tree",), ("--tree", "--ascii"), ("--bytes",))]
    assert {result.exit_code for result in results} == {0}
    golden(f"table_{version}.txt", "\n".join(result.stdout for result in results))


def test_without_a_table(xtab):
    result = xtab("table", "-e", "x = 1")
    assert (result.exit_code, result.stdout) == (0, "no exception table: nothing is protected\n")


def test_json(xtab, sample):
    document = json.loads(xtab("table", sample, "--json").stdout)
    schema = json.loads((files("xtab.cli") / "schemas" / "table.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    reads = document["results"][1]
    assert [entry["region"] for entry in reads["entries"]][:2] == ["A", "B"]
    assert len(bytes.fromhex(reads["bytes"])) >= 4 * len(reads["entries"])
    reads["regions"][0]["pieces"] = []
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_the_table_of_another_python_is_shown(xtab, foreign):
    version = "{}.{}".format(*OTHER)
    result = xtab("table", foreign)
    assert result.exit_code == 0
    assert result.stdout == f"f  made.py:1   CPython {version}   1 entry, 4 bytes\n  #0  [4,8)  → 4  depth 1  lasti\n"
    assert "target 4" in xtab("table", foreign, "--bytes").stdout
    document = json.loads(xtab("table", foreign, "--json").stdout)
    jsonschema.validate(document, json.loads((files("xtab.cli") / "schemas" / "table.json").read_text()))
    assert document["results"][0]["regions"] is None
    assert xtab("table", f"{foreign}:f").stdout == result.stdout


@pytest.mark.parametrize("command", [("table", "--tree"), ("dis",), ("verify",)])
def test_all_else_of_another_python_names_both(command, xtab, foreign):
    result = xtab(*command, foreign)
    assert result.exit_code == 2
    for version in (OTHER, CURRENT.version):
        assert "CPython {}.{}".format(*version) in result.stderr


def test_a_table_that_cannot_be_read_shows_its_bytes(xtab, tmp_path, stored, write_pyc, foreign):
    (tmp_path / foreign).write_bytes((tmp_path / foreign).read_bytes().replace(TABLE, TABLE[:3] + b"\x43"))
    result = xtab("table", foreign, "--bytes")
    assert result.exit_code == 1
    assert "truncated" in result.stdout
    assert "the table ends within it" in result.stdout


def test_tree_or_bytes(xtab, sample):
    result = xtab("table", sample, "--tree", "--bytes")
    assert result.exit_code == 2
    assert "expected --tree or --bytes, but found both" in result.stderr
