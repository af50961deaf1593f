"""``xtab where``: what protects a line of source, and where an exception goes that is raised there."""

from __future__ import annotations

import sys
from itertools import starmap
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from xtab.cli.code_targets import TargetType, remember_source
from xtab.cli.output import FINE, color_option, document, json_option, wants_ascii, wants_color
from xtab.cli.targets import SourceFile, find_sources, line_number, load, read, stdin_text, without_column
from xtab.errors import TargetError
from xtab.format.printable import one_line
from xtab.report.json import region_json, row_json
from xtab.report.source_text import has_columns, line_bounds, line_of
from xtab.report.source_tree import SourceTree
from xtab.report.statements import left_out, notes_on
from xtab.report.text import paint, region_style
from xtab.report.ways import ways
from xtab.report.words import file_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

    from xtab.report.text import Line
    from xtab.report.ways import Stop, Way

__all__ = ["where"]


@click.command(context_settings={"ignore_unknown_options": True})  # so that -:LINE is none
@click.argument("targets", nargs=-1, type=TargetType(), metavar="FILE.py:LINE...")
@click.option("-e", "expression", metavar="SOURCE", help="Take this source, and numbers of its lines: all if none.")
@json_option
@color_option
def where(*, targets: tuple[str, ...], expression: str | None, as_json: bool, color: str) -> NoReturn:
    """Tell what protects a line of source.

    Of each code object that has instructions of the line: the with, try and finally statements around it, and handler
    by handler where an exception goes that is raised there. Then which statements look as if they protected the line,
    and why they don't. In place of a file there may be a module, pkg.mod:LINE, or source on stdin, -:LINE.

    \b
    Examples:
      xtab where app.py:42
      xtab where asyncio.base_events:700
      xtab where -e 'with a: b'

    \b
    Exit status:
      0  all was told
      2  wrong usage, or a file that can't be found, read or compiled

    Nothing is executed.
    """  # noqa: D301 (click wants the backspaces)
    in_color = wants_color(sys.stdout, color)
    in_ascii = wants_ascii(sys.stdout, "→")
    if not targets and expression is None:
        raise click.UsageError("expected FILE.py:LINE or -e SOURCE, but found neither", click.get_current_context())
    lines_of = map(_source, targets) if expression is None else _typed(expression, targets)
    answers = starmap(_answer, lines_of)
    if as_json:
        click.echo(document([_as_json(answer) for answer in answers]))
        sys.exit(FINE)
    for number, answer in enumerate(answers):
        lines = [paint(line, color=in_color, ascii=in_ascii) for line in _told(answer, in_ascii=in_ascii)]
        click.echo(("\n" if number else "") + "\n".join(lines), color=in_color)
    sys.exit(FINE)


def _source(target: str) -> tuple[SourceFile, int]:
    target = without_column(target)
    base, _, text = target.rpartition(":")
    line = line_number(text)
    if not base or line is None:
        what = base or "FILE.py"
        names = base and all(map(str.isidentifier, text.replace("<locals>", "locals").split(".")))
        hint = f"; xtab dis {target} shows what has that name" if names else ""
        raise TargetError(f"expected {what}:LINE, but found {target!r}{hint}")
    if base == "-":
        return SourceFile("-", data=stdin_text()), line
    (source,) = find_sources(target)
    if source.name.endswith(".pyc"):
        raise TargetError(f"expected a file with Python source, but found {base!r}")
    return SourceFile(source.name, None, read(source)), line


def _typed(text: str, lines: tuple[str, ...]) -> list[tuple[SourceFile, int]]:
    """A source that was typed, and the lines asked for; all that hold code, if there are none."""
    source = SourceFile("<string>", data=text.encode("utf-8", "surrogateescape"))
    numbers = [line_number(line.removeprefix(":")) for line in lines]
    if None in numbers:
        raise TargetError(f"expected numbers of lines behind -e SOURCE, but found {lines[numbers.index(None)]!r}")
    load(source)  # for the message, if it is no Python
    tree = SourceTree(read(source))
    every = [line for line in range(1, tree.last_line + 1) if tree.holds_code(line)]
    return [(source, line) for line in numbers or every if line is not None]


