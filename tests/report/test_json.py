"""Listings as values; that they are as the schemas say is tested with the commands."""

from __future__ import annotations

import json

import xtab
from xtab.report.json import entries_json, listing_json, problem_json, region_json


def test_everything_can_be_written(shapes):
    for code in shapes.values():
        assert json.loads(json.dumps(listing_json(xtab.show(code)))) == xtab.show(code).to_json()


def test_letters_are_the_same_everywhere(shapes):
    listing = xtab.show(shapes["except_as"])
    facts = listing_json(listing)
    letters = [region["letter"] for region in facts["regions"]]
    assert letters == [region.letter for region in listing.regions]
    assert {entry["region"] for entry in facts["entries"]} == set(letters)
    for row, instruction in zip(listing.rows, facts["instructions"], strict=True):
        assert instruction["regions"] == [region.letter for region in row.chain]


def test_a_region():
    def f():
        try:
            f()
        except (KeyError, OSError):
            pass

    region = xtab.regions(f)[0]
    facts = region_json(region)
    assert (facts["kind"], facts["classes"], facts["parent"]) == ("except", ["KeyError", "OSError"], None)
    assert facts["location"]["line"] == f.__code__.co_firstlineno + 2


def test_entries_of_unknown_regions_have_no_letter(shapes):
    entries = tuple(xtab.parse_exception_table(shapes["bare"]))
    assert {entry["region"] for entry in entries_json(entries, ())} == {None}


def test_a_problem():
    entry = xtab.ExceptionTableEntry(0, 2, 4, 0, False)
    facts = problem_json(xtab.Problem("XT402", "expected, but found", entry=entry))
    assert list(facts)[:3] == ["code", "name", "severity"]
    assert facts["entry"] == entry._asdict()
