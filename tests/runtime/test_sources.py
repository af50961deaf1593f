"""Registered source: every tool finds it, nothing else is shown for it, and it goes with the code."""

from __future__ import annotations

import gc
import inspect
import io
import linecache
import os
import pdb  # noqa: T100 (what it shows is tested)
import re
import subprocess
import sys
import traceback
import warnings

import pytest

import xtab
from xtab.errors import XtabError
from xtab.runtime.sources import register_source

TEXT = "def f(x):\n    warn('text')\n    return (lambda: x / 0)()\n"


def made(name, text=TEXT):
    code = compile(text, name, "exec")
    register_source(code, text)
    names = {"warn": warnings.warn}
    exec(code, names)
    return names["f"]


def error_of(function, *args):
    with pytest.raises(ZeroDivisionError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function(*args)
    return caught.value


@pytest.mark.parametrize("name", ["<generated one>", "generated two"])
def test_tools_find_it(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = made(name)
    gc.collect()
    linecache.checkcache()
    assert inspect.getsource(function) == TEXT
    assert inspect.getsource(function.__code__) == TEXT
    shown = "".join(traceback.format_exception(error_of(function, 1)))
    assert "    return (lambda: x / 0)()\n" in shown
    assert shown.count("^") > 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(ZeroDivisionError):
            function(1)
    first = caught[0]
    assert "warn('text')" in warnings.formatwarning(first.message, first.category, first.filename, first.lineno)


@pytest.mark.parametrize("name", ["<generated three>", "generated four"])
def test_pdb_shows_it_and_breaks_there(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = made(name)
    output = io.StringIO()
    session = pdb.Pdb(
        stdin=io.StringIO("where\nlist\nnext\nnext\ncontinue\n"), stdout=output, readrc=False, nosigint=True
    )
    session.use_rawinput = False
    assert session.set_break(name, 3) is None
    with pytest.raises(ZeroDivisionError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.runcall(function, 1)
    sys.settrace(None)
    assert "-> warn('text')" in output.getvalue()
    assert "  3 B" in output.getvalue()
    session.clear_all_breaks()


def test_it_goes_with_the_last_code():
    function = made("<five>")
    gc.collect()
    assert linecache.getline("<five>", 1) == "def f(x):\n", "the top level's code is gone, the function's is not"
    inner = xtab.rewrite(function, lambda body: body.insert_before(body.instructions[-1], [xtab.Instruction("NOP")]))
    del function
    gc.collect()
    assert linecache.getline("<five>", 1), "rewritten code shows it too"
    del inner
    gc.collect()
    assert "<five>" not in linecache.cache
    assert made("<five>", "\n" + TEXT), "the name is free again"


def test_a_file_name_has_one_text():
    function = made("<six>")
    again = made("<six>")
    with pytest.raises(XtabError, match=r"expected a file name that is this code's alone, but found '<six>'.*another"):
        made("<six>", TEXT + "\n")
    del function
    gc.collect()
    assert inspect.getsource(again) == TEXT
    linecache.clearcache()
    register_source(again, TEXT)
    assert inspect.getsource(again) == TEXT


@pytest.mark.parametrize("name", ["<string>", "<stdin>", "<unknown>", "", os.__file__])
def test_names_that_are_not_the_codes_own(name):
    with pytest.raises(XtabError, match="compile under a name of its own"):
        register_source(compile("x", name, "eval"), "x")


def test_what_others_have_put_there():
    linecache.cache["<cell 1>"] = theirs = (len(TEXT), None, TEXT.splitlines(keepends=True), "<cell 1>")
    with pytest.raises(XtabError, match="another text in linecache"):
        made("<cell 1>", "\n" + TEXT)
    function = made("<cell 1>")
    assert linecache.cache["<cell 1>"] is theirs
    del function
    gc.collect()
    assert linecache.cache.pop("<cell 1>") is theirs
    function = made("<cell 2>")
    linecache.cache["<cell 2>"] = theirs = (1, None, ["other\n"], "<cell 2>")
    del function
    gc.collect()
    assert linecache.cache.pop("<cell 2>") is theirs


def test_lines_are_those_of_the_tokenizer():
    text = "x = '\x0c\x1c'\r\ny = 2\rdef f(x):\n    return 1"
    function = made("<seven>", text)
    assert inspect.getsource(function) == "def f(x):\n    return 1\n"


def test_bad_arguments():
    with pytest.raises(TypeError, match="expected a code object"):
        register_source(len, "")
    with pytest.raises(TypeError, match="expected the text as a str"):
        register_source(compile("x", "<eight>", "eval"), b"x")


def test_uncaught_errors_show_it():
    text = (
        "import xtab\ntext = 'def f():\\n    return 1 + (1 / 0)\\n'\n"
        "code = compile(text, '<nine>', 'exec'); xtab.register_source(code, text); exec(code)\n"
        "xtab.install_excepthook(); import threading; t = threading.Thread(target=f); t.start(); t.join(); f()\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.stderr.count("    return 1 + (1 / 0)\n                ~~^~~\n") == 2, done.stderr
    assert "Exception in thread Thread-1 (f):\nTraceback (most" in done.stderr


UNRAISABLE = """
import sys, xtab
text = "class D:\\n def __del__(self):\\n  return 1 + (1 / 0)\\n"
code = compile(text, "<ten>", "exec")
xtab.register_source(code, text)
exec(code)
xtab.install_excepthook()
D()

class Odd:
    __repr__ = None

class Args(tuple):
    exc_type, exc_value, exc_traceback, err_msg, object = (property(lambda self, at=at: self[at]) for at in range(5))

for message, thing in (None, 1), ("Said", 2), ("Alone", None), (None, None), (None, Odd()):
    try:
        D.__del__(0)
    except ZeroDivisionError as error:
        sys.unraisablehook(Args((type(error), error, error.__traceback__, message, thing)))
"""


def test_errors_that_can_not_be_raised_show_it():
    done = subprocess.run([sys.executable, "-c", UNRAISABLE], capture_output=True, text=True, check=False)
    assert done.stderr.count("    return 1 + (1 / 0)\n                ~~^~~\nZeroDivisionError: ") == 6, done.stderr
    heads = re.findall(r"(.*)\nTraceback", done.stderr)
    assert re.fullmatch(r"Exception ignored .*D.__del__ at 0x\w+>:?", heads.pop(0))
    assert heads == [
        "Exception ignored in: 1",
        "Said: 2",
        "Alone:",
        "ZeroDivisionError: division by zero",  # of the one before: nothing is said
        "Exception ignored in: <object repr() failed>",
    ]


def test_the_working_directory_changes_or_goes(tmp_path, monkeypatch):
    """A relative name has an absolute one too, for debuggers: all of them are forgotten with the code."""
    keys = set(linecache.cache)
    code, text = compile("x = 1\n", "made.py", "exec"), "x = 1\n"
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
        monkeypatch.chdir(folder)
        if folder == folders[2]:
            folder.rmdir()
        register_source(code, text)
    assert {str(folder / "made.py") for folder in folders[:2]} <= linecache.cache.keys() - keys
    assert linecache.getlines("made.py") == ["x = 1\n"]
    monkeypatch.chdir(tmp_path)
    del code
    gc.collect()
    assert linecache.cache.keys() <= keys
