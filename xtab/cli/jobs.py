"""`in_order`: call a function for each of many things, in several processes, and get the results in order."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["WorkerDiedError", "cores", "in_order"]

_Thing = TypeVar("_Thing")
_Result = TypeVar("_Result")

_FEW = 8
"""So few things are done here: starting processes takes longer."""
_AT_ONCE = 2
"""Things that a worker is given at a time."""


class WorkerDiedError(Exception):
    """A worker process ended without a result: most likely the interpreter crashed."""

    def __init__(self, done: int) -> None:
        super().__init__(done)
        self.done = done  #: how many results came before


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(function: Callable[[_Thing], _Result], things: Sequence[_Thing], jobs: int) -> Iterator[_Result]:
    """The results of `function` for each of `things`, as they come, but in order.

    With more than one job, function, things and results must be picklable. Ctrl-C, or closing the generator, ends it.

    Raises:
        WorkerDiedError: a worker process died.
    """
    if jobs == 1 or len(things) <= _FEW:
        yield from map(function, things)
        return
    # "spawn" works alike on all systems and versions, and "fork" doesn't go with the thread that draws a progress bar
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(things)), mp_context=context, initializer=_die_quietly)
    done = 0
    try:
        with _ctrl_c_held_back():  # all processes are started here
            # not pool.map: it cancels what is left when it ends early, which the pool of a dead worker can't cope with
            batches = [things[at : at + _AT_ONCE] for at in range(0, len(things), _AT_ONCE)]
            futures = [pool.submit(_call_each, function, batch) for batch in batches]
        for future in futures:
            for result in future.result():
                yield result
                done += 1
    except BrokenProcessPool:
        raise WorkerDiedError(done) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _call_each(function: Callable[[_Thing], _Result], things: Sequence[_Thing]) -> list[_Result]:
    return list(map(function, things))


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Keep Ctrl-C waiting. Processes inherit that, so that none is interrupted before it could say how to take it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _die_quietly() -> None:
    """The terminal sends Ctrl-C to all processes: a worker just ends, and the parent says what there is to say."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # as for a command that a script runs in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
