"""Basic blocks and their edges."""

from __future__ import annotations

from itertools import pairwise

import pytest

import xtab
from xtab import ControlFlow, EdgeKind, XtabError, control_flow, find_handler, parse_exception_table, stack_depths
from xtab.format.opcodes import CURRENT

FUNCTIONS = (xtab.decode, xtab.show, xtab.Body.protect, control_flow, xtab.block_stack)


def guarded(items):
    total = 0
    for item in items:
        try:
            total += item
        except TypeError:
            continue
    return total


def unreachable(x):
    while True:
        x()
    return x


@pytest.mark.parametrize("function", [guarded, *FUNCTIONS])
def test_blocks_are_the_code_cut_in_pieces(function):
    flow = control_flow(function)
    assert flow.entry.start == 0
    assert flow.blocks[-1].end == len(function.__code__.co_code)
    for before, block in pairwise(flow.blocks):
        assert before.end == block.start
    assert [block.number for block in flow.blocks] == list(range(len(flow.blocks)))


@pytest.mark.parametrize("function", [guarded, *FUNCTIONS])
def test_edges_are_jumps_falls_and_handlers(function):
    flow, table = control_flow(function), parse_exception_table(function)
    rows = xtab.show(function).rows
    for block in flow.blocks:
        inside = [row for row in rows if block.start <= row.offset < block.end]
        assert inside[-1].offset == block.last
        wanted = set()
        last = CURRENT.number[inside[-1].opname]
        if not CURRENT.stops[last]:
            wanted.add((EdgeKind.FALLS, block.end))
        if inside[-1].target is not None and last not in CURRENT.marks:
            wanted.add((EdgeKind.JUMPS, inside[-1].target))
        entries = {find_handler(table, row.offset) for row in inside}
        handlers = {entry and entry.target for entry in entries}
        assert len(handlers) == 1
        if None not in handlers:
            wanted.add((EdgeKind.RAISES, *handlers))
        assert {(edge.kind, flow.blocks[edge.target].start) for edge in block.edges} == wanted
        jumps = [row for row in inside if row.target is not None and CURRENT.number[row.opname] not in CURRENT.marks]
        assert jumps in ([], [inside[-1]])
        assert block.can_raise == any(not CURRENT.cannot_raise[CURRENT.number[row.opname]] for row in inside)


@pytest.mark.parametrize("function", [guarded, unreachable, *FUNCTIONS])
def test_what_can_be_reached_is_what_has_a_depth(function):
    depths = dict(zip((row.offset for row in xtab.show(function).rows), stack_depths(function), strict=True))
    for block in control_flow(function).blocks:
        assert block.reached == (depths[block.start] is not None)


def test_unreachable_blocks_are_marked():
    body = xtab.decode(lambda: 0)
    body.instructions += [xtab.Instruction("LOAD_CONST", 5), xtab.Instruction("RETURN_VALUE")]
    flow = control_flow(xtab.assemble(body))
    assert [block.reached for block in flow.blocks] == [True, False]
    assert flow.unreachable == flow.blocks[1:]


def test_block_at_and_lines():
    flow = control_flow(guarded)
    for block in flow.blocks:
        assert flow.block_at(block.start) is flow.block_at(block.end - 1) is block
    first = guarded.__code__.co_firstlineno
    assert flow.entry.lines == (first, first + 2)
    for offset in (-1, flow.blocks[-1].end, None):
        with pytest.raises(XtabError, match="expected an offset from 0 to"):
            flow.block_at(offset)
    assert isinstance(flow, ControlFlow)


def test_work_is_linear(steps):
    def spent(count):
        namespace = {}
        exec("def f(x):\n" + "    try: x()\n    except KeyError: pass\n" * count, namespace)
        return steps(control_flow, namespace["f"])

    assert spent(500) < 12 * spent(50)
