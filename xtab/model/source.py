"""`Source`: the columns that the instructions of one code object were decoded into.

An instruction that nobody has touched is just a place in its source; so decoding costs little, and `assemble` can
take whole stretches of untouched instructions over by slicing the columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xtab.format.opcodes import CURRENT, OperandKind
from xtab.model.slices import LocationSlices
from xtab.model.tables import Tables

if TYPE_CHECKING:
    from types import CodeType

    from xtab.format.exception_table import ExceptionTableEntry
    from xtab.format.locations import Location
    from xtab.model.flow import Shape

__all__ = ["Source"]


class Source:
    """What the bytes of a code object say of its instructions, by place; `touched`, `led` and `respanned` do change."""

    __slots__ = (
        "_locations", "_tables", "args", "code", "entries", "jumps", "led", "opcodes", "prefixes", "respanned", "shape",
        "sizes", "starts", "targets", "touched",
    )  # fmt: skip

    def __init__(
        self,
        code: CodeType,
        shape: Shape,
        starts: list[int],
        sizes: bytes,
        prefixes: dict[int, int],
        entries: list[ExceptionTableEntry],
    ) -> None:
        self.code = code
        self.shape = shape
        self.opcodes, self.args, _, self.targets, _ = shape
        self.jumps = list(self.targets)
        self.starts = starts  #: in code units, and the end
        self.sizes = sizes  #: code units, prefixes and caches included
        self.prefixes = prefixes  #: those with more EXTENDED_ARG than they need -> how many
        self.entries = entries  #: of the exception table, in offsets; `shape.entries` are the same by index
        self.touched: set[int] = set()  #: places whose instruction has its own opcode, operand or location now
        self.led: set[int] = set()  #: places of jumps that an edit has led elsewhere: their instruction knows where
        self.respanned = False  #: whether an instruction got another span
        self._locations: LocationSlices | None = None
        self._tables: Tables | None = None

    @property
    def tables(self) -> Tables:
        """The constants, names and variables."""
        if self._tables is None:
            self._tables = Tables(self.code)
        return self._tables

    def changed_tables(self) -> Tables | None:
        """The tables, if anybody has asked for them, so that they may not be those of the code object any more."""
        return self._tables

    @property
    def locations(self) -> LocationSlices:
        """The location table."""
        if self._locations is None:
            self._locations = LocationSlices(self.code.co_linetable, self.code.co_firstlineno)
        return self._locations

    def operand(self, place: int) -> Any:
        """What the operand at `place` stands for; not for jumps."""
        return self.tables.operand(self.opcodes[place], self.args[place])

    def location(self, place: int) -> Location | None:
        """Where in the source text the instruction at `place` stands."""
        return self.locations.location_at(self.starts[place])

    def is_jump(self, place: int) -> bool:
        """Whether the operand at `place` is another instruction."""
        return CURRENT.kind[self.opcodes[place]] == OperandKind.TARGET
