"""`read_body`: the instructions of a body as numbers, with all that can be wrong with them refused by name.

1. `parts.places_of` cuts the instructions into stretches that stand as they were decoded, untouched, and others.
2. Columns are put together: slices of the source's for stretches, field by field for single ones.
3. Targets and handlers that stand in one stretch with what leads to them are moved with it; others are looked up by
   `Places`. Operands that are no numbers yet become such (`_number_operands`).
"""

from __future__ import annotations

from itertools import accumulate, compress, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from xtab.errors import AssembleError, XtabError
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.model.depths import measure
from xtab.model.flow import Entry, Shape
from xtab.model.instruction import RAW, Fields, Instruction, Span
from xtab.model.parts import places_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from xtab.model.body import Body
    from xtab.model.instruction import Stencil
    from xtab.model.parts import Part, Places
    from xtab.model.source import Source

__all__ = ["BodyShape", "read_body"]

_NAMES_VARIABLES = bytes(kind in (OperandKind.LOCAL, OperandKind.LOCAL_PAIR, OperandKind.CELL) for kind in CURRENT.kind)
_LEADS = bytes(kind == OperandKind.TARGET for kind in CURRENT.kind)
_NO_NUMBER = (OperandKind.NONE, OperandKind.TARGET)
_BYTES = [bytes((value,)) for value in range(256)]


class BodyShape(NamedTuple):
    """What `read_body` finds. In `shape.args`, jumps have the distance they once had, or 0."""

    shape: Shape
    instructions: list[Instruction]
    parts: list[Part]
    prefixes: dict[int, int]  #: instructions that keep more EXTENDED_ARG than they need -> how many
    loose: list[int]  #: the jumps that don't stand in one stretch with their target: those whose distance may be new
    mended: list[int]  #: instructions whose opcode or operand was mended, to others of the same size
    plain: bool  #: whether the stretches stand in the order of the source and their operands are still those numbers
    spans_kept: bool  #: whether each instruction that was decoded has the handler that it had, and what is new has none


def read_body(body: Body, owed: Mapping[int, Instruction] | None = None) -> BodyShape:
    """Read a body. Operands become numbers; new names and constants are appended to the body's lists.

    Args:
        body: what to read.
        owed: place in ``body.instructions`` -> an instruction to read before the one there.

    Raises:
        AssembleError: an instruction stands twice, is no Instruction, has a target or handler outside the body, or an
            operand that doesn't fit.
    """
    instructions = body.instructions.copy()
    if owed:
        for at in sorted(owed, reverse=True):
            instructions.insert(at, owed[at])
    source = body._source
    places = places_of(instructions, body)
    parts, plain = places.parts, places.in_order
    opcodes, args, given, runs = _columns(instructions, parts, source)
    targets, loose = _targets(instructions, opcodes, places, source)
    wide = source.shape.wide
    if given:
        _number_operands(instructions, given, opcodes, args, source)
        wide = wide or any(args[place] > 0xFF for place in given)
        _hand_on(runs, args)
    tables = source.changed_tables()
    if tables is not None and tables.grown():
        settled = {*given, *_copied(runs)}
        _renumber(instructions, settled, opcodes, args, source)
        wide = wide or max(args) > 0xFF
        plain = False
    entries = _kept_entries(places, body)
    spans_kept = entries is not None
    if entries is None:
        entries = _entries(instructions, places)
    shape = Shape(opcodes, args, wide, targets, entries)
    if entries and None in [entry[3] for entry in entries]:
        shape = shape._replace(entries=_with_depths(shape, instructions))
    prefixes = {}
    for old, count in source.prefixes.items():
        place = places.of_old(old)
        if place is not None:
            prefixes[place] = count
    return BodyShape(shape, instructions, parts, prefixes, loose, [], plain, spans_kept)


