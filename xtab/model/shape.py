"""`read_body`: the instructions of a body as numbers, with all that can be wrong with them refused by name."""

from __future__ import annotations

from itertools import compress, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from xtab.errors import AssembleError, XtabError
from xtab.format.opcodes import CURRENT, Kind
from xtab.model.flow import Region, Shape
from xtab.model.instruction import RAW, Instruction
from xtab.model.depths import measure

if TYPE_CHECKING:
    from xtab.model.body import Body
    from xtab.model.instruction import Span
    from xtab.model.tables import Tables

__all__ = ["BodyShape", "read_body"]

_NAMES_VARIABLES = bytes(kind in (Kind.LOCAL, Kind.LOCAL_PAIR, Kind.CELL) for kind in CURRENT.kind)


class BodyShape(NamedTuple):
    """What `read_body` finds. In `shape.args`, jumps have the distance they once had, or 0."""

    shape: Shape
    instructions: list[Instruction]
    foreign: bool  #: whether any instruction was decoded from another body
    prefixes: dict[int, int]  #: instructions that keep more EXTENDED_ARG than they need -> how many


def read_body(body: Body) -> BodyShape:
    """Read a body. Operands that are no numbers yet become such; new names and constants are appended to the body's lists.

    Raises:
        AssembleError: an instruction stands twice, is no Instruction, has a target or handler outside the body, or an
            operand that doesn't fit.
    """
    instructions = list(body.instructions)
    try:
        opcodes = bytes([instruction._opcode for instruction in instructions])
    except AttributeError:
        place = next(i for i, instruction in enumerate(instructions) if not isinstance(instruction, Instruction))
        message = f"expected an Instruction, but found {instructions[place]!r}"
        raise AssembleError(message, instruction=instructions[place], index=place) from None
    args = [instruction._arg for instruction in instructions]
    tables = body._tables
    sources = [instruction._source for instruction in instructions]
    foreign = sources.count(tables) + sources.count(None) != len(instructions)
    places = _Places(instructions)
    targets = _targets(instructions, opcodes, places)
    given = _given(instructions, opcodes, len(targets), tables, foreign=foreign)
    if given:
        _number(given, instructions, opcodes, args, tables)
    if tables.grown():
        _renumber(given, instructions, opcodes, args, tables)
    regions = _regions(instructions, places)
    shape = Shape(opcodes, args, max(args) > 0xFF, targets, regions)
    if regions and None in [region[3] for region in regions]:
        shape = shape._replace(regions=_with_depths(shape, instructions))
    prefixes = {
        place: count
        for instruction, count in body._prefixes.items()
        if (place := places.find(instruction)) is not None and (instruction._operand is RAW or instruction._arg)
    }
    return BodyShape(shape, instructions, foreign, prefixes)


class _Places:
    """Where each instruction stands; the guard against one that stands twice.

    Most stand where they stood at decoding, shifted by what was put in before: one guess, or else a dictionary.
    """

    def __init__(self, instructions: list[Instruction]) -> None:
        self._instructions = instructions
        self._shift = 0
        self._index: dict[Instruction, int] | None = None
        if len(set(instructions)) != len(instructions):
            seen: dict[Instruction, int] = {}
            for place, instruction in enumerate(instructions):
                if instruction in seen:
                    message = (
                        f"expected each instruction once, but found {instruction!r} again, "
                        f"first at {seen[instruction]}; make a new one"
                    )
                    raise AssembleError(message, instruction=instruction, index=place)
                seen[instruction] = place

    def find(self, instruction: Any) -> int | None:
        """The place of an instruction, or None if it isn't there."""
        if not isinstance(instruction, Instruction):
            return None
        instructions = self._instructions
        place = instruction._place + self._shift
        if 0 <= place < len(instructions) and instructions[place] is instruction:
            return place
        if self._index is None:
            self._index = dict(zip(instructions, range(len(instructions)), strict=True))
        found = self._index.get(instruction)
        if found is not None and instruction._place >= 0:
            self._shift = found - instruction._place
        return found


def _targets(instructions: list[Instruction], opcodes: bytes, places: _Places) -> dict[int, int]:
    """Index of each jump -> index of its target."""
    targets: dict[int, int] = {}
    for place in compress(range(len(opcodes)), opcodes.translate(CURRENT.distance)):
        target = places.find(instructions[place]._operand)
        if target is None:
            raise _no_target(instructions[place], place)
        targets[place] = target
    return targets


