"""`nest` and `flatten` against "the innermost range wins" by brute force, and against each other."""

from __future__ import annotations

import pickle
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtab
from xtab import ExceptionTableEntry, NestingError, TableFormatError, flatten, nest
from xtab.model import nesting


def E(start, end, target=100, depth=0, lasti=False):
    return ExceptionTableEntry(start, end, target, depth, lasti)


HANDLERS = st.tuples(st.integers(0, 12).map(lambda unit: 2 * unit), st.integers(0, 3), st.booleans())


@st.composite
def nested_ranges(draw, low=0, high=24, deep=0):
    """Ranges in units, in tree order: apart or one inside the other, equal ones and equal starts and ends included."""
    found = []
    at = low
    while at < high and len(found) < 8 and draw(st.booleans()):
        start = draw(st.integers(at, high - 1))
        end = draw(st.integers(start + 1, high))
        found.append(E(2 * start, 2 * end, *draw(HANDLERS)))
        if deep < 4:
            found += draw(nested_ranges(start, end, deep + 1))
        at = end
    return found


@st.composite
def canonical_tables(draw):
    """Flat tables in canonical form whose handlers lie anywhere, in ranges too, and cover each other in circles too."""
    entries = []
    at = 0
    for _ in range(draw(st.integers(0, 10))):
        start = at + 2 * draw(st.integers(0, 2))
        end = start + 2 * draw(st.integers(1, 3))
        handler = draw(HANDLERS)
        if entries and entries[-1].end == start and entries[-1][2:] == handler:
            continue
        entries.append(E(start, end, *handler))
        at = end
    return entries


def innermost(ranges):
    """By offset, what protects it: of all ranges around it the last that begins, then the shortest, then the later."""
    found = {}
    for offset in range(0, max((entry.end for entry in ranges), default=0), 2):
        around = [(entry.start, -entry.end, number) for number, entry in enumerate(ranges) if covers(entry, offset)]
        if around:
            found[offset] = ranges[max(around)[2]][2:]
    return found


def covers(entry, offset):
    return entry.start <= offset < entry.end


def is_canonical(table):
    pairs = list(pairwise(table))
    return all(a.end <= b.start for a, b in pairs) and not any(a.end == b.start and a[2:] == b[2:] for a, b in pairs)


def overlap_in_part(first, second):
    return first.start < second.start < first.end < second.end


@given(nested_ranges(), st.randoms(use_true_random=False))
def test_flatten_lets_the_innermost_range_win(ranges, shuffler):
    """At each offset the innermost range wins, in whatever order the ranges come; the result is canonical."""
    mixed = ranges.copy()
    shuffler.shuffle(mixed)
    table = flatten(mixed)
    assert {offset: entry[2:] for entry in table for offset in range(entry.start, entry.end, 2)} == innermost(mixed)
    assert is_canonical(table)
    assert all(entry.start < entry.end for entry in table)


@given(nested_ranges(), st.randoms(use_true_random=False))
def test_order_matters_among_equal_ranges_only(ranges, shuffler):
    """Shuffling ranges of which no two are equal changes nothing."""
    different = list({entry[:2]: entry for entry in ranges}.values())
    mixed = different.copy()
    shuffler.shuffle(mixed)
    assert flatten(mixed) == flatten(different)


def test_of_equal_ranges_the_later_is_inner():
    """Of equal ranges the later one wins everywhere."""
    assert flatten([E(0, 8, 20), E(0, 8, 30)]) == [E(0, 8, 30)]
    assert flatten([E(0, 8, 30), E(0, 8, 20)]) == [E(0, 8, 20)]


def test_of_equal_starts_the_longer_is_outer():
    """Of ranges that begin together, the longer one is the outer one, first or last."""
    wanted = [E(0, 4, 30), E(4, 8, 20)]
    assert flatten([E(0, 8, 20), E(0, 4, 30)]) == flatten([E(0, 4, 30), E(0, 8, 20)]) == wanted


