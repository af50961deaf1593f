"""Operands, flags and locations as text."""

from __future__ import annotations

import re

import pytest

from xtab import Location
from xtab.errors import TextError
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.model.text import from_text, to_text
from xtab.model.text_operands import location_text, read_location
from xtab.model.text_tokens import Scanner


def line(text, header="function f(a, b)"):
    """Return how an instruction that is written so is written again, with the label L1 called L."""
    return to_text(from_text(f"{header}\n {text}\n L: NOP")).replace("L1", "L").splitlines()[1].strip()


def has(opname, flags=0):
    opcode = CURRENT.number.get(opname)
    return opcode is not None and flags >> CURRENT.flag_bits[opcode] == 0


LINES = [
    ("LOAD_CONST", 0, "LOAD_CONST 'x'"),
    ("LOAD_GLOBAL", 0, "LOAD_GLOBAL print"),
    ("LOAD_GLOBAL", 1, "LOAD_GLOBAL print +null"),
    ("LOAD_ATTR", 1, "LOAD_ATTR append +method"),
    ("LOAD_SUPER_ATTR", 3, "LOAD_SUPER_ATTR x +method +class"),
    ("COMPARE_OP", 0, "COMPARE_OP <="),
    ("COMPARE_OP", 16, "COMPARE_OP <= +bool"),
    ("COMPARE_OP", 15, "COMPARE_OP <= +flags=3"),
    ("IMPORT_NAME", 2, "IMPORT_NAME os.path +eager"),
    ("LOAD_FAST", 0, "LOAD_FAST a"),
    ("LOAD_FAST_LOAD_FAST", 0, "LOAD_FAST_LOAD_FAST b, a"),
    ("BINARY_OP", 0, "BINARY_OP @="),
    ("BINARY_OP", 0, "BINARY_OP + +wide=1"),
    ("CALL", 0, "CALL 300"),
    ("NOP", 0, "NOP"),
    ("NOP", 0, "NOP [3]"),
    ("POP_TOP", 0, "POP_TOP +wide=3"),
    ("JUMP_FORWARD", 0, "JUMP_FORWARD L"),
]


@pytest.mark.parametrize("text", [text for name, flags, text in LINES if has(name, flags)])
def test_instructions_come_back(text):
    assert line(text) == text


def test_large_numbers():
    names = ", ".join(f"n{number}" for number in range(300))
    body = from_text(f"module\n names {names}\n LOAD_NAME [299]\n RETURN_VALUE")
    assert body.instructions[0].operand == "n299"
    assert "LOAD_NAME n299" in to_text(body)


def test_flags_together():
    assert line("LOAD_GLOBAL print +flags=1 +null") == "LOAD_GLOBAL print +null"
    assert line("LOAD_GLOBAL print +flags=0") == "LOAD_GLOBAL print"


def test_every_word_comes_back():
    for opcode, words in CURRENT.words.items():
        for word in words:
            text = f"{CURRENT.name[opcode]} {word}"
            assert line(text) == text


def test_every_opcode_comes_back():
    operands = {
        OperandKind.NONE: "", OperandKind.RAW: " 0", OperandKind.CONST: " 1", OperandKind.NAME: " x",
        OperandKind.LOCAL: " a", OperandKind.LOCAL_PAIR: " a, b", OperandKind.CELL: " c", OperandKind.TARGET: " L1",
    }  # fmt: skip
    names = [name for name, number in CURRENT.number.items() if CURRENT.legal[number]]
    for name in names:
        kind = CURRENT.kind[CURRENT.number[name]]
        if kind == OperandKind.WORD or CURRENT.distance[CURRENT.number[name]] == 2:
            continue
        text = name + operands[kind]
        rows = to_text(from_text(f"function f(a, b)\n cells c\n {text}\n L1: NOP")).splitlines()
        assert text in [row.strip() for row in rows]


def test_cells_where_locals_are_expected():
    opcode = CURRENT.number["LOAD_FAST"]
    text = "function f()\n cells c\n free d\n LOAD_FAST cell c\n STORE_FAST free d"
    if opcode in CURRENT.takes_cells:
        rows = to_text(from_text(text)).splitlines()
        assert [row.strip() for row in rows[-2:]] == ["LOAD_FAST cell c", "STORE_FAST free d"]
    else:
        with pytest.raises(TextError, match="line 4: expected a local variable for LOAD_FAST, but found Cell"):
            from_text(text)
    with pytest.raises(TextError, match="line 3: expected a local variable for LOAD_FAST, but found 'c'"):
        from_text("function f()\n cells c\n LOAD_FAST c")


