"""`%load_ext xtab`, with a shell that does what is used of IPython's."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

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
    for line, message in (
        ("  ", "^expected an expression behind %xtab"),
        ("things[0]", "^TypeError: .*written in C"),
        ("nobody", "^NameError: name 'nobody' is not defined$"),
        ("f(", "^SyntaxError: "),
    ):
        with pytest.raises(xtab.XtabError, match=message) as caught:
            magic(line)
        assert "\n" not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
    with pytest.raises(xtab.XtabError, match=r"^SyntaxError: .*line 2\)$"):
        magic("", "x = 1\ny = (\n")


def test_ipython_shows_one_line(magic, monkeypatch):
    """It shows its own UsageError without a traceback."""
    errors = ModuleType("IPython.core.error")
    errors.UsageError = type("UsageError", (Exception,), {})
    for name in ("IPython", "IPython.core"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, errors.__name__, errors)
    with pytest.raises(errors.UsageError, match=r"^NameError: name 'nobody' is not defined$"):
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
