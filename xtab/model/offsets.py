"""Offsets of instructions: `Layout`, where those of a body lie in its code, and `checked_offset`."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from xtab.errors import XtabError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xtab.model.instruction import Instruction

__all__ = ["Layout", "checked_offset"]


def checked_offset(offset: Any, end: int) -> int:
    """An offset in code that is `end` bytes long.

    Raises:
        XtabError: it is none.

    >>> checked_offset(4, 10)
    4
    """
    if isinstance(offset, int) and not isinstance(offset, bool) and 0 <= offset < end:
        return offset
    raise XtabError(f"expected an offset from 0 to {end - 1}, in bytes, but found {offset!r}")


class Layout:
    """Where each instruction lies in ``co_code``: the map of when the body was last decoded or assembled.

    >>> import xtab
    >>> body = xtab.decode(lambda: None)
    >>> body.layout.offset_of(body.instructions[0])
    0
    """

    __slots__ = ("_index", "_instructions", "_starts")

    def __init__(self, instructions: Sequence[Instruction], starts: Sequence[int]) -> None:
        self._instructions = instructions  # not to be changed
        self._starts = starts  # in code units, one more than there are instructions
        self._index: dict[Instruction, int] | None = None

    def __iter__(self) -> Iterator[tuple[int, Instruction]]:
        """Pairs of offset, in bytes, and instruction, in order."""
        return ((2 * start, instruction) for start, instruction in zip(self._starts, self._instructions, strict=False))

    def __len__(self) -> int:
        """How many instructions there are."""
        return len(self._instructions)

    def offset_of(self, instruction: Instruction) -> int:
        """Offset, in bytes, of the instruction's first unit: its EXTENDED_ARG, where it has one.

        Raises XtabError if the instruction wasn't there.
        """
        return 2 * self._starts[self._place(instruction)]

    def end_of(self, instruction: Instruction) -> int:
        """Offset, in bytes, behind the instruction's last cache."""
        return 2 * self._starts[self._place(instruction) + 1]

    def instruction_at(self, offset: int) -> Instruction:
        """The instruction that the byte at `offset` belongs to, prefixes and caches included.

        Raises XtabError if there is none.
        """
        checked = checked_offset(offset, 2 * self._starts[-1])
        return self._instructions[bisect_right(self._starts, checked // 2) - 1]

    def _place(self, instruction: Instruction) -> int:
        if self._index is None:
            self._index = {known: place for place, known in enumerate(self._instructions)}
        place = self._index.get(instruction)
        if place is None:
            msg = (
                "expected an instruction that was in the body when it was decoded or assembled, "
                f"but found {instruction!r}"
            )
            raise XtabError(msg)
        return place
