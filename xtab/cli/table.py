"""``xtab table``: exception tables, as entries, as a tree of regions, or byte by byte."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from xtab.analysis.regions import read_regions
from xtab.cli.code_targets import CODE_TARGETS, code_target_options, find_code, the_sources
from xtab.cli.output import DIFFERENT, FINE, ascii_option, color_option, document, json_option, wants_ascii, wants_color
from xtab.cli.stored import foreign_version, stored_code
from xtab.errors import TargetError, XtabError
from xtab.format.exception_table import parse_exception_table
from xtab.format.opcodes import CURRENT
from xtab.format.printable import one_line
from xtab.model.decode import read_source
from xtab.report.json import entries_json, region_json
from xtab.report.table_text import byte_lines, tree_lines
from xtab.report.text import GLYPHS, entry_lines, paint, title
from xtab.report.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

    from xtab.analysis.regions import Region
    from xtab.format.exception_table import ExceptionTableEntry
    from xtab.report.text import Line

__all__ = ["table"]

_EPILOG = f"{CODE_TARGETS}The .pyc of another Python shows its tables too, but not what the regions are.\n"


@dataclass(frozen=True, slots=True)
class _Table:
    """The table of a code object."""

    name: str  #: of the file or module
    qualname: str
    filename: str
    firstlineno: int
    version: str
    raw: bytes
    entries: tuple[ExceptionTableEntry, ...]
    regions: tuple[Region, ...] | None  #: None: it is of another Python
    error: str | None = None  #: why it can't be read


@click.command(epilog=_EPILOG)
@code_target_options
@click.option("--tree", is_flag=True, help="Show the regions as a tree.")
@click.option("--bytes", "raw", is_flag=True, help="Show the bytes of the table, and what each number says.")
@ascii_option
@json_option
@color_option
@click.pass_context
def table(
    context: click.Context,
    *,
    targets: tuple[str, ...],
    expression: str | None,
    do_import: bool,
    tree: bool,
    raw: bool,
    use_ascii: bool,
    as_json: bool,
    color: str,
) -> NoReturn:
    """Show exception tables.

    Each entry as it is stored: the range that it covers, its handler, how many values stay on the stack, whether the
    place of the instruction that raised is pushed (lasti), and which region it belongs to, as xtab dis shows it. Code
    objects without a table are left out.

    \b
    Examples:
      xtab table app.py
      xtab table app.py:Server.run --tree
      xtab table build/app.pyc --bytes

    \b
    Exit status:
      0  all was shown
      1  there are tables that can't be read
      2  wrong usage, or a target that can't be found, read or compiled
    """  # noqa: D301 (click wants the backspaces)
    if tree and raw:
        raise click.UsageError("expected --tree or --bytes, but found both", context)
    found = _tables(targets, expression, do_import=do_import)
    if tree:
        found = _with_regions(found)
    if as_json:
        results = [_as_json(each) for each in found]
        click.echo(document(results))
        sys.exit(DIFFERENT if any(each["error"] for each in results) else FINE)
    in_color, in_ascii = wants_color(sys.stdout, color), wants_ascii(sys.stdout, GLYPHS, use_ascii)
    status, shown = FINE, 0
    for each in filter(lambda each: each.raw, found):
        body = byte_lines(each.raw) if raw else _body(each, tree=tree, in_ascii=in_ascii)
        lines = [paint(line, color=in_color, ascii=in_ascii) for line in (_head(each), *body)]
        click.echo(("\n" if shown else "") + "\n".join(lines), color=in_color)
        status = DIFFERENT if each.error else status
        shown += 1
    if not shown:
        click.echo("no exception table: nothing is protected")
    sys.exit(status)


def _body(each: _Table, *, tree: bool, in_ascii: bool) -> Iterator[Line]:
    """The regions of a table as a tree, or its entries."""
    if tree:
        return tree_lines(each.regions or (), ascii=in_ascii)
    return entry_lines(each.entries, each.regions or (), ascii=in_ascii)


def _tables(targets: tuple[str, ...], expression: str | None, *, do_import: bool) -> Iterator[_Table]:
    """The tables of what was named on the command line."""
    if do_import or expression is not None:
        for found in find_code(targets, expression, do_import=do_import):
            yield _of_code(found.name, found.code)
        return
    for source in the_sources(targets, None):
        version = foreign_version(source)
        if version is None:
            for found in find_code((), None, sources=[source]):
                yield _of_code(found.name, found.code)
        else:
            try:
                codes = stored_code(source)
            except TargetError as error:
                raise TargetError(f"{source.name}: {error}") from None
            for code in codes:
                why: str | None = None
                entries: tuple[ExceptionTableEntry, ...] = ()
                try:
                    entries = tuple(parse_exception_table(code.exceptiontable, code_size=len(code.code)))
                except XtabError as error:
                    why = str(error)
                yield _Table(
                    source.name, code.qualname, code.filename, code.firstlineno, version, code.exceptiontable,
                    entries, None, why,
                )  # fmt: skip


def _of_code(name: str, code: Any) -> _Table:
    entries: tuple[ExceptionTableEntry, ...] = ()
    regions: tuple[Region, ...] = ()
    why: str | None = None
    try:
        source = read_source(code)
        entries, regions = tuple(source.entries), read_regions(source)
    except XtabError as error:
        why = str(error)
    return _Table(
        name, code.co_qualname, code.co_filename, code.co_firstlineno, CURRENT.python, code.co_exceptiontable, entries,
        regions, why,
    )  # fmt: skip


def _with_regions(found: Iterator[_Table]) -> Iterator[_Table]:
    """The same, if it is of this Python: what a handler is can be told of that alone."""
    for each in found:
        if each.regions is None:
            raise TargetError(
                f"expected bytecode of CPython {CURRENT.python} for --tree, but found that of CPython {each.version} "
                f"in {each.name}. Try the same with: python{each.version} -m xtab"
            )
        yield each


def _head(each: _Table) -> Line:
    counts = count(len(each.entries), "entry", "entries")
    if each.regions is not None:
        counts += f", {count(len(each.regions), 'region')}"
    line = [
        *title(each.qualname, each.filename, each.firstlineno),
        (f"   CPython {each.version}   {counts}, {count(len(each.raw), 'byte')}", ""),
    ]
    return [*line, (f"   {one_line(each.error)}", "problem")] if each.error else line


def _as_json(each: _Table) -> dict[str, Any]:
    """What schemas/table.json describes."""
    return {
        "name": each.name,
        "error": each.error,
        "qualname": each.qualname,
        "filename": each.filename,
        "firstlineno": each.firstlineno,
        "version": each.version,
        "bytes": each.raw.hex(),
        "entries": entries_json(each.entries, each.regions or ()),
        "regions": None if each.regions is None else [region_json(region) for region in each.regions],
    }
