"""The steps that do more than take and leave: variables, plain values, calls, flow, exceptions."""

from __future__ import annotations

import pytest

from xtab import CodeParts, verify_parts
from xtab.format.opcodes import CURRENT
from xtab.testing.code_parts import with_instructions

FUNCTION = CodeParts.of(lambda x: x)._replace(consts=(None, 1, "a", ("a",), ("a", 1)), names=("n",))
END = [("LOAD_CONST", 0), ("RETURN_VALUE", 0)]
NULL = ("PUSH_NULL", 0)
X = ("LOAD_FAST", 0)
POP = ("POP_TOP", 0)


def codes(*lines, parts=FUNCTION, entries=()):
    parts = with_instructions(parts, [("RESUME", 0), *lines], entries)
    return [problem.code for problem in verify_parts(parts)]


def call(callable_first, *arguments):
    return (
        [*((NULL, X) if CURRENT.null_first else (X, NULL)), *arguments] if callable_first else [NULL, NULL, *arguments]
    )


@pytest.mark.parametrize("count", [0, 1, 2])
def test_calls(count):
    lines = [("?PRECALL", count), ("CALL", count), ("RETURN_VALUE", 0)]
    assert codes(*call(True, *[X] * count), *lines) == []
    assert codes(*call(False, *[X] * count), *lines) == ["XT601"]
    assert codes(*[X] * (count + 1), *lines) == ["XT401"]
    if count:
        assert codes(*call(True, *[X] * (count - 1), NULL), *lines) == ["XT601"]


def test_copy_and_swap():
    assert codes(X, ("LOAD_CONST", 1), ("SWAP", 2), ("COPY", 2), POP, POP, ("RETURN_VALUE", 0)) == []
    assert codes(NULL, ("COPY", 1), POP, POP, *END) == ["XT601"]
    assert codes(X, ("SWAP", 3), POP, *END) == ["XT401"]


def test_collections():
    assert codes(("BUILD_LIST", 0), X, ("LIST_APPEND", 1), ("RETURN_VALUE", 0)) == []
    assert codes(("BUILD_LIST", 0), X, X, ("LIST_APPEND", 2), POP, ("RETURN_VALUE", 0)) == []
    assert codes(("BUILD_LIST", 0), X, X, ("LIST_APPEND", 1), *END) == ["XT602"]
    assert codes(("BUILD_MAP", 0), X, X, ("MAP_ADD", 1), ("RETURN_VALUE", 0)) == []
    assert codes(("BUILD_LIST", 0), X, X, ("MAP_ADD", 1), ("RETURN_VALUE", 0)) == ["XT602"]
    assert codes(X, ("UNPACK_EX", 1 << 8 | 1), POP, POP, ("RETURN_VALUE", 0)) == []


def test_a_store_in_a_local():
    assert codes(X, ("STORE_FAST", 0), *END) == []
    assert codes(("STORE_FAST", 0), *END) == ["XT401"]
    unbound = [] if CURRENT.locals_are_checked else ["XT604"]
    assert codes(("DELETE_FAST", 0), X, ("RETURN_VALUE", 0)) == unbound


def test_deref_of_what_is_no_cell():
    assert codes(("LOAD_DEREF", 0), ("RETURN_VALUE", 0)) == ["XT605"]
    assert codes(X, ("STORE_DEREF", 0), *END) == ["XT605"]


def test_iteration():
    for_iter = ["again", ("FOR_ITER", "end"), POP, ("JUMP_BACKWARD", "again"), "end"]
    follows = CURRENT.must_follow.get(CURRENT.number.get("END_FOR"))
    behind = [("?END_FOR", 0), *([] if follows is None else [(CURRENT.name[follows], 0)])]
    assert codes(X, ("GET_ITER", 0), *for_iter, *behind, *END) == []
    assert "XT609" in codes(X, X, *for_iter, *behind, *END)


def handler(*lines):
    return codes(
        "a",
        X,
        ("UNPACK_SEQUENCE", 0),
        "b",
        *END,
        "h",
        ("PUSH_EXC_INFO", 0),
        *lines,
        entries=[("a", "b", "h", 0, False)],
    )


def test_exceptions():
    assert handler(POP, ("POP_EXCEPT", 0), *END) == []
    assert handler(("SWAP", 2), ("POP_EXCEPT", 0), POP, *END) == []
    assert handler(("POP_EXCEPT", 0), POP, *END) == ["XT607"]
    assert handler(POP, POP, *END) == ["XT614"]
    assert handler(("SWAP", 2), ("POP_EXCEPT", 0), ("RERAISE", 0)) == []
    assert "XT606" in handler(X, ("RERAISE", 0))


def test_handlers_end_in_the_order_in_which_they_began():
    inner = [("COPY", 1), ("PUSH_EXC_INFO", 0), POP]  # saved, exception, saved later
    assert handler(*inner, ("POP_EXCEPT", 0), POP, ("POP_EXCEPT", 0), *END) == []
    assert handler(*inner, ("SWAP", 3), ("POP_EXCEPT", 0), POP, ("POP_EXCEPT", 0), *END) == ["XT614"]


def test_a_return_leaves_nothing():
    assert codes(X, X, ("RETURN_VALUE", 0)) == ["XT404"]
    assert codes(NULL, ("RETURN_VALUE", 0)) == ["XT601"]


@pytest.mark.skipif("BUILD_CONST_KEY_MAP" not in CURRENT.number, reason="3.14 and later have no such opcode")
def test_a_map_has_as_many_keys_as_values():
    build = ("BUILD_CONST_KEY_MAP", 2)
    assert codes(X, X, ("LOAD_CONST", 4), build, ("RETURN_VALUE", 0)) == []
    assert codes(X, X, ("LOAD_CONST", 3), build, ("RETURN_VALUE", 0)) == ["XT602"]
    assert codes(X, X, X, build, ("RETURN_VALUE", 0)) == ["XT602"]
