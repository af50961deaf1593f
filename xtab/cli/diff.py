"""``xtab diff``: two code objects side by side: what became of the instructions, and of the regions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from xtab.cli.code_targets import CODE_TARGETS, TargetType, find_code, the_sources
from xtab.cli.output import DIFFERENT, FINE, color_option, document, json_option, wants_ascii, wants_color
from xtab.cli.rewrite import transformed
from xtab.cli.targets import load
from xtab.errors import TargetError
from xtab.format.code import code_objects
from xtab.report.diff_text import diff_lines
from xtab.report.differences import compare, pair_up
from xtab.report.json import problem_json, region_json, row_json
from xtab.report.listing import show
from xtab.report.text import paint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import NoReturn

    from xtab.report.differences import Difference
    from xtab.report.listing import Listing
    from xtab.report.text import Line

__all__ = ["diff"]


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
    stack. Code objects are compared by their names. The header ends with what the verifier says of both sides.

    Below the header stands what else differs: names, arguments, flags, variables, the docstring and other constants
    that nothing loads, the code objects within. The size of the stack counts too. File names, lines and columns are
    not compared.

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
    if left == right == "-":
        raise click.UsageError("expected two targets, but found stdin twice")
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
        in_color, in_ascii = wants_color(sys.stdout, color), wants_ascii(sys.stdout, "…")
        for line in _lines(changed, whole=whole, in_ascii=in_ascii):
            click.echo(paint(line, color=in_color, ascii=in_ascii), color=in_color)
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
    try:
        return load(sources[0])
    except TargetError as error:
        raise TargetError(f"{sources[0].name}: {error}") from None


def _lines(differences: list[Difference], *, whole: bool, in_ascii: bool) -> Iterator[Line]:
    if not differences:
        yield [("no difference", "")]
    for number, difference in enumerate(differences):
        if number:
            yield []
        yield from diff_lines(difference, whole=whole, dots="..." if in_ascii else "…")


def _as_json(difference: Difference) -> dict[str, Any]:
    """What schemas/diff.json describes."""
    rows, regions = difference.rows, difference.regions
    return {
        "qualname": difference.name,
        "left": _side(difference.left),
        "right": _side(difference.right),
        "fields": [field._asdict() for field in difference.fields],
        "rows": [
            {
                "mark": mark,
                "left": left and row_json(left),
                "right": right and row_json(right),
                "changes": list(changes),
            }
            for mark, left, right, changes in rows
        ],
        "regions": [
            {"mark": mark, "left": left and region_json(left), "right": right and region_json(right)}
            for mark, left, right in regions
        ],
    }


def _side(listing: Listing | None) -> dict[str, Any] | None:
    if listing is None:
        return None
    code = listing.code
    return {
        "filename": code.co_filename,
        "firstlineno": code.co_firstlineno,
        "stack_size": code.co_stacksize,
        "problems": [problem_json(each) for each in listing.problems],
    }
