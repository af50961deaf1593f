"""Alignment of two lists of nodes."""

from __future__ import annotations

import ast
import random

import pytest

from xtab.transform.alignment import align
from xtab.transform.syntax import Tree


def aligned(old, new):
    """Pairs of lines of two texts, of a statement each, and the lines without a pair."""
    numbers = {}
    before, now = (Tree(ast.parse(text.replace("; ", "\n")), numbers) for text in (old, new))
    pairs, left, right = [], [], []
    for same, ours, theirs in align(now.root.body, before.root.body, now, before):
        if same:
            pairs += [(ast.unparse(one), ast.unparse(other)) for one, other in zip(ours, theirs, strict=True)]
        else:
            left += map(ast.unparse, ours)
            right += map(ast.unparse, theirs)
    return pairs, left, right


@pytest.mark.parametrize(
    "old, new, pairs, left, right",
    [
        ("", "", [], [], []),
        ("a; b", "a; b", ["aa", "bb"], [], []),
        ("a; b", "a; x(); b", ["aa", "bb"], ["x()"], []),
        ("a; b; c", "a; c", ["aa", "cc"], [], ["b"]),
        ("", "a", [], ["a"], []),
        ("a", "", [], [], ["a"]),
        ("a; b; c", "c; a; b", ["aa", "bb"], ["c"], ["c"]),
    ],
)
def test_plain(old, new, pairs, left, right):
    assert aligned(old, new) == ([tuple(pair) for pair in pairs], left, right)


def test_changed_statements_find_what_they_were():
    old, new = "f(1); g(2); h(3)", "hook(); wrap(f(1)); other; wrap(h(4)); hook()"
    pairs, left, right = aligned(old, new)
    assert ("wrap(f(1))", "f(1)") in pairs
    assert ("wrap(h(4))", "h(3)") in pairs
    assert left[0] == left[-1] == "hook()"
    assert len(pairs) + len(right) == 3


def test_pairs_never_cross():
    source = random.Random(7)
    for _ in range(50):
        lines = [f"f{source.randrange(9)}({source.randrange(3)})" for _ in range(source.randrange(12))]
        others = [source.choice([line, f"w({line})", "new", ""]) for line in lines]
        source.shuffle(others)
        numbers = {}
        old, new = (Tree(ast.parse("\n".join(text)), numbers) for text in (lines, others))
        ours, theirs = [], []
        for _, left, right in align(new.root.body, old.root.body, new, old):
            ours += left
            theirs += right
        assert ours == new.root.body
        assert theirs == old.root.body


def test_a_large_gap_takes_little_work(steps):
    def spent(count):
        old = Tree(ast.parse("\n".join(f"a{number} = b{number}" for number in range(count))), numbers := {})
        new = Tree(ast.parse("\n".join(f"c{number} = d{number}" for number in range(count))), numbers)
        pieces = list(align(new.root.body, old.root.body, new, old))
        assert sum(len(left) for same, left, _ in pieces if same) == count
        return steps(lambda: list(align(new.root.body, old.root.body, new, old)))

    assert spent(4000) < 12 * spent(400)