def _columns(
    instructions: list[Instruction], parts: list[Part], source: Source
) -> tuple[bytes, list[int], list[int], dict[Stencil, list[int]]]:
    """Opcodes, and operands as far as they are numbers; the places where they aren't; and the runs of copies.

    Of runs with the same stencil, only the first is among those places.
    """
    opcodes: list[bytes] = []
    args: list[int] = []
    given: list[int] = []
    runs: dict[Stencil, list[int]] = {}
    old_opcodes, old_args, kinds = source.opcodes, source.args, CURRENT.kind
    for place, old, length in parts:
        if old >= 0:
            opcodes.append(old_opcodes[old : old + length])
            args += old_args[old : old + length]
            continue
        instruction = instructions[place]
        at = instruction._at
        if length > 1:
            stencil = at.location  # type: ignore[union-attr]
            opcodes.append(stencil.opcodes)
            args += stencil.args
            if stencil not in runs:
                runs[stencil] = []
                given += [
                    place + index for index, opcode in enumerate(stencil.opcodes) if kinds[opcode] not in _NO_NUMBER
                ]
            runs[stencil].append(place)
            continue
        if isinstance(at, Fields):
            opcode, arg, own = at.opcode, at.arg, at.operand is RAW and instruction._source is source
        else:  # of another body
            opcode, arg, own = instruction.opcode, instruction._arg(), False
        opcodes.append(_BYTES[opcode])
        args.append(arg)
        if not own and kinds[opcode] not in _NO_NUMBER:
            given.append(place)
    return b"".join(opcodes), args, given, runs


def _copied(runs: Mapping[Stencil, list[int]]) -> Iterable[int]:
    """The places of all copies in runs."""
    return (
        place + index for stencil, places in runs.items() for place in places for index in range(len(stencil.fields))
    )


def _hand_on(runs: Mapping[Stencil, list[int]], args: list[int]) -> None:
    """Give all runs of copies the operands of the first, once these are numbers."""
    for stencil, (first, *others) in runs.items():
        length = len(stencil.fields)
        numbers = args[first : first + length]
        for place in others:
            args[place : place + length] = numbers


def _targets(
    instructions: list[Instruction], opcodes: bytes, places: Places, source: Source
) -> tuple[dict[int, int], list[int]]:
    """Index of each jump -> index of its target, in order; and the jumps that are not in one stretch with theirs."""
    if places.whole and not source.led:
        return source.targets.copy(), []
    targets: dict[int, int] = {}
    loose: list[int] = []
    now, led, in_order = places.now, source.led, places.in_order
    holes = list(accumulate(map((-1).__eq__, now))) if -1 in now else bytes(len(now))  # how many, up to each
    for jump, old in source.targets.items():
        place, target = now[jump], now[old]
        if place < 0:  # it is touched, or gone
            continue
        if jump in led or target < 0:
            found = places.find(instructions[place]._target)
            if found is None:
                raise _no_target(instructions[place], place)
            targets[place] = found
            loose.append(place)
            continue
        targets[place] = target
        if target - place != old - jump or holes[old] != holes[jump] or not in_order:  # not in one stretch any more
            loose.append(place)
    others = [place for place in compress(range(len(opcodes)), opcodes.translate(_LEADS)) if place not in targets]
    for place in others:
        found = places.find(instructions[place].operand)
        if found is None:
            raise _no_target(instructions[place], place)
        targets[place] = found
    if others or not in_order:
        loose = sorted(loose + others)
        targets = dict(sorted(targets.items()))
    return targets, loose


def _no_target(instruction: Instruction, place: int) -> AssembleError:
    target = instruction.operand
    found = "no target" if target is None else f"{target!r}, which is not in it"
    message = f"expected {instruction.opname} to lead to an instruction of this body, but found {found}"
    return AssembleError(message, instruction=instruction, index=place)


def _number_operands(
    instructions: list[Instruction], given: list[int], opcodes: bytes, args: list[int], source: Source
) -> None:
    """Turn what is no number of this body yet into one, in `args`."""
    tables = source.tables
    before = -1
    while before != len(tables.varnames):  # once more if variables were added, which moves the numbers of others
        before = len(tables.varnames)
        for place in given:
            instruction = instructions[place]
            try:
                args[place] = arg = tables.number(opcodes[place], instruction.operand, instruction.flags)
            except XtabError as error:
                raise AssembleError(str(error), instruction=instruction, index=place) from error
            if not 0 <= arg < 1 << 31:
                message = f"expected an operand from 0 to 2**31 - 1, but found {arg}"
                raise AssembleError(message, instruction=instruction, index=place)


def _renumber(
    instructions: list[Instruction], settled: set[int], opcodes: bytes, args: list[int], source: Source
) -> None:
    """Variables were added, which moved others: give those that were numbers from the start their new ones."""
    for place in compress(range(len(opcodes)), opcodes.translate(_NAMES_VARIABLES)):
        if place not in settled:
            try:
                args[place] = source.tables.current_number(opcodes[place], args[place])
            except XtabError as error:
                raise AssembleError(str(error), instruction=instructions[place], index=place) from error


