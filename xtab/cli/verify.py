"""``xtab verify``: tell what is wrong with code objects, without running them."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from xtab.analysis.verify import RULES
from xtab.cli.batch import batch_options, collect_sources, run_batch
from xtab.cli.code_targets import TargetType
from xtab.cli.findings import verify_source
from xtab.cli.github import annotation
from xtab.cli.output import (
    DIFFERENT,
    FINE,
    color_option,
    document,
    json_option,
    progress_option,
    wants_ascii,
    wants_color,
)
from xtab.cli.rule_choice import choose_rules
from xtab.cli.sarif import sarif_document
from xtab.cli.targets import TARGETS
from xtab.format.printable import one_line
from xtab.report.json import problem_json
from xtab.report.text import GLYPHS, paint, problem_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import NoReturn

    from xtab.cli.batch import Batch
    from xtab.cli.findings import FileFindings, Finding
    from xtab.report.text import Line

__all__ = ["verify"]

_EPILOG = f"{TARGETS}A .pyc is read without making\ncode objects of it, so it may come from anywhere.\n"


def _rules(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> frozenset[str]:
    """The codes of the rules named by an option."""
    return frozenset(rule.code for rule in choose_rules(texts))


@click.command(epilog=_EPILOG)
@click.argument("targets", nargs=-1, required=True, type=TargetType(), metavar="TARGET...")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "github", "sarif"]),
    help="github: annotations of a workflow; sarif: for code scanning.  [default: text]",
)
@json_option
@click.option("--select", multiple=True, callback=_rules, metavar="RULES", help="Heed only these rules.")
@click.option("--ignore", multiple=True, callback=_rules, metavar="RULES", help="Don't heed these rules.")
@click.option("--strict", is_flag=True, help="Exit with status 1 on warnings too.")
@batch_options
@click.option("-v", "--verbose", is_flag=True, help="Print what was looked at, and how often each rule was broken.")
@color_option
@progress_option
@click.pass_context
def verify(
    context: click.Context,
    *,
    targets: tuple[str, ...],
    output_format: str | None,
    as_json: bool,
    select: frozenset[str],
    ignore: frozenset[str],
    strict: bool,
    jobs: int | None,
    shard: slice,
    verbose: bool,
    color: str,
    progress: bool,
) -> NoReturn:
    """Verify that code objects are safe to run.

    Finds what would crash the interpreter, or run the wrong handler. Nothing is printed when nothing is found. Each
    problem has the code of a rule; xtab explain CODE tells more of it. RULES are codes, beginnings of codes such as
    XT4, or names, with commas between.

    \b
    Examples:
      xtab verify build/app.pyc
      xtab verify src/ --ignore XT1,range-empty
      xtab verify src/ --format sarif > xtab.sarif

    \b
    Exit status:
      0    no errors; there may be warnings
      1    there are errors, or with --strict warnings
      2    wrong usage, or a file that was named can't be found, read or compiled
      130  ended by Ctrl-C; what was found until then is printed
    """  # noqa: D301 (click wants the backspaces)
    if as_json and output_format not in {None, "json"}:
        raise click.UsageError(f"expected --json or --format {output_format}, but found both", context)
    codes = (select or frozenset(RULES)) - ignore
    batch = run_batch(partial(verify_source, codes=codes), collect_sources(targets)[shard], jobs, progress=progress)
    found = list(_found(batch.reports))
    if as_json or output_format == "json":
        click.echo(_json(batch.reports))
    elif output_format == "sarif":
        click.echo(_sarif(batch, found))
    elif output_format == "github":
        for finding, report in found:
            click.echo(annotation(finding.problem, report.name))
    else:
        in_color, in_ascii = wants_color(sys.stdout, color), wants_ascii(sys.stdout, GLYPHS)
        for line in _lines(batch.reports, verbose=verbose):
            click.echo(paint(line, color=in_color, ascii=in_ascii), color=in_color)
    wrong = any(strict or finding.problem.is_error for finding, _ in found)
    sys.exit(batch.exit_status(DIFFERENT if wrong else FINE))


def _found(reports: Iterable[FileFindings]) -> Iterator[tuple[Finding, FileFindings]]:
    for report in reports:
        for finding in report.findings:
            yield finding, report


def _sarif(batch: Batch[FileFindings], found: list[tuple[Finding, FileFindings]]) -> str:
    unusable = [(report.name, str(report.error)) for report in batch.unusable]
    pairs = [(finding.problem, report.name) for finding, report in found]
    return sarif_document(pairs, unusable, complete=batch.end is None)


def _json(reports: list[FileFindings]) -> str:
    """The document that schemas/verify.json describes."""
    results = [
        {
            "name": report.name,
            "named": report.named,
            "error": report.error,
            "code_objects": report.code_objects,
            "problems": [problem_json(finding.problem) for finding in report.findings],
        }
        for report in reports
    ]
    return document(results, summary=_summary(reports))


def _summary(reports: list[FileFindings]) -> dict[str, Any]:
    severities = Counter(finding.problem.severity for finding, _ in _found(reports))
    codes = Counter(finding.problem.code for finding, _ in _found(reports))
    return {
        "files": len(reports),
        "not_compilable": sum(report.error is not None for report in reports),
        "code_objects": sum(report.code_objects for report in reports),
        "errors": severities["error"],
        "warnings": severities["warning"],
        "rules": {code: codes[code] for code in RULES if codes[code]},
    }


def _lines(reports: list[FileFindings], *, verbose: bool) -> Iterator[Line]:
    """Each problem, then how to read more of their rules, then the sums if asked for."""
    broken: set[str] = set()
    for finding, report in _found(reports):
        if broken:
            yield []
        broken.add(finding.problem.code)
        yield from problem_lines(finding.problem, file=report.name, around=finding.excerpt)
    if broken:
        yield []
    for code in RULES:
        if code in broken:
            yield [(f"see: xtab explain {code}", "dim")]
    if verbose:
        if broken:
            yield []
        yield from _summary_lines(reports)


def _summary_lines(reports: list[FileFindings]) -> Iterator[Line]:
    total = _summary(reports)
    rules = total.pop("rules")
    rows = [(name.replace("_", " "), number) for name, number in total.items()]
    rows += [(f"{code} {RULES[code].name}", number) for code, number in rules.items()]
    for name, number in rows:
        yield [(f"{name:<40}{number:>12,}", "")]
    for report in reports:
        if report.error:
            yield [(f"not compilable: {one_line(report.name)}: {one_line(report.error)}", "")]
