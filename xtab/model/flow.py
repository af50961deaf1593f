"""`Shape`: a body as numbers, by instruction index and without any objects.

`decode` reads it from bytes, `shape` from instructions, and whatever walks over control flow works on it.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Entry", "Shape"]


class Entry(NamedTuple):
    """An entry of the exception table by index of instructions: [first, end) goes to `handler`."""

    first: int
    end: int
    handler: int
    depth: int | None  #: None: not known yet
    lasti: bool


class Shape(NamedTuple):
    """A body as numbers. Lists are in the order of the instructions."""

    opcodes: bytes
    args: list[int]
    wide: bool  #: whether an operand may be 256 or more
    targets: dict[int, int]  #: jump -> target, by index, in order of the jumps; marks included
    entries: list[Entry]  #: in order, not overlapping
