"""Code as it stands: what is written is what was asked for, right or wrong."""

from __future__ import annotations

import pytest

from xtab import CodeParts, ExceptionTableEntry, parse_exception_table
from xtab.format.locations import parse_location_table
from xtab.format.opcodes import CURRENT
from xtab.format.units import split_code
from xtab.testing.code_parts import find, swap, with_code, with_instructions

PARTS = CodeParts.of(lambda x, y: x is y)


def names(parts):
    return [CURRENT.name[each.opcode] for each in split_code(parts.code)]


def test_find_counts_from_both_ends():
    parts = with_instructions(PARTS, [("COPY", 1), ("COPY", 2), ("COPY", 3)])
    assert [find(parts, "COPY", which).arg for which in (0, 1, -1)] == [1, 2, 3]
    with pytest.raises(ValueError, match="found 3 of them"):
        find(parts, "COPY", 3)


def test_swap_changes_one_instruction_only():
    parts = with_instructions(PARTS, [("COPY", 1), ("COPY", 2)])
    changed = swap(parts, "COPY", "SWAP", which=-1)
    assert [(CURRENT.name[each.opcode], each.arg) for each in split_code(changed.code)] == [("COPY", 1), ("SWAP", 2)]
    assert changed._replace(code=b"") == parts._replace(code=b"")


def test_swap_refuses_an_instruction_of_another_length():
    parts = with_instructions(PARTS, [("COPY", 1)])
    with pytest.raises(ValueError, match="as many caches"):
        swap(parts, "COPY", "BINARY_OP")


def test_all_code_has_a_location():
    parts = with_code(PARTS, bytes(60))
    assert parse_location_table(parts.linetable, parts.firstlineno)[-1].end == 60


def test_jumps_lead_to_labels_with_and_without_a_prefix():
    for count in (1, 200, 254, 255, 256, 257, 300, 70_000):
        body = [("NOP", 0)] * count
        lines = ["again", ("POP_JUMP_IF_NONE", "end"), *body, ("JUMP_BACKWARD", "again"), "end", ("NOP", 0)]
        parts = with_instructions(PARTS, lines)
        first, *_, back, last = split_code(parts.code)
        assert first.end + 2 * first.arg == last.start
        assert back.end - 2 * back.arg == 0


def test_a_question_mark_is_for_what_the_version_has():
    assert names(with_instructions(PARTS, [("?COPY", 1), ("?NO_SUCH_OPCODE", 0), ("NOP", 0)])) == ["COPY", "NOP"]


def test_entries_are_written():
    lines = ["a", ("NOP", 0), "b", ("BINARY_OP", 0), "c", ("NOP", 0)]
    parts = with_instructions(PARTS, lines, [("b", "c", "c", 2, True), ("a", "b", "c", 1, False)], stacksize=3)
    end = 4 + 2 * CURRENT.caches[CURRENT.number["BINARY_OP"]]
    assert parse_exception_table(parts.exceptiontable) == [
        ExceptionTableEntry(0, 2, end, 1, False),
        ExceptionTableEntry(2, end, end, 2, True),
    ]
    assert parts.stacksize == 3
