"""Verify arbitrary bytes as code, exception table and location table: it must neither raise nor take long.

How long is counted in steps, lines of xtab that ran, for the time of a busy machine says nothing. What is accepted
against all odds is run as mutants are, in a child process.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner import Runner
from trees import FILENAME, Tree
from units import write_unit

import xtab
from xtab.analysis.verify import CodeParts, verify_parts
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from types import FrameType

HOME = str(Path(xtab.__file__).parent)
STEPS = 2000  #: lines that may run for each byte of input
LEAST = 60_000  #: and for the smallest of inputs
LEGAL = bytes(number for number in range(256) if CURRENT.legal[number])
CONSTANTS = (None, 1, "text", (), ("a",), b"bytes", 2.5)


def some_code(rng: random.Random) -> bytes:
    """Bytes: of any kind, or of opcodes with small operands and the right number of caches, most of the time."""
    if rng.random() < 0.2:
        return rng.randbytes(rng.randrange(80))
    if rng.random() < 0.5:
        return straight_code(rng)
    pieces = [bytes([CURRENT.number["RESUME"], 0]) + bytes(2 * CURRENT.caches[CURRENT.number["RESUME"]])]
    for _ in range(rng.randrange(40)):
        opcode = rng.choice(LEGAL)
        pieces.append(bytes([opcode, rng.choice((0, 1, 2, 3, rng.randrange(256)))]) + bytes(2 * CURRENT.caches[opcode]))
    return b"".join(pieces)


def straight_code(rng: random.Random) -> bytes:
    """Instructions in a row that find as many values as they take, dropped in the end: some of these are right."""
    numbers, depth = CURRENT.number, 0
    made = write_unit(numbers["RESUME"], 0)
    for _ in range(rng.randrange(12)):
        opcode, arg = rng.choice(LEGAL), rng.randrange(3)
        if CURRENT.distance[opcode] or CURRENT.stops[opcode] or CURRENT.taken(opcode, arg) > depth:
            opcode, arg = numbers["LOAD_CONST"], rng.randrange(len(CONSTANTS))
        depth += CURRENT.effect(opcode, arg)
        made += write_unit(opcode, arg)
    made += write_unit(numbers["POP_TOP"], 0) * max(0, depth)
    return made + write_unit(numbers["LOAD_CONST"], 0) + write_unit(numbers["RETURN_VALUE"], 0)


def some_table(rng: random.Random, size: int) -> bytes:
    """An exception table: of any bytes, or entries with small values, in order or not."""
    if rng.random() < 0.3:
        return rng.randbytes(rng.randrange(60))
    made, start = b"", 0
    for _ in range(rng.randrange(6)):
        start += rng.randrange(8)
        made += bytes([128 | start & 63, rng.randrange(12), rng.randrange(min(64, size // 2 + 2)), rng.randrange(8)])
    return made


def some_parts(rng: random.Random) -> Tree:
    """Parts of which nothing fits, or all but the bytes does."""
    code = some_code(rng)
    wrong = rng.random() < 0.2
    varnames = ("a", "b", "c")
    counts = [rng.randrange(-2, 5) for _ in range(4)] if wrong else [2, 0, 0, 3]
    return CodeParts(
        argcount=counts[0],
        posonlyargcount=counts[1],
        kwonlyargcount=counts[2],
        nlocals=counts[3],
        stacksize=rng.choice((-1, 0, 2, 40, 40, 40, 1 << 31)),
        flags=rng.choice((3, 3, 3, 3, 3, 3, 0, 0x23, 0xA3, 0x203, rng.randrange(1 << 31))),
        code=code,
        consts=CONSTANTS,
        names=("a", "b"),
        varnames=varnames,
        filename=FILENAME,
        name="f",
        qualname="f",
        firstlineno=rng.choice((1, 0, -1, 1 << 40)),
        linetable=rng.randbytes(rng.randrange(40)) if rng.random() < 0.4 else bytes([0xF8]) * (len(code) // 2),
        exceptiontable=some_table(rng, len(code)) if rng.random() < 0.5 else b"",
        freevars=rng.choice(((), (), (), ("d",), ("a",))),
        cellvars=rng.choice(((), (), (), ("e",), ("a",))),
    )


class TooManyStepsError(Exception):
    """The verifier takes longer than it may."""


def steps_of(parts: Tree) -> int:
    """How many lines of xtab run until a verdict is there; an error if there are too many."""
    limit = LEAST + STEPS * (len(parts.code) + len(parts.exceptiontable) + len(parts.linetable))
    steps = 0

    def count(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal steps
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        steps += 1
        if steps > limit:
            raise TooManyStepsError(f"more than {limit} steps for {len(parts.code)} bytes")
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        verify_parts(parts)
    finally:
        sys.settrace(before)
    return steps


def check(seed: int, count: int, *, run_with: str | None = None, counted: int = 20) -> tuple[int, list[str]]:
    """Verify `count` inputs, and run what is accepted; how many that were, and what went wrong.

    Args:
        seed: where to begin.
        count: how many.
        run_with: an interpreter, or None: don't run any.
        counted: the steps of one in so many are counted.
    """
    rng, wrong, accepted = random.Random(seed), [], 0
    with Runner(run_with or sys.executable) as runner:
        for number in range(count):
            parts = some_parts(rng)
            try:
                problems = verify_parts(parts)
                if number % counted == 0:
                    steps_of(parts)
            except Exception as error:
                wrong.append(f"{type(error).__name__}: {error}: {parts!r}")
                continue
            if any(problem.severity == "error" for problem in problems):
                continue
            accepted += 1
            outcome = runner.run(parts, seed) if run_with else None
            if outcome is not None and outcome.is_hole:
                wrong.append(f"{outcome.word}: {outcome.stderr[-300:]}: {parts!r}")
    return accepted, wrong


def main() -> int:
    """Check, and say what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--run-with", default=sys.executable, metavar="PYTHON")
    options = parser.parse_args()
    accepted, wrong = check(options.seed, options.count, run_with=options.run_with)
    sys.stdout.writelines(f"{text}\n" for text in wrong[:20])
    sys.stdout.write(f"{options.count} inputs, {accepted} accepted, {len(wrong)} wrong\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
