"""The standard library, its tests included, comes back byte for byte: a tenth in the quick run, all in the slow one."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from xtab.cli.app import app
from xtab.cli.corpus import check_source, summary
from xtab.cli.targets import find_sources

PARTS = 4  # so that several processes can share a tenth
MOST_SMALLER_STACKS = 30


@pytest.mark.parametrize("part", range(PARTS))
def test_a_tenth(part):
    sources = find_sources("stdlib")[::10][part::PARTS]
    reports = [check_source(source) for source in sources]
    assert [(report.name, report.differences) for report in reports if report.differences] == []
    total = summary(reports, 0)
    assert total.not_compilable < total.files / 10
    assert total.code_objects > 300
    assert total.with_table > 30


@pytest.mark.slow
def test_all():
    document = json.loads(CliRunner().invoke(app, ["check", "stdlib", "--json"]).stdout)
    assert [result for result in document["results"] if result["differences"]] == []
    total = document["summary"]
    assert total["not_compilable"] < total["files"] / 50
    assert total["code_objects"] > 20_000  # three times that where the tests of the library are installed
    assert total["smaller_stacks"] <= MOST_SMALLER_STACKS
