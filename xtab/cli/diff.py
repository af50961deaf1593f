"""``xtab diff``: two code objects side by side: what became of the instructions, and of the regions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from xtab.cli.code_targets import CODE_TARGETS, TargetType, find_code, the_sources
from xtab.cli.output import DIFFERENT, FINE, color_option, console_for, document, json_option
from xtab.cli.rewrite import transformed
from xtab.cli.targets import load
from xtab.errors import TargetError
from xtab.format.code import code_objects
from xtab.report.diff_text import diff_lines
from xtab.report.differences import Mark, compare, pair_up
from xtab.report.listing import show

if TYPE_CHECKING:
    from types import CodeType
    from typing import NoReturn

    from rich.console import Console

    from xtab.analysis.regions import Region
    from xtab.report.differences import Difference
    from xtab.report.listing import Listing, Row

__all__ = ["diff"]

_STYLES = {Mark.ADDED: "blue", Mark.REMOVED: "magenta", Mark.CHANGED: "yellow"}


@click.command(epilog=CODE_TARGETS)
@click.argument("left", metavar="A", type=TargetType())
@click.argument("right", metavar="B", required=False, type=TargetType())
@click.option("--transform", metavar="PKG.MOD:NAME", help="In place of B: compare A with what this makes of it.")
@click.option("--import", "do_import", is_flag=True, help="Import the targets, and compare what is there then.")
@click.option("--whole", is_flag=True, help="Show all rows, and code objects where nothing changed.")
@color_option
@json_option
def diff(
    *, left: str, right: str | None, transform: str | None, do_import: bool, whole: bool, color: str, as_json: bool
) -> NoReturn:
    """Compare code objects: two targets, or one with what a transform makes of it.

    Instructions that belong together stand beside each other. "=" is the same, "-" is on the left only, "+" on the
    right only, and "~" has changed as the brackets say: its regions, where it jumps to, its opcode, the depth of the
    stack. Code objects are compared by their names.

    \b
    Examples:
      xtab diff old.py new.py
      xtab diff app.py:main --transform mytools.trace:add_counters
      xtab diff plain.pyc rewritten.pyc

    \b
    Exit status:
      0    no difference
      1    there are differences, or the transform failed
      2    wrong usage, or a target or the transform can't be found or read

    The module of a transform is imported.
    """  # noqa: D301 (click wants the backspaces)
    if (right is None) == (transform is None):
        raise click.UsageError("expected two targets, or one and --transform")
    old = _codes(left, do_import=do_import)
    if right is not None:
        new = _codes(right, do_import=do_import)
    else:
        new = [code for root in _roots(left) for code in code_objects(transformed(root, str(transform)))]
    pairs = pair_up([show(code) for code in old], [show(code) for code in new])
    differences = [compare(*pair) for pair in pairs]
    changed = [each for each in differences if whole or not each.same]
    if as_json:
        click.echo(document([_as_json(each) for each in changed], compared=len(differences)))
    else:
        _print(changed, console_for(sys.stdout, color), whole=whole)
    sys.exit(FINE if all(each.same for each in differences) else DIFFERENT)


def _codes(target: str, *, do_import: bool) -> list[CodeType]:
    """The code objects that a target stands for, outer before inner."""
    if not do_import:
        return [code for root in _roots(target) for code in code_objects(root)]
    return [found.code for found in find_code((target,), None, do_import=True)]


def _roots(target: str) -> list[CodeType]:
    """Those that are in no other; of one source only, since names must tell which belong together."""
    sources = the_sources((target,), None)
    if len(sources) > 1:
        raise TargetError(f"expected one file, module or code object, but found {len(sources)} files in {target!r}")
    return load(sources[0])


def _print(differences: list[Difference], console: Console, *, whole: bool) -> None:
    if not differences:
        console.print("no difference")
    for number, difference in enumerate(differences):
        if number:
            console.print()
        for mark, line in diff_lines(difference, whole=whole):
            style = _STYLES.get(mark, "dim" if mark else "") if mark is not None else ""
            console.print(Text(line, style=style))


def _as_json(difference: Difference) -> dict[str, Any]:
    return {
        "name": difference.name,
        "left": _side(difference.left),
        "right": _side(difference.right),
        "rows": [
            {"mark": pair.mark, "left": _row(pair.left), "right": _row(pair.right), "changes": list(pair.changes)}
            for pair in difference.rows
        ],
        "regions": [
            {"mark": pair.mark, "left": _region(pair.left), "right": _region(pair.right)} for pair in difference.regions
        ],
    }


def _side(listing: Listing | None) -> dict[str, Any] | None:
    if listing is None:
        return None
    return {"file": listing.code.co_filename, "line": listing.code.co_firstlineno, "stack": listing.code.co_stacksize}


def _row(row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {
        "offset": row.offset, "line": row.line, "depth": row.depth, "opname": row.opname, "operand": row.operand,
        "target": row.target, "regions": [region.letter for region in row.chain],
    }  # fmt: skip


def _region(region: Region | None) -> dict[str, Any] | None:
    if region is None:
        return None
    return {
        "letter": region.letter, "kind": region.label, "handler": region.handler, "depth": region.depth,
        "lasti": region.lasti, "in": region.parent.letter if region.parent else None,
        "covers": [list(piece) for piece in region.pieces],
    }  # fmt: skip
