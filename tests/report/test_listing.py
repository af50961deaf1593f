"""What there is to show."""

from __future__ import annotations

import dis
import sysconfig
from pathlib import Path

import pytest

import xtab
from xtab.format.code import code_objects

STDLIB = Path(sysconfig.get_path("stdlib"))


def all_code(name):
    return code_objects(compile((STDLIB / name).read_bytes(), name, "exec", dont_inherit=True))


@pytest.mark.parametrize("name", ["asyncio/base_events.py", "inspect.py"])
def test_rows_are_the_instructions_that_dis_lists(name):
    for code in all_code(name):
        listing = xtab.show(code)
        known = [each for each in dis.get_instructions(code) if each.opname not in {"EXTENDED_ARG", "CACHE"}]
        assert [row.opname for row in listing.rows] == [each.opname for each in known]
        assert [row.depth for row in listing.rows] == xtab.stack_depths(code)
        assert [row.line for row in listing.rows] == [each.positions.lineno for each in known]
        assert listing.rows[-1].end == len(code.co_code)


def test_words_for_operands_are_those_of_dis():
    for code in all_code("inspect.py"):
        known = [each for each in dis.get_instructions(code) if each.opname not in {"EXTENDED_ARG", "CACHE"}]
        for row, each in zip(xtab.show(code).rows, known, strict=True):
            if row.target is None and each.argrepr and len(each.argrepr) < 30 and "\\" not in each.argrepr:
                if row.opname not in {"LOAD_COMMON_CONSTANT", "LOAD_CONST", "KW_NAMES"}:
                    assert row.operand == each.argrepr, row


def test_labels_and_targets(shapes):
    for code in shapes.values():
        listing = xtab.show(code)
        by_offset = {row.offset: row for row in listing.rows}
        for row in listing.rows:
            if row.target is not None and row.opname != "END_ASYNC_FOR":
                assert row.operand == f"to {by_offset[row.target].label}"
        labels = [row.label for row in listing.rows if row.label]
        assert labels == [f"L{number}" for number in range(1, len(labels) + 1)]


def test_what_a_listing_says_of_itself(shapes):
    listing = xtab.show(shapes["class_body"])
    assert listing.name == "class_body"
    assert listing.version == f"CPython {listing.python}"
    assert [each.name for each in listing.nested] == ["class_body.<locals>.Inner"]
    assert listing.problems == ()
    assert repr(listing) == f"<Listing of class_body: {len(listing.rows)} instructions, 0 regions>"
    inner = listing.nested[0]
    assert [region.label for region in inner.shown] == ["except ImportError"]
    assert len(inner.regions) > len(inner.shown)
    assert str(listing) == listing.text()
    assert str(inner) in str(listing)


def test_handlers_and_chains(shapes):
    for code in shapes.values():
        listing = xtab.show(code)
        assert {region for row in listing.rows for region in row.handles} == set(listing.regions)
        for row in listing.rows:
            assert all(region.handler == row.offset for region in row.handles)
            assert not row.chain or row.chain == row.chain[-1].chain
