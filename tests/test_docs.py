"""Every example in the README, in docs/ and in the docstrings runs, and prints what it says.

In a page, ``python`` blocks are executed and ``pycon`` blocks are compared with what they print; the blocks of one page
share their names, from top to bottom.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
from pathlib import Path

import pytest

import xtab

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [xtab.__name__, *(m.name for m in pkgutil.walk_packages(xtab.__path__, "xtab.") if m.name != "xtab.__main__")]
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^\s*(?:`{3,}|~{3,}).*py.*$", re.MULTILINE)


def run_doctest(test: doctest.DocTest) -> str:
    """Run a doctest and return what it complains about."""
    complaints = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(test, out=complaints.append, clear_globs=False)
    return "".join(complaints)


def run_page(text: str, name: str) -> int:
    """Run the blocks of a page, and return how many there were."""
    names = {"__name__": "__main__"}
    count = 0
    for count, block in enumerate(BLOCK.finditer(text), 1):
        language, source = block.groups()
        line = text.count("\n", 0, block.start(2))
        if language == "python":
            exec(compile("\n" * line + source, name, "exec", dont_inherit=True), names)
        else:
            test = doctest.DocTestParser().get_doctest(source, names, name, name, line)
            assert test.examples, f"{name}:{line}: a pycon block without a prompt"
            assert not (complaints := run_doctest(test)), complaints
            names = test.globs
    return count


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run(page, monkeypatch, tmp_path):
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # what an example writes goes nowhere else
    assert run_page(text, str(page)) == len(FENCE.findall(text)), "a block is written so that it would not be run"


def test_the_readme_has_examples():
    assert len(BLOCK.findall(PAGES[0].read_text(encoding="utf-8"))) >= 3


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_run(name):
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        if test.examples:
            complaints = run_doctest(test)
            assert not complaints, complaints


@pytest.mark.parametrize("name", sorted(xtab.__all__))
def test_public_functions_and_classes_have_an_example(name):
    value = getattr(xtab, name)
    is_error = isinstance(value, type) and issubclass(value, Exception)
    if inspect.isroutine(value) or (isinstance(value, type) and not is_error):
        assert ">>> " in (inspect.getdoc(value) or ""), f"xtab.{name} has no example in its docstring"


@pytest.mark.parametrize(
    "page, error",
    [
        ("```python\nassert 1 == 2\n```\n", AssertionError),
        ("```python\n1 / 0\n```\n", ZeroDivisionError),
        ("```pycon\n>>> 1 + 1\n3\n```\n", AssertionError),
        ("```pycon\n>>> 1 / 0\n0\n```\n", AssertionError),
        ("```pycon\n>>> 1\nTraceback (most recent call last):\n    ...\nValueError: no\n```\n", AssertionError),
        ("```pycon\nno prompt\n```\n", AssertionError),
        ("```python\na = 1\n```\ntext\n```pycon\n>>> a\n2\n```\n", AssertionError),
    ],
    ids=["assert", "raises", "wrong-output", "unexpected-error", "missing-error", "no-prompt", "shared-names"],
)
def test_a_wrong_block_is_found(page, error):
    with pytest.raises(error):
        run_page(page, "page.md")


def test_blocks_share_their_names():
    page = "```python\na = 1\n```\n```pycon\n>>> a\n1\n>>> b = 2\n```\n```python\nassert a + b == 3\n```\n"
    assert run_page(page, "page.md") == 3


def first_sentence(name: str) -> str:
    """What the docstring of a module says first, as text of a page."""
    source = inspect.getsource(importlib.import_module(name)) if name != "xtab.__main__" else ""
    text = " ".join((ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0].split())
    return text.replace("``", "`").replace("|", "\\|")


def modules_page() -> str:
    """Every module of every room, in the words of its docstring."""
    lines = [
        "# The modules",
        "",
        "A line each, in the words of their docstrings. What the rooms are for: [architecture](architecture.md).",
    ]
    for name in MODULES:
        module = importlib.import_module(name)
        if hasattr(module, "__path__"):
            lines += ["", f"## {name}", "", first_sentence(name)]
            inner = [each for each in MODULES if each.rpartition(".")[0] == name]
            plain = [each for each in inner if not hasattr(importlib.import_module(each), "__path__")]
            lines += ["", "| module | |", "|---|---|"] * bool(plain)
            lines += [f"| `{each.rpartition('.')[2]}` | {first_sentence(each)} |" for each in plain]
    return "\n".join(lines) + "\n"


def test_the_page_of_modules_is_up_to_date():
    path, expected = ROOT / "docs" / "modules.md", modules_page()
    if os.environ.get("XTAB_BLESS"):
        path.write_text(expected, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == expected, "XTAB_BLESS=1 writes it"
