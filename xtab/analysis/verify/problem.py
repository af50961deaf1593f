"""`Problem`: one finding of the verifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xtab.analysis.verify.catalogue import ERROR, RULES
from xtab.format.printable import one_line

if TYPE_CHECKING:
    from xtab.format.exception_table import ExceptionTableEntry

__all__ = ["Problem"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a code object: which rule, where, what was expected, and what to do.

    >>> problem = Problem("XT402", "expected depth 1, but found 2", offset=14, opname="POP_TOP", qualname="f")
    >>> print(problem)
    XT402 merge-conflict: f at 14 (POP_TOP): expected depth 1, but found 2
    """

    code: str  #: the rule's stable code, such as ``"XT402"``
    message: str  #: "expected X, but found Y"
    hint: str = ""  #: what to do about it
    offset: int | None = None  #: of the instruction (its first prefix), in bytes; None: of no instruction
    opname: str | None = None  #: the instruction's name
    entry: ExceptionTableEntry | None = None  #: the entry of the exception table that is involved
    related: tuple[int, ...] = ()  #: other offsets in co_code that play a part, such as the other way to a merge
    qualname: str = ""  #: the code object's
    filename: str = ""  #: the code object's
    line: int | None = None  #: in the source, where the location table has one; else the code object's first line

    @property
    def name(self) -> str:
        """The rule's name, such as ``"merge-conflict"``."""
        return RULES[self.code].name

    @property
    def severity(self) -> str:
        """``"error"``: can crash or corrupt. ``"warning"``: legal, but not what a compiler writes."""
        return RULES[self.code].severity

    @property
    def is_error(self) -> bool:
        """Whether it can crash or corrupt, and is no mere warning."""
        return self.severity == ERROR

    @property
    def place(self) -> str:
        """The code object and the instruction, in words, such as ``"f at 14 (POP_TOP)"``."""
        at = "" if self.offset is None else f" at {self.offset}"
        return (self.qualname or "?") + at + (f" ({self.opname})" if self.opname and at else "")

    def __str__(self) -> str:
        return one_line(f"{self.code} {self.name}: {self.place}: {self.message}")
