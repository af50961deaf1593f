"""``xtab where``: what protects a line of source, and where an exception goes that is raised there."""

from __future__ import annotations

import linecache
import sys
from typing import TYPE_CHECKING

import click

from xtab.cli.code_targets import TargetType, remember_source
from xtab.cli.output import FINE, color_option, wants_ascii, wants_color
from xtab.cli.targets import Source, find_sources, load, read
from xtab.errors import TargetError
from xtab.format.code import code_objects
from xtab.format.printable import one_line
from xtab.report.listing import show
from xtab.report.source_text import holds_line, line_span
from xtab.report.statements import notes_on
from xtab.report.text import paint, region_style
from xtab.report.ways import ways
from xtab.report.words import file_line, lines_of_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import NoReturn

    from xtab.report.listing import Listing
    from xtab.report.text import Line
    from xtab.report.ways import Stop, Way

__all__ = ["where"]

_ROWS = 3
"""Instructions that are named of each way, where there are several."""


@click.command(context_settings={"ignore_unknown_options": True})  # so that -:LINE is none
@click.argument("targets", nargs=-1, required=True, type=TargetType(), metavar="FILE.py:LINE...")
@color_option
def where(*, targets: tuple[str, ...], color: str) -> NoReturn:
    """Tell what protects a line of source.

    Of each code object that has instructions of the line: the with, try and finally statements around it, and handler
    by handler where an exception goes that is raised there. Then which statements look as if they protected the line,
    and why they don't. In place of a file there may be a module, pkg.mod:LINE, or source on stdin, -:LINE.

    \b
    Examples:
      xtab where app.py:42
      xtab where asyncio.base_events:700

    \b
    Exit status:
      0  all was told
      2  wrong usage, or a file that can't be found, read or compiled

    Nothing is executed.
    """  # noqa: D301 (click wants the backspaces)
    in_color = wants_color(sys.stdout, color)
    in_ascii = wants_ascii(sys.stdout, "→")
    for number, target in enumerate(targets):
        lines = [paint(line, color=in_color, ascii=in_ascii) for line in _told(target, in_ascii=in_ascii)]
        click.echo(("\n" if number else "") + "\n".join(lines), color=in_color)
    sys.exit(FINE)


def _source(target: str) -> tuple[Source, int]:
    base, _, line = target.rpartition(":")
    if not base or not line.isdecimal():
        raise TargetError(f"expected FILE.py:LINE, but found {target!r}")
    if base == "-":
        return Source("-", data=sys.stdin.buffer.read()), int(line)
    (source,) = find_sources(target, sys.stdin.buffer)
    if source.name.endswith(".pyc"):
        raise TargetError(f"expected a file with Python source, but found {base!r}")
    return Source(source.name, None, read(source)), int(line)


def _told(target: str, *, in_ascii: bool) -> Iterator[Line]:
    """The lines to print for a target."""
    source, number = _source(target)
    (root,) = load(source)
    remember_source(source)
    last = max(line_span(root)[1], read(source).count(b"\n"))
    if not 1 <= number <= last:
        raise TargetError(f"{source.name}: expected a line from 1 to {last}, but found {number}")
    text = one_line(linecache.getline(root.co_filename, number).strip())
    yield [(file_line(source.name, number), "bold"), (f"   {text}", "")]
    found = _ways(root, number)
    for listing, way, several in found:
        yield []
        yield from _way(listing, way, several=several, in_ascii=in_ascii)
    if not found:
        yield []
        yield [
            ("nothing in this line can raise" if _has_code(root, number) else "no instruction stands in this line", "")
        ]
    notes = notes_on(read(source), number)
    if notes:
        yield []
    for note in notes:
        yield [("note: ", "bold"), (note, "")]


def _has_code(root: CodeType, number: int) -> bool:
    return any(line == number for code in code_objects(root) for _, _, line in code.co_lines())


def _ways(root: CodeType, number: int) -> list[tuple[Listing, Way, bool]]:
    """The ways of what can raise in a line, and whether there are several of the same code object; outer code first."""
    found: list[tuple[Listing, Way, bool]] = []
    inner = [code for code in code_objects(root) if holds_line(code, number)]
    for spanned in (False, True) if inner and not _has_code(root, number) else (False,):
        for code in inner[-1:] if spanned else inner:
            listing = show(code)
            raising = [way for way in ways(listing, number, spanned=spanned) if way.raises]
            found += [(listing, way, len(raising) > 1) for way in raising]
    return found


def _way(listing: Listing, way: Way, *, several: bool, in_ascii: bool) -> Iterator[Line]:
    """What is around some instructions, and where their exceptions go."""
    inside: Line = []
    for region in way.around:
        inside += [(" > " if inside else ", inside ", ""), (str(region), region_style(region))]
        lines = lines_of_source(region.location)
        inside.append((f" ({lines})" if lines else "", ""))
    yield [("in ", ""), (one_line(listing.name), "bold"), *(inside or [(", and nothing protects it there", "")])]
    which = ""
    if several:
        which = " at " + ", ".join(f"{row.opname} ({row.offset})" for row in way.rows[:_ROWS])
        which += f" and {len(way.rows) - _ROWS} more" if len(way.rows) > _ROWS else ""
    yield [(f"  what is raised{which} goes to", "")]
    for stop in way.stops:
        yield [(f"    {'->' if in_ascii else '→'} ", ""), *_stop(stop)]


def _stop(stop: Stop) -> Line:
    if stop.region is None:
        return [(one_line(stop.words), "")]
    line = "" if stop.line is None else f", line {stop.line}"
    return [(str(stop.region), region_style(stop.region)), (f"{line}: {stop.words}", "")]
