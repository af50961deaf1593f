"""`CodeMap`: the instructions of one code object by place, with what leads where and which region has which.

A place is the number of an instruction, from 0. What asks where an exception or a jump goes (`block_stack`, `unwind`,
`control_flow`) asks this.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from xtab.analysis.regions import Region, read_regions
from xtab.format.code import code_of
from xtab.format.opcodes import CURRENT
from xtab.model.decode import read_source
from xtab.model.depths import measure
from xtab.model.offsets import checked_offset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xtab.format.code import HasCode
    from xtab.model.depths import Stack
    from xtab.model.source import Source

__all__ = ["CodeMap"]


class CodeMap:
    """What leads where in one code object."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.opcodes, self.args = source.opcodes, source.args
        self.regions = read_regions(source)
        self.jumps = {jump: to for jump, to in source.targets.items() if source.opcodes[jump] not in CURRENT.marks}
        #: the region whose handler gets what the instruction raises, by place; None: the caller does
        self.innermost: list[Region | None] = [None] * len(source.opcodes)
        #: place -> the region whose handler begins there
        self.handlers: dict[int, Region] = {}
        self._handler_places: dict[Region, int] = {}
        by_key = {region.key: region for region in self.regions}
        for (first, end, handler, *_), entry in zip(source.shape.entries, source.entries, strict=True):
            region = by_key[entry[2:]]
            self.innermost[first:end] = [region] * (end - first)
            self.handlers.setdefault(handler, region)
            self._handler_places[region] = handler

    @classmethod
    def of(cls, code: HasCode) -> CodeMap:
        """The map of a code object, or of anything that has one."""
        return cls(read_source(code_of(code)))

    def __len__(self) -> int:
        """How many instructions there are."""
        return len(self.opcodes)

    def place_at(self, offset: int) -> int:
        """The place of the instruction that a byte belongs to, prefixes and caches included.

        Raises:
            XtabError: there is no such byte.
        """
        checked = checked_offset(offset, 2 * self.source.starts[-1])
        return bisect_right(self.source.starts, checked >> 1) - 1

    def offset(self, place: int) -> int:
        """Where the instruction begins, its prefixes included, in bytes; of the place behind the last: the end."""
        return 2 * self.source.starts[place]

    def handler_place(self, region: Region) -> int:
        """The place of the first instruction of a region's handler."""
        return self._handler_places[region]

    def successors(self, place: int) -> Iterator[int]:
        """The places that control may go to from an instruction that doesn't raise."""
        if place in self.jumps:
            yield self.jumps[place]
        if not CURRENT.stops[self.opcodes[place]] and place + 1 < len(self.opcodes):
            yield place + 1

    @cached_property
    def led_from(self) -> dict[int, list[int]]:
        """Target of jumps -> the places of the jumps."""
        found: dict[int, list[int]] = {}
        for jump, target in self.jumps.items():
            found.setdefault(target, []).append(jump)
        return found

    def predecessors(self, place: int) -> Iterator[int]:
        """The places that control may come from; not those whose exception is handled here."""
        yield from self.led_from.get(place, ())
        if place and not CURRENT.stops[self.opcodes[place - 1]]:
            yield place - 1

    @cached_property
    def _measured(self) -> Stack:
        return measure(self.source.shape, strict=False)

    @property
    def depths(self) -> list[int | None]:
        """Values on the stack before each instruction; None: unknown, or it can't be reached."""
        return self._measured.depths

    @property
    def stack_needed(self) -> int:
        """Slots that the instructions which can be reached need."""
        return self._measured.size
