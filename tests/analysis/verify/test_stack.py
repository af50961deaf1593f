from __future__ import annotations

import time

import pytest

from xtab import CodeParts, verify_parts
from xtab.format.opcodes import CURRENT
from xtab.testing.code_parts import with_instructions

ONE = CodeParts.of(lambda x: x)
MANY = CodeParts.of(eval("lambda " + ", ".join(f"v{i}" for i in range(200)) + ": None"))
END = [("LOAD_CONST", 0), ("RETURN_VALUE", 0)]


def codes(lines, entries=(), parts=ONE, **changes):
    parts = with_instructions(parts._replace(consts=(None, "a")), [("RESUME", 0), *lines], entries, **changes)
    return [problem.code for problem in verify_parts(parts)]


def test_what_nothing_leads_to_is_not_followed():
    assert codes([*END, ("POP_TOP", 0), ("POP_TOP", 0), *END]) == []


def test_a_handler_is_entered_with_what_its_entry_keeps():
    body = [("LOAD_FAST", 0), "a", ("LOAD_FAST", 0), ("UNPACK_SEQUENCE", 0), "b", ("POP_TOP", 0), *END, "h"]
    assert codes([*body, ("RERAISE", 0)], [("a", "b", "h", 1, False)]) == []
    assert codes([*body, ("POP_TOP", 0), ("POP_TOP", 0), ("POP_TOP", 0), *END], [("a", "b", "h", 1, False)]) == [
        "XT401"
    ]


def test_a_fault_ends_its_path_only():
    lines = [
        ("LOAD_FAST", 0),
        ("POP_JUMP_IF_NONE", "b"),
        ("POP_TOP", 0),
        ("POP_TOP", 0),
        *END,
        "b",
        ("POP_TOP", 0),
        *END,
    ]
    assert codes(lines) == ["XT401", "XT401"]


def test_a_way_that_was_followed_is_followed_again_with_less_knowledge():
    again = [("BUILD_LIST", 0), "again", ("LOAD_FAST", 0), ("LIST_APPEND", 1), ("POP_TOP", 0), ("LOAD_FAST", 0)]
    assert codes([*again, ("JUMP_BACKWARD", "again")]) == ["XT602"]


def test_handlers_need_room():
    body = ["a", ("LOAD_FAST", 0), ("UNPACK_SEQUENCE", 0), "b", *END, "h", ("POP_TOP", 0), ("POP_TOP", 0), *END]
    region = [("a", "b", "h", 0, True)]
    assert codes(body, region, stacksize=2) == []
    assert codes(body, region, stacksize=1) == ["XT403"]


def turning(size):
    """A loop that turns the stack by one place: each round knows one place less."""
    values = [("LOAD_CONST", 1), *[("LOAD_CONST", 0)] * size]
    turn = [("SWAP", place) for place in range(2, size + 2)]
    return [*values, "again", *turn, ("JUMP_BACKWARD", "again")]


def test_work_is_bounded():
    start = time.process_time()
    assert codes(turning(3000), stacksize=3001) == ["XT407"]
    assert time.process_time() - start < 60


def test_what_is_long_but_plain_is_followed():
    assert codes([("LOAD_FAST", 0), ("POP_TOP", 0)] * 20_000 + END) == []


def test_a_chain_of_branches_is_no_work():
    lines = []
    for number in range(3000):
        lines += [("LOAD_FAST", number % 200), ("POP_JUMP_IF_NONE", f"l{number}"), ("NOP", 0), f"l{number}"]
    assert codes([*lines, *END], parts=MANY) == []


@pytest.mark.skipif(CURRENT.locals_are_checked, reason="LOAD_FAST raises for an unbound local")
def test_a_local_that_a_handler_may_find_unbound():
    lines = ["a", ("LOAD_FAST", 0), ("UNPACK_SEQUENCE", 1), ("DELETE_FAST", 0), ("LOAD_CONST", 0), ("STORE_FAST", 0)]
    behind = ["b", ("RETURN_VALUE", 0), "h", ("PUSH_EXC_INFO", 0), ("POP_TOP", 0), ("POP_EXCEPT", 0)]
    read = [("LOAD_FAST", 0), ("RETURN_VALUE", 0)]
    # STORE_FAST can't raise, but a trace function may, with the local unbound
    assert codes([*lines, *behind, *read], [("a", "b", "h", 0, False)]) == ["XT604"]
