"""Eight fields that rewriters get wrong, each wrong by itself: every one has its own code, on every version."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from xtab import CodeParts, assemble_exception_table, parse_exception_table, verify_parts
from xtab.format.opcodes import CURRENT
from xtab.testing.code_parts import find, swap, with_instructions

CASES = Path(__file__).parents[2] / "cases"


def rejoin(items):
    for each in items:
        try:
            each.close()
        except:  # noqa: E722  # the handler is meant to be as short as can be
            pass
        each.open()


def ask(data):
    try:
        return data["key"]
    except KeyError:
        return None


def codes(parts):
    return {problem.code for problem in verify_parts(parts)}


def with_entries(function, change):
    """The parts of a function, and its entries changed one by one."""
    entries = [change(entry) for entry in parse_exception_table(function)]
    return CodeParts.of(function)._replace(exceptiontable=assemble_exception_table(entries))


def function_of_case(name):
    namespace = {}
    source = runpy.run_path(str(CASES / "bytecode_defects.py"))["SOURCES"][name][1]
    exec(compile(source, name, "exec", dont_inherit=True), namespace)
    return namespace["f"]


@pytest.mark.parametrize("function", [rejoin, ask, function_of_case("depth is data")], ids=lambda each: each.__name__)
def test_unbroken(function):
    assert codes(CodeParts.of(function)) == set()


def test_a_depth_one_too_small_where_the_handler_rejoins_the_body():
    target = find(CodeParts.of(rejoin), "PUSH_EXC_INFO").start
    parts = with_entries(rejoin, lambda entry: entry._replace(depth=entry.depth - (entry.target == target)))
    assert codes(parts) == {"XT402"}


def test_a_depth_inferred_from_a_region_that_holds_clean_up_code_only():
    """The outer handler of "depth is data" is recorded at the loop's depth; in its region the stack is deeper."""
    function = function_of_case("depth is data")
    inner, *_ = entries = parse_exception_table(function)
    outer = next(entry for entry in entries if entry.depth == inner.depth and entry.target != inner.target)
    parts = with_entries(function, lambda entry: entry._replace(depth=inner.depth + 2) if entry == outer else entry)
    assert codes(parts) == {"XT403"}  # room was made for one value, and there are more
    assert codes(parts._replace(stacksize=parts.stacksize + 2)) == {"XT402"}  # at the head of the loop


def test_a_handler_in_the_middle_of_an_instruction():
    inside = find(CodeParts.of(ask), "LOAD_GLOBAL").start + 2
    parts = with_entries(ask, lambda entry: entry if entry.depth else entry._replace(target=inside))
    assert codes(parts) == {"XT302"}


def test_a_local_that_may_be_unbound():
    def later(x):
        if x:
            y = x
        return y

    lines = [("RESUME", 0), ("LOAD_FAST", 0), ("POP_JUMP_IF_NONE", "end"), ("LOAD_FAST", 0), ("STORE_FAST", 1)]
    parts = with_instructions(CodeParts.of(later), [*lines, "end", ("LOAD_FAST", 1), ("RETURN_VALUE", 0)])
    assert codes(parts) == (set() if CURRENT.locals_are_checked else {"XT604"})


def test_a_pop_except_on_the_wrong_value():
    parts = CodeParts.of(rejoin)  # its handler: PUSH_EXC_INFO, POP_TOP, POP_EXCEPT
    handler = find(parts, "PUSH_EXC_INFO").start + 2
    assert CURRENT.name[parts.code[handler]] == "POP_TOP"
    parts = parts._replace(code=parts.code[:handler] + bytes((CURRENT.nop, 0)) + parts.code[handler + 2 :])
    assert codes(parts) == {"XT607"}


def test_a_stack_size_one_too_small():
    parts = CodeParts.of(ask)
    assert codes(parts._replace(stacksize=parts.stacksize - 1)) == {"XT403"}


def test_an_entry_left_over_from_other_code():
    entries = parse_exception_table(ask)
    stale = entries[0]._replace(depth=4)
    parts = CodeParts.of(ask)._replace(exceptiontable=assemble_exception_table([stale, *entries[1:]]))
    assert codes(parts) == {"XT304"}


def test_an_unknown_opcode():
    number = CURRENT.unknown.index(1)
    parts = CodeParts.of(ask)
    at = find(parts, "POP_EXCEPT").start
    parts = parts._replace(code=parts.code[:at] + bytes((number, 0)) + parts.code[at + 2 :])
    assert codes(parts) == {"XT502"}
    assert codes(swap(CodeParts.of(ask), "POP_EXCEPT", "CACHE")) == {"XT502"}
