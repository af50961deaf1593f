"""`hook_call`, `hook_calls`: calls that go to a callback instead, which sees the callee and the arguments.

A call finds a callable and a slot for ``self`` below its arguments; the slot holds NULL in most calls, and bytecode
can't look at NULL. But the instruction that made the slot tells what is in it:

1. One walk over the body (`_Writers`) keeps which instruction made each slot of the stack.
2. A NULL that was pushed becomes the callback. A method that was loaded with its ``self`` apart is loaded as a bound
   method, with the callback in the other slot. So the stack stays as deep as it was, and handlers around need no care.
3. A call that has a value there (as decorators have) passes it as its first argument.
4. At the call, the arguments are put into a tuple and a dictionary, and the callback is called with the callee in the
   place of its ``self``.

Linear in the number of instructions.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from xtab.errors import EditError, XtabError
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.model.arguments import instructions_given, require
from xtab.model.instruction import Instruction
from xtab.model.stack import stack_depths
from xtab.transform.arguments import require_body
from xtab.transform.emit import build_tuple, call_on_stack, load_const, tuple_from_iterable, tuple_from_list
from xtab.transform.moves import taken_and_made
from xtab.transform.sequences import become, put_behind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xtab.model.body import Body

__all__ = ["hook_call", "hook_calls"]

_CALLS = CURRENT.numbers("CALL", "CALL_KW", "CALL_FUNCTION_EX")
_BEFORE_CALL = CURRENT.numbers("KW_NAMES", "PRECALL")
_MOVES = CURRENT.numbers("SWAP", "COPY", "LOAD_FAST_AND_CLEAR")


def hook_call(body: Body, call: Instruction, callback: Any) -> None:
    """Turn a call into ``callback(callee, args, kwargs)``; what it returns is the result of the call.

    Args:
        body: the body that is edited.
        call: a CALL, CALL_KW or CALL_FUNCTION_EX of it.
        callback: an object, which the code then holds as a constant, or a list of instructions without jumps that
            leaves the callable on the stack, such as :func:`~xtab.transform.emit.load_import` makes. It gets three
            arguments: the callee, as the source names it (``x.f`` is a bound method); a tuple of the positional
            arguments; a new dictionary of those given by keyword, or None if there are none.

    Raises:
        EditError: it's a call that a with statement makes, or the instruction that made the callee can't be told.
        XtabError: the instruction is no call of this body.

    >>> import xtab
    >>> def f(x):
    ...     return x.replace("a", "b")
    >>> body = xtab.decode(f)
    >>> call = next(each for each in body.instructions if each.opname == "CALL")
    >>> hook_call(body, call, lambda callee, args, kwargs: (callee.__name__, args, kwargs))
    >>> f.__code__ = xtab.assemble(body)
    >>> f("x")
    ('replace', ('a', 'b'), None)
    """
    _Hooks(body, callback).apply([require(call, Instruction, "a call of this body")])


def hook_calls(body: Body, callback: Any) -> int:
    """:func:`hook_call` for every call of a body that can be hooked, and how many these are.

    Left out are the calls that with statements make, and the hooks of an earlier `hook_calls`.

    >>> import xtab
    >>> def f(x):
    ...     return len(str(x))
    >>> body = xtab.decode(f)
    >>> hook_calls(body, lambda callee, args, kwargs: callee(*args))
    2
    >>> f.__code__ = xtab.assemble(body)
    >>> f(100)
    3
    """
    hooks = _Hooks(body, callback)
    return hooks.apply([each for each in body.instructions if each.opcode in _CALLS], passing_over=True)


class _Site(NamedTuple):
    """What the stack holds where a call begins."""

    first: int  # where the instructions of the call begin in the body
    last: int
    size: int  # how many arguments, those by keyword included
    keywords: tuple[str, ...]
    lowest: Instruction | None  # what made the lower of the two slots below the arguments
    null: Instruction | None  # what made the slot where NULL may be, one of the two
    unpacked: bool  # whether the arguments come as a tuple, and maybe a dictionary
    named: Instruction | None  # what made the dictionary, or the NULL in its place


class _Hooks:
    def __init__(self, body: Body, callback: Any) -> None:
        self._body = require_body(body)
        if not callable(callback):
            callback = instructions_given(callback, "as the callback, or a callable", maker="load_import")
            if not callback:
                raise XtabError("expected instructions that load the callback, but found none")
        self._callback: Sequence[Instruction] = callback if isinstance(callback, list) else load_const(callback)
        self._behind: dict[Instruction, list[Instruction]] = {}  # instruction -> what goes right behind it
        self._gone: set[Instruction] = set()

    def apply(self, calls: Iterable[Instruction], *, passing_over: bool = False) -> int:
        """Hook calls; `passing_over` those that can't be."""
        wanted = set(calls)
        sites = _sites(self._body.instructions, stack_depths(self._body), wanted)
        if len(sites) < len(wanted) and not passing_over:
            strange = next(each for each in wanted if each not in sites)
            raise XtabError(f"expected a call of this body that can be reached, but found {strange!r}")
        hooked = 0
        for call, site in sites.items():
            reason = _why_not(site, self._behind)
            if reason is None:
                self._hook(site)
                hooked += 1
            elif not passing_over:
                raise EditError(f"expected a call that can be hooked, but found {call!r}: {reason}", instruction=call)
        self._weave()
        return hooked

    def _hook(self, site: _Site) -> None:
        instructions = self._body.instructions
        first = instructions[site.first]
        new = self._operands(site)
        maker = site.null
        assert maker is not None
        if _makes_null(maker) or _loads_method(maker):
            self._make_room(maker)
        else:
            new += [*map(copy, self._callback), *(Instruction("SWAP", distance) for distance in (4, 3, 2))]
        new += call_on_stack(3)
        become(first, new[0])
        self._behind[first] = new[1:]
        self._gone.update(instructions[site.first + 1 : site.last + 1])

    def _make_room(self, maker: Instruction) -> None:
        """Change what made the slot for NULL, so that the callback is there, below the callee."""
        callback = list(map(copy, self._callback))
        below = [] if maker.opname == "PUSH_NULL" and CURRENT.null_first else [Instruction("SWAP", 2)]
        if maker.opname == "PUSH_NULL":
            become(maker, callback.pop(0))
        elif maker.opname == "LOAD_METHOD":
            maker.opname = "LOAD_ATTR"
        else:
            maker.flags &= ~1
        self._behind[maker] = [*callback, *below]

    def _operands(self, site: _Site) -> list[Instruction]:
        """What turns the arguments on the stack into a tuple, and a dictionary or None above it."""
        assert site.null is not None
        if not site.unpacked:
            count = site.size + (not _makes_null(site.null) and not _loads_method(site.null))
            return _collected(count, site.keywords)
        if site.named is None:
            return [*tuple_from_iterable(), *load_const(None)]
        if _makes_null(site.named):
            become(site.named, load_const(None)[0])
        return [Instruction("SWAP", 2), *tuple_from_iterable(), Instruction("SWAP", 2)]

    def _weave(self) -> None:
        instructions = self._body.instructions
        instructions[:] = [each for each in put_behind(instructions, self._behind) if each not in self._gone]


