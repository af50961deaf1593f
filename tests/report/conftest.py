"""What the tests of this room share: a function a shape, as code objects."""

from __future__ import annotations

import linecache
from pathlib import Path
from types import CodeType

import pytest

from xtab.format.locations import Location, assemble_location_table, parse_location_table

SHAPES = Path(__file__).parents[1] / "cases" / "shapes.py"


@pytest.fixture(scope="session")
def shapes():
    """Name -> code object of a function in tests/cases/shapes.py."""
    text = SHAPES.read_text()
    linecache.cache["shapes.py"] = (len(text), None, text.splitlines(keepends=True), "shapes.py")
    module = compile(text, "shapes.py", "exec", dont_inherit=True)
    return {code.co_name: code for code in module.co_consts if isinstance(code, CodeType)}


@pytest.fixture
def handlers_at_the_end():
    """Tell whether the handlers of statements in a row stand behind them all: 3.11 leaves them where they are."""

    def at_the_end(listing):
        return listing.shown[0].handler > max(region.pieces[0][0] for region in listing.shown)

    return at_the_end


@pytest.fixture(scope="session")
def without_columns():
    """Code as ``-X no_debug_ranges`` compiles it."""

    def bare(code):
        entries = [
            each._replace(location=each.location and Location(each.location.line, each.location.line, None, None))
            for each in parse_location_table(code.co_linetable, code.co_firstlineno)
        ]
        return code.replace(
            co_linetable=assemble_location_table(entries, code.co_firstlineno),
            co_consts=tuple(bare(each) if isinstance(each, CodeType) else each for each in code.co_consts),
        )

    return bare
