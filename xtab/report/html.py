"""`page`: listings as one HTML file that needs nothing else, and `fragment`: one of them within a notebook.

1. `xtab.report.sections` prepares what there is to say, `xtab.report.gutter` the shapes.
2. The templates of this folder put it together. Everything that comes from a code object or a source goes through
   Jinja's escaping.
3. Style sheet and script stand in the page, and its content security policy names their hashes: nothing else runs,
   nothing is loaded, and nothing can be sent.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from xtab.errors import MissingExtraError
from xtab.format.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Environment
    from markupsafe import Markup

    from xtab.report.listing import Listing
    from xtab.report.sections import Section

__all__ = ["fragment", "page"]

_ROWS_IN_VIEW = 26
"""Rows that a notebook shows before one has to scroll."""


def page(*listings: Listing, title: str | None = None, sources: Mapping[str, str] | None = None) -> str:
    """The page that shows some listings and all code objects in them.

    Args:
        listings: what to show, in order.
        title: what to call it; by default the name of the first listing.
        sources: texts by file name, for code whose source is in no file that can be found.

    Raises:
        MissingExtraError: Jinja or Pygments, which the extra ``cli`` brings, is not installed.

    >>> import xtab
    >>> from xtab.report.html import page
    >>> page(xtab.show(page)).startswith("<!doctype html>")
    True
    """
    environment = _environment()
    from xtab.report.sections import sections  # noqa: PLC0415 (nobody needs it without the extra)

    made = sections(listings)
    style = _text("page.css") + _heights(made)
    script = _text("page.js")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )
    return environment.get_template("page.html").render(
        sections=made, sources=_source_lines(made, sources or {}), title=title or (made[0].name if made else "xtab"),
        python=listings[0].python if listings else "", style=style, script=script, policy=policy,
    )  # fmt: skip


def fragment(listing: Listing) -> str | None:
    """A listing for a notebook, in a frame of its own; None where the extra ``cli`` is not installed."""
    try:
        content = page(listing)
    except MissingExtraError:
        return None
    rows = min(len(listing.rows), _ROWS_IN_VIEW)
    return (
        _environment()
        .get_template("frame.html")
        .render(content=content, name=one_line(listing.name), height=20 * rows + 190)
    )


@cache
def _environment() -> Environment:
    try:
        import jinja2  # noqa: PLC0415 (the extra may be missing)
        import pygments  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtraError((error.name or "").partition(".")[0], "cli", "pages") from None
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_text), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["plain"] = one_line
    return environment


@cache
def _text(name: str) -> str:
    return (files("xtab.report") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _heights(made: list[Section]) -> str:
    """How high each section will be, for browsers that lay out only what is seen."""
    if len(made) == 1:
        return ""
    lines = []
    for section in made:
        rows = max(sum(len(stretch.rows) for stretch in section.stretches if not stretch.folds), 4)
        legend = 26 * (section.written + 2) if section.regions else 0
        lines.append(f".s{section.number}{{contain-intrinsic-height:auto {20 * rows + legend + 120}px}}\n")
    return "".join(lines)


def _source_lines(made: list[Section], sources: Mapping[str, str]) -> dict[int, list[tuple[int, Markup]]]:
    """For each section, by its number, the lines of its source as HTML."""
    from xtab.report.highlight import highlighted_stretch  # noqa: PLC0415 (needs the extra)
    from xtab.report.source_text import source_text  # noqa: PLC0415

    of_files: dict[str, list[Section]] = {}
    for section in made:
        of_files.setdefault(section.listing.code.co_filename, []).append(section)
    lines = {}
    for name, shown in of_files.items():
        text = sources[name] if name in sources else source_text(shown[0].listing.code)
        first, last = min(each.first_line for each in shown), max(each.last_line for each in shown)
        marked = highlighted_stretch(text, first, last)  # once for all of them: they overlap
        for section in shown:
            wanted = marked[section.first_line - first : section.last_line - first + 1]
            lines[section.number] = list(enumerate(wanted, section.first_line))
    return lines
