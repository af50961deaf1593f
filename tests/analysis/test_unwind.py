"""Where exceptions go. That it is where they do go: tests/unwinding."""

from __future__ import annotations

import contextlib
import queue
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest

import xtab
from xtab import CodeParts, XtabError, assemble_exception_table, parse_exception_table, unwind
from xtab.format.code import code_objects
from xtab.format.opcodes import CURRENT
from xtab.testing.code_parts import with_instructions


def copy(source, target, log):
    try:
        try:
            with open(source) as stream:
                target.write(stream)
        except OSError as error:
            log(error)
    finally:
        log()


def way_of(function, line, opname="CALL", **options):
    wanted = function.__code__.co_firstlineno + line
    row = next(row for row in xtab.show(function).rows if row.line == wanted and row.opname == opname)
    return unwind(function, row.offset, **options)


def written(way):
    steps = [step for step in way if not (step.region and step.region.bookkeeping)]
    return [step.region.label if step.region else "caller" for step in steps]


def plain(way):
    """Each call makes regions of its own, which are compared by identity."""
    return [(*step[:1], *step[2:]) for step in way]


@pytest.mark.parametrize(
    "line, expected",
    [
        (4, ["with", "except OSError", "finally", "caller"]),
        (3, ["except OSError", "finally", "caller"]),
        (6, ["finally", "caller"]),
        (8, ["caller"]),
    ],
)
def test_the_way_in_words(line, expected):
    way = way_of(copy, line)
    assert written(way) == expected
    assert str(way) == " → ".join(str(step) for step in way if not (step.region and step.region.bookkeeping))
    assert way.escapes


def test_every_step_begins_where_the_one_before_raises_again():
    way = way_of(copy, 4)
    rows = {row.offset: row for row in xtab.show(copy).rows}
    assert [rows[step.raised_at].opname for step in way[1:]] == ["RERAISE"] * (len(way) - 1)
    for before, step in pairwise(way):
        assert before.handler <= step.raised_at
    assert any(step.region and step.region.bookkeeping for step in way)


def test_what_goes_from_the_stack_and_what_comes():
    way = way_of(copy, 4)
    depths = {row.offset: row.depth for row in xtab.show(copy).rows}
    for step in way[:-1]:
        assert step.popped == depths[step.raised_at] - step.depth
        assert step.stack == step.depth + step.lasti + 1 == depths[step.handler]
    assert way[0].lasti
    last = way[-1]
    assert (last.region, last.handler, last.depth, last.stack) == (None,) * 4
    assert str(last) == "caller"


def test_a_bare_except_ends_it():
    def bare(log):
        try:
            log()
        except:  # noqa: E722
            log(1)

    way = way_of(bare, 2)
    assert written(way) == ["bare except"]
    assert not way.escapes


def test_a_raise_that_somebody_wrote_goes_on():
    def bare(log):
        try:
            log()
        except:
            log(1)
            raise

    way = way_of(bare, 2)
    assert written(way) == ["bare except", "caller"]
    assert way.escapes
    assert CURRENT.name[bare.__code__.co_code[way[1].raised_at]] == "RAISE_VARARGS"


def group(log):
    try:
        log()
    except* KeyError:
        log(1)
    except* ValueError as error:
        log(error)


def test_exception_groups_generators_comprehensions_and_throw():
    async def coroutine(items, log):
        async with log as it:
            async for item in items:
                it(item, [await each(item) for each in items])

    assert written(way_of(group, 2))[-1] == "caller"
    for row in xtab.show(coroutine).rows:
        way = unwind(coroutine, row.offset)
        assert way.escapes, row
        around = [region.label for region in reversed(row.chain) if not region.bookkeeping]
        assert written(way)[:-1] == around
    assert any(len(unwind(coroutine, row.offset)) > 3 for row in xtab.show(coroutine).rows)


@pytest.mark.parametrize("line", [2, 4, 6])
def test_what_a_handler_of_a_group_raises_goes_on_at_the_end_of_them_all(line):
    assert way_of(group, line).escapes


