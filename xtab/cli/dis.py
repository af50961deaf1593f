"""``xtab dis``: instructions, and the regions that protect them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from xtab.cli.code_targets import CODE_TARGETS, code_target_options, find_code
from xtab.cli.output import DIFFERENT, FINE, ascii_option, color_option, document, json_option, wants_ascii, wants_color
from xtab.errors import XtabError
from xtab.format.printable import one_line
from xtab.report.listing import show
from xtab.report.text import GLYPHS, View, lines_of, paint, problem_lines, title

if TYPE_CHECKING:
    from typing import NoReturn

    from xtab.cli.code_targets import Found
    from xtab.report.text import Line

__all__ = ["dis"]


@click.command(epilog=CODE_TARGETS)
@code_target_options
@click.option("-a", "--all-regions", is_flag=True, help="Show the compiler's own regions too.")
@click.option("--flat", is_flag=True, help="Show the entries of the table as they are stored, not regions.")
@click.option("-s", "--source", is_flag=True, help="Print each line of the source above its instructions.")
@ascii_option
@json_option
@color_option
@click.pass_context
def dis(
    context: click.Context,
    *,
    targets: tuple[str, ...],
    expression: str | None,
    do_import: bool,
    all_regions: bool,
    flat: bool,
    source: bool,
    use_ascii: bool,
    as_json: bool,
    color: str,
) -> NoReturn:
    """Show instructions, and the regions that protect them.

    Beside each instruction stand the regions around it, the innermost one right: its handler gets what the
    instruction raises. Below is what each region is. Regions that the compiler made for itself, such as the one that
    restores the exception handled before, are left out, unless --all-regions is given.

    \b
    Examples:
      xtab dis app.py:Server.run
      xtab dis app.py:42 --source
      xtab dis -e 'with a: b'

    \b
    Exit status:
      0  all was shown
      1  the verifier has found errors; they are shown above the instructions
      2  wrong usage, or a target that can't be found, read or compiled
    """  # noqa: D301 (click wants the backspaces)
    if flat and all_regions:
        raise click.UsageError("expected --flat or --all-regions, but found both", context)
    found = find_code(targets, expression, do_import=do_import)
    if as_json:
        sys.exit(_print_json(found))
    view = View(
        all_regions=all_regions, flat=flat, source=source,
        ascii=wants_ascii(sys.stdout, GLYPHS, use_ascii), color=wants_color(sys.stdout, color),
    )  # fmt: skip
    status = FINE
    for number, each in enumerate(found):
        if number:
            click.echo("\n", color=view.color)
        lines, wrong = _lines(each, view)
        click.echo("\n".join(lines), color=view.color)
        status = DIFFERENT if wrong else status
    sys.exit(status)


def _lines(found: Found, view: View) -> tuple[list[str], bool]:
    """The lines of a code object, and whether something is wrong with it."""
    try:
        listing = show(found.code)
    except XtabError as error:
        return _unreadable(found, error, view), True
    lines = [paint(line, color=view.color, ascii=view.ascii) for line in lines_of(listing, view)]
    return lines, any(problem.is_error for problem in listing.problems)


def _unreadable(found: Found, error: XtabError, view: View) -> list[str]:
    """What can be said of a code object that can't be decoded: its problems, with the instructions around them."""
    from xtab.analysis.verify import CodeParts, verify_parts  # noqa: PLC0415 (it is hardly ever needed)
    from xtab.report.excerpt import excerpt  # noqa: PLC0415 (likewise)

    parts = CodeParts.of(found.code)
    head = title(found.code.co_qualname, found.code.co_filename, found.code.co_firstlineno)
    lines: list[Line] = [[*head, ("   ", ""), (one_line(error), "problem")]]
    for problem in verify_parts(parts):
        around = excerpt(parts, problem.offset)
        lines += [[], *problem_lines(problem, around=around)]
    return [paint(line, color=view.color, ascii=view.ascii) for line in lines]


def _print_json(found: Any) -> int:
    """One document; a code object that can't be decoded has its error there."""
    results, status = [], FINE
    for each in found:
        try:
            facts = show(each.code).to_json()
        except XtabError as error:
            facts = {"qualname": each.code.co_qualname, "filename": each.code.co_filename, "error": str(error)}
        if facts.get("error") or any(problem["severity"] == "error" for problem in facts["problems"]):
            status = DIFFERENT
        results.append({"name": each.name, "error": None, **facts})
    click.echo(document(results))
    return status
