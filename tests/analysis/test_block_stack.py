"""The blocks that are active at an instruction. That they are what the interpreter has: tests/unwinding."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

import xtab
from xtab import CodeParts, XtabError, block_stack, find_handler, parse_exception_table
from xtab.analysis.block_stack import Blocks
from xtab.analysis.code_map import CodeMap
from xtab.analysis.verify.checks import walked
from xtab.analysis.verify.report import Report
from xtab.format.code import code_objects
from xtab.format.opcodes import CURRENT


def nested(source, log):
    try:
        with source as stream:
            stream.read(1)
    except OSError as error:
        log(error)
        for i in range(3):
            try:
                log(i, 2)
            finally:
                log(i, 3)
    finally:
        log(4)
    return log


def offset_where(function, line, opname=None):
    """The first instruction on a line of a function, counted from its first; of those with this name."""
    wanted = function.__code__.co_firstlineno + line
    return next(row.offset for row in xtab.show(function).rows if row.line == wanted and opname in (None, row.opname))


def kinds(blocks):
    """Written by a person: "-" before what handles, "?" before what has a hole."""
    return [
        ("-" if block.handling else "" if block.covers else "?") + block.region.kind
        for block in blocks
        if not block.region.bookkeeping
    ]


@pytest.mark.parametrize(
    "line, opname, expected",
    [
        (3, None, ["finally", "except", "with"]),
        (5, "CALL", ["finally", "-except"]),
        (8, "CALL", ["finally", "-except", "finally"]),
        (10, "CALL", ["finally", "-except"]),
        (13, "RETURN_VALUE", []),
    ],
)
def test_blocks_by_line(line, opname, expected):
    assert kinds(block_stack(nested, offset_where(nested, line, opname))) == expected


def test_depths_only_grow_and_a_handler_stands_above_what_its_region_keeps():
    found = CodeMap.of(nested)
    for place in range(len(found)):
        blocks = Blocks(found).at(place)
        depths = [block.depth for block in blocks]
        assert depths == sorted(depths)
        assert all(block.depth == block.region.depth for block in blocks)
        assert blocks.regions == tuple(block.region for block in blocks if not block.handling)
        assert blocks.handled == tuple(block.region for block in blocks if block.handling)


def test_while_an_exception_is_handled_in_a_handler_there_are_two():
    def both(log):
        try:
            log(1)
        except KeyError:
            try:
                log(2)
            except ValueError:
                log(3)

    blocks = block_stack(both, offset_where(both, 7, "CALL"))
    assert [region.kind for region in blocks.handled] == ["except", "except"]
    assert blocks.handled[0].depth < blocks.handled[1].depth


def test_the_innermost_block_that_covers_is_the_handler_of_the_table():
    for function in (nested, test_blocks_by_line, xtab.decode, xtab.show, CodeMap.__init__):
        table = parse_exception_table(function)
        found = CodeMap.of(function)
        for place in range(len(found)):
            covering = [block.region for block in Blocks(found).at(place) if block.covers]
            entry = find_handler(table, found.offset(place))
            assert (covering[-1].handler if covering else None) == (entry.target if entry else None)


def test_as_many_exceptions_are_handled_as_the_verifier_counts():
    path = Path(contextlib.__file__)
    for code in code_objects(compile(path.read_bytes(), path.name, "exec", dont_inherit=True)):
        parts, found = CodeParts.of(code), CodeMap.of(code)
        walk, blocks = walked(parts, Report(parts)), Blocks(found)
        for place in range(len(found)):
            machine = walk.state_at(place)
            if machine is not None:
                assert len(blocks.at(place).handled) == machine.level


def test_a_try_line_lies_in_what_is_around_it_though_no_entry_covers_it():
    line = next(
        row for row in xtab.show(nested).rows
        if row.opname == "NOP" and row.line == nested.__code__.co_firstlineno + 7
    )  # fmt: skip
    blocks = block_stack(nested, line.offset)
    assert not any(block.covers for block in blocks)
    assert kinds(blocks) == ["?finally", "-except"]
    assert "has a hole here" in str(blocks)


def test_jumps_and_not_taken_lie_in_the_block_around_them():
    def loop(items, log):
        with log:
            while True:
                if items:
                    for item in items:
                        if item:
                            log(item)
                        else:
                            log()
                else:
                    log(2)

    found = CodeMap.of(loop)
    inside = next(region for region in found.regions if region.kind == "with")
    first, last = found.place_at(inside.pieces[0][0]), found.place_at(inside.pieces[-1][1] - 1)
    for place in range(first, last + 1):
        if found.depths[place] is not None:
            assert inside in Blocks(found).at(place).regions, found.offset(place)


def test_the_line_after_a_block_and_the_one_before_are_not_in_it():
    def passing(log):
        try:
            log()
        finally:
            log()
        while log:
            pass

    found = CodeMap.of(passing)
    region = found.regions[0]
    for place in range(len(found)):
        inside = region in Blocks(found).at(place).regions
        assert inside == region.covers(found.offset(place))


def test_a_loop_that_ends_with_a_block_jumps_outside_of_it():
    def again(log):
        while True:
            try:
                log()
            except KeyError:
                pass

    found = CodeMap.of(again)
    jumps = [place for place, opcode in enumerate(found.opcodes) if CURRENT.name[opcode].startswith("JUMP_BACKWARD")]
    region = next(each for each in found.regions if each.kind == "except")
    assert jumps
    for place in jumps:
        assert region not in Blocks(found).at(place).regions or region.covers(found.offset(place))


def test_any_byte_of_an_instruction_will_do_and_no_other():
    start = offset_where(nested, 3)
    assert str(block_stack(nested, start)) == str(block_stack(nested, start + 1)) != ""
    with pytest.raises(XtabError, match="but found -2"):
        block_stack(nested, -2)


def test_code_without_a_table_has_no_blocks():
    assert block_stack(lambda: None, 0) == ()
    assert str(block_stack(lambda: None, 0)) == ""


def test_many_blocks_and_long_holes_take_no_more_than_their_length(steps):
    def spent(count):
        namespace = {}
        lines = [f"    try: f({number})\n    finally: f()" for number in range(count)]
        exec("def f():\n" + "\n".join(lines), namespace)
        return steps(block_stack, namespace["f"], 0)

    assert spent(500) < 12 * spent(50)