def test_of_equal_ends_the_later_start_is_inner():
    """Of ranges that end together, the one that begins later is the inner one."""
    assert flatten([E(4, 8, 30), E(0, 8, 20)]) == [E(0, 4, 20), E(4, 8, 30)]


def test_neighbours_of_one_handler_become_one():
    """Ranges of the same handler that touch come out as one, those that differ in anything don't."""
    assert flatten([E(0, 4, 20, 1, True), E(4, 8, 20, 1, True)]) == [E(0, 8, 20, 1, True)]
    for other in (E(4, 8, 22, 1, True), E(4, 8, 20, 2, True), E(4, 8, 20, 1, False), E(6, 8, 20, 1, True)):
        assert flatten([E(0, 4, 20, 1, True), other]) == [E(0, 4, 20, 1, True), other]


def test_a_range_hidden_by_an_equal_one_is_gone():
    """An inner range with the outer's own handler leaves no trace."""
    assert flatten([E(0, 8, 20), E(2, 4, 20)]) == [E(0, 8, 20)]


def test_nothing_gives_nothing():
    """No ranges and no entries are fine."""
    assert flatten([]) == nest([]) == []


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 6)).map(lambda p: E(2 * p[0], 2 * (p[0] + p[1]))), max_size=6)
)
def test_partial_overlaps_are_refused(ranges):
    """Ranges are refused if and only if two of them overlap in part, and the error names such two."""
    wrong = [(a, b) for a in ranges for b in ranges if overlap_in_part(a, b)]
    try:
        flatten(ranges)
    except NestingError as error:
        assert (error.first, error.second) in wrong
        for entry in (error.first, error.second):
            assert f"[{entry.start},{entry.end})" in str(error)
            assert repr(entry) in str(error)
    else:
        assert not wrong


@pytest.mark.parametrize("function", [flatten, nest])
@pytest.mark.parametrize("entry", [E(4, 4), E(6, 4)])
def test_empty_ranges_are_refused(function, entry):
    """A range without an offset in it is named by its number."""
    with pytest.raises(TableFormatError) as caught:
        function([E(0, 2), entry])
    assert (caught.value.fault, caught.value.entry) == ("empty range", 1)


@pytest.mark.parametrize("entries, fault", [([E(4, 8), E(0, 2)], "unsorted"), ([E(0, 8), E(4, 6)], "overlap")])
def test_nest_takes_flat_entries_only(entries, fault):
    """What is no flat table is refused, with the number of the entry at fault."""
    with pytest.raises(TableFormatError) as caught:
        nest(entries)
    assert (caught.value.fault, caught.value.entry) == (fault, 1)


def test_plain_tuples_do():
    """Both take tuples as well as entries, and iterators as well as lists."""
    assert flatten(iter([(0, 4, 20, 0, False)])) == nest(iter([(0, 4, 20, 0, False)])) == [E(0, 4, 20)]


@given(canonical_tables())
@settings(max_examples=300)
def test_flatten_undoes_nest(table):
    """``flatten(nest(t)) == t`` for any canonical table."""
    assert flatten(nest(table)) == table


@given(canonical_tables())
@settings(max_examples=300)
def test_nest_gives_properly_nested_ranges(table):
    """The ranges are sorted, outer before inner, apart or one inside the other, and cover what the table does."""
    ranges = nest(table)
    assert not any(overlap_in_part(a, b) for a in ranges for b in ranges)
    assert [entry[:2] for entry in ranges] == sorted((entry[:2] for entry in ranges), key=lambda r: (r[0], -r[1]))
    assert {entry[2:] for entry in ranges} == {entry[2:] for entry in table}
    for entry in ranges:  # nobody is protected who was not
        assert all(any(covers(flat, offset) for flat in table) for offset in range(entry.start, entry.end, 2))


@given(canonical_tables())
def test_nested_depths_never_fall(table):
    """An outer range never keeps more values than one inside it: the inner handler could not get there."""
    ranges = nest(table)
    for outer in ranges:
        for inner in ranges:
            if inner is not outer and outer.start <= inner.start and inner.end <= outer.end and inner[:2] != outer[:2]:
                assert outer.depth <= inner.depth


