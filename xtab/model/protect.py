"""`protect_run` and `unprotect`: spans over runs of instructions that hold, or lie in, other spans.

1. Every span that meets the run is one of three: it lies in the run (*inside*); it goes on outside, and the run lies in
   it but for holes that hold no code of their own (*around*); or it covers a part of the run and of what is outside
   (*across*).
2. The new span goes between: inside those around the run, around those inside it. Of a span across the run, the part in
   it becomes a span of its own if its handler is in the run too, or if the run holds whole pieces of it; otherwise it's
   an error, since neither lies in the other.
3. A run may lie in different spans at different places: there is a new span for each that is around some part of it,
   all with one handler.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xtab.errors import EditError, XtabError
from xtab.format.opcodes import CURRENT
from xtab.model.arguments import require
from xtab.model.editing import run_of
from xtab.model.instruction import Instruction, Span
from xtab.model.seams import Seams
from xtab.model.spans import chain_of, lies_in, spans_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xtab.model.body import Body

__all__ = ["protect_run", "unprotect"]


def protect_run(
    body: Body, first: Instruction, last: Instruction, target: Instruction, depth: int | None, *, lasti: bool
) -> Span:
    """Make a span over a run: see :meth:`Body.protect`."""
    begin, end = run_of(body, first, last)
    require(target, Instruction, "an Instruction as the handler")
    if depth is not None and require(depth, int, "a depth as a number, or None") < 0:
        raise XtabError(f"expected a depth from 0, or None, but found {depth}")
    instructions = body.instructions
    begin = max(begin, Seams(instructions).first - 1)  # before the first RESUME no handler can run
    if begin >= end:
        message = f"expected a run that reaches the first RESUME, but found {last!r} as its last instruction"
        raise EditError(message, instruction=last)
    return _Protection(instructions, begin, end, Span(target, depth, lasti)).apply()


class _Protection:
    def __init__(self, instructions: Sequence[Instruction], begin: int, end: int, new: Span) -> None:
        self._run = run = instructions[begin:end]
        self._ends = _nearest(run), _nearest(reversed(run))
        self._outside = _nearest(instructions[begin - 1 :: -1] if begin else []), _nearest(instructions[end:])
        self._new = new
        in_run, in_all = _extents(run), _extents(instructions)
        self._inside = {span for span, count in in_run.items() if count == in_all[span]}
        self._around = {span for span in in_run if span not in self._inside and self._goes_around(span)}
        targets = set(run)
        for span in in_run:
            across = span not in self._inside and span not in self._around
            if across and span.target not in targets and self._is_cut(span):
                raise self._overlap(span)
        self._made: dict[Span | None, Span] = {}  # a span around the run, or None -> the new span in it

    def _goes_around(self, span: Span) -> bool:
        """Whether all code of the run lies between the first and the last instruction that the span protects."""
        return all(each and lies_in(each.exn_tab_entry, span, {None: False}) for each in self._ends)

    def _is_cut(self, span: Span) -> bool:
        """Whether the span goes on right outside of the run, at one of its ends."""
        return any(
            all(each and lies_in(each.exn_tab_entry, span, {None: False}) for each in (outside, within))
            for outside, within in zip(self._outside, self._ends, strict=True)
        )

    def _overlap(self, span: Span) -> EditError:
        message = (
            f"expected a run that lies in each span it meets, or around it, but found {span!r}, which protects a part "
            f"of the run from {self._run[0]!r} to {self._run[-1]!r} and more; neither it nor {self._new!r} can "
            "lie inside the other: protect the two parts one by one"
        )
        return EditError(message, instruction=self._run[0])

    def apply(self) -> Span:
        """Give all instructions of the run their new innermost span."""
        contexts: dict[Span | None, Span | None] = {None: None}  # span -> the innermost around the run that it lies in
        becomes: dict[Span | None, Span] = {}
        inner: list[Span] = []  # that lie in the run, at least in part; outer ones first
        for innermost in dict.fromkeys(each.exn_tab_entry for each in self._run):
            self._add_contexts(innermost, contexts, inner)
        relinked: list[tuple[Span, Span]] = []
        for span in inner:
            above = becomes.get(span.outer) or self._new_in(contexts[span])
            if span in self._inside:
                becomes[span] = span
                relinked.append((span, above))
            else:
                becomes[span] = Span(span.target, span.depth, span.lasti, above)
        for each, filled in zip(self._run, _filled(self._run, self._around), strict=True):
            each.exn_tab_entry = becomes.get(filled) or self._new_in(contexts[filled])
        for span, above in relinked:
            span.outer = above
        return next(iter(self._made.values()))

    def _add_contexts(
        self, innermost: Span | None, contexts: dict[Span | None, Span | None], inner: list[Span]
    ) -> None:
        path: list[Span] = []
        span = innermost
        while span not in contexts:
            assert span is not None
            if span in self._around:
                contexts[span] = span
                break
            path.append(span)
            span = span.outer
        for each in reversed(path):
            contexts[each] = contexts[span]
            inner.append(each)

    def _new_in(self, context: Span | None) -> Span:
        if context not in self._made:
            self._made[context] = Span(self._new.target, self._new.depth, self._new.lasti, context)
        return self._made[context]


def _nearest(instructions: Iterable[Instruction]) -> Instruction | None:
    """The first instruction that is no hole."""
    return next((each for each in instructions if not _is_hole(each)), None)


def _is_hole(instruction: Instruction) -> bool:
    return instruction.exn_tab_entry is None and CURRENT.fills[instruction.opcode] != 0


def _extents(instructions: Iterable[Instruction]) -> Counter[Span]:
    """How many instructions each span protects, itself or by spans inside it."""
    found: Counter[Span] = Counter()
    for innermost, count in Counter(each.exn_tab_entry for each in instructions).items():
        for span in chain_of(innermost):
            found[span] += count
    return found


def _filled(run: Sequence[Instruction], around: set[Span]) -> list[Span | None]:
    """The innermost span of each instruction; holes count as what stands before them.

    At the start of the run it is what stands behind them.
    """
    found: list[Span | None] = []
    waiting = 0
    for each in run:
        span = each.exn_tab_entry
        if _is_hole(each):
            if len(found) == waiting:
                waiting += 1
                found.append(span)
            else:
                found.append(_innermost_of(found[-1], around))
            continue
        if waiting and len(found) == waiting:
            found[:] = [_innermost_of(span, around)] * waiting
        found.append(span)
    return found


def _innermost_of(span: Span | None, around: set[Span]) -> Span | None:
    """The innermost of the spans `around` that `span` lies in, or is, or None."""
    while span is not None and span not in around:
        span = span.outer
    return span


def unprotect(body: Body, span: Span) -> None:
    """Take a span away: what it protected is left to the span around it."""
    require(span, Span, "a Span")
    for each in body.instructions:
        if each.exn_tab_entry is span:
            each.exn_tab_entry = span.outer
    for inner in spans_of(body.instructions):
        if inner.outer is span:
            inner.outer = span.outer
