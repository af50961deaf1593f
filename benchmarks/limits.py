"""What has a limit of its own and is compared with nobody: how time grows with the size of code, and peak memory."""

from __future__ import annotations

import gc
import sysconfig
import time
import tracemalloc
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import xtab
from xtab.format.code import code_objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

__all__ = ["Limit", "memory", "scaling"]

MAX_GROWTH = 12  #: times the time, for ten times the instructions
MAX_BYTES = 1000  #: an instruction, at the peak, when all code objects of a module are decoded and kept
NOT_LIBRARY = {"site-packages", "dist-packages", "test", "tests", "lib2to3"}

BLOCK = """\
    try:
        x = f(a, x)[1]
        if x > a:
            x = x.y + 1
    except ValueError:
        x = 0
"""


@dataclass
class Limit:
    """A measured value that means to be at most `goal`."""

    what: str
    value: float
    unit: str
    goal: float


def scaling(largest: int, rounds: int, progress: Callable[[str], None]) -> Iterator[Limit]:
    """How many times the time ten times the instructions take, from step to step up to `largest` instructions.

    The small code goes ten times for each time of the large one, so that both run for as long.
    """
    size = largest
    while size >= 10_000:
        progress(f"scaling: {size:,} instructions")
        small, large = _synthetic(size // 10), _synthetic(size)
        ratios = []
        for _ in range(rounds):
            time_small = _timed_round_trips(small, 10) / 10
            ratios.append(_timed_round_trips(large, 1) / time_small)
        yield Limit(f"round trip of {size:,} instructions", median(ratios), "times as long as a tenth", MAX_GROWTH)
        size //= 10


def _synthetic(instructions: int) -> CodeType:
    """The code of one function of about so many instructions, with a `try` in every 30."""
    per_block = len(xtab.decode(_blocks(100)).instructions) / 100
    return _blocks(ceil(instructions / per_block))


def _blocks(count: int) -> CodeType:
    module = compile("def g(f, a, x):\n" + BLOCK * count, "synthetic", "exec", dont_inherit=True)
    return next(constant for constant in module.co_consts if isinstance(constant, type(module)))


def _timed_round_trips(code: CodeType, count: int) -> float:
    gc.collect()
    begin = time.process_time()
    for _ in range(count):
        body = xtab.decode(code)
        body.instructions.insert(1, xtab.Instruction("NOP"))
        xtab.assemble(body)
    return time.process_time() - begin


def memory(progress: Callable[[str], None]) -> Iterator[Limit]:
    """Peak memory, in bytes an instruction, while all code objects of the largest module are decoded and kept."""
    progress("memory: looking for the largest module of the standard library")
    name, source = _largest_module()
    progress(f"memory: {name}")
    codes = _compiled(source)
    gc.collect()
    tracemalloc.start()
    bodies = [xtab.decode(code) for code in codes]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    count = sum(len(body.instructions) for body in bodies)
    what = f"peak memory of decoding all {len(codes):,} code objects of {name}"
    yield Limit(what, peak / count, "bytes an instruction", MAX_BYTES)


def _largest_module() -> tuple[str, Path]:
    """Name and source of the module with most instructions, among the five largest files."""
    library = Path(sysconfig.get_path("stdlib"))
    files = [
        path
        for path in library.rglob("*.py")
        if path.is_file() and not NOT_LIBRARY & set(path.relative_to(library).parts)
    ]
    largest = sorted(files, key=lambda path: path.stat().st_size)[-5:]
    source = max(largest, key=lambda path: sum(len(xtab.decode(code).instructions) for code in _compiled(path)))
    return ".".join(source.relative_to(library).with_suffix("").parts), source


def _compiled(source: Path) -> list[CodeType]:
    """All code objects of a file, none of which has been asked for its bytes, which it would remember."""
    return list(code_objects(compile(source.read_bytes(), source.name, "exec", dont_inherit=True)))
