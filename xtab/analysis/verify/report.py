"""`Report`: collects problems, and fills in what all of them need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify.catalogue import ERROR, RULES
from xtab.analysis.verify.problem import Problem
from xtab.errors import TableFormatError
from xtab.format.locations import parse_location_table
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.analysis.verify.columns import Columns
    from xtab.analysis.verify.parts import CodeParts
    from xtab.format.exception_table import ExceptionTableEntry

__all__ = ["MOST_OF_A_RULE", "Report"]

MOST_OF_A_RULE = 100
"""So many problems of one rule are told one by one; hostile bytes would make millions."""


class Report:
    """The problems found so far in one code object."""

    def __init__(self, parts: CodeParts) -> None:
        self.parts = parts
        self.errors = 0  #: how many were errors
        self._problems: dict[tuple[str, int | None, str | int | None], Problem] = {}
        self._count: dict[str, int] = {}

    def add(
        self,
        code: str,
        message: str,
        hint: str = "",
        *,
        columns: Columns | None = None,
        index: int | None = None,
        offset: int | None = None,
        entry: ExceptionTableEntry | None = None,
        related: tuple[int, ...] = (),
    ) -> None:
        """Note a problem: at an instruction (`index` in `columns`), at an `offset`, or of the code object as a whole.

        The same rule speaks once of one instruction and entry, and says the same thing of the whole once.
        """
        opname = None
        if index is not None and columns is not None:
            offset = columns.starts[index]
            opname = CURRENT.name[columns.opcodes[index]]
        key = code, offset, message if offset is None else None if entry is None else entry.start
        if key in self._problems:
            return
        self.errors += RULES[code].severity == ERROR
        self._count[code] = self._count.get(code, 0) + 1
        if self._count[code] > MOST_OF_A_RULE:
            return
        self._problems[key] = Problem(code, message, hint, offset, opname, entry, related)

    def problems(self) -> tuple[Problem, ...]:
        """All of them, by offset; those of no instruction first."""
        if not self._problems:
            return ()
        found = sorted(self._problems.values(), key=lambda problem: -1 if problem.offset is None else problem.offset)
        lines = self._lines()
        return tuple(self._placed(problem, lines) for problem in found)

    def _placed(self, problem: Problem, lines: dict[int, int]) -> Problem:
        parts = self.parts
        line = lines.get(problem.offset if problem.offset is not None else -1)
        if line is None and type(parts.firstlineno) is int:
            line = parts.firstlineno
        left = self._count[problem.code] - MOST_OF_A_RULE
        more = f" (and {left:,} more like it)" if left > 0 and problem is self._last_of(problem.code) else ""
        return Problem(
            problem.code,
            problem.message + more,
            problem.hint,
            problem.offset,
            problem.opname,
            problem.entry,
            problem.related,
            _text(parts.qualname),
            _text(parts.filename),
            line,
        )

    def _last_of(self, code: str) -> Problem:
        return [problem for problem in self._problems.values() if problem.code == code][-1]

    def _lines(self) -> dict[int, int]:
        """Offset -> line, for the offsets of problems; as far as the location table can be read."""
        wanted = sorted(offset for _, offset, _ in self._problems if offset is not None)
        try:
            entries = parse_location_table(self.parts.linetable, self.parts.firstlineno)
        except (TableFormatError, TypeError, ValueError, OverflowError):
            return {}
        found: dict[int, int] = {}
        at = iter(wanted)
        offset = next(at, None)
        for entry in entries:
            while offset is not None and offset < entry.end:
                if entry.location is not None and entry.location.line is not None and offset >= entry.start:
                    found[offset] = entry.location.line
                offset = next(at, None)
        return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else repr(value)