def _given(
    instructions: list[Instruction], opcodes: bytes, jumps: int, tables: Tables, *, foreign: bool
) -> list[int]:
    """Where operands are no numbers yet, or numbers in another body's lists."""
    operands = [instruction._operand for instruction in instructions]
    if operands.count(RAW) + jumps == len(operands) and not foreign:
        return []
    return [
        place
        for place, (operand, instruction) in enumerate(zip(operands, instructions, strict=True))
        if CURRENT.kind[opcodes[place]] != Kind.TARGET
        and (operand is not RAW or instruction._source not in (tables, None))
    ]


def _renumber(
    given: list[int], instructions: list[Instruction], opcodes: bytes, args: list[int], tables: Tables
) -> None:
    """Variables were added, which moved others: give those that were numbers from the start their new ones."""
    settled = set(given)
    for place in compress(range(len(opcodes)), opcodes.translate(_NAMES_VARIABLES)):
        if place not in settled:
            with _at(place, instructions[place]):
                args[place] = tables.current_number(opcodes[place], args[place])


def _number(
    given: list[int], instructions: list[Instruction], opcodes: bytes, args: list[int], tables: Tables
) -> None:
    for _ in range(2):  # a second time if the first added variables, which moves the numbers of others
        before = len(tables.varnames)
        for place in given:
            instruction = instructions[place]
            with _at(place, instruction):
                arg = tables.number(opcodes[place], instruction.operand, instruction.flags)
                if not 0 <= arg < 1 << 31:
                    raise XtabError(f"expected an operand from 0 to 2**31 - 1, but found {arg}")
                args[place] = arg
        if len(tables.varnames) == before:
            break


class _at:
    """Within it, an XtabError is raised again as an AssembleError that names the instruction."""

    def __init__(self, place: int, instruction: Instruction) -> None:
        self._place = place
        self._instruction = instruction

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, XtabError):
            raise AssembleError(str(error), instruction=self._instruction, index=self._place) from error


def _no_target(instruction: Instruction, place: int) -> AssembleError:
    found = "no target" if instruction._operand is None else f"{instruction._operand!r}, which is not in it"
    message = f"expected {instruction.opname} to lead to an instruction of this body, but found {found}"
    return AssembleError(message, instruction=instruction, index=place)


def _regions(instructions: list[Instruction], places: _Places) -> list[Region]:
    """The runs of instructions with the same innermost span."""
    spans = [instruction.exn_tab_entry for instruction in instructions]
    size = len(spans)
    if spans.count(None) == size:
        return []
    regions: list[Region] = []
    place = 0
    for span, run in groupby(spans):
        first = place
        place += len(list(run))
        if span is None:
            continue
        handler = places.find(span.target)
        if handler is None:
            message = (
                f"expected the handler of its span to be an instruction of this body, but found {span.target!r}, "
                "which is not in it; was the span made for another body?"
            )
            raise AssembleError(message, instruction=instructions[first], index=first)
        regions.append(Region(first, place, handler, span.depth, span.lasti))
    return regions


def _with_depths(shape: Shape, instructions: list[Instruction]) -> list[Region]:
    """The regions, with the depth of new spans computed: the least depth of any instruction that they protect."""
    regions = shape.regions
    spans = [instructions[region.first].exn_tab_entry for region in regions]
    known: dict[Span, int] = {}
    while any(region.depth is None for region in regions):
        depths = measure(shape._replace(regions=regions)).depths
        least: dict[Span, int] = {}
        for region, span in zip(regions, spans, strict=True):
            reached = [depth for depth in depths[region.first : region.end] if depth is not None]
            around = span
            while around is not None and reached:
                if around.depth is None and around not in known:
                    least[around] = min(least.get(around, reached[0]), *reached)
                around = around.outer
        # what can't be reached has no depth: any will do, since the handler is never entered either
        known |= least or {span: 0 for span in spans if span is not None and span.depth is None and span not in known}
        regions = [
            region if region.depth is not None or span is None else region._replace(depth=known.get(span))
            for region, span in zip(regions, spans, strict=True)
        ]
    return regions
