from __future__ import annotations

from xtab import CodeParts, ExceptionTableEntry
from xtab.analysis.verify.columns import read_instructions
from xtab.analysis.verify.ranges import check_ranges, holder
from xtab.analysis.verify.report import Report
from xtab.testing.code_parts import with_instructions

PARTS = with_instructions(CodeParts.of(lambda: 0), [("NOP", 0), ("COPY", 300), ("BINARY_OP", 0), ("NOP", 0)])
LISTING = read_instructions(PARTS.code, Report(PARTS))
BORDERS = {*LISTING.starts, len(PARTS.code)}


def test_holder_names_the_instruction_of_every_byte():
    for offset in range(len(PARTS.code)):
        at = holder(LISTING, offset)
        assert LISTING.starts[at] <= offset < LISTING.ends[at]


def test_every_border_but_those_between_instructions_is_refused():
    for start in range(0, len(PARTS.code), 2):
        for end in range(start + 2, len(PARTS.code) + 1, 2):
            report = Report(PARTS)
            check_ranges([ExceptionTableEntry(start, end, 0, 0, False)], LISTING, report)
            found = {problem.code for problem in report.problems()}
            assert found == (set() if {start, end} <= BORDERS else {"XT205"})
