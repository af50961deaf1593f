"""What subcommands share that do one thing to each file of many: which files, how many at a time, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import click

from xtab.cli.jobs import WorkerDiedError, cores, in_order
from xtab.cli.output import DIFFERENT, INTERRUPTED, UNUSABLE, Bar
from xtab.cli.targets import find_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from xtab.cli.targets import SourceFile

__all__ = ["Batch", "Report", "batch_options", "collect_sources", "run_batch"]

_Command = TypeVar("_Command", bound="Callable[..., Any]")


class Report(Protocol):
    """What is known of a file in the end."""

    @property
    def name(self) -> str:
        """The file, as it can be given on the command line."""

    @property
    def named(self) -> bool:
        """Whether it was named there itself."""

    @property
    def error(self) -> str | None:
        """Why it could not be read or compiled."""


_Report = TypeVar("_Report", bound=Report)


@dataclass(frozen=True, slots=True)
class Batch(Generic[_Report]):
    """What came of many files."""

    reports: list[_Report]
    end: int | None  #: the exit status, if not all was done

    @property
    def unusable(self) -> list[_Report]:
        """The reports of files that were named and could not be read or compiled."""
        return [report for report in self.reports if report.named and report.error]

    def exit_status(self, status: int) -> int:
        """Print what was unusable to stderr; the exit status, given the one for what was found."""
        for report in self.unusable:
            click.echo(f"Error: {report.name}: {report.error}", err=True)
        return self.end or status or (UNUSABLE if self.unusable else status)


def _shard(_context: click.Context, _parameter: click.Parameter, text: str) -> slice:
    """Which of the files to check, from the value of ``--shard``."""
    index, _, count = text.partition("/")
    if index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count):
        return slice(int(index) - 1, None, int(count))
    raise click.BadParameter(f"expected I/N with I from 1 to N, but found {text!r}")


def batch_options(command: _Command) -> _Command:
    """Add ``--jobs`` and ``--shard``."""
    shard = click.option(
        "--shard", default="1/1", callback=_shard, metavar="I/N", help="Check every N-th file only, from the I-th."
    )
    jobs = click.option("-j", "--jobs", type=click.IntRange(min=1), help="Number of processes.  [default: one a core]")
    return jobs(shard(command))


def collect_sources(targets: Iterable[str]) -> list[SourceFile]:
    """What to check: each file once."""
    found: dict[tuple[str, str | None], SourceFile] = {}
    for target in targets:
        for source in find_sources(target):
            key = source.name, source.qualname
            if source.named or key not in found:
                found[key] = source
    return list(found.values())


def run_batch(
    function: Callable[[SourceFile], _Report], sources: list[SourceFile], jobs: int | None, *, progress: bool
) -> Batch[_Report]:
    """Call a function for each source, in several processes, with a progress bar.

    Ctrl-C and the death of a process end it early, and are reported on stderr: what was done until then counts.
    """
    reports: list[_Report] = []
    end = None
    try:
        with Bar(len(sources), wanted=progress) as bar:
            for report in in_order(function, sources, jobs or cores()):
                reports.append(report)
                bar.advance(report.name)
    except KeyboardInterrupt:
        end = INTERRUPTED
        click.echo(f"interrupted: {len(reports)} of {len(sources)} files were checked", err=True)
    except WorkerDiedError as error:
        end = DIFFERENT
        click.echo(_which_died(sources[error.done :]), err=True)
    return Batch(reports, end)


def _which_died(left: list[SourceFile]) -> str:
    names = ", ".join(source.name for source in left[:20])
    return (
        "a worker process died, so the rest was not checked. Most likely the interpreter crashed on one of the next "
        f"files; check them one by one with --jobs 1: {names}"
    )
