"""`find_problems`: all checks in their order, each only where the ones before it leave something to rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify.columns import read_instructions
from xtab.analysis.verify.counts import check_counts
from xtab.analysis.verify.handlers import check_handlers, check_units_before
from xtab.analysis.verify.instructions import check_neighbours, check_operands, check_resumes, check_waits, read_targets
from xtab.analysis.verify.prologue import check_prologue
from xtab.analysis.verify.ranges import check_ranges
from xtab.analysis.verify.report import Report
from xtab.analysis.verify.stack import Walk
from xtab.analysis.verify.tables import check_locations, read_entries

if TYPE_CHECKING:
    from xtab.analysis.verify.parts import CodeParts
    from xtab.analysis.verify.problem import Problem

__all__ = ["find_problems", "walked"]


def find_problems(parts: CodeParts) -> tuple[Problem, ...]:
    """All problems of a code object, by offset."""
    report = Report(parts)
    if check_counts(parts, report):
        _check(parts, report)
    return report.problems()


def walked(parts: CodeParts, report: Report) -> Walk | None:
    """The walk over all paths, when it is done, for those who want to know what it knows; None: it wasn't begun."""
    return _check(parts, report) if check_counts(parts, report) else None


def _check(parts: CodeParts, report: Report) -> Walk | None:
    entries = read_entries(parts, report)
    check_locations(parts, report)
    errors = report.errors
    columns = read_instructions(parts.code, report)
    if columns is None:
        return None
    check_operands(parts, columns, report)
    targets = read_targets(columns, report)
    if entries is not None:
        check_ranges(entries, columns, report)
        check_handlers(entries, columns, report)
    if report.errors > errors or entries is None:
        return None
    check_neighbours(columns, targets, report)
    check_waits(columns, report)
    check_prologue(parts, columns, targets, entries, report)
    if report.errors > errors:
        return None
    walk = Walk(parts, columns, targets, entries, report)
    check_resumes(entries, walk.covering, columns, report)
    walk.run()
    check_units_before(entries, walk.covering, columns, walk.reached, report)
    return walk
