"""`block_stack`: what CPython's block stack held before 3.11, told from the exception table.

1. The instruction's own blocks are its innermost region and all around that (`Region.chain`).
2. Compilers leave some instructions out of all entries: the NOP of a ``try:`` line, jumps that were added late,
   NOT_TAKEN. Such a one lies in a region all the same if all that control comes from does, and something that it goes
   to; a run of them is judged as one (`_containing`).
3. Which exceptions are being handled is followed from the first instruction: PUSH_EXC_INFO begins to handle what its
   handler was entered for, POP_EXCEPT ends it, and a handler finds as many as there were where it was raised
   (`_handled`). Compilers leave a handler before POP_EXCEPT now and then where nothing but a signal can raise, so what
   only a signal raises is followed when all else is done, and what only a trace function raises after that.
4. Both kinds of blocks are put in one order: a block that handles an exception lies inside all that were there when
   its handler was entered: those that keep no more of the stack than its region does.

CPython sources followed: ``Objects/frameobject.c`` of 3.10 (`PyFrame_BlockSetup`), and ``Python/ceval.c``
(`exception_unwind`) since.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from xtab.analysis.code_map import CodeMap
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from xtab.analysis.regions import Region
    from xtab.format.code import HasCode

__all__ = ["Block", "BlockStack", "Blocks", "block_stack"]

_PUSH_EXC_INFO, _POP_EXCEPT = CURRENT.number["PUSH_EXC_INFO"], CURRENT.number["POP_EXCEPT"]
_LEFT_OUT = bytes(
    CURRENT.quiet[op] or (CURRENT.raises_on_signal[op] and not CURRENT.cannot_raise[op]) for op in range(256)
)
"""1 for what compilers may leave out of an entry in the midst of a block."""
_Handled: TypeAlias = "tuple[Any, Region] | None"
"""The exceptions that are being handled: those handled before, and the region that the last one came to."""


class Block(NamedTuple):
    """A block that is active at an instruction.

    >>> import xtab
    >>> def guarded(call):
    ...     try:
    ...         call()
    ...     finally:
    ...         call(1)
    >>> region = xtab.regions(guarded)[0]
    >>> [block] = xtab.block_stack(guarded, region.pieces[0][0])
    >>> block.region.label, block.depth, block.handling, block.covers
    ('finally', 0, False, True)
    """

    region: Region
    #: values that its handler finds on the stack (`handling`: found there), under lasti and the exception: what was
    #: called the block's level
    depth: int
    handling: bool  #: False: an exception would go to its handler; True: the handler runs, and handles an exception
    #: whether the exception table sends what the instruction raises there, if nothing inside it ends the exception.
    #: False: the block contains the instruction, but no entry covers it; or `handling`
    covers: bool

    def __str__(self) -> str:
        region = self.region
        if self.handling:
            return f"handling what {region} caught, above {self.depth} values"
        hole = "" if self.covers else ", which has a hole here"
        return f"{region}, handler {region.handler}, depth {self.depth}{hole}"


class BlockStack(tuple[Block, ...]):
    """The active blocks, outermost first; a tuple of `Block`.

    >>> import xtab
    >>> stack = xtab.block_stack(lambda: None, 0)
    >>> stack, stack.regions, stack.handled
    ((), (), ())
    """

    __slots__ = ()

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions that the instruction lies in, outermost first."""
        return tuple(block.region for block in self if not block.handling)

    @property
    def handled(self) -> tuple[Region, ...]:
        """The regions whose handler is handling an exception now, outermost first.

        ``sys.exception()`` is the exception that came to the last one.
        """
        return tuple(block.region for block in self if block.handling)

    def __str__(self) -> str:
        """One block a line, outermost first."""
        return "\n".join(map(str, self))


def block_stack(code: HasCode, offset: int) -> BlockStack:
    """The blocks that are active before an instruction, outermost first, bookkeeping included.

    Args:
        code: a code object, or anything that has one.
        offset: in bytes; one inside an instruction, its prefixes and caches, means that instruction.

    Returns:
        A tuple of `Block`: what the instruction lies in, and the exceptions that are being handled there, in the order
        in which they began. In code that can't be reached, no exceptions are known to be handled. Those that somebody
        wrote: ``[block for block in stack if not block.region.bookkeeping]``. Regions are compared by identity, and
        each call makes its own: those of two calls are the same if their letters are.

    Raises:
        XtabError: there is no such offset.
        DecodeError, TableFormatError: the code or its exception table can't be read.

    >>> import xtab
    >>> def ask(d, log):
    ...     try:
    ...         return d["k"]
    ...     except KeyError as error:
    ...         log(error)
    >>> inside = [i for i, row in enumerate(xtab.show(ask).rows) if row.operand in ("d", "log")]
    >>> [offset, handler] = [xtab.show(ask).rows[i].offset for i in inside]
    >>> [(block.region.label, block.depth) for block in xtab.block_stack(ask, offset)]
    [('except KeyError', 0)]
    >>> [region.label for region in xtab.block_stack(ask, handler).handled]
    ['except KeyError']
    """
    found = CodeMap.of(code)
    return Blocks(found).at(found.place_at(offset))


