"""What was measured, as rows: and the rows as text, as Markdown, as JSON, and as a suite that pyperf reads."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from limits import Limit
    from rounds import Timings

__all__ = ["Report", "Row", "as_json", "as_markdown", "as_text", "rows_of", "write_pyperf"]


@dataclass
class Row:
    """How many times faster xtab is than another: the median of the rounds, and the quartiles around it."""

    what: str
    peer: str
    calls: list[str]  #: what was called: ours, theirs
    items: int
    left_out: int  #: items that the other fails on: neither side was measured on them
    median: float | None  #: None: there was nothing to measure
    low: float | None
    high: float | None
    goal: float | None  #: at least so many times; None: no goal, the number is given for scale


@dataclass
class Report:
    """All that a run found, and what it ran on. Nothing in it tells of the machine."""

    python: str
    xtab: str
    peers: dict[str, str | None]
    modules: list[str]
    code_objects: int
    instructions: int
    rounds: int
    rows: list[Row]
    limits: list[Limit]
    missing: list[str]


def rows_of(timings: list[list[Timings]]) -> list[Row]:
    """A row a pair, from what each worker process measured."""
    rows = []
    for found in zip(*timings, strict=True):
        ratios = [
            theirs / ours
            for one in found
            for ours, theirs in zip(one.ours, one.theirs, strict=True)
            if one.items and ours > 0
        ]
        one = found[0]
        low, middle, high = _quartiles(ratios)
        rows.append(Row(one.what, one.peer, one.calls, one.items, one.left_out, middle, low, high, one.goal))
    return rows


def _quartiles(ratios: list[float]) -> tuple[float | None, float | None, float | None]:
    if not ratios:
        return None, None, None
    if len(ratios) == 1:
        return ratios[0], ratios[0], ratios[0]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return low, middle, high


RATIO_HEADS = ["what", "compared with", "times faster", "quartiles", "goal", ""]
LIMIT_HEADS = ["what", "measured", "goal", ""]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _met(*, met: bool) -> str:
    return "met" if met else "NOT MET"


def _ratio_cells(rows: list[Row], *, with_calls: bool) -> list[list[str]]:
    cells = []
    for row in rows:
        quartiles = "-" if row.low is None else f"{_number(row.low)} to {_number(row.high)}"
        goal = "" if row.goal is None else f"at least {row.goal:g}"
        met = "" if row.goal is None or row.median is None else _met(met=row.median >= row.goal)
        peer = f"{row.peer}: {row.calls[1]}" if with_calls else row.peer
        cells.append([row.what, peer, _number(row.median), quartiles, goal, met])
    return cells


def _limit_cells(limits: list[Limit]) -> list[list[str]]:
    return [
        [
            limit.what,
            f"{_number(limit.value)} {limit.unit}",
            f"at most {limit.goal:,g}",
            _met(met=limit.value <= limit.goal),
        ]
        for limit in limits
    ]


def _heading(report: Report) -> str:
    known = [f"{name} {version}" for name, version in report.peers.items() if version]
    return (
        f"Python {report.python}, xtab {report.xtab}, {', '.join(known)}; "
        f"{report.code_objects:,} code objects with {report.instructions:,} instructions, "
        f"from {', '.join(report.modules)}; median of {report.rounds} rounds, CPU time"
    )


def _footnotes(report: Report) -> list[str]:
    """What is not as one would expect."""
    left_out = [
        f"{row.what}, {row.peer}: measured on {row.items:,} items; {row.peer} fails on {row.left_out:,} more"
        for row in report.rows
        if row.left_out
    ]
    return [*left_out, *(f"not measured: {what}" for what in report.missing)]


def _aligned(lines: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join("  ".join(line).rstrip() for line in padded)


def as_text(report: Report) -> str:
    """The report for a terminal."""
    parts = [_heading(report)]
    if report.rows:
        parts.append(_aligned([RATIO_HEADS, *_ratio_cells(report.rows, with_calls=False)]))
    if report.limits:
        parts.append(_aligned([LIMIT_HEADS, *_limit_cells(report.limits)]))
    if notes := _footnotes(report):
        parts.append("\n".join(notes))
    return "\n\n".join(parts)


def as_markdown(report: Report) -> str:
    """The report for a page."""
    parts = [f"{_heading(report)}."]
    if report.rows:
        parts.append(_piped([RATIO_HEADS, *_ratio_cells(report.rows, with_calls=True)]))
    if report.limits:
        parts.append(_piped([LIMIT_HEADS, *_limit_cells(report.limits)]))
    if notes := _footnotes(report):
        parts.append("\n".join(f"- {note}" for note in notes))
    return "\n\n".join(parts)


def _piped(lines: list[list[str]]) -> str:
    ruled = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in ruled)


def as_json(report: Report) -> dict[str, Any]:
    """The report as it goes into a JSON file."""
    return asdict(report)


def write_pyperf(path: Path, timings: list[list[Timings]], python: str) -> None:
    """The seconds of CPU time behind the ratios, as a suite for ``python -m pyperf``. An older file is replaced.

    It is without what pyperf finds out about the machine: compare only what was measured on one.
    """
    import pyperf  # noqa: PLC0415 (only this needs it)

    benchmarks = []
    for found in zip(*timings, strict=True):
        if not found[0].items:
            continue
        for side, name in (("ours", "xtab"), ("theirs", "the other")):
            title = f"{found[0].what}, {found[0].peer}: {name}"
            metadata = {"name": title, "unit": "second", "python_version": python, "items": found[0].items}
            runs = [pyperf.Run(getattr(one, side), metadata=metadata, collect_metadata=False) for one in found]
            benchmarks.append(pyperf.Benchmark(runs))
    pyperf.BenchmarkSuite(benchmarks).dump(str(path), replace=True)