def _why_not(site: _Site, taken: Iterable[Instruction]) -> str | None:
    """Why a call can't be hooked, in words, or None."""
    maker = site.null
    if maker is None or maker.opcode in _MOVES or maker in taken:
        return "its callee is put in place by other instructions than those that load it, as for a with statement"
    if _makes_null(maker) or (_loads_method(maker) and not site.unpacked):
        return None
    if site.unpacked:
        return f"expected NULL beside its callee, but {maker!r} is there"
    lowest = site.lowest
    if lowest is None or lowest.opcode in _MOVES or taken_and_made(lowest)[1] != 1 or taken_and_made(maker)[1] != 1:
        return "its callee is not loaded where it is called, as for a with statement"
    return None


def _makes_null(maker: Instruction) -> bool:
    return maker.opname == "PUSH_NULL" or (maker.opname == "LOAD_GLOBAL" and bool(maker.flags & 1))


def _loads_method(maker: Instruction) -> bool:
    """Whether it leaves a method and its self, or NULL and something else: it depends on the object."""
    return maker.opname == "LOAD_METHOD" or (maker.opname in ("LOAD_ATTR", "LOAD_SUPER_ATTR") and bool(maker.flags & 1))


def _collected(count: int, keywords: tuple[str, ...]) -> list[Instruction]:
    """Turn `count` values on the stack, the last of them named, into a tuple and a dictionary, or None."""
    if not keywords:
        return [*build_tuple(count), *load_const(None)]
    new = [
        Instruction("BUILD_TUPLE", count),
        Instruction("UNPACK_EX", len(keywords) << 8),  # now the first of the named ones is the highest
        *tuple_from_list(),
        Instruction("BUILD_MAP", 0),
    ]
    for number, name in enumerate(keywords):  # the tuple and the dictionary change places each time
        new += [
            Instruction("SWAP", 3),
            *load_const(name),
            Instruction("SWAP", 2),
            Instruction("MAP_ADD", 1 if number % 2 else 2),
        ]
    return new + [Instruction("SWAP", 2)] * (len(keywords) % 2)


