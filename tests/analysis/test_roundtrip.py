from __future__ import annotations

import dis
from operator import attrgetter

import pytest

from xtab import XtabError
from xtab.analysis import roundtrip
from xtab.analysis.roundtrip import round_trip
from xtab.errors import TableFormatError
from xtab.format.code import code_objects

SOURCE = """
import os

def f(x):
    try:
        with x as y:
            return [0.0, -0.0, 1, True, (1, 1.0), "text", y.z]
    except OSError as error:
        print(error)
    finally:
        x.close()

async def g(xs):
    async for x in xs:
        async with x:
            yield lambda: x
"""
ALL = list(code_objects(compile(SOURCE, "example", "exec")))
F = next(code for code in ALL if code.co_name == "f")


def compiled(source):
    return next(code for code in code_objects(compile(source, "example", "exec")) if code.co_name == "f")


@pytest.mark.parametrize("code", ALL, ids=attrgetter("co_qualname"))
def test_code_from_the_compiler_comes_back(code):
    found = round_trip(code)
    assert found.differences == ()
    assert found.entries == len(dis._parse_exception_table(code))
    wanted = [instruction for instruction in dis.get_instructions(code) if instruction.opname != "EXTENDED_ARG"]
    assert found.instructions == len(wanted)
    assert found.unreachable_handler is None


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n  try:\n    1\n  except E:\n    g(1, 2, 3)\n",
        "def f():\n  try:\n    g()\n  except* E as e:\n    4\n",  # a handler that the table doesn't name
    ],
    ids=["in-the-table", "not-in-the-table"],
)
def test_a_smaller_stack_is_explained_by_an_unreachable_handler(source):
    code = compiled(source)
    found = round_trip(code)
    assert found.differences == ()
    if found.unreachable_handler is not None:  # newer compilers drop some of them
        first = dis.opname[code.co_code[found.unreachable_handler]]
        assert first in {"PUSH_EXC_INFO", "LOAD_CONST", "LOAD_COMMON_CONSTANT"}


def test_a_smaller_stack_without_explanation_is_a_difference():
    differences = round_trip(F.replace(co_stacksize=F.co_stacksize + 1)).differences
    assert [difference.what for difference in differences] == ["co_stacksize", "stack size"]
    assert [int(difference.expected) - int(difference.found) for difference in differences] == [1, 1]


def test_a_stack_that_is_too_small_is_a_difference():
    differences = round_trip(F.replace(co_stacksize=F.co_stacksize - 1)).differences
    assert [difference.what for difference in differences] == ["co_stacksize", "stack size"]


# What a broken assembler would give, each of which must be noticed.
BROKEN = {
    "co_code": {"co_code": bytes(len(F.co_code) - 2) + F.co_code[-2:]},
    "co_exceptiontable": {"co_exceptiontable": F.co_exceptiontable[:-1]},
    "co_linetable": {"co_linetable": F.co_linetable[:-1]},
    "co_stacksize": {"co_stacksize": F.co_stacksize + 1},
    "co_flags": {"co_flags": F.co_flags ^ 0x100},
    "co_names": {"co_names": (*F.co_names, "more")},
    "co_name": {"co_name": "g"},
    "co_qualname": {"co_qualname": "g"},
    "co_filename": {"co_filename": "other"},
    "co_firstlineno": {"co_firstlineno": 1},
    "co_argcount": {"co_argcount": 0},
    "co_varnames": {"co_varnames": tuple(name + "_" for name in F.co_varnames)},
}


@pytest.mark.parametrize("part", BROKEN)
def test_a_part_that_changes_is_a_difference(part, monkeypatch):
    monkeypatch.setattr(roundtrip, "assemble", lambda body: F.replace(**BROKEN[part]))
    differences = round_trip(F).differences
    assert [difference.what for difference in differences] == [part]


@pytest.mark.parametrize("constant, other", [(0.0, -0.0), (1, True), (1, 1.0), ((1,), (True,)), ("", b"")], ids=repr)
def test_constants_are_compared_by_type_and_identity(constant, other, monkeypatch):
    code = F.replace(co_consts=(*F.co_consts, constant))
    monkeypatch.setattr(roundtrip, "assemble", lambda body: code.replace(co_consts=(*F.co_consts, other)))
    (difference,) = round_trip(code).differences
    assert difference.what == "co_consts"
    assert difference.where == f"item {len(F.co_consts)}"
    assert (difference.expected, difference.found) == (
        f"{constant!r}, {type(constant).__name__}",
        f"{other!r}, {type(other).__name__}",
    )


def test_an_equal_constant_is_not_the_same(monkeypatch):
    code = F.replace(co_consts=(*F.co_consts, (1, [])))
    monkeypatch.setattr(roundtrip, "assemble", lambda body: code.replace(co_consts=(*F.co_consts, (1, []))))
    (difference,) = round_trip(code).differences
    assert difference.found == "(1, []), tuple: equal, but another object"


def test_bytes_are_shown_from_the_first_difference(monkeypatch):
    monkeypatch.setattr(roundtrip, "assemble_exception_table", lambda entries: F.co_exceptiontable[:-1])
    (difference,) = round_trip(F).differences
    size = len(F.co_exceptiontable)
    assert difference.what == "exception table"
    assert difference.where == f"byte {size - 1}; {size} bytes became {size - 1}"
    assert difference.expected == F.co_exceptiontable[-1:].hex()
    assert difference.found == "the end"


def test_only_some_bytes_are_shown(monkeypatch):
    monkeypatch.setattr(roundtrip, "assemble_location_table", lambda entries, first: b"\x00" * 100)
    (difference,) = round_trip(F).differences
    assert difference.where.startswith("byte 0; ")
    assert difference.found == "00 00 00 00 00 00 00 00 ..."


def test_nested_entries_that_come_back_otherwise_are_a_difference(monkeypatch):
    monkeypatch.setattr(roundtrip, "flatten", lambda ranges: ranges[1:])
    (difference,) = round_trip(F).differences
    assert difference.what == "nest and flatten"
    assert difference.where.startswith("item 0")


def raises(error):
    def function(*arguments, **options):
        raise error

    return function


@pytest.mark.parametrize(
    "function, what",
    [
        ("parse_exception_table", "exception table"),
        ("nest", "nest and flatten"),
        ("parse_location_table", "location table"),
        ("decode", "decode and assemble"),
        ("assemble", "decode and assemble"),
        ("stack_size", "stack size"),
    ],
)
def test_an_exception_is_a_difference_and_the_other_steps_are_taken(function, what, monkeypatch):
    monkeypatch.setattr(roundtrip, function, raises(XtabError("no")))
    (difference,) = round_trip(F).differences
    assert (difference.what, difference.expected, difference.found) == (what, "no error", "XtabError: no")

    monkeypatch.setattr(roundtrip, function, raises(IndexError("out of range")))
    (difference,) = round_trip(F).differences
    assert difference.found.startswith("crashed: IndexError: out of range\nTraceback (most recent call last):\n")


def test_a_broken_table_is_a_difference():
    found = round_trip(F.replace(co_exceptiontable=b"\x00"))
    assert found.entries == found.instructions == 0
    assert {difference.what for difference in found.differences} >= {"exception table", "decode and assemble"}
    assert all(TableFormatError.__name__ in difference.found for difference in found.differences)
