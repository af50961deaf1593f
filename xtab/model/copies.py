"""`insert_copies`: the same instructions before many others, at little more than the cost of making the objects.

Copies share their fields, and refer to the place of their anchor instead of its location (`Stencil`); assembly takes
each run of copies as one part, whose operands are turned into numbers once.
"""

from __future__ import annotations

from copy import copy as copy_of
from itertools import repeat
from typing import TYPE_CHECKING, Any

from xtab.errors import XtabError
from xtab.model.arguments import instructions_given
from xtab.model.editing import as_decoded, insert, lead, leads_to_new, opcodes_of
from xtab.model.instruction import Instruction, Span, Stencil
from xtab.model.parts import Woven
from xtab.model.protectors import Protectors
from xtab.model.seams import Seams, open_seams

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xtab.format.locations import Location
    from xtab.model.body import Body
    from xtab.model.editing import Jumps
    from xtab.model.parts import Part
    from xtab.model.protectors import Protect
    from xtab.model.source import Source

__all__ = ["insert_copies"]


def insert_copies(
    body: Body, anchors: Iterable[Instruction], pattern: Iterable[Instruction], *, protect: Protect, jumps: Jumps
) -> None:
    """Put a copy of `pattern` before each anchor."""
    anchors = list(dict.fromkeys(instructions_given(anchors, "to put copies before")))
    pattern = instructions_given(pattern, "to copy")
    if not anchors or not pattern:
        return
    if any(each.is_jump or each.location is not None or each.exn_tab_entry is not None for each in pattern):
        new = {anchor: _twins(pattern) for anchor in anchors}
        insert(body, new, behind=False, protect=protect, jumps=jumps)
        return
    led_to = leads_to_new(jumps)
    decoded = as_decoded(body)
    places = _open_places(body, anchors, decoded=decoded, led_to=led_to)
    at = dict(zip(places, anchors, strict=True))
    places = sorted(places)
    anchors = list(map(at.__getitem__, places))
    instructions, source = body.instructions, body._source
    plain = decoded and not body._spans and not source.respanned  # no span anywhere
    if protect == "anchor" and plain:
        spans: list[Span | None] = [None] * len(anchors)
    else:
        protectors = Protectors(instructions)
        spans = [protectors.span_for(protect, anchor, place) for place, anchor in zip(places, anchors, strict=True)]
        source.respanned = source.respanned or any(spans)
    stencil = Stencil(source, pattern)
    copies = _copies(stencil, places if decoded else _wheres(anchors, source), spans)
    old = instructions.copy() if led_to and not plain else []
    woven = _woven(instructions, places, copies, stencil)
    instructions[:] = woven.instructions
    if decoded:
        body._woven = woven
    if led_to:
        lead(body, old, dict(zip(anchors, copies[:: len(pattern)], strict=True)))


def _twins(pattern: Sequence[Instruction]) -> list[Instruction]:
    """Copies that lead to each other where the others did."""
    twins = {each: copy_of(each) for each in pattern}
    for twin in twins.values():
        if twin.is_jump and twin.operand in twins:
            twin.operand = twins[twin.operand]
    return list(twins.values())


def _open_places(body: Body, anchors: Sequence[Instruction], *, decoded: bool, led_to: bool) -> list[int]:
    """Where the anchors stand; an error if one is not in the body, or nothing may be put before it."""
    instructions, source = body.instructions, body._source
    places: list[Any]
    if decoded:
        places = [each._at if each._source is source else None for each in anchors]
    else:
        known = {each: place for place, each in enumerate(instructions)}
        places = [known.get(anchor) for anchor in anchors]
    if None in places:
        anchor = anchors[places.index(None)]
        raise XtabError(f"expected an instruction of this body, but found {anchor!r}, which is not in it")
    seams = open_seams(opcodes_of(body), led_to=led_to)
    if not all(map(seams.__getitem__, places)):
        for place in places:
            Seams(instructions).refuse(place, led_to=led_to)
    return places


def _wheres(anchors: Sequence[Instruction], source: Source) -> list[int | Location | None]:
    """What copies refer to for their location: the anchor's place in the source, or its location if it was touched."""
    return [
        anchor._at if isinstance(anchor._at, int) and anchor._source is source else anchor.location
        for anchor in anchors
    ]


def _copies(
    stencil: Stencil, wheres: Sequence[int | Location | None], spans: Sequence[Span | None]
) -> list[Instruction]:
    """The copies for all anchors, one behind the other, with what their anchors give them."""
    count = len(stencil.fields)
    copies: list[Instruction] = list(map(object.__new__, repeat(Instruction, count * len(wheres))))
    for number, fields in enumerate(stencil.fields):
        for each, where, span in zip(copies[number::count], wheres, spans, strict=True):
            each._at = fields
            each._source = None
            each._span = span
            each._where = where
    return copies


def _woven(
    instructions: Sequence[Instruction], places: Sequence[int], copies: Sequence[Instruction], stencil: Stencil
) -> Woven:
    """The instructions with copies put in before those at some places, which are in order."""
    count = len(stencil.fields)
    woven: list[Instruction] = []
    parts: list[Part] = []
    now: list[int] = []
    done = shift = 0
    for place in places:
        if place > done:
            woven += instructions[done:place]
            now += range(done + shift, place + shift)
            parts.append((done + shift, done, place - done))
            done = place
        woven += copies[shift : shift + count]
        parts.append((place + shift, -1, count))
        shift += count
    woven += instructions[done:]
    now += range(done + shift, len(woven))
    parts.append((done + shift, done, len(woven) - done - shift))
    return Woven(woven, parts, now, stencil)
