"""Run CPython's own tests on rewritten code, and compare every single outcome with that on untouched code.

1. Each module runs untouched, twice. A test whose outcome is not the same both times is unsteady: listed, but not
   compared.
2. Each module runs once for each transform, all code that is loaded being rewritten.
3. Outcomes are compared. If there is a difference that `explained.toml` doesn't name, the module runs once more; what
   doesn't happen twice is unsteady as well.
4. What was found is merged into the file of results, after each module, so a run that was stopped goes on where it was.

The exit code is 1 if an unexplained difference remains.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import explained
import records
from modules import MODULES, available
from result_file import Results
from transforms import TRANSFORMS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
UNTOUCHED = ("untouched", "untouched-again")
CACHE = Path(os.environ.get("XTAB_PROOF_CACHE") or "~/.cache/xtab-proof").expanduser()
VERSION = ".".join(map(str, sys.version_info[:2])) + "-dbg" * hasattr(sys, "gettotalrefcount")


def environment():
    """The environment of the children: the same for all, and this checkout first."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYTHON_COLORS": "0"}


class Runner:
    """Runs modules in child processes and remembers what became of them, in files below `directory`."""

    def __init__(self, directory, limit, *, once=False, include=None):
        self.directory = directory
        self.limit = limit
        self.once = once
        self.include = include
        directory.mkdir(parents=True, exist_ok=True)

    def child(self, statement, **options):
        script = f"import sys; sys.path[0] = {str(HERE)!r}; import child; {statement}"
        command = [sys.executable, "-X", "frozen_modules=on", "-c", script]  # off in debug builds, if nothing is said
        return subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL, **options)

    def hash_of_sources(self):
        """A text that changes with all that rewrites."""
        with self.child("print(child.hash_of_sources(), end='')", stdout=subprocess.PIPE) as process:
            return process.communicate()[0].decode()

    def run(self, name, module):
        """Run a module untouched or transformed, and give its record."""
        path = self.directory / f"{module}.{name}.json"
        path.unlink(missing_ok=True)
        started = time.monotonic()
        transform = "untouched" if name in UNTOUCHED else name
        with open(path.with_suffix(".log"), "wb") as log:
            statement = f"child.main({transform!r}, {module!r}, {str(path)!r}, {self.include!r})"
            process = self.child(statement, stdout=log, stderr=log, start_new_session=True)
            try:
                code = process.wait(self.limit)
            except subprocess.TimeoutExpired:
                code = None
                os.killpg(process.pid, 9)  # its own session: the child and what it started
                process.wait()
        with open(path, "a", encoding="utf-8") as file:
            seconds = round(time.monotonic() - started, 1)
            file.write("\n" + json.dumps({"exit": code, "seconds": seconds}) + "\n")
        return records.read(path)

    def untouched(self, module):
        """The records of a module as it is, from the cache if they are there."""
        found = []
        for name in UNTOUCHED[: 1 if self.once else None]:
            record = records.read(self.directory / f"{module}.{name}.json")
            found.append(record if record.complete else self.run(name, module))
        return found


def unexplained(differences, transform, entries):
    """Those differences that have no reason yet."""
    return [name for name in differences if explained.reason(entries, VERSION, transform, name) is None]


def prove(runner, transform, module, entries, sources):
    """Run a module under a transform, and give the result: counts, and the tests that differ."""
    first, *others = runner.untouched(module)
    unsteady = {name: list(pair) for other in others for name, pair in records.compare(first, other).items()}
    after = runner.run(transform, module)
    differences = {name: pair for name, pair in records.compare(first, after).items() if name not in unsteady}
    if unexplained(differences, transform, entries):
        once_more = runner.run(transform, module)
        for name in unexplained(differences, transform, entries):
            again = once_more.outcomes.get(name, records.MISSING)
            if again == first.outcomes.get(name, records.MISSING):
                unsteady[name] = [*differences.pop(name), again]
    tests = first.outcomes.keys() | after.outcomes.keys()
    return {
        "tests": len(tests),
        "same": len(tests) - len(differences) - len(unsteady),
        "differences": {name: [*pair, after.details.get(name, "")] for name, pair in sorted(differences.items())},
        "unsteady": dict(sorted(unsteady.items())),
        "seconds": after.seconds,
        "sources": sources,
    }


def line_of(transform, module, result, entries):
    """A line of progress, and a line for each difference that has no reason."""
    open_ones = unexplained(result["differences"], transform, entries)
    words = f"{VERSION} {transform:18} {module:26} {result['tests']:5} tests, {result['same']:5} same"
    counts = {
        "explained": len(result["differences"]) - len(open_ones),
        "unsteady": len(result["unsteady"]),
        "UNEXPLAINED": len(open_ones),
    }
    words += "".join(f", {count} {what}" for what, count in counts.items() if count) + f"  ({result['seconds']} s)"
    details = [f"    {name}: {' -> '.join(result['differences'][name][:2])}" for name in open_ones]
    return "\n".join([words, *details[:20], *["    ..."] * (len(details) > 20)])


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transform", nargs="+", default=[*TRANSFORMS], choices=[*TRANSFORMS], metavar="NAME")
    parser.add_argument("--modules", nargs="+", default=MODULES, metavar="MODULE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--results", type=Path, default=HERE / "results" / f"{VERSION}.json", metavar="FILE")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help="records and rewritten code objects")
    parser.add_argument("--limit", type=float, default=1200, help="seconds that a module may take")
    parser.add_argument("--include", nargs="+", metavar="PATTERN", help="names of the modules to rewrite [all]")
    parser.add_argument("--once", action="store_true", help="run untouched code once only: finds no unsteady tests")
    parser.add_argument("--again", action="store_true", help="run what has a result already, too")
    return parser.parse_args(argv)


def main(argv=None):
    options = parse(argv)
    entries = explained.load()
    results = Results(options.results)
    runner = Runner(options.cache.absolute() / VERSION, options.limit, once=options.once, include=options.include)
    modules = available(options.modules)
    sources = runner.hash_of_sources()

    def prove_all(module):
        """A module under all transforms: how many differences are unexplained."""
        count = 0
        for transform in options.transform:
            result = results.get(transform, module)
            if result is None or result["sources"] != sources or options.again:
                result = prove(runner, transform, module, entries, sources)
                results.put(transform, module, result)
            count += len(unexplained(result["differences"], transform, entries))
            say(line_of(transform, module, result, entries))
        return count

    with ThreadPoolExecutor(options.jobs) as pool:
        count = sum(pool.map(prove_all, modules))
    missing = [name for name in options.modules if name not in modules]
    if missing:
        say(f"{VERSION} has no {', '.join(missing)}")
    say(f"{VERSION}: {len(modules) * len(options.transform)} runs, {count} unexplained differences")
    return 1 if count or not modules else 0


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
