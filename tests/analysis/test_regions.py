"""The tree of regions; what kind each is, test_region_kinds tests, and that all of it is right, tests/regions."""

from __future__ import annotations

import dis

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtab import ExceptionTableEntry as Entry
from xtab import (
    TableFormatError,
    XtabError,
    assemble_exception_table,
    find_handler,
    nest,
    parse_exception_table,
    regions,
    unwind,
)
from xtab.analysis.region_kinds import Kind


def written(code):
    return [region for region in regions(code) if not region.bookkeeping]


def nested(path):
    try:
        with open(path) as file:
            try:
                return file.read()
            except ValueError:
                return None
    finally:
        path.clear()


def test_tree():
    final, opened, inner = written(nested)
    assert [final.label, opened.label, inner.label] == ["finally", "with", "except ValueError"]
    assert [final.letter, opened.letter, inner.letter] == ["A", "B", "C"]
    assert final.parent is None
    assert (opened.parent, inner.parent) == (final, opened)
    assert inner.chain == (final, opened, inner)
    assert opened in final.children
    assert inner in opened.children
    assert (final.depth, final.lasti) == (0, False)
    assert opened.lasti
    assert repr(inner).startswith("<Region C except ValueError, handler ")


def test_bookkeeping_has_small_letters():
    found = [region for region in regions(nested) if region.bookkeeping]
    assert [region.letter for region in found] == ["a", "b", "c"]
    assert {region.kind for region in found} == {Kind.HANDLER_CLEANUP}


def test_location_is_what_it_protects():
    first = nested.__code__.co_firstlineno
    final, opened, inner = written(nested)
    assert (inner.location.line - first, inner.location.end_line - first) == (4, 4)
    assert (opened.location.line - first, opened.location.end_line - first) in {(2, 6), (3, 6)}
    assert final.location.line - first == 2
    assert final.location.end_line - first == 6


def test_location_of_columns():
    code = compile("try: first(1) + last(22)\nexcept A: pass", "example", "exec")
    (region,) = written(code)
    assert region.location[:] == (1, 1, 5, 24)


def test_no_table():
    assert regions(lambda: None) == ()


def test_letters_go_on_after_z():
    text = "".join(f"with a{number}: b\n" for number in range(60))
    letters = [region.letter for region in written(compile(text, "example", "exec"))]
    assert letters[:3] == ["A", "B", "C"]
    assert letters[24:28] == ["Y", "Z", "AA", "AB"]
    assert letters[51:54] == ["AZ", "BA", "BB"]


def test_by_first_offset_outer_first():
    starts = [(region.pieces[0][0], len(region.chain)) for region in regions(nested)]
    assert starts == sorted(starts)


def test_pieces_holes_and_entries():
    """A return in the midst: the way out of the block is a hole of it, with what can raise in it."""

    def f(a):
        with a:
            if a:
                return 1
            a()

    (region,) = written(f)
    assert len(region.pieces) == 2
    (hole,) = region.holes
    assert (hole.start, hole.end, hole.quiet) == (region.pieces[0][1], region.pieces[1][0], False)
    assert region.covers(region.pieces[0][0])
    assert region.covers(region.pieces[1][1] - 2)
    assert not region.covers(hole.start)
    assert not region.covers(region.pieces[1][1])


def sample():
    """Some 60 code units, for tables made by hand."""
    return [[1, 2, 3], [4, 5, 6], [7, 8, 9], {1: 2, 3: 4}, sample, sample.x, sample.y, sample.z]


ENTRIES = st.lists(
    st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(0, 20), st.integers(0, 3), st.booleans()),
    min_size=1, max_size=8,
)  # fmt: skip


def with_table(raw):
    """The sample with a table whose ranges and handlers are at its instructions."""
    offsets = [each.offset for each in dis.get_instructions(sample)]
    entries, at = [], 0
    for length, gap, target, depth, lasti in raw:
        if at + gap + length >= len(offsets):
            break
        start, end = at + gap, at + gap + length
        entries.append(Entry(offsets[start], offsets[end], offsets[target % len(offsets)], depth, lasti))
        at = end
    code = sample.__code__.replace(co_exceptiontable=assemble_exception_table(entries))
    return code, parse_exception_table(code.co_exceptiontable), offsets


@given(ENTRIES)
def test_any_table(raw):
    """Whatever the table says, also in circles: nothing is lost, and the innermost region is who handles it."""
    code, entries, offsets = with_table(raw)
    found = regions(code)
    assert sorted(entry for region in found for entry in region.entries) == entries
    keyed = [(*piece, region.handler, region.depth, region.lasti) for region in found for piece in region.pieces]
    assert sorted(keyed) == sorted(nest(entries))
    for offset in offsets:
        around = [region for region in found if region.covers(offset)]
        innermost = max(around, key=lambda region: len(region.chain), default=None)
        entry = find_handler(entries, offset)
        assert (innermost is None) == (entry is None)
        if innermost is not None:
            assert (innermost.handler, innermost.depth, innermost.lasti) == entry[2:]
            assert set(around) == set(innermost.chain)
    for region in found:
        assert all(child.parent is region for child in region.children)


def test_broken_tables_and_code():
    with pytest.raises(TableFormatError):
        regions(sample.__code__.replace(co_exceptiontable=b"\xff"))
    with pytest.raises(TypeError):
        regions(3)
    far = assemble_exception_table([Entry(0, 4, 100_000, 0, False)])
    with pytest.raises(XtabError):
        regions(sample.__code__.replace(co_exceptiontable=far))


def test_work_is_linear(steps):
    shape = "with a:\n  try: b()\n  except C as e: d(e)\n  finally: e()\n"
    small, large = (compile(shape * count, "example", "exec") for count in (30, 300))
    assert len(regions(large)) == 10 * len(regions(small))
    assert steps(regions, large) < 12 * steps(regions, small)


def test_deep_nesting():
    """Twenty blocks in each other is all that the compiler allows; by hand there may be more."""
    text = "".join("  " * level + "try:\n" for level in range(19)) + "  " * 19 + "f()\n"
    text += "".join("  " * level + "finally: g()\n" for level in reversed(range(19)))
    found = written(compile(text, "example", "exec"))
    assert len(found) == 19
    assert len(found[-1].chain) == 19


def test_a_label_is_one_line_whatever_it_names():
    code = compile("try: a\nexcept Odd: b\n", "example", "exec")
    names = tuple("o\n\x1b[31m\u202e\udc80" if name == "Odd" else name for name in code.co_names)
    region = regions(code.replace(co_names=names))[0]
    assert region.classes == ("o\n\x1b[31m\u202e\udc80",)
    assert region.label == r"except o\n\x1b[31m\u202e\udc80"
    assert str(unwind(code.replace(co_names=names), region.pieces[0][0])).startswith(f"A {region.label} (")


def test_a_region_has_the_key_of_its_entries_and_the_name_of_screens():
    [region] = [region for region in regions(compile("with a: b", "example", "exec")) if not region.bookkeeping]
    assert {entry[2:] for entry in region.entries} == {region.key}
    assert str(region) == "A with"
