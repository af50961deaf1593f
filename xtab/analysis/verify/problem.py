"""`Problem`: one finding of the verifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xtab.analysis.verify.catalogue import RULES

if TYPE_CHECKING:
    from xtab.format.exception_table import ExceptionTableEntry

__all__ = ["Problem"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a code object: which rule, where, what was expected, and what to do.

    >>> problem = Problem("XT402", "expected depth 1, but found 2", offset=14, opname="POP_TOP")
    >>> print(problem)
    XT402 merge-conflict: at 14 (POP_TOP): expected depth 1, but found 2
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

    def __str__(self) -> str:
        where = "" if self.offset is None else f"at {self.offset} ({self.opname}): "
        return f"{self.code} {self.name}: {where}{self.message}"
