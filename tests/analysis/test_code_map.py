"""What leads where, by place."""

from __future__ import annotations

import pytest

from xtab import XtabError, stack_depths, stack_size
from xtab.analysis.code_map import CodeMap
from xtab.format.opcodes import CURRENT


def guarded(items):
    total = 0
    for item in items:
        try:
            total += item
        except TypeError:
            continue
    return total


def test_an_offset_in_the_midst_of_an_instruction_is_its():
    found = CodeMap.of(guarded)
    starts = [found.offset(place) for place in range(len(found) + 1)]
    for place in range(len(found)):
        assert {found.place_at(offset) for offset in range(starts[place], starts[place + 1])} == {place}


def test_prefixes_belong_to_their_instruction():
    names = "\n".join(f"    a{number} = g{number}" for number in range(300))
    namespace = {}
    exec(f"def f():\n{names}\n", namespace)
    found = CodeMap.of(namespace["f"])
    wide = next(place for place, size in enumerate(found.source.sizes) if size > CURRENT.units[found.opcodes[place]])
    assert found.place_at(found.offset(wide)) == found.place_at(found.offset(wide) + 2) == wide


@pytest.mark.parametrize("offset", [-1, 10**6, len(guarded.__code__.co_code), None, 1.5, "4", True])
def test_a_bad_offset_is_an_error_that_says_what_is_wanted(offset):
    with pytest.raises(XtabError, match=f"from 0 to {len(guarded.__code__.co_code) - 1}, in bytes, but found"):
        CodeMap.of(guarded).place_at(offset)


def test_predecessors_are_the_reverse_of_successors():
    found = CodeMap.of(guarded)
    forth = {(a, b) for a in range(len(found)) for b in found.successors(a)}
    assert forth == {(a, b) for b in range(len(found)) for a in found.predecessors(b)}
    assert {place for _, place in forth} >= set(found.jumps.values())


def test_handlers_and_innermost_regions_agree_with_the_table():
    found = CodeMap.of(guarded)
    for region in found.regions:
        assert found.offset(found.handler_place(region)) == region.handler
        assert found.handlers[found.handler_place(region)] is region
        for start, end, *_ in region.entries:
            inside = range(found.place_at(start), found.place_at(end - 1) + 1)
            assert {found.innermost[place] for place in inside} == {region}
    assert found.depths == stack_depths(guarded)
    assert found.stack_needed == stack_size(guarded)