def _spans_kept(places: Places, body: Body) -> bool:
    """Whether the instructions decoded have the spans that they had, each as it was, and others have none."""
    if body._source.respanned or not (places.woven or all(each._span is None for each in places.single)):
        return False
    original = body._original
    for (_, _, handler, depth, lasti), span in zip(body._source.shape.entries, body._spans, strict=True):
        if span.target is not original[handler] or span.depth != depth or span.lasti is not lasti:
            return False
    return True


def _kept_entries(places: Places, body: Body) -> list[Entry] | None:
    """The entries of the source where they stand now, in pieces if need be; None if spans or the order were changed."""
    if not places.in_order or not _spans_kept(places, body):
        return None
    entries = body._source.shape.entries
    if places.whole or not entries:
        return entries
    kept: list[Entry] = []
    number, count, new = 0, len(entries), tuple.__new__
    for place, old, length in places.parts:
        if old < 0:
            continue
        shift, stop = place - old, old + length
        while number < count:
            first, end, handler, depth, lasti = entries[number]
            if first >= stop:
                break
            if end > old:
                found = handler + shift if old <= handler < stop else places.of_decoded(handler)
                if found is None:
                    return None  # `_entries` says what is wrong
                first, last = max(first, old) + shift, min(end, stop) + shift
                kept.append(new(Entry, (first, last, found, depth, lasti)))
            if end > stop:
                break
            number += 1
    return kept


def _entries(instructions: list[Instruction], places: Places) -> list[Entry]:
    """The runs of instructions with the same innermost span."""
    spans = [instruction._span for instruction in instructions]
    if spans.count(None) == len(spans):
        return []
    entries: list[Entry] = []
    place = 0
    for span, run in groupby(spans):
        first = place
        place += len(list(run))
        if span is None:
            continue
        if not _is_span(span):
            message = f"expected a Span whose depth is None or a number from 0, but found {span!r}"
            raise AssembleError(message, instruction=instructions[first], index=first)
        handler = places.find(span.target)
        if handler is None:
            message = (
                f"expected the handler of its span to be an instruction of this body, but found {span.target!r}, "
                "which is not in it; was the span made for another body?"
            )
            raise AssembleError(message, instruction=instructions[first], index=first)
        entries.append(Entry(first, place, handler, span.depth, bool(span.lasti)))
    return entries


def _is_span(found: Any) -> bool:
    depth: Any = getattr(found, "depth", -1)
    return isinstance(found, Span) and (depth is None or (isinstance(depth, int) and depth >= 0))


def _with_depths(shape: Shape, instructions: list[Instruction]) -> list[Entry]:
    """The entries, with the depth of new spans computed: what whatever they protect leaves on the stack when it raises.

    An instruction has taken its operands off by then. New spans with the same handler share a depth. Handlers of new
    spans may stand in new spans, so this goes on until nothing changes: what is found later can only be less.
    """
    entries = shape.entries
    spans = [instructions[entry.first].exn_tab_entry for entry in entries]
    known: dict[tuple[Instruction, bool], int] = {}
    while True:
        depths = measure(
            shape._replace(entries=entries), strict=False
        ).depths  # a depth that is too great yet may not fit
        least = known.copy()
        for entry, span in zip(entries, spans, strict=True):
            left = [
                depth - CURRENT.gone_when_raising(shape.opcodes[index], shape.args[index])
                for index, depth in enumerate(depths[entry.first : entry.end], entry.first)
                if depth is not None
            ]
            if left:
                for around in _new_spans(span, instructions[entry.first], entry.first):
                    key = around.target, bool(around.lasti)
                    least[key] = max(0, min(least.get(key, left[0]), *left))
        if least == known:
            # what can't be reached has no depth: any will do, since the handler is never entered either
            return [entry if entry.depth is not None else entry._replace(depth=0) for entry in entries]
        known = least
        entries = [
            entry
            if span is None or span.depth is not None
            else entry._replace(depth=known.get((span.target, entry.lasti)))
            for entry, span in zip(entries, spans, strict=True)
        ]


def _new_spans(span: Span | None, instruction: Instruction, place: int) -> list[Span]:
    """Of a span and those around it, the ones whose depth is not given."""
    found: list[Span] = []
    seen: set[Span] = set()
    while span is not None:
        if span in seen:
            message = "expected spans that lie one inside the other, but found some that go round in a circle"
            raise AssembleError(message, instruction=instruction, index=place)
        seen.add(span)
        if span.depth is None:
            found.append(span)
        span = span.outer
    return found
