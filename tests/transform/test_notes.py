"""Exceptions of new instructions say so, go where they would have gone, and others are left as they are."""

from __future__ import annotations

import asyncio
import re
import sys
import traceback

import pytest

import xtab
from xtab.transform.emit import call, load_const, pop
from xtab.transform.rewrite import rewrite

NOTE = re.compile(rf"raised by instructions that {__name__}:\S+ put into .*, {re.escape(__file__)}:\d+")


class NewError(Exception):
    pass


class OldError(Exception):
    pass


def fail():
    raise NewError


def old_fail(*_):
    raise OldError


def probe_at(place, calls=fail):
    """A transform that calls something in the place with this number, of those where something may stand."""

    def transform(body):
        anchor = body.insertion_points()[place]
        body.insert_before(anchor, [*call(load_const(calls)), *pop()])

    return transform


def places(function):
    """Where something may stand, and may also raise.

    At the start of a handler, what is handled around it has not been saved yet; and inside of an await, CLEANUP_THROW
    expects what was thrown in.
    """
    return [place for place, anchor in enumerate(xtab.decode(function).insertion_points()) if may_raise(anchor)]


def may_raise(anchor):
    span = anchor.exn_tab_entry
    return anchor.opname != "PUSH_EXC_INFO" and (span is None or span.target.opname != "CLEANUP_THROW")


def noted(error):
    return [note for note in getattr(error, "__notes__", ()) if NOTE.fullmatch(note)]


def plain(x):
    return max(x, *[y + 1 for y in range(3)], key=lambda z: z)


def handles(x):
    try:
        return [x, old_fail(x)]
    except OldError as error:
        return error
    finally:
        x = None


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.seen = exc[1]


def uses_with(x):
    with Manager() as manager:
        for each in [1, 2]:
            with Manager() as inner:
                (x, inner, manager, len([each]))


def generates(x):
    for each in [1, 2]:
        try:
            yield x, each
        finally:
            len([each])


async def awaits(x):
    async with AsyncManager():
        async for each in numbers():
            await asyncio.sleep(0)
            (x, [y async for y in numbers()], each)


class AsyncManager:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc):
        await asyncio.sleep(0)


async def numbers():
    yield 1


def run(function):
    result = function(5)
    if hasattr(result, "__await__"):
        return asyncio.run(result)
    return list(result) if hasattr(result, "send") else result


FUNCTIONS = plain, handles, uses_with, generates, awaits


@pytest.mark.filterwarnings("ignore")  # coroutines that were not awaited since the probe raised first
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_note_is_all_that_changes(function):
    """With and without a note, an exception from any place goes the same way."""
    for place in places(function):
        outcomes = []
        for note in (False, True):
            new = rewrite(function, probe_at(place), note=note)
            try:
                result = run(new)
                outcomes.append((type(result), None, None))
            except Exception as error:
                frames = [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
                assert len(noted(error)) == (note and type(error) is NewError), place
                outcomes.append((type(error), type(error.__context__), frames))
        assert outcomes[0] == outcomes[1], place
        assert sys.exc_info() == (None, None, None), place


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_does_not_fail_works_as_before(function):
    for place in places(function):
        new = rewrite(function, probe_at(place, calls=int), note=True)
        assert type(run(new)) is type(run(function))


def test_old_code_gets_no_note():
    def f():
        x = 0
        return 1 / x

    with pytest.raises(ZeroDivisionError) as caught:
        rewrite(f, probe_at(0, calls=int), note=True)()
    assert not noted(caught.value)


def wrap_in_try(body):
    """A handler around all that raises again what it catches, without handling it: nothing would end that."""
    first, last = body.insertion_points()[0], body.instructions[-1]
    handler = [xtab.Instruction("RERAISE", 0)]
    body.instructions += handler
    body.protect(first, last, handler[0])


def test_what_is_raised_again_gets_no_note():
    with pytest.raises(OldError) as caught:
        rewrite(lambda x: old_fail(x), wrap_in_try, note=True)(1)
    assert not noted(caught.value)


def wrap_and_fail(body):
    wrap_in_try(body)
    probe_at(0)(body)


def test_new_code_in_a_new_span():
    with pytest.raises(NewError) as caught:
        rewrite(lambda x: x, wrap_and_fail, note=True)(1)
    assert len(noted(caught.value)) == 1


def test_nested_code():
    def f():
        return [g() for g in [lambda: 1]]

    with pytest.raises(NewError) as caught:
        rewrite(f, lambda body: probe_at(0)(body) if body.name == "<lambda>" else None, recursive=True, note=True)()
    (note,) = noted(caught.value)
    assert "put into test_nested_code.<locals>.f.<locals>.<lambda>, " in note


def test_a_note_that_fails():
    class Strange(Exception):
        def add_note(self, note):
            raise KeyError(note)

    def strange():
        raise Strange

    for place in places(lambda x: [x]):
        with pytest.raises(KeyError) as caught:
            rewrite(lambda x: [x], probe_at(place, strange), note=True)(1)
        assert isinstance(caught.value.__context__, Strange)


def test_the_state_of_handled_exceptions_is_put_back():
    def f():
        try:
            raise OldError
        except OldError:
            try:
                g()
            except NewError as error:
                assert isinstance(error.__context__, OldError)
            raise

    def g():
        return 1

    def transform(body):
        if body.name == "g":
            probe_at(0)(body)

    g = rewrite(g, transform, note=True)
    with pytest.raises(OldError):
        f()
