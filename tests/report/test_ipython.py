"""`%load_ext xtab`, with a shell that does what is used of IPython's."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import xtab


class Shell:
    def __init__(self, **names):
        self.names = names
        self.magics = {}

    def ev(self, expression):
        return eval(expression, self.names)

    def register_magic_function(self, function, magic_kind="line", magic_name=None):
        self.magics[magic_name] = (magic_kind, function)


@pytest.fixture
def magic():
    shell = Shell(f=lambda: 1, things=[len, lambda: 2])
    xtab.load_ipython_extension(shell)
    kind, function = shell.magics["xtab"]
    assert kind == "line_cell"
    return function


def test_an_expression(magic):
    listing = magic("f")
    assert isinstance(listing, xtab.Listing)
    assert listing.name.endswith("<lambda>")
    assert "2" in [row.operand for row in magic("things[1]").rows]


def test_nothing_to_show(magic):
    with pytest.raises(TypeError, match="expected an expression behind %xtab"):
        magic("  ")
    with pytest.raises(TypeError, match="written in C"):
        magic("things[0]")
    with pytest.raises(NameError):
        magic("nobody")


def test_a_cell_is_shown_not_run(magic):
    listing = magic("", "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise SystemExit\n")
    assert [region.label for region in listing.shown] == ["except ZeroDivisionError"]
    html = listing._repr_html_()
    assert "ZeroDivisionError" in html
    assert "No source found" not in html


def test_cells_are_kept_apart(magic):
    first, second = magic("", "a"), magic("", "b")
    assert first.code.co_filename != second.code.co_filename


def test_a_terminal_gets_the_text(magic):
    printed = []
    listing = magic("f")
    listing._repr_pretty_(SimpleNamespace(text=printed.append), cycle=False)
    assert printed == [str(listing)]
