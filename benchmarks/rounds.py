"""Measuring two sides of a pair so that their ratio means something on a busy machine.

1. The items come in chunks, one a module. Both sides do a chunk right after each other, then both do the next: what
   slows the machine for a while slows both.
2. Which side goes first changes from round to round. What is timed is CPU time of this process. The garbage of one
   side is collected before the other's time runs.
3. A round gives one ratio: the sums over all chunks, theirs over ours. What is reported is the median of the rounds.
4. Before the first round each side does each item once, and isn't timed. Items that the other side fails on are left
   out, for both.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from peers import Pair, Side

__all__ = ["Timings", "measure"]


@dataclass
class Timings:
    """What one pair took, in seconds of CPU time for all items once; a number a round."""

    what: str
    peer: str
    calls: list[str]  #: what was called: ours, theirs
    goal: float | None
    items: int  #: how many items were measured
    left_out: int  #: how many the other side fails on
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)


def measure(
    pairs: list[Pair], modules: list[list[CodeType]], rounds: int, progress: Callable[[str], None]
) -> list[Timings]:
    """Measure all pairs over the code objects of some modules, in interleaved rounds."""
    found: list[Timings] = []
    chunks: list[list[list[Any]]] = []
    for pair in pairs:
        progress(f"warm-up: {pair.what}, {pair.peer}")
        given = [pair.select(codes) for codes in modules]
        kept = [[item for item in items if _both_can(pair, item)] for items in given]
        count = sum(map(len, kept))
        calls = [pair.ours.calls, pair.theirs.calls]
        found.append(Timings(pair.what, pair.peer, calls, pair.goal, count, sum(map(len, given)) - count))
        chunks.append(kept)
    gc.collect()
    gc.freeze()  # what lives on is not looked through again and again
    for number in range(rounds):
        for pair, kept, timings in zip(pairs, chunks, found, strict=True):
            progress(f"round {number + 1} of {rounds}: {pair.what}, {pair.peer}")
            ours, theirs = _one_round(pair, kept, ours_first=number % 2 == 0)
            timings.ours.append(ours)
            timings.theirs.append(theirs)
    return found


def _both_can(pair: Pair, item: Any) -> bool:
    """Whether the other side gets through with an item. xtab must."""
    pair.ours.run(pair.ours.prepare(item))
    try:
        pair.theirs.run(pair.theirs.prepare(item))
    except Exception:  # noqa: BLE001 (a peer fails as it likes)
        return False
    return True


def _one_round(pair: Pair, chunks: list[list[Any]], *, ours_first: bool) -> tuple[float, float]:
    ours = theirs = 0.0
    for items in chunks:
        if ours_first:
            ours += _timed(pair.ours, items)
        theirs += _timed(pair.theirs, items)
        if not ours_first:
            ours += _timed(pair.ours, items)
    return ours, theirs


def _timed(side: Side, items: list[Any]) -> float:
    prepared = [side.prepare(item) for item in items]
    run, repeat = side.run, side.repeat
    gc.collect()
    begin = time.process_time()
    for _ in range(repeat):
        for item in prepared:
            run(item)
    return (time.process_time() - begin) / repeat
