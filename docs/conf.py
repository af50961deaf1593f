"""Configuration of Sphinx: `nox -s docs` builds the pages, and any warning is an error."""

from __future__ import annotations

import collections.abc
import importlib.metadata
import sys
import types
import typing
from typing import TYPE_CHECKING

from sphinx.ext.napoleon import GoogleDocstring

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "xtab"
author = "the xtab authors"
copyright = "the xtab authors"  # noqa: A001 (Sphinx's name)
release = version = importlib.metadata.version("xtab-bytecode")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_build", "changelog.d"]
html_theme = "furo"
html_title = f"xtab {release}"
html_copy_source = False
html_show_sphinx = False

myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp, .go"  # prompts and output stay behind

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
default_role = "literal"  # single backticks in docstrings are code

# Names of the standard library can't be looked up without the network.
# Those that are imported for type checkers only are shown bare.
BARE = {*types.__all__, *collections.abc.__all__, *typing.__all__}
nitpick_ignore_regex = [(r"py:.*", rf"_?({'|'.join(sorted(sys.stdlib_module_names))})\..*|{'|'.join(sorted(BARE))}")]
# Types that the pages describe in words, type variables, and types that only xtab itself makes.
IN_WORDS = ("Binding", "Change", "Code", "HasCode", "Hole", "Jumps", "Positions", "Protect", "Row", "Transform")
INTERNAL = ("CodeMap", "ModuleSpec", "RegionKey", "_Code", "_Error", "_Function", "xtab.transform.syntax.Tree")
VARIABLES = ("Source", "xtab.runtime.generated_files._Error", "xtab.runtime.tracebacks._Error")
nitpick_ignore = [("py:class", name) for name in (*IN_WORDS, *INTERNAL, *VARIABLES)]


def read_sections(_app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Read "Args:" and the like; not at attributes, where Napoleon takes all before a colon for a type."""
    if what not in {"attribute", "data", "property"}:
        lines[:] = GoogleDocstring(list(lines), what=what, name=name, obj=thing, options=options).lines()


def setup(app: Sphinx) -> None:
    """Connect what is defined here."""
    app.connect("autodoc-process-docstring", read_sections)
