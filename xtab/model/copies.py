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
from xtab.model.protectors import Protectors
from xtab.model.seams import Seams, open_seams

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xtab.format.locations import Location
    from xtab.model.body import Body
    from xtab.model.editing import Jumps
    from xtab.model.protectors import Protect

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
    places = _open_places(body, anchors, led_to=led_to)
    instructions, count = body.instructions, len(pattern)
    plain = as_decoded(body) and not body._spans and not body._source.respanned  # no span anywhere
    if protect == "anchor" and plain:
        spans: list[Span | None] = [None] * len(anchors)
    else:
        pairs = zip(anchors, places, strict=True)
        protectors = Protectors(instructions)
        spans = [protectors.span_for(protect, anchor, place) for anchor, place in pairs]
    copies = _copies(body, pattern, anchors, spans)
    old = instructions.copy() if led_to and not plain else []
    woven: list[Instruction] = []
    done = 0
    for number in sorted(range(len(places)), key=places.__getitem__):
        place = places[number]
        woven += instructions[done:place]
        woven += copies[number * count : (number + 1) * count]
        done = place
    woven += instructions[done:]
    instructions[:] = woven
    if led_to:
        lead(body, old, dict(zip(anchors, copies[::count], strict=True)))


def _twins(pattern: Sequence[Instruction]) -> list[Instruction]:
    """Copies that lead to each other where the others did."""
    twins = {each: copy_of(each) for each in pattern}
    for twin in twins.values():
        if twin.is_jump and twin.operand in twins:
            twin.operand = twins[twin.operand]
    return list(twins.values())


def _open_places(body: Body, anchors: Sequence[Any], *, led_to: bool) -> list[int]:
    """Where the anchors stand; an error if one is not in the body, or nothing may be put before it."""
    instructions, source = body.instructions, body._source
    decoded = as_decoded(body)
    known = {} if decoded else {each: place for place, each in enumerate(instructions)}
    seams = open_seams(opcodes_of(body), led_to=led_to)
    places: list[Any]
    if decoded:
        places = [each._at if isinstance(each, Instruction) and each._source is source else None for each in anchors]
    else:
        places = [known.get(anchor) for anchor in anchors]
    if None in places:
        anchor = anchors[places.index(None)]
        raise XtabError(f"expected an instruction of this body, but found {anchor!r}, which is not in it")
    for place in places:
        if not seams[place]:
            Seams(instructions).refuse(place, led_to=led_to)
    return places


def _copies(
    body: Body, pattern: Sequence[Instruction], anchors: Sequence[Instruction], spans: Sequence[Span | None]
) -> list[Instruction]:
    """The copies for all anchors, one behind the other, with what their anchors give them."""
    source = body._source
    stencil = Stencil(source, pattern)
    wheres: list[int | Location | None] = [
        anchor._at if isinstance(anchor._at, int) and anchor._source is source else anchor.location
        for anchor in anchors
    ]
    count = len(pattern)
    copies: list[Instruction] = list(map(object.__new__, repeat(Instruction, count * len(anchors))))
    for number, fields in enumerate(stencil.fields):
        for each, where, span in zip(copies[number::count], wheres, spans, strict=True):
            each._at = fields
            each._source = None
            each._span = span
            each._where = where
    return copies
