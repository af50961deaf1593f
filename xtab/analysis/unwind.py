"""`unwind`: where an exception goes, handler by handler, if none of them ends it.

1. The handler is looked up as the interpreter does: for the instruction that raises; for an exception out of a Python
   function that the instruction runs in the same loop, on some versions for the unit before it (`_looked_up`).
2. From the handler's first instruction, control is followed as far as the exception is on the stack or being handled,
   up to the instruction that raises it again (`_again`): a RERAISE that finds it on top, CLEANUP_THROW or
   END_ASYNC_FOR; or else a ``raise`` without anything, which the programmer wrote. What a handler of ``except*`` raises
   is put into a list first, and raised at the end of all of them. Where something else is raised meanwhile, and a
   handler inside this one gets it, control goes on there (`_inner_handler`).
3. From there it goes on with step 1, until there is no handler any more, or one that doesn't raise it again.

CPython sources followed: ``Python/ceval.c`` (`exception_unwind`, `get_exception_handler`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from xtab.analysis.code_map import CodeMap
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xtab.analysis.regions import Region
    from xtab.format.code import HasCode

__all__ = ["Step", "Unwinding", "unwind"]


_PUSH_EXC_INFO, _POP_EXCEPT = CURRENT.number["PUSH_EXC_INFO"], CURRENT.number["POP_EXCEPT"]
_LIST_APPEND = CURRENT.number["LIST_APPEND"]
_DEEPEST, _HIGHEST = 1 << 12, 1 << 18
"""Values under a handler that are told apart, and values on a stack: nobody compiled code that has more."""
_COPY, _SWAP, _RAISE = CURRENT.number["COPY"], CURRENT.number["SWAP"], CURRENT.number["RAISE_VARARGS"]


class Step(NamedTuple):
    """One step on the way of an exception: to a handler, or out to the caller. Offsets are in bytes.

    >>> import xtab
    >>> [step] = xtab.unwind(lambda x: x.y, 0)
    >>> step.raised_at, step.region, str(step)
    (0, None, 'caller')
    """

    raised_at: int  #: the instruction that raises: the one asked for, then the one that raises it again
    region: Region | None  #: whose handler gets it; None: the caller does
    handler: int | None  #: offset of the handler's first instruction
    depth: int | None  #: values that are left on the stack, before lasti and the exception are pushed
    #: how many values go from the stack, those that the instruction has taken by then included; None: unknown, or the
    #: instruction can't be reached
    popped: int | None
    lasti: bool  #: whether the offset of the instruction that raised is pushed, under the exception

    @property
    def stack(self) -> int | None:
        """Depth of the stack at the handler's first instruction: what was left and what was pushed."""
        return None if self.depth is None else self.depth + self.lasti + 1

    def __str__(self) -> str:
        return "caller" if self.region is None else f"{self.region} ({self.handler})"


class Unwinding(tuple[Step, ...]):
    """The way of an exception; a tuple of `Step`. ``str()`` leaves the bookkeeping out.

    >>> import xtab
    >>> way = xtab.unwind(lambda x: x.y, 0)
    >>> len(way), way.escapes, str(way)
    (1, True, 'caller')
    """

    __slots__ = ()

    @property
    def escapes(self) -> bool:
        """Whether the exception gets out to the caller if no handler on its way ends it."""
        return bool(self) and self[-1].region is None

    def __str__(self) -> str:
        """``C with (130) → B except OSError (164) → A finally (232) → caller``."""
        return " → ".join(str(step) for step in self if step.region is None or not step.region.bookkeeping)


def unwind(code: HasCode, offset: int, *, from_callee: bool = False) -> Unwinding:
    """Where an exception that an instruction raises goes, step by step, as long as no handler ends it.

    Args:
        code: a code object, or anything that has one.
        offset: in bytes; one inside an instruction, its prefixes and caches, means that instruction.
        from_callee: whether the exception comes out of a Python function that the instruction called. That makes no
            difference in code that a compiler or `assemble` made, nor in any that `verify` accepts.

    Returns:
        A tuple of `Step`, bookkeeping included. The last one leads to the caller, or to a handler that doesn't raise
        the exception again, such as a bare ``except:``. Regions are compared by identity, and each call makes its own:
        those of two calls are the same if their letters are.

    Raises:
        XtabError: there is no such offset.
        DecodeError, TableFormatError: the code or its exception table can't be read.

    >>> import xtab
    >>> def ask(d):
    ...     try:
    ...         return d["k"]
    ...     except KeyError:
    ...         return None
    >>> way = xtab.unwind(ask, xtab.regions(ask)[0].pieces[0][0])
    >>> str(way) == f"A except KeyError ({way[0].handler}) → caller"
    True
    >>> [(step.depth, step.popped) for step in way if step.region]
    [(0, 0), (1, 1)]
    """
    found = CodeMap.of(code)
    return way_from(found, found.place_at(offset), from_callee=from_callee)


