"""Walks along spans and those around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.errors import XtabError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from xtab.model.instruction import Instruction, Span

__all__ = ["all_of", "chain_of", "lies_in", "spans_of"]


def chain_of(span: Span | None, known: Container[Span | None] = ()) -> list[Span]:
    """A span and those around it, the innermost first; XtabError if they go round in a circle.

    The walk ends at a span that is `known`: so many walks along the same spans cost no more than one.
    """
    chain: dict[Span, None] = {}
    while span is not None and span not in known:
        if span in chain:
            raise XtabError("expected spans that lie one inside the other, but found some that go round in a circle")
        chain[span] = None
        span = span.outer
    return list(chain)


def all_of(spans: Iterable[Span | None]) -> list[Span]:
    """Some spans, and those around them, each once; XtabError if they go round in a circle."""
    found: dict[Span, None] = {}
    for span in spans:
        found.update(dict.fromkeys(chain_of(span, found)))
    return list(found)


def spans_of(instructions: Iterable[Instruction]) -> set[Span]:
    """All spans that protect instructions, those around others included."""
    return set(all_of({each.exn_tab_entry for each in instructions}))


def lies_in(span: Span | None, outer: Span, known: dict[Span | None, bool]) -> bool:
    """Whether `span` is `outer` or lies in it.

    `known` remembers the answers for one `outer`; it starts as ``{None: False}``.
    """
    path: list[Span] = []
    while span not in known:
        assert span is not None
        path.append(span)
        known[span] = span is outer  # also ends the walk if spans go round in a circle
        if span is outer:
            break
        span = span.outer
    answer = known[span]
    for member in path:
        known[member] = answer
    return answer