class _Answer(NamedTuple):
    """What there is to say of a line."""

    name: str  #: of the file or module
    filename: str  #: that its code objects have
    line: int
    text: str
    ways: list[Way]  #: of what can raise
    has_code: bool  #: whether any instruction is of the line
    notes: list[str]


def _answer(source: SourceFile, number: int) -> _Answer:
    try:
        (root,) = load(source)
    except TargetError as error:
        raise TargetError(f"{source.name}: {error}") from None
    remember_source(source)
    tree = SourceTree(read(source))
    last = max(line_bounds(root)[1], tree.last_line)
    if not 1 <= number <= last:
        raise TargetError(f"{source.name}: expected a line from 1 to {last}, but found {number}")
    found = ways(root, number, tree)
    notes = notes_on(tree, number) if found else left_out(tree, number, root)
    if not has_columns(root):
        notes.append(_NO_COLUMNS)
    raising = [way for way in found if way.raises]
    text = line_of(root, number).strip()
    return _Answer(source.name, root.co_filename, number, text, raising, bool(found), notes)


_NO_COLUMNS = (
    "the code was compiled without columns (PYTHONNODEBUGRANGES or -X no_debug_ranges): "
    "parts of a line can't be told apart, and of what spans several lines only the first is known"
)


def _told(answer: _Answer, *, in_ascii: bool) -> Iterator[Line]:
    """The lines to print for a target."""
    yield [(file_line(answer.name, answer.line), "bold"), (f"   {one_line(answer.text)}", "")]
    for way in answer.ways:
        yield []
        yield from _way(way, in_ascii=in_ascii)
    if not answer.ways:
        yield []
        yield [("nothing in this line can raise" if answer.has_code else "no instruction stands in this line", "")]
    if answer.notes:
        yield []
    for note in answer.notes:
        yield [("note: ", "bold"), (one_line(note), "")]


def _as_json(answer: _Answer) -> dict[str, Any]:
    """What schemas/where.json describes."""
    return {
        "name": answer.name,
        "line": answer.line,
        "text": answer.text,
        "has_code": answer.has_code,
        "ways": [
            {
                "qualname": way.qualnames[0],
                "filename": answer.filename,
                "which": way.which,
                "when": way.when,
                "instructions": [row_json(row) for row in way.rows],
                "inside": [region_json(region) for region in way.around],
                "stops": [
                    {
                        "region": stop.region and region_json(stop.region),
                        "label": stop.label,
                        "line": stop.line,
                        "words": stop.words,
                        "qualname": stop.qualname,
                    }
                    for stop in way.stops
                ],
            }
            for way in answer.ways
        ],
        "notes": answer.notes,
    }


def _way(way: Way, *, in_ascii: bool) -> Iterator[Line]:
    """What is around some instructions, and where their exceptions go."""
    head: Line = []
    for name in way.qualnames:
        head += [(", in " if head else "in ", ""), (one_line(name), "bold")]
        word = ", inside "
        for each in way.inside:
            if each.qualname == name:
                head += [(word, ""), (f"{each.letters} {each.label}", region_style(each.region))]
                head.append((f" ({each.lines})" if each.lines else "", ""))
                word = " > "
    if not way.inside:
        head = [*head[:2], (", and nothing protects it there", "")]
    yield head
    what = f"what {way.which} raises" if way.which else "what is raised"
    yield [(f"  {what} {f'{way.when} ' if way.when else ''}goes to", "")]
    for stop in way.stops:
        yield [(f"    {'->' if in_ascii else '→'} ", ""), *_stop(stop)]


def _stop(stop: Stop) -> Line:
    if stop.region is None:
        return [(one_line(stop.words), "")]
    lines = f", {stop.lines}" if stop.lines else ""
    return [(f"{stop.letters} {stop.label}", region_style(stop.region)), (f"{lines}: {stop.words}", "")]