LOCATIONS = [
    (None, "@-"),
    (Location(3, 3, None, None), "@3"),
    (Location(3, 4, None, None), "@3-4"),
    (Location(3, 3, 0, 7), "@3:0-7"),
    (Location(3, 4, 0, 7), "@3:0-4:7"),
    (Location(3, None, None, None), "@3-?"),
    (Location(3, 3, None, 7), "@3:?-7"),
    (Location(3, 3, 7, None), "@3:7-?"),
    (Location(-3, -3, -1, -2), "@-3:-1--2"),
]


@pytest.mark.parametrize("location, text", LOCATIONS, ids=[text for _, text in LOCATIONS])
def test_locations_come_back(location, text):
    assert location_text(location) == text
    scan = Scanner(text, 1)
    assert read_location(scan) == (location,)
    scan.expect_end()


def test_a_location_holds_until_another():
    body = from_text("function f()\n NOP\n NOP @2\n NOP\n NOP @-\n NOP @?")
    line2 = Location(2, 2, None, None)
    assert [each.location for each in body.instructions] == [None, line2, line2, None, None]


@pytest.mark.parametrize(
    "text, message",
    [
        ("LOAD_CONST", "expected a constant, but found the end of the line"),
        ("LOAD_FAST", "expected a variable for LOAD_FAST, but found the end of the line"),
        ("LOAD_FAST 'x", "expected a variable for LOAD_FAST, but found '"),
        ("LOAD_FAST [2]", "expected an item that the header lists for LOAD_FAST, but found [2]"),
        ("LOAD_GLOBAL", "expected a name for LOAD_GLOBAL, but found the end of the line"),
        ("CALL x", "expected a number for CALL, but found x"),
        ("CALL 4294967296", "column 7: expected a number for CALL below 2**31, but found 4294967296"),
        ("BINARY_OP", "expected one of +, &, //"),
        ("BINARY_OP # x", "expected one of +, &, //"),
        ("COMPARE_OP =", "column 13: expected one of"),
        ("COMPARE_OP [17]", "expected an item that the header lists for COMPARE_OP, but found [17]"),
        ("LOAD_CONST 1 +null", "column 15: expected one of +wide=1 to 3 for LOAD_CONST, but found '+null'"),
        ("LOAD_GLOBAL x +nul", "expected one of +null, +flags=0 to 1, +wide=1 to 3 for LOAD_GLOBAL, but found '+nul'"),
        ("LOAD_GLOBAL x +flags=2", "expected flags from 0 to 1 for LOAD_GLOBAL, but found 2"),
        ("LOAD_GLOBAL x +flags", "expected one of"),
        ("NOP +wide=4", "expected 1, 2 or 3 EXTENDED_ARG, but found 4"),
        ("NOP @", "expected a location such as 3, 3:4-9, 3:4-5:9 or -, but found the end of the line"),
        ("NOP @3:4", "expected the end of the line behind NOP, but found :"),
        ("NOP @99999999999", "expected a line or column below 2**31, but found 99999999999"),
        ("NOP @9-3", "expected"),
        ("NOP x", "column 6: expected the end of the line behind NOP, but found x"),
        ("FOR_ITER", "expected the label that FOR_ITER leads to, but found the end of the line"),
    ],
    ids=range(22),
)
def test_errors(text, message):
    with pytest.raises(TextError, match=re.escape(message)):
        from_text(f"function f(a, b)\n {text}\n NOP")


@pytest.mark.skipif("LOAD_FAST_LOAD_FAST" not in CURRENT.number, reason="has no pairs")
def test_errors_of_pairs():
    for text, message in (
        ("", "expected two variables for LOAD_FAST_LOAD_FAST, but found the end of the line"),
        ("a", "expected ',' and a second variable for LOAD_FAST_LOAD_FAST, but found the end of the line"),
        ("a,", "expected a second variable for LOAD_FAST_LOAD_FAST, but found the end of the line"),
    ):
        with pytest.raises(TextError, match=message):
            from_text(f"function f(a, b)\n LOAD_FAST_LOAD_FAST {text}\n NOP")
