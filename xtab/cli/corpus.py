"""What `xtab check` counts: the round trip of all code objects of a file, and the sums over many files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from xtab.analysis.roundtrip import round_trip
from xtab.analysis.verify import ERROR, WARNING, verify
from xtab.cli.targets import load
from xtab.errors import TargetError
from xtab.format.code import code_objects

if TYPE_CHECKING:
    from types import CodeType

    from xtab.analysis.roundtrip import Difference
    from xtab.cli.targets import SourceFile

__all__ = ["FileReport", "FoundDifference", "ProblemCounts", "SmallerStack", "Summary", "check_source", "summary"]


@dataclass(frozen=True, slots=True)
class FoundDifference:
    """A difference, and in which code object it was found."""

    qualname: str
    line: int  #: the code object's first
    what: str
    expected: str
    found: str
    where: str | None


@dataclass(frozen=True, slots=True)
class SmallerStack:
    """A code object that needs less stack than it records, since a handler in it can't be reached."""

    qualname: str
    line: int  #: the code object's first
    unreachable_handler: int  #: offset in bytes


@dataclass(frozen=True, slots=True)
class ProblemCounts:
    """How many problems the verifier found."""

    errors: int
    warnings: int


@dataclass(frozen=True, slots=True)
class FileReport:
    """What `check_source` found in one file."""

    name: str  #: the file, as it can be given on the command line
    named: bool  #: whether it was named there itself
    error: str | None  #: why it could not be read or compiled
    code_objects: int = 0
    with_table: int = 0  #: code objects that have an exception table
    entries: int = 0  #: of those tables
    instructions: int = 0
    smaller_stacks: tuple[SmallerStack, ...] = ()
    differences: tuple[FoundDifference, ...] = ()
    problems: ProblemCounts | None = None  #: None: nothing was verified


@dataclass(frozen=True, slots=True)
class Summary:
    """The sums over many files."""

    files: int
    not_compilable: int
    code_objects: int
    with_table: int
    entries: int
    instructions: int
    smaller_stacks: int
    differences: int
    problems: ProblemCounts | None  #: None: nothing was verified
    seconds: float


def check_source(source: SourceFile, *, verified: bool = False) -> FileReport:
    """Check all code objects of one source. It never raises: what can't be read or compiled has an `error`.

    Args:
        source: what to check.
        verified: whether to verify them too.
    """
    try:
        roots = load(source)
    except TargetError as error:
        return FileReport(source.name, source.named, str(error))
    codes = [code for root in roots for code in code_objects(root)]
    trips = [(code, round_trip(code)) for code in codes]
    return FileReport(
        name=source.name,
        named=source.named,
        error=None,
        code_objects=len(codes),
        with_table=sum(bool(code.co_exceptiontable) for code in codes),
        entries=sum(trip.entries for _, trip in trips),
        instructions=sum(trip.instructions for _, trip in trips),
        smaller_stacks=tuple(
            SmallerStack(code.co_qualname, code.co_firstlineno, trip.unreachable_handler)
            for code, trip in trips
            if trip.unreachable_handler is not None
        ),
        differences=tuple(_found(code, difference) for code, trip in trips for difference in trip.differences),
        problems=_count(codes) if verified else None,
    )


def _count(codes: list[CodeType]) -> ProblemCounts:
    found = [problem.severity for code in codes for problem in verify(code)]
    return ProblemCounts(found.count(ERROR), found.count(WARNING))


def _found(code: CodeType, difference: Difference) -> FoundDifference:
    parts = {field.name: getattr(difference, field.name) for field in fields(difference)}
    return FoundDifference(code.co_qualname, code.co_firstlineno, **parts)


def summary(reports: list[FileReport], seconds: float) -> Summary:
    """The sums over `reports`."""
    counts = [report.problems for report in reports if report.problems is not None]
    problems = ProblemCounts(sum(count.errors for count in counts), sum(count.warnings for count in counts))
    return Summary(
        files=len(reports),
        not_compilable=sum(report.error is not None for report in reports),
        code_objects=sum(report.code_objects for report in reports),
        with_table=sum(report.with_table for report in reports),
        entries=sum(report.entries for report in reports),
        instructions=sum(report.instructions for report in reports),
        smaller_stacks=sum(len(report.smaller_stacks) for report in reports),
        differences=sum(len(report.differences) for report in reports),
        problems=problems if counts else None,
        seconds=round(seconds, 1),
    )
