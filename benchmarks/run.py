"""Compare xtab with other libraries, side by side on the same code objects: ``python benchmarks/run.py --help``.

The measuring goes on in worker processes, so that no single layout of memory or order of hashes decides. `rounds` says
how two sides are compared, `peers` what is compared, `limits` what has a limit of its own.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limits import Limit, memory, scaling
from peers import WORK, missing_peers, pairs, peer_versions
from report import Report, as_json, as_markdown, as_text, rows_of, write_pyperf
from rounds import Timings, measure

import xtab
from xtab.format.code import code_objects

if TYPE_CHECKING:
    from types import CodeType

MODULES = ("argparse", "ast", "dataclasses", "inspect", "subprocess", "tarfile", "threading", "typing")
QUICK_MODULES = ("dataclasses", "subprocess")
LIMITS = ("scaling", "memory")
ALL = (*(work.replace(" ", "-") for work in WORK), *LIMITS)


def read_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Compare the speed of xtab with that of other libraries.")
    add = parser.add_argument
    add("--quick", action="store_true", help="two modules, one process, three rounds, at most 100,000 instructions")
    add("--modules", nargs="+", metavar="NAME", help=f"whose code is worked on (default: {' '.join(MODULES)})")
    add("--only", nargs="+", choices=ALL, default=ALL, metavar="WHAT", help=f"some of: {', '.join(ALL)}")
    add("--processes", type=int, metavar="N", help="worker processes, one after another (default: 3)")
    add("--rounds", type=int, metavar="N", help="rounds in each of them (default: 5)")
    add("--largest", type=int, metavar="N", help="instructions of the largest code for scaling (default: 1,000,000)")
    add("--markdown", action="store_true", help="print the table for a page")
    add("--json", type=Path, metavar="FILE", help="write the ratios to a file")
    add("--pyperf", type=Path, metavar="FILE", help="write the seconds to a file that pyperf reads")
    add("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    quick = arguments.quick
    arguments.modules = arguments.modules or (QUICK_MODULES if quick else MODULES)
    arguments.processes = arguments.processes or (1 if quick else 3)
    arguments.rounds = arguments.rounds or (3 if quick else 5)
    arguments.largest = arguments.largest or (100_000 if quick else 1_000_000)
    for name in arguments.modules:
        if source_of(name) is None:
            parser.error(f"expected a module with a source, but found {name}")
    if arguments.pyperf and importlib.util.find_spec("pyperf") is None:
        parser.error("expected pyperf to be installed for --pyperf, but found none")
    return arguments


def source_of(module: str) -> Path | None:
    """The file of a module's source, if it has one. Nothing is imported, so a module in a package isn't found."""
    spec = None if "." in module else importlib.util.find_spec(module)
    origin = None if spec is None else spec.origin
    return Path(origin) if origin is not None and origin.endswith(".py") else None


def compiled(module: str) -> list[CodeType]:
    """All code objects of a module."""
    source = source_of(module)
    assert source is not None
    return list(code_objects(compile(source.read_bytes(), f"{module}.py", "exec", dont_inherit=True)))


def progress(message: str) -> None:
    """Say on a terminal what goes on, over and over on the same line."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{message[:79]}", end="", file=sys.stderr, flush=True)


def work(job: dict[str, Any]) -> list[dict[str, Any]]:
    """What a worker process does: the results, ready for JSON."""

    def say(message: str) -> None:
        progress(f"{job['title']}: {message}")

    if job["title"] == "limits":
        limits: list[Limit] = []
        if "memory" in job["only"]:
            limits += memory(say)
        if "scaling" in job["only"]:
            limits += scaling(job["largest"], job["rounds"], say)
        return [asdict(limit) for limit in limits]
    chosen = [pair for pair in pairs() if pair.what.replace(" ", "-") in job["only"]]
    codes = [compiled(name) for name in job["modules"]]
    return [asdict(timings) for timings in measure(chosen, codes, job["rounds"], say)]


def in_worker(**job: Any) -> Any:
    """Have a job done by a process of its own."""
    command = [sys.executable, __file__, "--worker"]
    done = subprocess.run(command, input=json.dumps(job), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"expected the worker process to succeed, but found exit status {done.returncode}")
    return json.loads(done.stdout)


def find_out(arguments: argparse.Namespace) -> tuple[Report, list[list[Timings]]]:
    """Measure all that was asked for."""
    timings: list[list[Timings]] = []
    limits: list[Limit] = []
    job = {"modules": arguments.modules, "only": arguments.only, "rounds": arguments.rounds}
    for number in range(arguments.processes):
        found = in_worker(title=f"process {number + 1} of {arguments.processes}", **job)
        timings.append([Timings(**each) for each in found])
    if set(arguments.only) & set(LIMITS):
        found = in_worker(
            title="limits", only=arguments.only, largest=arguments.largest, rounds=min(arguments.rounds, 3)
        )
        limits = [Limit(**each) for each in found]
    progress("")
    codes = [code for name in arguments.modules for code in compiled(name)]
    report = Report(
        python=platform.python_version(),
        xtab=xtab.__version__,
        peers=peer_versions(),
        modules=list(arguments.modules),
        code_objects=len(codes),
        instructions=sum(len(xtab.decode(code).instructions) for code in codes),
        rounds=arguments.processes * arguments.rounds,
        rows=rows_of(timings),
        limits=limits,
        missing=missing_peers(),
    )
    return report, timings


def main() -> None:
    """Measure, and print what was found."""
    arguments = read_arguments()
    if arguments.worker:
        json.dump(work(json.load(sys.stdin)), sys.stdout)
        return
    report, timings = find_out(arguments)
    print(as_markdown(report) if arguments.markdown else as_text(report))
    if arguments.json:
        arguments.json.write_text(json.dumps(as_json(report), indent=1) + "\n", encoding="utf-8")
    if arguments.pyperf:
        write_pyperf(arguments.pyperf, timings, report.python)


if __name__ == "__main__":
    main()
