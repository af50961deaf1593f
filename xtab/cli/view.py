"""``xtab view``: a page that shows instructions and regions, in one file."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from xtab.cli.code_targets import CODE_TARGETS, code_target_options, find_code
from xtab.cli.output import FINE, writing
from xtab.errors import TargetError, XtabError
from xtab.format.code import code_objects
from xtab.format.printable import one_line
from xtab.report.html import page
from xtab.report.listing import show

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType
    from typing import NoReturn

    from xtab.cli.code_targets import Found

__all__ = ["view"]


@click.command(epilog=CODE_TARGETS)
@code_target_options
@click.option(
    "-o",
    "--output",
    metavar="OUT.html",
    help='The file to write, or "-" for stdout; else it has the name of the first target, and must not exist.',
)
@click.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
def view(
    *, targets: tuple[str, ...], expression: str | None, do_import: bool, output: str | None, open_it: bool
) -> NoReturn:
    """Write a page that shows instructions and regions.

    Beside the source and beside the instructions stand the regions: what is protected, by what, and where its handler
    is. The page is one file: it loads nothing, and nothing leaves it.

    \b
    Examples:
      xtab view app.py:Server.run -o run.html
      xtab view app.py:Server.run
      xtab view app.py -o app.html --open

    \b
    Exit status:
      0  the page was written
      2  wrong usage, a target that can't be found, read or compiled, or an
         output that can't be written
    """  # noqa: D301 (click wants the backspaces)
    if open_it and output == "-":
        raise click.UsageError("expected a file to open, but found -o -", click.get_current_context())
    roots = _roots(find_code(targets, expression, do_import=do_import))
    if not roots:
        raise TargetError("expected code to show, but found none")
    try:
        text = page(*map(show, roots), title=", ".join(targets) or "-e")
    except XtabError as error:
        raise TargetError(f"{error} (xtab verify says more)") from None
    if output == "-":
        click.echo(text, nl=False)
        sys.exit(FINE)
    written = _new(targets) if output is None else Path(output)
    with writing(written) as path:
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    click.echo(f"wrote {one_line(written)}", err=True)
    if open_it:
        click.launch(written.absolute().as_uri())
    sys.exit(FINE)


def _new(targets: tuple[str, ...]) -> Path:
    """A file with the name of the first target; where there is one already, it may be somebody's work."""
    base, _, name = targets[0].rpartition(":") if targets else ("", "", "")
    stem = re.sub(r"[^\w.-]", "", f"{Path(base or name).stem}.{name}" if base else Path(name).name.removesuffix(".py"))
    path = Path(f"{stem.strip('.-') or 'xtab'}.html")
    if path.exists():
        raise TargetError(f"expected -o OUT.html, since {path} exists already")
    return path


def _roots(found: Iterable[Found]) -> list[CodeType]:
    """The outermost code objects of those found: a page shows what is in them anyway."""
    roots: list[CodeType] = []
    inner: set[int] = set()
    for each in found:
        if id(each.code) not in inner:
            roots.append(each.code)
            inner |= {id(code) for code in code_objects(each.code)}
    return roots
