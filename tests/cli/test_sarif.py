from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from xtab.analysis.verify import RULES, Problem
from xtab.cli.sarif import sarif_document

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-subset.json").read_text())
PROBLEM = Problem("XT402", "expected 1, but found 2", "pop", 14, "POP_TOP", None, (8,), "C.f", "src/a b.py", 7)


def read(*arguments, **options):
    """The only run of a document that is as the standard says."""
    document = json.loads(sarif_document(*arguments, **options))
    jsonschema.validate(document, SCHEMA, format_checker=jsonschema.FormatChecker())
    return document["runs"][0]


def test_all_rules_are_there():
    rules = read([])["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(RULES)
    texts = {rule["id"]: rule["shortDescription"]["text"] for rule in rules}
    assert texts["XT101"] == "The exception table can be read."
    assert texts["XT403"] == "co_stacksize is as large as the stack gets."
    assert texts["XT305"] == "RERAISE finds a lasti where its operand says."
    assert [rule["defaultConfiguration"]["level"] for rule in rules] == [rule.severity for rule in RULES.values()]


def test_a_result():
    run = read([(PROBLEM, "a.pyc")])
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "XT402"
    assert result["message"] == {"text": "C.f at 14 (POP_TOP): expected 1, but found 2"}
    (location,) = result["locations"]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "src/a%20b.py"}, "region": {"startLine": 7}}
    assert location["logicalLocations"] == [{"fullyQualifiedName": "C.f", "kind": "function"}]
    assert result["properties"] == {"offset": 14, "opname": "POP_TOP", "hint": "pop"}


@pytest.mark.parametrize("line", [None, 0])
def test_a_line_that_no_editor_has(line):
    (result,) = read([(Problem("XT402", "text", line=line), "a.pyc")])["results"]
    assert result["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "a.pyc"}}}]


def fingerprints(*problems):
    return [each["partialFingerprints"]["xtabProblem/v1"] for each in read([(p, "a.pyc") for p in problems])["results"]]


def test_fingerprints_outlive_lines_and_offsets():
    later = Problem("XT402", "other", "pop", 16, "POP_TOP", None, (), "C.f", "src/a b.py", 9)
    assert fingerprints(PROBLEM) == fingerprints(later)
    assert len({*fingerprints(PROBLEM, later)}) == 2
    assert fingerprints(PROBLEM) != fingerprints(Problem("XT401", "", "", 14, "POP_TOP", None, (), "C.f", "src/a b.py"))


def test_what_could_not_be_read():
    (invocation,) = read([], [("bad.py", "SyntaxError")])["invocations"]
    assert invocation["executionSuccessful"] is False
    (note,) = invocation["toolExecutionNotifications"]
    assert (note["level"], note["message"]) == ("error", {"text": "SyntaxError"})


@pytest.mark.parametrize("complete", [True, False])
def test_whether_all_was_done(complete):
    assert read([], complete=complete)["invocations"][0]["executionSuccessful"] is complete
