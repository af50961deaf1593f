"""Raises at every instruction of generated functions and compares where that goes with what is foretold (`tracer`).

``python tests/unwinding/run.py --first 0 --count 500``: prints a line of figures, and every difference. Exit code 1 if
there are any. ``--cases`` takes the cases of tests/cases instead of generated functions.
"""

from __future__ import annotations

import argparse
import json
import platform
import runpy
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import programs
import tracer

from xtab.format.code import code_objects

CASES = Path(__file__).parents[1] / "cases"


def check(
    function: Any, call: Any, seeds: range, *, also: tuple[type, ...] = ()
) -> tuple[list[tracer.Difference], Counter[str]]:
    """Raise at all that runs of a function come by; `call` is called with the function and a seed.

    Every fourth instruction raises those of the classes `also` too.
    """
    if tracer.BY_LINES:
        function.__code__ = tracer.with_own_lines(function.__code__)
    known = {id(code): tracer.Known(code) for code in code_objects(function.__code__)}  # code is slow to hash
    trace, counts, done = tracer.Tracer(), Counter(functions=1), set()
    differences: list[tracer.Difference] = []
    for seed in seeds:
        plain = tracer.Run(known, None, tracer.Boom)
        trace(plain, call, function, seed)
        differences += plain.differences
        todo = [*(plain.reached - done)]
        while todo:
            at = code, place = todo.pop()
            if at in done:
                continue
            done.add(at)
            if not known[code].can_raise(place):
                continue
            for kind in (tracer.Boom, *(also if place % 4 == 0 else ())):
                run = tracer.Run(known, at, kind)
                trace(run, call, function, seed)
                differences += run.differences
                counts += run.counts
                todo += run.reached - done
    return differences, counts


def generated(seed: int) -> tuple[list[tracer.Difference], Counter[str]]:
    """Check one generated function."""
    namespace: dict[str, Any] = {}
    exec(compile(programs.Writer(seed).text(), f"<program {seed}>", "exec", dont_inherit=True), namespace)

    def call(function: Any, led: int) -> None:
        programs.drive(function(programs.World(led)))

    return check(namespace["target"], call, range(2), also=(programs.One,))


def cases() -> tuple[list[tracer.Difference], Counter[str]]:
    """Check the functions of tests/cases/tracers.py that can be called."""
    differences: list[tracer.Difference] = []
    counts: Counter[str] = Counter()
    for function, call, _, _ in runpy.run_path(str(CASES / "tracers.py"))["RUNS"]:
        found, more = check(function, lambda each, _, call=call: call(each, []), range(1))
        differences += found
        counts += more
    return differences, counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first function")
    parser.add_argument("--count", type=int, default=500, help="how many functions")
    parser.add_argument("--cases", action="store_true", help="the cases of tests/cases instead")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    differences = []
    for seed in [None] if options.cases else range(options.first, options.first + options.count):
        found, more = cases() if seed is None else generated(seed)
        counts += more
        differences += [(seed, *each) for each in found]
    if options.json:
        sys.stdout.write(json.dumps({"counts": counts, "differences": differences}) + "\n")
        return 0
    for difference in differences[:40]:
        sys.stdout.write(" | ".join(map(str, difference)) + "\n")
    build = " debug" if hasattr(sys, "gettotalrefcount") else ""
    sys.stdout.write(f"{platform.python_version()}{build}: {len(differences)} differences; {dict(counts)}\n")
    return bool(differences)


if __name__ == "__main__":
    raise SystemExit(main())
