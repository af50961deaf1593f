"""Compare xtab with other libraries, side by side on the same code objects: ``python benchmarks/run.py --help``.

The measuring goes on in worker processes, so that no single layout of memory or order of hashes decides. `rounds` says how
two sides are compared, `peers` what is, `limits` what has a limit of its own.
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

import xtab
from limits import Limit, memory, scaling
from peers import missing_peers, pairs, peer_versions
from report import Report, as_json, as_markdown, as_text, rows_of, write_pyperf
from rounds import Timings, code_objects, measure

if TYPE_CHECKING:
    from types import CodeType

MODULES = ("argparse", "ast", "dataclasses", "inspect", "subprocess", "tarfile", "threading", "typing")
QUICK_MODULES = ("dataclasses", "subprocess")
COMPARED = ("parse", "lookup", "decode", "stack-size", "assemble", "round-trip")
LIMITED = ("scaling", "memory")


def read_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Compare the speed of xtab with that of other libraries.")
    parser.add_argument("--quick", action="store_true", help="two modules, one process, no code above 100,000 instructions")
    parser.add_argument(
        "--modules", nargs="+", metavar="NAME", help=f"modules whose code is worked on (default: {' '.join(MODULES)})"
    )
    parser.add_argument(
        "--only", nargs="+", choices=COMPARED + LIMITED, default=COMPARED + LIMITED, metavar="WHAT", help="not all of "
        + ", ".join(COMPARED + LIMITED)
    )
    parser.add_argument("--processes", type=int, metavar="N", help="worker processes, one after another (default: 3)")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds in each of them (default: 5)")
    parser.add_argument("--markdown", action="store_true", help="print the table for a page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the ratios to a file")
    parser.add_argument("--pyperf", type=Path, metavar="FILE", help="write the seconds to a file that pyperf reads")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.modules = arguments.modules or (QUICK_MODULES if arguments.quick else MODULES)
    arguments.processes = arguments.processes or (1 if arguments.quick else 3)
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 5)
    for name in arguments.modules:
        if source_of(name) is None:
            parser.error(f"expected a module with a source, but found {name}")
    return arguments


def source_of(module: str) -> Path | None:
    """The file of a module's source. The module isn't imported, nor is a name with a dot looked for."""
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
        print(f"\r\x1b[K{message[:100]}", end="", file=sys.stderr, flush=True)


def chosen(only: list[str]) -> list[Any]:
    """The pairs to measure, by the words of the command line."""
    return [pair for pair in pairs() if pair.what.replace(" ", "-") in only]


def work(job: dict[str, Any]) -> Any:
    """What a worker process does: the result, ready for JSON."""

    def say(message: str) -> None:
        progress(f"{job['title']}: {message}")

    if job["title"] == "limits":
        found: list[Limit] = []
        if "memory" in job["only"]:
            found += memory(say)
        if "scaling" in job["only"]:
            found += scaling(job["largest"], job["rounds"], say)
        return [asdict(limit) for limit in found]
    codes = [compiled(name) for name in job["modules"]]
    return [asdict(timings) for timings in measure(chosen(job["only"]), codes, job["rounds"], say)]


def in_worker(**job: Any) -> Any:
    """Have a job done by a process of its own."""
    command = [sys.executable, __file__, "--worker"]
    done = subprocess.run(command, input=json.dumps(job), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"expected the worker process to succeed, but found exit status {done.returncode}")
    return json.loads(done.stdout)


def main() -> None:
    """Measure, and print what was found."""
    arguments = read_arguments()
    if arguments.worker:
        json.dump(work(json.load(sys.stdin)), sys.stdout)
        return
    found: list[list[Timings]] = []
    for number in range(arguments.processes):
        title = f"process {number + 1} of {arguments.processes}"
        job = {"modules": arguments.modules, "only": arguments.only, "rounds": arguments.rounds}
        found.append([Timings(**timings) for timings in in_worker(title=title, **job)])
    limits: list[Limit] = []
    if set(arguments.only) & set(LIMITED):
        largest, rounds = (100_000, 1) if arguments.quick else (1_000_000, 3)
        limits = [Limit(**each) for each in in_worker(title="limits", only=arguments.only, largest=largest, rounds=rounds)]
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
        rows=rows_of(chosen(arguments.only), found),
        limits=limits,
        missing=missing_peers(),
    )
    print(as_markdown(report) if arguments.markdown else as_text(report))
    if arguments.json:
        arguments.json.write_text(json.dumps(as_json(report), indent=1) + "\n", encoding="utf-8")
    if arguments.pyperf:
        write_pyperf(arguments.pyperf, found, report.python)


if __name__ == "__main__":
    main()