def test_nest_finds_the_region_around_from_the_handler():
    """The outer region covers what its inner one covers, and has one piece on each side of a hole."""
    table = [E(2, 6, 40, 0), E(6, 10, 30, 1, True), E(10, 12, 40, 0), E(16, 20, 40, 0), E(30, 36, 40, 0)]
    assert nest(table) == [E(2, 12, 40, 0), E(6, 10, 30, 1, True), E(16, 20, 40, 0), E(30, 36, 40, 0)]


def test_a_handler_that_covers_itself_has_no_region_around():
    """A clean-up region that protects its own start, as each ``except`` has, ends the search."""
    table = [E(0, 4, 10, 0), E(10, 20, 10, 0)]
    assert nest(table) == table


def test_circles_end():
    """Handlers that protect each other in a circle give something, and it flattens back."""
    table = [E(0, 4, 10, 0), E(10, 12, 20, 0), E(20, 22, 10, 0)]
    assert flatten(nest(table)) == table


def test_errors_can_be_pickled():
    """A NestingError crosses process borders with what it names."""
    with pytest.raises(NestingError) as caught:
        flatten([E(0, 8), E(4, 12)])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.first, copy.second, str(copy)) == (E(0, 8), E(4, 12), str(caught.value))


def side_by_side(n):
    return [E(4 * k, 4 * k + 2, 4 * n + 2 * (k % 7), k % 3) for k in range(n)]


def one_in_another(n):
    return [E(2 * k, 4 * n - 2 * k, 4 * n + 2 * k, k) for k in range(n)]


def handlers_in_a_row(n):
    """Each handler is covered by the next entry, which keeps one value more: none may be the region around another."""
    return [E(4 * k, 4 * k + 4, 4 * k + 4, k) for k in range(n)]


@pytest.mark.parametrize("shape", [side_by_side, one_in_another, handlers_in_a_row])
def test_work_grows_with_the_input_only(shape, steps):
    """Ten times the ranges take at most twelve times the steps."""
    small, large = shape(100), shape(1000)
    assert steps(flatten, large) <= 12 * steps(flatten, small)
    small, large = flatten(small), flatten(large)
    assert steps(nest, large) <= 12 * steps(nest, small)


@pytest.mark.parametrize("shape, n", [(side_by_side, 100_000), (one_in_another, 20_000)])
def test_large_inputs_are_fine(shape, n):
    """100,000 ranges side by side and 20,000 one inside the other: nothing recurses."""
    ranges = shape(n)
    random.Random(1).shuffle(ranges)
    table = flatten(ranges)
    assert is_canonical(table)
    assert flatten(nest(table)) == table


def test_deep_regions_come_back():
    """A region in a region, 20,000 deep, found through the handlers."""
    n = 20_000
    # entry k: one unit whose handler is covered by entry k - 1
    table = [E(2 * k, 2 * k + 2, 2 * k - 2 if k else 2 * n, 0, bool(k % 2)) for k in range(n)]
    ranges = nest(table)
    assert ranges[0] == E(0, 2 * n, 2 * n, 0, False)
    assert len(ranges) == n
    assert flatten(ranges) == table


@given(canonical_tables())
def test_both_agree_with_the_codec(table):
    """What `flatten` gives is what the assembler takes and the parser gives back."""
    assert xtab.parse_exception_table(xtab.assemble_exception_table(flatten(nest(table)))) == table


@given(canonical_tables())
def test_parents_are_found_the_same_in_few_entries_and_in_many(table):
    """Entries of their own, far behind, take a table to the search for many."""
    behind = max((max(entry.end, entry.target) for entry in table), default=0) + 2
    more = [E(behind + 2 * n, behind + 2 * n + 2, behind + 200 + 2 * n, 0, False) for n in range(40)]
    many = nesting.region_parents([*table, *more])
    found = nesting.region_parents(table)
    assert found == {key: many[key] for key in found}
