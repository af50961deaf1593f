"""``xtab check``: take code objects apart, put them together again, and tell what is not the same."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from rich.text import Text

import xtab
from xtab.cli.corpus import check_source, summary
from xtab.cli.jobs import WorkerDiedError, cores, in_order
from xtab.cli.output import (
    DIFFERENT,
    FINE,
    INTERRUPTED,
    UNUSABLE,
    Bar,
    color_option,
    console_for,
    document,
    json_option,
    progress_option,
    running_python,
)
from xtab.cli.targets import TARGETS_HELP, find_sources

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

    from rich.console import Console

    from xtab.cli.corpus import FileReport, Summary
    from xtab.cli.targets import Source

__all__ = ["check"]

_DIFFERENCES_SHOWN = 10


def _shard(_context: click.Context, _parameter: click.Parameter, text: str) -> slice:
    """Which of the files to check, from the value of ``--shard``."""
    index, _, count = text.partition("/")
    if index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count):
        return slice(int(index) - 1, None, int(count))
    raise click.BadParameter(f"expected I/N with I from 1 to N, but found {text!r}")


@click.command(epilog=TARGETS_HELP)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="Number of processes.  [default: one a core]")
@click.option(
    "--shard", default="1/1", callback=_shard, metavar="I/N", help="Check every N-th file only, from the I-th."
)
@click.option("-v", "--verbose", is_flag=True, help="List files that don't compile, smaller stacks, all differences.")
@json_option
@color_option
@progress_option
def check(
    *,
    targets: tuple[str, ...],
    jobs: int | None,
    shard: slice,
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
      1    there are differences
      2    wrong usage, or a file that was named can't be found, read or compiled
      130  ended by Ctrl-C; what was done until then is printed
    """  # noqa: D301 (click wants the backspaces)
    sources = _sources(targets)[shard]
    start = time.monotonic()
    reports: list[FileReport] = []
    end = None
    try:
        with Bar(len(sources), wanted=progress) as bar:
            for report in in_order(check_source, sources, jobs or cores()):
                reports.append(report)
                bar.advance(report.name)
    except KeyboardInterrupt:
        end = INTERRUPTED
        click.echo(f"interrupted: {len(reports)} of {len(sources)} files were checked", err=True)
    except WorkerDiedError as error:
        end = DIFFERENT
        click.echo(_which_died(sources[error.done :]), err=True)
    total = summary(reports, time.monotonic() - start)
    failed = [report for report in reports if report.named and report.error]
    if as_json:
        click.echo(document([asdict(report) for report in reports], summary=asdict(total)))
    elif len(failed) < len(reports) or end:
        _print_text(console_for(sys.stdout, color), reports, total, verbose=verbose)
    for report in failed:
        click.echo(f"Error: {report.name}: {report.error}", err=True)
    sys.exit(end or (DIFFERENT if total.differences else UNUSABLE if failed else FINE))


def _sources(targets: Iterable[str]) -> list[Source]:
    """What to check: each file once."""
    found: dict[tuple[str, str | None], Source] = {}
    for target in targets:
        for source in find_sources(target, sys.stdin.buffer):
            key = source.name, source.qualname
            if source.named or key not in found:
                found[key] = source
    return list(found.values())


def _which_died(left: list[Source]) -> str:
    names = ", ".join(source.name for source in left[:20])
    return (
        "a worker process died, so the rest was not checked. Most likely the interpreter crashed on one of the next "
        f"files; check them one by one with --jobs 1: {names}"
    )


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
    for name, number, note in rows:
        bad = name == "differences" and number
        style = ("bold red" if bad else "bold green") if name == "differences" else ""
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
