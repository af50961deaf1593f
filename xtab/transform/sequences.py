"""Lists of instructions that are not in a body yet: copies of them, and their spans and locations."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from xtab.format.opcodes import CURRENT, OperandKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from xtab.format.locations import Location
    from xtab.model.instruction import Instruction, Span

__all__ = ["become", "copies", "put_behind", "settle"]


def become(old: Instruction, new: Instruction) -> None:
    """Make an instruction another one in its place, so that what leads to it still does.

    >>> import xtab
    >>> nop = xtab.Instruction("NOP")
    >>> become(nop, xtab.Instruction("LOAD_CONST", 1))
    >>> nop
    Instruction('LOAD_CONST', 1)
    """
    old.opcode = new.opcode
    if CURRENT.kind[new.opcode] != OperandKind.NONE:
        old.operand = new.operand
        old.flags = new.flags


def put_behind(
    instructions: Iterable[Instruction], behind: Mapping[Instruction, Iterable[Instruction]]
) -> list[Instruction]:
    """The instructions, with new ones right behind some of them, which get the span and the location of those.

    >>> import xtab
    >>> one, two = xtab.Instruction("NOP"), xtab.Instruction("NOP")
    >>> put_behind([one], {one: [two]}) == [one, two]
    True
    """
    woven: list[Instruction] = []
    for each in instructions:
        woven.append(each)
        for new in behind.get(each, ()):
            new.exn_tab_entry, new.location = each.exn_tab_entry, each.location
            woven.append(new)
    return woven


def copies(instructions: Iterable[Instruction]) -> list[Instruction]:
    """New instructions like those given, which jump to each other, and handle each other's exceptions, where those do.

    >>> import xtab
    >>> nop = xtab.Instruction("NOP")
    >>> [jump, target] = copies([xtab.Instruction("JUMP_FORWARD", nop), nop])
    >>> jump.target is target
    True
    """
    instructions = list(instructions)
    twins = {each: copy(each) for each in instructions}
    spans: dict[Span, Span] = {}
    for twin in twins.values():
        if twin.target in twins:
            twin.target = twins[twin.target]
        around: list[Span] = []
        span = twin.exn_tab_entry
        while span is not None and span not in spans:
            around.append(span)
            span = span.outer
        for old in reversed(around):
            outer = None if old.outer is None else spans[old.outer]
            spans[old] = type(old)(twins.get(old.target, old.target), old.depth, old.lasti, outer)
        if twin.exn_tab_entry is not None:
            twin.exn_tab_entry = spans[twin.exn_tab_entry]
    return list(twins.values())


def settle(instructions: list[Instruction], span: Span | None, location: Location | None) -> list[Instruction]:
    """Put new instructions into a span, with those that they have, and give them a location where they have none."""
    for each in instructions:
        own = each.exn_tab_entry
        if own is None:
            each.exn_tab_entry = span
        elif own is not span:
            while own.outer is not None and own.outer is not span:
                own = own.outer
            if own is not span:
                own.outer = span
        if each.location is None and location is not None:
            each.location = location
    return instructions
