"""`control_flow`: basic blocks, with edges where control goes on and where exceptions go.

1. The code is cut before every target of a jump and every handler, behind every jump and whatever doesn't go on, and
   where another region begins or ends: so all instructions of a block have the same handler.
2. A block has an edge to each place that its last instruction may go to, and one to its handler.
3. What can be reached is followed along the edges from the entry.

CPython's own graph is in ``Python/flowgraph.c``; this one is of the finished code.
"""

from __future__ import annotations

from bisect import bisect_right
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from xtab.analysis.code_map import CodeMap
from xtab.format.opcodes import CURRENT
from xtab.model.offsets import checked_offset

if TYPE_CHECKING:
    from xtab.analysis.regions import Region
    from xtab.format.code import HasCode

__all__ = ["BasicBlock", "ControlFlow", "Edge", "EdgeKind", "control_flow"]


class EdgeKind(StrEnum):
    """How control goes along an edge.

    >>> import xtab
    >>> [str(kind) for kind in xtab.EdgeKind]
    ['falls', 'jumps', 'raises']
    """

    FALLS = "falls"  #: on to the next instruction
    JUMPS = "jumps"  #: to the target of a jump
    RAISES = "raises"  #: to a handler


class Edge(NamedTuple):
    """One way out of a basic block.

    >>> import xtab
    >>> def absolute(x):
    ...     return -x if x.negative else x
    >>> [str(edge.kind) for edge in xtab.control_flow(absolute).entry.edges]
    ['falls', 'jumps']
    """

    kind: EdgeKind
    target: int  #: number of the block that it leads to
    region: Region | None = None  #: of an exception: the region whose handler gets it


class BasicBlock(NamedTuple):
    """Instructions that run one after the other. Offsets are in bytes, the range is half-open.

    >>> import xtab
    >>> [block] = xtab.control_flow(lambda x: x.y).blocks
    >>> block.start, block.reached, block.can_raise, block.edges
    (0, True, True, ())
    """

    number: int  #: its place in ``blocks``
    start: int  #: offset of its first instruction
    end: int  #: behind its last
    last: int  #: offset of its last instruction
    lines: tuple[int, int] | None  #: its first and last source line
    region: Region | None  #: whose handler gets what its instructions raise; None: the caller does
    #: whether any of its instructions can raise, signals included; if not, only a trace function takes the edge to the
    #: handler
    can_raise: bool
    reached: bool  #: whether any edges lead here from the entry
    edges: tuple[Edge, ...]  #: the fall through first, then the jump, then the exception's


class ControlFlow(NamedTuple):
    """The control flow of one code object.

    >>> import xtab
    >>> flow = xtab.control_flow(lambda x: x.y)
    >>> flow.block_at(0) is flow.entry, flow.unreachable
    (True, ())
    """

    blocks: tuple[BasicBlock, ...]  #: in the order of the code; ``blocks[0]`` is the entry

    @property
    def entry(self) -> BasicBlock:
        """The block where the code begins."""
        return self.blocks[0]

    @property
    def unreachable(self) -> tuple[BasicBlock, ...]:
        """The blocks that nothing leads to."""
        return tuple(block for block in self.blocks if not block.reached)

    def block_at(self, offset: int) -> BasicBlock:
        """The block that the byte at an offset lies in.

        Raises:
            XtabError: there is no such byte.
        """
        checked = checked_offset(offset, self.blocks[-1].end)
        return self.blocks[bisect_right(self.blocks, checked, key=lambda block: block.start) - 1]


def control_flow(code: HasCode) -> ControlFlow:
    """The basic blocks of a code object, and the edges between them, those of exceptions included.

    Args:
        code: a code object, or anything that has one.

    Raises:
        DecodeError, TableFormatError: the code or its exception table can't be read.

    >>> import xtab
    >>> def ask(d):
    ...     try:
    ...         return d["k"]
    ...     except KeyError:
    ...         return None
    >>> flow = xtab.control_flow(ask)
    >>> guarded = next(block for block in flow.blocks if block.region)
    >>> flow.blocks[guarded.edges[-1].target].start == guarded.region.handler
    True
    """
    found = CodeMap.of(code)
    firsts = _cuts(found)
    numbers = {first: number for number, first in enumerate(firsts)}
    edges = [_edges(found, last - 1, numbers) for last in (*firsts[1:], len(found))]
    reached = _reached(edges)
    ends = (*firsts[1:], len(found))
    return ControlFlow(
        tuple(
            BasicBlock(
                number, found.offset(first), found.offset(end), found.offset(end - 1), _lines(found, first, end),
                found.innermost[first], any(not CURRENT.cannot_raise[op] for op in found.opcodes[first:end]),
                bool(reached[number]), edges[number],
            )
            for number, (first, end) in enumerate(zip(firsts, ends, strict=True))
        )
    )  # fmt: skip


def _cuts(found: CodeMap) -> list[int]:
    """The places where blocks begin."""
    cuts = {0, *found.jumps.values(), *found.handlers}
    cuts.update(jump + 1 for jump in found.jumps)
    cuts.update(place + 1 for place, opcode in enumerate(found.opcodes) if CURRENT.stops[opcode])
    for first, end, *_ in found.source.shape.entries:
        cuts.update((first, end))
    cuts.discard(len(found))
    return sorted(cuts)


def _edges(found: CodeMap, last: int, numbers: dict[int, int]) -> tuple[Edge, ...]:
    """The edges of the block whose last instruction is at a place."""
    edges = []
    if not CURRENT.stops[found.opcodes[last]] and last + 1 < len(found):
        edges.append(Edge(EdgeKind.FALLS, numbers[last + 1]))
    if last in found.jumps:
        edges.append(Edge(EdgeKind.JUMPS, numbers[found.jumps[last]]))
    region = found.innermost[last]
    if region is not None:
        edges.append(Edge(EdgeKind.RAISES, numbers[found.handler_place(region)], region))
    return tuple(edges)


def _reached(edges: list[tuple[Edge, ...]]) -> bytearray:
    reached = bytearray(len(edges))
    reached[0] = 1
    todo = [0]
    while todo:
        for edge in edges[todo.pop()]:
            if not reached[edge.target]:
                reached[edge.target] = 1
                todo.append(edge.target)
    return reached


def _lines(found: CodeMap, first: int, end: int) -> tuple[int, int] | None:
    locations = (found.source.location(place) for place in range(first, end))
    lines = [each.line for each in locations if each is not None and each.line is not None]
    return (min(lines), max(lines)) if lines else None