def _sites(
    instructions: Sequence[Instruction], depths: Sequence[int | None], wanted: set[Instruction]
) -> dict[Instruction, _Site]:
    """The calls that are wanted, with what made their operands."""
    sites: dict[Instruction, _Site] = {}
    writers = _Writers()
    first, at_first = 0, list[Instruction | None]()
    for place, (each, depth) in enumerate(zip(instructions, depths, strict=True)):
        if depth is None:
            continue
        if not (place and instructions[place - 1].opcode in _BEFORE_CALL):
            first = place
            writers.enter(depth)
            at_first = writers.slots.copy() if each in wanted or each.opcode in _BEFORE_CALL else []
        if each in wanted and each.opcode in _CALLS:
            sites[each] = _site(instructions, first, place, at_first)
        writers.enter(depth)
        writers.run(each)
    return sites


def _site(instructions: Sequence[Instruction], first: int, last: int, slots: list[Instruction | None]) -> _Site:
    call = instructions[last]
    count, keywords, named = call.operand or 0, (), None
    unpacked = call.opname == "CALL_FUNCTION_EX"
    if unpacked:
        above = 1 + (CURRENT.kind[call.opcode] == OperandKind.NONE or count & 1)
        named = slots[-1] if above == 2 else None
    else:
        above = count + (call.opname == "CALL_KW")
    below = slots[: len(slots) - above]
    lowest, null = (below[-2], below[-2 if CURRENT.null_first else -1]) if len(below) >= 2 else (None, None)
    if instructions[first].opname == "KW_NAMES":
        keywords = instructions[first].operand
    elif call.opname == "CALL_KW":
        names = instructions[last - 1]
        if slots[-1] is names and names.opname == "LOAD_CONST":
            first, keywords = last - 1, names.operand
        else:
            null = None
    return _Site(first, last, count, keywords, lowest, null, unpacked, named)


class _Writers:
    """Which instruction made each slot of the stack, as far as it can be told from what stands in front."""

    def __init__(self) -> None:
        self.slots: list[Instruction | None] = []

    def enter(self, depth: int) -> None:
        """Go on at an instruction where the stack is `depth` deep."""
        del self.slots[depth:]
        self.slots += [None] * (depth - len(self.slots))

    def run(self, instruction: Instruction) -> None:
        """Note what an instruction takes and makes."""
        if instruction.opname == "SWAP":
            self.slots[-1] = self.slots[-instruction.operand] = instruction
            return
        taken, made = taken_and_made(instruction)
        del self.slots[len(self.slots) - taken :]
        self.slots += [instruction] * made
