from __future__ import annotations

import pytest

from xtab import CodeParts, verify_parts
from xtab.analysis.verify.columns import read_instructions
from xtab.analysis.verify.instructions import check_operands, read_targets
from xtab.analysis.verify.report import Report
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.testing.code_parts import with_instructions

PARTS = CodeParts.of(lambda x: x)._replace(consts=(None,), names=("a",))


def checked(lines, check):
    parts = with_instructions(PARTS, lines)
    report = Report(parts)
    columns = read_instructions(parts.code, report)
    result = check(parts, columns, report)
    return result, [problem.code for problem in report.problems()]


INDEXED = [
    op
    for op in range(256)
    if CURRENT.legal[op]
    and CURRENT.kind[op] in (OperandKind.CONST, OperandKind.NAME, OperandKind.LOCAL, OperandKind.CELL)
]


@pytest.mark.parametrize("op", INDEXED, ids=lambda op: CURRENT.name[op])
def test_indices_below_the_length_pass_and_no_others(op):
    step = 1 << CURRENT.flag_bits[op]
    for arg in range(3 * step):
        found = checked([(CURRENT.name[op], arg)], check_operands)[1]
        assert found == ([] if arg < step else ["XT503"]), arg


@pytest.mark.parametrize(
    "op",
    [op for op in range(256) if CURRENT.legal[op] and CURRENT.kind[op] == OperandKind.NONE],
    ids=lambda op: CURRENT.name[op],
)
def test_what_has_no_operand_has_none(op):
    assert checked([(CURRENT.name[op], 0)], check_operands)[1] == []
    assert checked([(CURRENT.name[op], 1)], check_operands)[1] == ["XT503"]


@pytest.mark.parametrize("op", CURRENT.words, ids=lambda op: CURRENT.name[op])
def test_words(op):
    high = len(CURRENT.words[op]) << CURRENT.flag_bits[op]
    assert checked([(CURRENT.name[op], high)], check_operands)[1] == ["XT503"]


def test_targets():
    def targets(_, columns, report):
        return read_targets(columns, report)

    lines = ["a", ("NOP", 0), ("JUMP_FORWARD", "b"), ("JUMP_BACKWARD", "a"), "b", ("NOP", 0)]
    assert checked(lines, targets) == ({1: 3, 2: 0}, [])
    assert checked([("JUMP_FORWARD", 1), ("BINARY_OP", 0)], targets)[1] == ["XT505"]
    assert checked([("JUMP_FORWARD", 50), ("NOP", 0)], targets)[1] == ["XT504"]
    assert checked([("JUMP_BACKWARD", 50), ("NOP", 0)], targets)[1] == ["XT504"]


def test_what_must_follow():
    def generator(x):
        yield x

    start = [("RETURN_GENERATOR", 0), ("POP_TOP", 0), ("RESUME", 0), ("LOAD_FAST", 0), ("YIELD_VALUE", 0)]
    good = with_instructions(CodeParts.of(generator), [*start, ("RESUME", 1), ("RETURN_VALUE", 0)])
    assert verify_parts(good) == ()
    for wrong in ([("RETURN_VALUE", 0)], [("NOP", 0), ("RESUME", 1), ("RETURN_VALUE", 0)], []):
        parts = with_instructions(CodeParts.of(generator), [*start, *wrong])
        assert "XT510" in [problem.code for problem in verify_parts(parts)]
