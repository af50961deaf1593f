"""`typed_frame`: what is known of each stack slot and each variable before an instruction.

1. The verifier walks over all paths and keeps what it knows where paths meet (`xtab.analysis.verify.stack`).
2. From the last such place before the instruction, its steps are taken once more up to the instruction.
3. The verifier knows which variables are bound for sure. Which may be bound at all is followed on its own: stores on
   any way there, since the last time the variable was deleted or cleared (`_may_be_bound`).

CPython sources followed: those of the verifier, ``Python/bytecodes.c`` above all.

Facts hold whatever way was taken, and for the values that the frame holds, not for copies elsewhere.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from xtab.analysis.code_map import CodeMap
from xtab.analysis.verify.checks import walked
from xtab.analysis.verify.kinds import NULL, OBJECT, SELF, words_for
from xtab.analysis.verify.parts import CodeParts
from xtab.analysis.verify.report import Report
from xtab.errors import VerificationError
from xtab.format.code import code_of
from xtab.format.opcodes import CURRENT
from xtab.format.printable import one_line

if TYPE_CHECKING:
    from xtab.analysis.verify.kinds import Value
    from xtab.analysis.verify.machine import Machine
    from xtab.format.code import HasCode

__all__ = ["Binding", "Slot", "TypedFrame", "Variable", "typed_frame"]

Binding: TypeAlias = Literal["bound", "unbound", "maybe", "cell"]
"""Whether a variable has a value: on all ways that lead here, on none, or on some; or whether it holds a cell, whose
contents nobody knows."""


class Slot(NamedTuple):
    """What is known of one value on the stack.

    >>> import xtab
    >>> last = xtab.show(lambda x: (x, x)).rows[-1].offset
    >>> xtab.typed_frame(lambda x: (x, x), last).stack
    (Slot(words='a tuple', may_be_null=False, is_object=True, borrowed_from=()),)
    """

    words: str  #: what it may be: ``some object``, ``NULL or some object``, ``an iterator`` …
    may_be_null: bool
    #: whether it is a reference to an object for sure: neither NULL nor one of the numbers that the interpreter keeps
    #: on the stack itself
    is_object: bool
    #: the variables that it may have borrowed its reference from: it must be gone before they get another value
    borrowed_from: tuple[str, ...] = ()


class Variable(NamedTuple):
    """What is known of a local variable, a cell or a free variable.

    >>> import xtab
    >>> xtab.typed_frame(lambda x: x, 0).variables
    (Variable(name='x', binding='bound'),)
    """

    name: str
    binding: Binding  #: ``bound``, ``unbound``, ``maybe`` bound: on some ways; or it holds a ``cell``


class TypedFrame(NamedTuple):
    """What is known of a frame before it runs one of its instructions.

    >>> import xtab
    >>> print(xtab.typed_frame(lambda x: x, 0))
    stack: empty
    bound: x
    """

    offset: int  #: where the instruction begins, in bytes
    stack: tuple[Slot, ...]  #: from the bottom
    variables: tuple[Variable, ...]  #: in the order in which instructions number them
    handling: int  #: how many exceptions are being handled

    def __str__(self) -> str:
        """A line for the stack, and one for each binding that variables have."""
        lines = [f"stack: {', '.join(slot.words for slot in self.stack) or 'empty'}"]
        for binding in ("bound", "maybe", "unbound", "cell"):
            names = [variable.name for variable in self.variables if variable.binding == binding]
            lines += [f"{binding}: {one_line(', '.join(names))}"] * bool(names)
        return "\n".join(lines)


def typed_frame(code: HasCode, offset: int) -> TypedFrame | None:
    """What the verifier knows of each stack slot and each variable before an instruction.

    Args:
        code: a code object, or anything that has one.
        offset: in bytes; one inside an instruction, its prefixes and caches, means that instruction.

    Returns:
        A `TypedFrame`; None if nothing leads to the instruction.

    Raises:
        XtabError: there is no such offset.
        VerificationError: the code is not valid, so that nothing is sure. Its `problems` say why.
        DecodeError, TableFormatError: the code or its exception table can't be read.

    >>> import xtab
    >>> def size(path):
    ...     for line in path:
    ...         last = line
    ...     return last
    >>> frame = xtab.typed_frame(size, xtab.show(size).rows[-1].offset)
    >>> frame.stack[-1].words, [tuple(variable) for variable in frame.variables]
    ('some object', [('path', 'bound'), ('line', 'maybe'), ('last', 'bound')])

    There ``last`` was read already, so it is bound; ``line`` isn't if there were no lines.

    An END_FOR that a loop jumps to when it has come to its end is skipped then, on versions that have one: the stack
    is told as if FOR_ITER had left a value more.
    """
    found = CodeMap.of(code)
    place = found.place_at(offset)
    parts = CodeParts.of(code_of(code))
    report = Report(parts)
    walk = walked(parts, report)
    if walk is None or report.errors:
        raise VerificationError([problem for problem in report.problems() if problem.is_error])
    machine = walk.state_at(place)
    if machine is None:
        return None
    slots = tuple(_slot(value, parts.variables) for value in machine.stack)
    may_be_bound = _may_be_bound(found, place, (1 << parts.arguments) - 1)
    return TypedFrame(found.offset(place), slots, _variables(machine, may_be_bound), machine.level)


def _slot(value: Value, names: tuple[str, ...]) -> Slot:
    kinds, borrowed = value.kinds, value.borrowed
    lenders = tuple(name for number, name in enumerate(names) if borrowed >> number & 1)
    return Slot(words_for(kinds), bool(kinds & (NULL | SELF)), not kinds & ~OBJECT, lenders)


def _variables(machine: Machine, may_be_bound: int) -> tuple[Variable, ...]:
    found = []
    for number, name in enumerate(machine.parts.variables):
        binding: Binding = "unbound"
        if machine.cells >> number & 1:
            binding = "cell"
        elif machine.bound >> number & 1:
            binding = "bound"
        elif may_be_bound >> number & 1:
            binding = "maybe"
        found.append(Variable(name, binding))
    return tuple(found)


_CLEARS = CURRENT.numbers("DELETE_FAST", "LOAD_FAST_AND_CLEAR")
_STORES = CURRENT.numbers("STORE_FAST", "MAKE_CELL")
_STORES_FIRST, _STORES_BOTH = CURRENT.number.get("STORE_FAST_LOAD_FAST"), CURRENT.number.get("STORE_FAST_STORE_FAST")
_COPIES_CELLS = CURRENT.number["COPY_FREE_VARS"]


def _may_be_bound(found: CodeMap, wanted: int, arguments: int) -> int:
    """The variables that are bound on some way to a place, a set of bits."""
    known: dict[int, int] = {0: arguments}
    todo = [0]
    free = len(found.source.code.co_freevars)
    first_free = len(CodeParts.of(found.source.code).variables) - free
    while todo:
        place = heappop(todo)
        bound, opcode, arg = known[place], found.opcodes[place], found.args[place]
        region = found.innermost[place]
        after = bound
        if opcode in _CLEARS:
            after &= ~(1 << arg)
        elif opcode in _STORES:
            after |= 1 << arg
        elif opcode == _STORES_FIRST:
            after |= 1 << (arg >> 4)
        elif opcode == _STORES_BOTH:
            after |= 1 << (arg >> 4) | 1 << (arg & 15)
        elif opcode == _COPIES_CELLS:
            after |= ((1 << free) - 1) << first_free
        ways = [(each, after) for each in found.successors(place)]
        if region is not None:
            ways.append((found.handler_place(region), bound))
        for to, bits in ways:
            if to not in known or bits & ~known[to]:
                known[to] = known.get(to, 0) | bits
                heappush(todo, to)
    return known.get(wanted, 0)
