"""What `xtab verify` finds in a file: the problems of all its code objects, each with the instructions around it.

A code object of a .pyc is never made: the verifier works on plain parts, which are read from the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xtab.analysis.verify import verify_parts
from xtab.cli.parts import load_parts
from xtab.errors import TargetError
from xtab.report.excerpt import excerpt

if TYPE_CHECKING:
    from collections.abc import Collection

    from xtab.analysis.verify import Problem
    from xtab.cli.targets import SourceFile

__all__ = ["FileFindings", "Finding", "verify_source"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, and the lines that show where it is."""

    problem: Problem
    excerpt: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileFindings:
    """What `verify_source` found in one file."""

    name: str  #: the file, as it can be given on the command line
    named: bool  #: whether it was named there itself
    error: str | None  #: why it could not be read or compiled
    code_objects: int = 0
    findings: tuple[Finding, ...] = ()


def verify_source(source: SourceFile, *, codes: Collection[str]) -> FileFindings:
    """Verify all code objects of one source; what can't be read or compiled has an `error`.

    Args:
        source: what to verify.
        codes: of the rules to heed.
    """
    try:
        known = load_parts(source)
    except TargetError as error:
        return FileFindings(source.name, source.named, str(error))
    findings = []
    for parts in known:
        for problem in verify_parts(parts):
            if problem.code in codes:
                lines = excerpt(parts, problem.offset)
                findings.append(Finding(problem, tuple(lines)))
    return FileFindings(source.name, source.named, None, len(known), tuple(findings))
