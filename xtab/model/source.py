"""`Source`: the columns that the instructions of one code object were decoded into.

An instruction that nobody has touched is just a place in its source; so decoding costs little, and `assemble` can take whole
stretches of untouched instructions over by slicing the columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xtab.format.opcodes import CURRENT, Kind
from xtab.model.slices import LocationSlices

if TYPE_CHECKING:
    from types import CodeType

    from xtab.format.locations import Location
    from xtab.model.tables import Tables

__all__ = ["Source"]


class Source:
    """What the bytes of one code object say of its instructions, by place; never changed, but for `touched`."""

    __slots__ = ("args", "jumps", "locations", "opcodes", "prefixes", "sizes", "starts", "tables", "targets", "touched", "wide")

    def __init__(self, code: CodeType, found: Any, tables: Tables) -> None:
        self.opcodes: bytes = found.shape.opcodes
        self.args: list[int] = found.shape.args
        self.wide: bool = found.shape.wide  #: whether an operand may be 256 or more
        self.targets: dict[int, int] = found.shape.targets  #: jump -> target
        self.jumps: list[int] = list(self.targets)
        self.sizes: bytes = found.sizes  #: code units
        self.starts: list[int] = found.starts  #: in code units, and the end
        self.prefixes: dict[int, int] = found.prefixes  #: those with more EXTENDED_ARG than they need -> how many
        self.locations = LocationSlices(code.co_linetable, code.co_firstlineno)
        self.tables = tables
        self.touched: set[int] = set()  #: places whose instruction has its own opcode, operand or location now

    def operand(self, place: int) -> Any:
        """What the operand at `place` stands for; not for jumps."""
        return self.tables.operand(self.opcodes[place], self.args[place])

    def location(self, place: int) -> Location | None:
        """Where in the source text the instruction at `place` stands."""
        return self.locations.location_at(self.starts[place])

    def is_jump(self, place: int) -> bool:
        """Whether the operand at `place` is another instruction."""
        return CURRENT.kind[self.opcodes[place]] == Kind.TARGET