def test_the_written_steps_are_the_regions_around_on_all_of_a_module():
    """Where it goes is followed through the code; what is around, from the entries: two ways to the same."""
    path = Path(contextlib.__file__)
    for code in code_objects(compile(path.read_bytes(), path.name, "exec", dont_inherit=True)):
        for row in xtab.show(code).rows:
            way = unwind(code, row.offset)
            around = [region.letter for region in reversed(row.chain) if not region.bookkeeping]
            steps = [step.region.letter for step in way if step.region and not step.region.bookkeeping]
            assert steps == (around if way.escapes else around[: len(steps)])


def test_an_exception_of_a_callee_is_looked_up_where_the_interpreter_does():
    begin = [("LOAD_FAST", 0), ("PUSH_NULL", 0)] if not CURRENT.null_first else [("PUSH_NULL", 0), ("LOAD_FAST", 0)]
    call = [("PRECALL", 0)] if "PRECALL" in CURRENT.number else []
    lines = [
        ("RESUME", 0), *begin, *call, "from", ("CALL", 0), "to", ("RETURN_VALUE", 0),
        "handler", ("POP_TOP", 0), ("LOAD_CONST", 0), ("RETURN_VALUE", 0),
    ]  # fmt: skip
    parts = with_instructions(
        CodeParts.of(lambda f: f)._replace(consts=(None,), stacksize=4), lines, [("from", "to", "handler", 0, False)]
    )
    code = parts.to_code()
    call_at = xtab.show(code).regions[0].pieces[0][0]
    assert unwind(code, call_at)[0].region is not None
    assert (unwind(code, call_at, from_callee=True)[0].region is None) == CURRENT.looks_up_unit_before
    for row in xtab.show(copy).rows:
        assert plain(unwind(copy, row.offset)) == plain(unwind(copy, row.offset, from_callee=True))


def test_handlers_that_go_in_a_circle_end():
    lines = [("RESUME", 0), "a", ("RERAISE", 0), "b", "c", ("RERAISE", 0), "d"]
    table = [("a", "b", "c", 0, False), ("c", "d", "a", 0, False)]
    code = with_instructions(CodeParts.of(lambda: 0), lines, table).to_code()
    way = unwind(code, xtab.regions(code)[0].pieces[0][0])
    assert len(way) == 2
    assert not way.escapes


def test_offsets():
    with pytest.raises(XtabError, match="expected an offset"):
        unwind(copy, 10**9)
    start = way_of(copy, 4)[0].raised_at
    assert plain(unwind(copy, start + 1)) == plain(unwind(copy, start))


@pytest.mark.parametrize("depth", [1000, 2**20, 2**29 - 1])
def test_a_depth_that_no_stack_has(depth):
    """It takes no more time or room than another."""

    def guarded(call):
        try:
            call()
        except OSError:
            call(1)

    code = guarded.__code__
    entries = [entry._replace(depth=depth + entry.depth) for entry in parse_exception_table(code) if entry.depth == 0]
    new = code.replace(co_exceptiontable=assemble_exception_table(entries))
    tracemalloc.start()
    try:
        steps = unwind(new, entries[0].start)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert steps[0].depth == depth
    assert steps[-1].region is None


def test_the_way_through_a_handler_inside_the_handler():
    """Nothing but the inner handler leads on: a loop that ends with an exception of its own."""

    def drained(q, job):
        try:
            try:
                job()
            finally:
                try:
                    while True:
                        q.get_nowait()
                except queue.Empty:
                    pass
        except ZeroDivisionError:
            return "caught"

    def bare(q, job):
        try:
            try:
                job()
            except:
                try:
                    while True:
                        q.get_nowait()
                except queue.Empty:
                    pass
                raise
        except ZeroDivisionError:
            return "caught"

    for function, first in ((drained, "finally"), (bare, "bare except")):
        assert function(queue.Queue(), lambda: 1 / 0) == "caught"
        offset = next(row.offset for row in xtab.show(function).rows if row.operand == "job")
        labels = [step.region.label for step in unwind(function, offset) if step.region and not step.region.bookkeeping]
        assert labels[:2] == [first, "except ZeroDivisionError"]