class Blocks:
    """The block stacks of one code object: for those who ask for more than one."""

    def __init__(self, found: CodeMap) -> None:
        self._map = found

    def at(self, place: int) -> BlockStack:
        """The block stack before the instruction at a place."""
        found = self._map
        covering = found.innermost[place]
        around = covering
        if _LEFT_OUT[found.opcodes[place]]:
            around = _containing(found, place) or covering
        covered = set() if covering is None else set(covering.chain)
        blocks = [] if around is None else [Block(each, each.depth, False, each in covered) for each in around.chain]
        handled = self._handled[place]
        at = len(blocks)
        while handled is not None:
            handled, region = handled
            while at and blocks[at - 1].depth > region.depth:
                at -= 1
            blocks.insert(at, Block(region, region.depth, True, False))
        return BlockStack(blocks)

    @cached_property
    def _handled(self) -> list[_Handled]:
        return _handled(self._map)


def _handled(found: CodeMap) -> list[_Handled]:
    """The exceptions that are being handled before each instruction; the first way that leads there tells."""
    seen = bytearray(len(found))
    handled: list[_Handled] = [None] * len(found)
    by_rank: tuple[list[tuple[int, Region | None, _Handled]], ...] = ([(0, None, None)], [], [])
    while todo := next(filter(None, by_rank), None):
        place, entered, state = todo.pop()
        if seen[place]:
            continue
        seen[place] = 1
        handled[place] = state
        opcode, region = found.opcodes[place], found.innermost[place]
        if region is not None and not seen[found.handler_place(region)]:
            rank = 2 if CURRENT.cannot_raise[opcode] else CURRENT.raises_on_signal[opcode]
            by_rank[rank].append((found.handler_place(region), region, state))
        if opcode == _PUSH_EXC_INFO and entered is not None:
            state = state, entered
        elif opcode == _POP_EXCEPT and state is not None:
            state = state[0]
        by_rank[0].extend((each, entered, state) for each in found.successors(place))
    return handled


def _containing(found: CodeMap, place: int) -> Region | None:
    """The innermost region that an instruction lies in, be it covered or not; of those that may be left out."""
    if found.innermost[place] is None and not found.regions:
        return None
    behind = _reach(found, {place}, CodeMap.predecessors)
    beside = next((each for each in behind if not _LEFT_OUT[found.opcodes[each]]), None)
    region = None if beside is None else found.innermost[beside]
    run = {each for each in _reach(found, behind, CodeMap.successors) if _LEFT_OUT[found.opcodes[each]]}
    while region is not None and not _holds(region, found, run, place):
        region = region.parent
    return region


def _reach(found: CodeMap, first: Iterable[int], beside: Callable[[CodeMap, int], Iterator[int]]) -> list[int]:
    """What may be left out and is led to from the first ones by nothing but such, and what is beside it."""
    reached = dict.fromkeys(first)
    todo = [each for each in reached if _LEFT_OUT[found.opcodes[each]]]
    for here in todo:  # grows as it goes
        for each in beside(found, here):
            if each not in reached:
                reached[each] = None
                if _LEFT_OUT[found.opcodes[each]]:
                    todo.append(each)
    return list(reached)


def _holds(region: Region, found: CodeMap, run: set[int], place: int) -> bool:
    """Whether an instruction lies in a region: all it comes from does, and something it goes to."""
    covered: dict[Region | None, bool] = {None: False}

    def covers(each: int) -> bool:
        innermost = found.innermost[each]
        if innermost is not None and innermost not in covered:
            covered[innermost] = region in innermost.chain
        return covered[innermost]

    left = {each for each in run if each and each not in found.handlers}  # in the region, for all that is known
    todo = list(left)
    while todo:
        here = todo.pop()
        if here not in left or covers(here):
            continue
        before, after = list(found.predecessors(here)), list(found.successors(here))
        come_from_it = all(each in left or covers(each) for each in before)
        if not come_from_it or not any(each in left or covers(each) for each in after):
            left.remove(here)
            todo += [each for each in (*before, *after) if each in left]
    return place in left or covers(place)
