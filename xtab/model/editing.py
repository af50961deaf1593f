"""Edits of a body's list of instructions that keep jumps, handlers, spans and pairs right. `Body` has them as methods.

1. Anchors are looked up, and seams that must stay closed refused (`seams`).
2. What is new gets the span that the policy names, as the outermost of its own, and the anchor's location.
3. The list is put together: one slice for a single place, one pass for many.
4. Whatever led to an anchor, jumps and handlers, is led to the new instructions if asked (`lead`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from copy import copy as copy_of
from itertools import compress, repeat
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from xtab.errors import EditError, XtabError
from xtab.format.locations import line_at
from xtab.format.opcodes import CURRENT
from xtab.model.arguments import instructions_given, require
from xtab.model.instruction import Instruction, Span
from xtab.model.protectors import Protect, Protectors
from xtab.model.seams import Seams, open_seams, refuse_half_pairs
from xtab.model.spans import chain_of, spans_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xtab.model.body import Body

__all__ = [
    "Jumps",
    "Protect",
    "copy_run",
    "insert",
    "insert_beside",
    "insertion_points",
    "line_starts",
    "move_run",
    "replace_run",
    "run_of",
    "start_of",
]

Jumps: TypeAlias = Literal["new", "stay"]
"""Where jumps and handlers that lead to the anchor lead then: to the first new instruction, or to the anchor still."""

_RESUME = CURRENT.number["RESUME"]
_OF_THIS_BODY = "an Instruction of this body"
_TO_PUT_IN = "to put into the body"


def place_of(body: Body, instruction: Any) -> int:
    """The place of an instruction in the list; XtabError if it isn't there.

    Edits mostly go from front to back, so the search begins where the last one ended.
    """
    instructions = body.instructions
    require(instruction, Instruction, _OF_THIS_BODY)
    near = min(body._near, len(instructions))
    for begin in (near, 0) if near else (0,):
        try:
            body._near = place = instructions.index(instruction, begin)
        except ValueError:
            continue
        return place
    raise XtabError(f"expected an instruction of this body, but found {instruction!r}, which is not in it")


def run_of(body: Body, first: Instruction, last: Instruction | None) -> tuple[int, int]:
    """The places [begin, end) of a run given by its first and last instruction."""
    begin = place_of(body, first)
    end = begin if last is None else place_of(body, last)
    if end < begin:
        raise XtabError(
            f"expected a run whose first instruction stands before its last, but found {first!r} and {last!r}"
        )
    return begin, end + 1


def start_of(body: Body) -> Instruction:
    """The instruction behind the first RESUME; the first of all where there is no RESUME."""
    first = Seams(body.instructions).first
    if first < len(body.instructions):
        return body.instructions[first]
    found = "nothing" if not first else f"{body.instructions[-1]!r} as the last instruction"
    raise XtabError(f"expected a body with an instruction behind its first RESUME, but found {found}")


def insertion_points(body: Body, *, jumps: Jumps) -> list[Instruction]:
    """The instructions before which something may be put."""
    led_to = leads_to_new(jumps)
    return list(compress(body.instructions, open_seams(opcodes_of(body), led_to=led_to)))


def as_decoded(body: Body) -> bool:
    """Whether the body has the instructions that it was decoded with, all untouched but for their spans."""
    return not body._source.touched and body.instructions == body._original


def opcodes_of(body: Body) -> bytes:
    """The opcodes of the instructions."""
    return body._source.opcodes if as_decoded(body) else bytes([each.opcode for each in body.instructions])


def line_starts(body: Body) -> list[tuple[Instruction, int]]:
    """The instructions with which another line begins, and the line."""
    source, instructions, size = body._source, body.instructions, len(body.instructions)
    found: list[tuple[Instruction, int]] = []
    before: int | None = None
    if as_decoded(body):
        units, lines = zip(*source.locations.line_changes(), strict=True)
        places = map(bisect_left, repeat(source.starts), units)
        # what comes later at the same place holds
        pairs: Iterable[tuple[int, int | None]] = dict(zip(places, lines, strict=True)).items()
    else:
        pairs = enumerate([line_at(each.location) for each in instructions])
    for place, line in pairs:
        if line != before:
            if line is not None and place < size:
                found.append((instructions[place], line))
            before = line
    return found


def insert(
    body: Body, anchors: Mapping[Instruction, Iterable[Instruction]], *, behind: bool, protect: Protect, jumps: Jumps
) -> None:
    """Put instructions before each anchor, or behind."""
    require(anchors, Mapping, "a mapping of instructions to lists of new ones")  # type: ignore[type-abstract]
    new = {anchor: instructions_given(instructions, _TO_PUT_IN) for anchor, instructions in anchors.items()}
    new = {anchor: instructions for anchor, instructions in new.items() if instructions}
    if not new:
        return
    led_to = leads_to_new(jumps) and not behind
    instructions = body.instructions
    seams, protectors = Seams(instructions), Protectors(instructions)
    places = {each: place for place, each in enumerate(instructions)} if len(new) > 1 else {}
    known = spans_of(instructions) if any(each.exn_tab_entry for added in new.values() for each in added) else set()
    at: dict[int, list[Instruction]] = {}
    for anchor, added in new.items():
        place = places[anchor] if anchor in places else place_of(body, anchor)
        seam = place + behind
        seams.refuse(seam, led_to=led_to)
        like = anchor
        if behind and anchor.opcode == _RESUME and seam < len(instructions):
            like = instructions[seam]  # no line event comes from RESUME, and none for its line shall
        _settle(added, like, protectors.span_for(protect, anchor, seam), known)
        at[seam] = added
    old = instructions.copy() if led_to else []
    if len(at) == 1:
        for seam, added in at.items():
            instructions[seam:seam] = added
    else:
        instructions[:] = _woven(instructions, at)
    if led_to:
        lead(body, old, {anchor: added[0] for anchor, added in new.items()})


def insert_beside(
    body: Body,
    anchor: Instruction,
    instructions: Iterable[Instruction],
    *,
    behind: bool,
    protect: Protect,
    jumps: Jumps,
) -> None:
    """The same beside one anchor."""
    anchor = require(anchor, Instruction, _OF_THIS_BODY)
    insert(body, {anchor: instructions}, behind=behind, protect=protect, jumps=jumps)


def _woven(instructions: Sequence[Instruction], at: Mapping[int, Sequence[Instruction]]) -> list[Instruction]:
    woven: list[Instruction] = []
    done = 0
    for seam in sorted(at):
        woven += instructions[done:seam]
        woven += at[seam]
        done = seam
    woven += instructions[done:]
    return woven


def leads_to_new(jumps: Jumps) -> bool:
    if jumps not in ("new", "stay"):
        raise XtabError(f"expected jumps to be 'new' or 'stay', but found {jumps!r}")
    return jumps == "new"


def _settle(added: list[Instruction], like: Instruction, span: Span | None, known: set[Span]) -> None:
    """Give new instructions their span, and the location of another; spans of their own go inside `span`."""
    location = like.location
    for each in added:
        own = each.exn_tab_entry
        if own is None:
            each.exn_tab_entry = span
        while own is not None and own not in known:
            known.add(own)
            if own.outer is None:
                own.outer = span
                break
            own = own.outer
        if location is not None and each.location is None:
            each.location = location


def lead(body: Body, instructions: Iterable[Instruction], instead: Mapping[Instruction, Instruction]) -> None:
    """Lead the jumps among `instructions`, and the spans that protect them, to what stands instead."""
    source, original = body._source, body._original
    led = source.led
    jumps = [original[jump] for jump in led]
    jumps += [each for each in instructions if not isinstance(each._at, int) or each._source is not source]
    for jump, target in source.targets.items():
        new = instead.get(original[target])
        if new is not None and jump not in led and isinstance(original[jump]._at, int):
            original[jump]._target = new
            led.add(jump)
    for each in jumps:
        each._lead(instead)
    for span in spans_of(instructions):
        span.target = instead.get(span.target, span.target)


def replace_run(
    body: Body, first: Instruction, last: Instruction | None, instructions: Iterable[Instruction], protect: Protect
) -> None:
    """Put instructions, or nothing, in the place of a run."""
    begin, end = run_of(body, first, last)
    added = instructions_given(instructions, _TO_PUT_IN)
    now = body.instructions
    refuse_half_pairs(now, begin, end, added)
    known = spans_of(now) if any(each.exn_tab_entry for each in added) else set()
    run = now[begin:end]
    span = Protectors(now).span_for(protect, first, end if protect == "after" else begin)
    _settle(added, first, span, known)
    rest = now[:begin] + now[end:]
    heir = added[0] if added else now[end] if end < len(now) else None
    if heir is None:
        _refuse_orphans(rest, set(run))
    else:
        leading = rest + [each for each in added if each in run]  # new jumps lead where they were made to
        lead(body, leading, {each: heir for each in run if each is not heir})
    now[begin:end] = added


def _refuse_orphans(staying: Sequence[Instruction], going: set[Instruction]) -> None:
    """Raise EditError if something leads to what goes, since nothing comes behind it."""
    leading: list[Any] = [each for each in staying if each.is_jump and each.target in going]
    leading += [span for span in spans_of(staying) if span.target in going]
    if leading:
        message = (
            f"expected an instruction behind those that are to be removed, but found the end, and {leading[0]!r} leads "
            "to them; replace them instead"
        )
        raise EditError(message, instruction=leading[0].target)


def move_run(body: Body, first: Instruction, last: Instruction | None, before: Instruction) -> None:
    """Take a run out and put it before another instruction, with the spans it has."""
    begin, end = run_of(body, first, last)
    goal = place_of(body, before)
    if begin <= goal < end:
        raise EditError(f"expected a place outside of the run, but found {before!r} in it", instruction=before)
    instructions = body.instructions
    refuse_half_pairs(instructions, begin, end)
    Seams(instructions).refuse(goal)
    run = instructions[begin:end]
    del instructions[begin:end]
    goal -= len(run) if goal >= end else 0
    instructions[goal:goal] = run


def copy_run(body: Body, first: Instruction, last: Instruction | None) -> list[Instruction]:
    """New instructions like those of a run, which lead to each other where those did."""
    begin, end = run_of(body, first, last)
    run = body.instructions[begin:end]
    twins = {each: copy_of(each) for each in run}
    spans: dict[Span | None, Span | None] = {None: None}
    for twin in twins.values():
        if twin.is_jump and twin.operand in twins:
            twin.operand = twins[twin.operand]
        twin.exn_tab_entry = _copied(twin.exn_tab_entry, spans, twins)
    return list(twins.values())


def _copied(
    innermost: Span | None, spans: dict[Span | None, Span | None], twins: Mapping[Instruction, Instruction]
) -> Span | None:
    """The span for a copy: a new one where its handler, or that of one around it, was copied too."""
    for old in reversed(chain_of(innermost, spans)):
        outer = spans[old.outer]
        if old.target in twins or outer is not old.outer:
            spans[old] = Span(twins.get(old.target, old.target), old.depth, old.lasti, outer)
        else:
            spans[old] = old
    return spans[innermost]
