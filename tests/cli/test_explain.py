from __future__ import annotations

import json
import re

import pytest

from xtab.analysis.verify import RULES
from xtab.cli import explain as explain_module
from xtab.cli.explain import page_of

PAGE = "# {} {}\n\nWhat `x` is.\n\n## Example\n\n```\nPOP_TOP\n```\n"


@pytest.fixture
def pages(monkeypatch):
    """Short pages in the place of the real ones."""
    monkeypatch.setattr(explain_module, "page_of", lambda rule: PAGE.format(rule.code, rule.name))


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_each_rule_has_its_page(rule):
    page = page_of(rule)
    assert page.startswith(f"# {rule.code} {rule.name}\n")
    assert page.count("\n## ") >= 1


def test_each_page_has_its_rule():
    names = [entry.name for entry in explain_module.files("xtab.rules").iterdir()]
    assert {name for name in names if name.endswith(".md")} == {f"{code}.md" for code in RULES}


def test_help(xtab, golden):
    result = xtab("explain", "--help")
    assert result.exit_code == 0
    golden("explain_help.txt", result.stdout)


def test_a_page_in_a_pipe_is_as_it_is(xtab, pages):
    result = xtab("explain", "XT402")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == PAGE.format("XT402", "merge-conflict")


@pytest.mark.parametrize("text", ["xt402", "merge-conflict"])
def test_codes_and_names(xtab, pages, text):
    assert xtab("explain", text).stdout == xtab("explain", "XT402").stdout


def test_several(xtab, pages):
    result = xtab("explain", "XT402", "XT101")
    assert result.stdout == PAGE.format("XT402", "merge-conflict") + "\n" + PAGE.format(
        "XT101", "exception-table-unreadable"
    )


def test_all(xtab, pages):
    found = re.findall(r"^# (XT\d+) ", xtab("explain", "--all").stdout, re.MULTILINE)
    assert found == list(RULES)
    assert re.findall(r"^# (XT\d+) ", xtab("explain", "XT1").stdout, re.MULTILINE) == [
        code for code in RULES if code.startswith("XT1")
    ]


def test_a_terminal_shows_it_rendered(xtab, pages):
    result = xtab("explain", "XT402", "--color", "always", color=True)
    assert "\x1b[" in result.stdout
    text = re.sub("\x1b\\[[0-9;]*m", "", result.stdout)
    assert "XT402 merge-conflict" in text
    assert "# XT402" not in text
    assert "`x`" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_json(xtab, pages):
    document = json.loads(xtab("explain", "XT402", "XT101", "--json").stdout)
    assert document["schema"] == 1
    assert [rule["code"] for rule in document["results"]] == ["XT402", "XT101"]
    assert document["results"][0] == {
        "code": "XT402",
        "name": "merge-conflict",
        "severity": "error",
        "summary": RULES["XT402"].summary,
        "page": PAGE.format("XT402", "merge-conflict"),
    }


def test_a_rule_that_is_not_there(xtab):
    result = xtab("explain", "mrge-conflict")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith("but found 'mrge-conflict'; close to it: XT402 merge-conflict\n")


@pytest.mark.parametrize("arguments, found", [([], "neither"), (["XT402", "--all"], "both")])
def test_wrong_usage(xtab, arguments, found):
    result = xtab("explain", *arguments)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"expected RULE or --all, but found {found}\n")
