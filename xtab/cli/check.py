"""``xtab check``: take code objects apart, put them together again, and tell what is not the same."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import click
from rich.text import Text

import xtab
from xtab.cli.batch import batch_options, collect_sources, run_batch
from xtab.cli.code_targets import TargetType
from xtab.cli.corpus import check_source, summary
from xtab.cli.output import (
    DIFFERENT,
    FINE,
    color_option,
    console_for,
    document,
    json_option,
    progress_option,
    running_python,
)
from xtab.cli.targets import TARGETS_HELP

if TYPE_CHECKING:
    from typing import NoReturn

    from rich.console import Console

    from xtab.cli.corpus import FileReport, Summary

__all__ = ["check"]

_DIFFERENCES_SHOWN = 10


@click.command(epilog=TARGETS_HELP)
@click.argument("targets", nargs=-1, required=True, type=TargetType(), metavar="TARGET...")
@batch_options
@click.option("--verify", "verified", is_flag=True, help="Verify each code object as well, as xtab verify does.")
@click.option("-v", "--verbose", is_flag=True, help="List files that don't compile, smaller stacks, all differences.")
@json_option
@color_option
@progress_option
def check(
    *,
    targets: tuple[str, ...],
    jobs: int | None,
    shard: slice,
    verified: bool,
    verbose: bool,
    as_json: bool,
    color: str,
    progress: bool,
) -> NoReturn:
    """Check that code objects come back byte for byte.

    Each code object has its exception table parsed and assembled, nested and flattened, its location table parsed and
    assembled, is decoded and assembled, and has its stack size computed. What is not the same again is a difference.

    \b
    Examples:
      xtab check stdlib
      xtab check src/ setup.py
      xtab check json.decoder:JSONDecoder.decode
      echo 'with a: b' | xtab check -

    \b
    Exit status:
      0    all came back the same
      1    there are differences, or with --verify errors
      2    wrong usage, or a file that was named can't be found, read or compiled
      130  ended by Ctrl-C; what was done until then is printed
    """  # noqa: D301 (click wants the backspaces)
    start = time.monotonic()
    function = partial(check_source, verified=verified)
    batch = run_batch(function, collect_sources(targets)[shard], jobs, progress=progress)
    total = summary(batch.reports, time.monotonic() - start)
    if as_json:
        click.echo(document([asdict(report) for report in batch.reports], summary=asdict(total)))
    elif len(batch.unusable) < len(batch.reports) or batch.end:
        _print_text(console_for(sys.stdout, color), batch.reports, total, verbose=verbose)
    wrong = total.differences or (total.problems and total.problems.errors)
    sys.exit(batch.exit_status(DIFFERENT if wrong else FINE))


def _print_text(console: Console, reports: list[FileReport], total: Summary, *, verbose: bool) -> None:
    """The summary, then lists: of what doesn't compile and of smaller stacks, if asked for, and of differences."""
    console.print(f"xtab {xtab.__version__} on CPython {running_python()}\n", style="dim")
    hint = "" if verbose or not total.not_compilable else "  (--verbose lists them)"
    rows = [
        ("files", total.files, ""),
        ("  not compilable", total.not_compilable, hint),
        ("code objects", total.code_objects, ""),
        ("  with a table", total.with_table, ""),
        ("entries", total.entries, ""),
        ("instructions", total.instructions, ""),
        ("seconds", total.seconds, ""),
        ("differences", total.differences, ""),
    ]
    if total.problems is not None:
        hint = "  (xtab verify shows them)" if total.problems.errors or total.problems.warnings else ""
        rows += [("errors", total.problems.errors, hint), ("warnings", total.problems.warnings, "")]
    for name, number, note in rows:
        style = ("bold red" if number else "bold green") if name in {"differences", "errors"} else ""
        console.print(Text(f"{name:<18}{number:>12,}", style=style) + Text(note, style="dim"))
    if total.smaller_stacks:
        console.print(f"smaller stack: {total.smaller_stacks}, each with an unreachable handler")
    if verbose:
        _print_details(console, reports)
    _print_differences(console, reports, None if verbose else _DIFFERENCES_SHOWN)


def _print_details(console: Console, reports: list[FileReport]) -> None:
    broken = [f"  {report.name}: {report.error}" for report in reports if report.error]
    smaller = [
        f"  {_command(report, stack.qualname, stack.line)}: the handler at {stack.unreachable_handler} is unreachable"
        for report in reports
        for stack in report.smaller_stacks
    ]
    for title, lines in (("not compilable:", broken), ("smaller stack:", smaller)):
        if lines:
            console.print("", title, *lines, sep="\n")


def _print_differences(console: Console, reports: list[FileReport], limit: int | None) -> None:
    found = [(report, difference) for report in reports for difference in report.differences]
    for report, difference in found[:limit]:
        console.print()
        console.print(_command(report, difference.qualname, difference.line), style="bold")
        console.print(f"  {difference.what}" + (f", {difference.where}" if difference.where else ""))
        _print_side(console, "expected", difference.expected, "green")
        _print_side(console, "found", difference.found, "red")
    if len(found) > len(found[:limit]):
        console.print(f"\nand {len(found) - len(found[:limit]):,} more differences (--verbose shows them)")


def _print_side(console: Console, name: str, text: str, style: str) -> None:
    """One side of a difference; a traceback's further lines are indented as the first."""
    console.print(Text(f"    {name:<10}") + Text(text.replace("\n", "\n" + " " * 14), style=style))


def _command(report: FileReport, qualname: str, line: int) -> str:
    """The command that checks this code object alone; to a shell, the line is a comment."""
    if report.name == "-":
        return f"xtab check -  # {qualname}, line {line}"
    return f"xtab check {shlex.quote(f'{report.name}:{qualname}')}  # line {line}"
