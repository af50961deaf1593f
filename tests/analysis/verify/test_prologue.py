from __future__ import annotations

import pytest

from xtab import CodeParts, verify_parts
from xtab.format.opcodes import CURRENT
from xtab.testing.code_parts import swap, with_instructions


def cell(x):
    return lambda: x


def generator(x):
    yield x


async def coroutine(x):
    await x


async def asynchronous(x):
    yield x


def codes(parts):
    return {problem.code for problem in verify_parts(parts)}


@pytest.mark.parametrize("function", [cell, cell(1), generator, coroutine, asynchronous])
def test_compiled_prologues(function):
    assert codes(CodeParts.of(function)) == set()


@pytest.mark.parametrize("function", [generator, coroutine, asynchronous], ids=lambda each: each.__name__)
@pytest.mark.parametrize("flag", [0, 0x20, 0x80, 0x200, 0xA0])
def test_flags(function, flag):
    parts = CodeParts.of(function)
    flags = parts.flags & ~0x2A0 | flag
    if flags != parts.flags:
        assert codes(parts._replace(flags=flags)) <= {"XT512", "XT613"}
    wrong = flag in (0, 0xA0) or (function is asynchronous and flag != 0x200)
    assert ("XT512" in codes(parts._replace(flags=flags))) == wrong


def test_a_function_without_resume():
    parts = with_instructions(CodeParts.of(lambda x: x), [("LOAD_FAST", 0), ("RETURN_VALUE", 0)])
    assert codes(parts) == {"XT511"}


def test_a_cell_that_an_argument_lacks():
    assert codes(swap(CodeParts.of(cell), "MAKE_CELL", "NOP", 0)) == {"XT511"}


def test_the_wrong_number_of_free_variables():
    assert codes(swap(CodeParts.of(cell(1)), "COPY_FREE_VARS", "COPY_FREE_VARS", 2)) == {"XT511"}


def test_a_generator_that_starts_twice():
    parts = CodeParts.of(generator)
    lines = [("RETURN_GENERATOR", 0), ("POP_TOP", 0)] * 2
    found = codes(with_instructions(parts, [*lines, ("RESUME", 0), ("LOAD_FAST", 0), ("RETURN_VALUE", 0)]))
    assert found
    assert found <= {"XT511", "XT512"}


def test_a_handler_before_resume():
    lines = ["h", ("RESUME", 0), "a", ("LOAD_FAST", 0), "b", ("RETURN_VALUE", 0)]
    assert codes(with_instructions(CodeParts.of(lambda x: x), lines, [("a", "b", "h", 0, False)])) == {"XT506"}


def test_the_prologue_is_known():
    assert [CURRENT.name[op] for op in CURRENT.prologue][-1] == "RESUME"


@pytest.mark.skipif("ASYNC_GEN_WRAP" not in CURRENT.number, reason="3.12 and later wrap with CALL_INTRINSIC_1")
def test_what_only_an_asynchronous_generator_wraps():
    lines = [("RESUME", 0), ("LOAD_FAST", 0), ("ASYNC_GEN_WRAP", 0), ("RETURN_VALUE", 0)]
    assert codes(with_instructions(CodeParts.of(lambda x: x), lines)) == {"XT512"}
