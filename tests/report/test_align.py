"""Which items of two sequences belong together."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtab.report import align as module
from xtab.report.align import align

ITEMS = st.lists(st.sampled_from("abcdefgh"), max_size=40)


def check(left, right):
    """Both sides are whole and in order, and only what is the same belongs together."""
    pairs = align(left, right)
    assert [a for a, _ in pairs if a is not None] == list(range(len(left)))
    assert [b for _, b in pairs if b is not None] == list(range(len(right)))
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    assert all(left[a] == right[b] for a, b in both)
    return both


@given(ITEMS, ITEMS)
def test_both_sides_are_whole_and_in_order(left, right):
    check(left, right)


@given(ITEMS, st.lists(st.booleans(), min_size=41, max_size=41))
def test_what_was_put_in_is_the_only_difference(items, put):
    longer = []
    for item, before in zip([*items, None], put, strict=False):
        longer += ["new"] if before else []
        longer += [item] if item is not None else []
    assert len(check(items, longer)) == len(items)


@pytest.mark.parametrize("count", [1, 3])
def test_large_pieces_without_anchors(count):
    """Nothing occurs once: the nearest that is the same is taken."""
    chosen = random.Random(count)
    items = [chosen.randrange(100) for _ in range(3_000)]
    longer = [each for item in items for each in [*["new"] * count, item]]
    assert len(check(items, longer)) == len(items)
    assert len(check(items, items)) == len(items)
    assert not check(items, [-1 - item for item in items])


def test_items_out_of_order_are_no_anchors(monkeypatch):
    monkeypatch.setattr(module, "_SMALL", 0)
    assert len(check("xabcy", "zcabw")) == 2