def way_from(found: CodeMap, place: int, *, from_callee: bool = False) -> Unwinding:
    """`unwind` in a code map: for those who ask for more than one way."""
    steps: list[Step] = []
    gone_through: set[int] = set()
    region = _looked_up(found, place) if from_callee else found.innermost[place]
    again: int | None = place
    while again is not None:
        depth, raised_at = found.depths[again], found.offset(again)
        if region is None:
            steps.append(Step(raised_at, None, None, None, depth, lasti=False))
            break
        handler = found.handler_place(region)
        if handler in gone_through:  # handlers that raise it to each other for ever: no compiler makes such
            break
        gone_through.add(handler)
        popped = None if depth is None or depth < region.depth else depth - region.depth
        steps.append(Step(raised_at, region, region.handler, region.depth, popped, region.lasti))
        again = _again(found, handler, region)
        region = None if again is None else found.innermost[again]
    return Unwinding(steps)


def _looked_up(found: CodeMap, place: int) -> Region | None:
    """The region whose handler gets an exception that comes out of a Python callee of the instruction."""
    runs_python = CURRENT.looks_up_unit_before and CURRENT.runs_python[found.opcodes[place]]
    prefixed = found.source.sizes[place] > CURRENT.units[found.opcodes[place]]
    if not runs_python or prefixed:
        return found.innermost[place]
    return found.innermost[place - 1] if place else None


class _Follower(NamedTuple):
    """A place, and what is known there of the exception that is followed."""

    place: int
    height: int  # of the stack, counted from below what the handler found
    ours: int  # a set of bits: the slots that hold the exception, or what became of it
    handling: int  # exceptions that the handler has begun to handle and not ended
    handled: bool  # whether ours is the first of them


def _again(found: CodeMap, handler: int, region: Region) -> int | None:
    """The place that raises the exception again; None: nothing does."""
    height = min(region.depth, _DEEPEST) + region.lasti + 1
    todo = [_Follower(handler, height, 1 << (height - 1), 0, handled=False)]
    inner: list[_Follower] = []  # handlers inside, which are looked at when all else is done
    seen: set[int] = set()
    explicit = None
    while todo or inner:
        here = (todo or inner).pop()
        if here.place in seen:
            continue
        seen.add(here.place)
        opcode, arg = found.opcodes[here.place], found.args[here.place]
        on_top = here.height > 0 and here.ours >> (here.height - 1) & 1
        if CURRENT.raises_again[opcode] and on_top:
            return here.place
        if opcode == _RAISE and not arg and here.handled and here.handling == 1 and explicit is None:
            explicit = here.place
        jump = found.jumps.get(here.place)
        for each in found.successors(here.place):
            after = _after(here, opcode, arg, each, jumps=each == jump)
            if after is not None:
                todo.append(after)
        inner += _inner_handler(found, here, region)
    return explicit


def _inner_handler(found: CodeMap, here: _Follower, region: Region) -> Iterator[_Follower]:
    """Where control goes if something else is raised at an instruction, and a handler inside the handler gets it."""
    innermost = found.innermost[here.place]
    if innermost is None or innermost.depth <= region.depth or CURRENT.cannot_raise[found.opcodes[here.place]]:
        return
    kept = min(innermost.depth, here.height)
    ours = here.ours & ((1 << kept) - 1)
    if ours or here.handled:
        height = innermost.depth + innermost.lasti + 1
        yield here._replace(place=found.handler_place(innermost), height=height, ours=ours)


def _after(here: _Follower, opcode: int, arg: int, to: int, *, jumps: bool) -> _Follower | None:
    """What is known behind an instruction; None: the exception is gone."""
    _, height, ours, handling, handled = here
    if opcode == _PUSH_EXC_INFO:  # what was handled before goes under it
        on_top = ours >> (height - 1) & 1
        ours = ours & ~(1 << (height - 1)) | on_top << height
        return _Follower(to, height + 1, ours, handling + 1, handled or bool(on_top))
    if opcode == _SWAP:
        one, other = height - 1, height - arg
        if other < 0:
            return None
        a, b = ours >> one & 1, ours >> other & 1
        return here._replace(place=to, ours=ours & ~(1 << one | 1 << other) | a << other | b << one)
    if opcode == _COPY:
        copied = ours >> (height - arg) & 1 if 0 < arg <= height else 0
        return here._replace(place=to, height=height + 1, ours=ours | copied << height)
    if opcode == _LIST_APPEND and ours >> (height - 1) & 1 and height - 1 - arg >= 0:
        ours |= 1 << (height - 1 - arg)  # what an except* handler raises goes with others, at the end of them all
    if opcode == _POP_EXCEPT:
        handling -= 1
        handled = handled and handling > 0
    taken, effect = CURRENT.taken(opcode, arg), CURRENT.effect(opcode, arg, jump=jumps)
    left = max(height - taken, 0)
    took_ours = bool(ours >> left)
    height += effect
    if not 0 <= height <= _HIGHEST:
        return None
    ours &= (1 << left) - 1
    if took_ours and height > left:  # made of it: what except* leaves, what a generator makes of StopIteration
        ours |= ((1 << (height - left)) - 1) << left
    ours &= (1 << height) - 1
    return _Follower(to, height, ours, handling, handled) if ours or handled else None
