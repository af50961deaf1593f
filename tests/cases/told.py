"""Faults that xtab had in what it says of code: places, tracebacks, listings. Each as small as it gets; see `faults.py`.

`FAULTS` maps a name to a function of no arguments that gives what was found and what is right.
"""

import contextlib
import gc
import io
import linecache
import os
import py_compile
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path

import xtab
from xtab.runtime import excepthooks

FAULTS = {}


def fault(name):
    return lambda function: FAULTS.setdefault(name, function)


def error_of(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return error
    raise AssertionError("no error")


def names(error):
    return [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]


def mapped(original, generated, *arguments, **names):
    """The line of the original that an error of the function `f` in the generated text is shown at."""
    exec(compile(generated, "<generated>", "exec"), names)
    moved = xtab.relocate(names["f"], filename="original.py", positions=xtab.source_map(original, generated))
    return traceback.extract_tb(error_of(moved, *arguments).__traceback__)[-1].lineno


def command(*arguments, **files):
    """What a command of xtab prints, and its exit status, in a folder with these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            Path(folder, f"{name}.py").write_bytes(data)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(xtab.__file__).parents[1]), *sys.path])}
        done = subprocess.run(
            [sys.executable, "-m", "xtab", *arguments], cwd=folder, env=environment, capture_output=True, check=False,
            input=b"try: a()\nexcept: b()\n",
        )  # fmt: skip
        return done.stdout.decode(), done.returncode


@fault("a body put into a try, with an `if` in it, was shown on the lines of the `if`")
def _():
    original = "def f(node):\n    if not node.ctx:\n        raise ValueError()\n    return node.id\n"
    body = original.partition("\n")[2].replace("    ", "        ", 1).replace("\n    ", "\n        ")
    generated = f"def f(node):\n    try:\n{body.rstrip()}\n    finally:\n        done()\n"
    return mapped(original, generated, [], done=int), 2


@fault("what was moved into an inner function was shown at another statement")
def _():
    original = "def f(x):\n    x.append(1)\n    return x.missing\n"
    generated = "def f(x):\n    def inner():\n        x.append(1)\n        return x.missing\n    return inner()\n"
    return mapped(original, generated, []), 3


@fault("statements in another order were shown in the old one")
def _():
    return mapped("def f(): a();\\\nb();\\\nc()\n", "def f(): c(); a(); b()\n", a=int, b=int), 3


@fault("relocating a staticmethod lost its attributes")
def _():
    plain = staticmethod(lambda: 0)
    plain.flag = 1
    return getattr(xtab.relocate(plain, lines=1), "flag", None), 1


@fault("a column that ends before it begins was accepted")
def _():
    error = error_of(lambda: xtab.relocate((lambda x: x.y).__code__, positions=lambda at: at._replace(column=99)))
    return type(error).__name__, "RelocationError"


@fault("a file name that no traceback can show was accepted")
def _():
    return type(error_of(lambda: xtab.relocate(command, filename="a\0b"))).__name__, "XtabError"


@fault("a text that can't be parsed was no SyntaxError for source_map")
def _():
    return type(error_of(xtab.source_map, "'\ud800'", "x")).__name__, "SyntaxError"


@fault("annotations of a generic function stayed where they were")
def _():
    if not hasattr(command, "__annotate__"):  # they are evaluated at once before 3.14
        return (), ()
    names = {}
    exec(compile("def f[T](x: [][1]): ...", "<generated>", "exec", dont_inherit=True), names)
    moved = xtab.relocate(names["f"], filename="original.py", lines=4)
    return traceback.extract_tb(error_of(lambda: moved.__annotations__).__traceback__)[-1][:2], ("original.py", 5)


@fault("a cause of ours took the user's exception with it")
def _():
    class Ours(Exception):
        pass

    users, ours, error = KeyError(), Ours(), ValueError()
    ours.__context__, error.__cause__ = users, ours
    xtab.splice_context(error, Ours)
    return (error.__context__ is users, error.__suppress_context__), (True, False)


@fault("frames of frozen modules were not hidden")
def _():
    class Path:
        def __fspath__(self):
            raise KeyError

    error = error_of(os.path.join, Path(), "b")
    return names(xtab.filter_traceback(error, xtab.frames_outside(os.path))), ["error_of", "__fspath__"]


@fault("frames of modules without source were not hidden")
def _():
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "xt_told.py")
        source.write_text("def call(function): function()")
        py_compile.compile(str(source), cfile=f"{source}c")
        source.unlink()
        sys.path.insert(0, folder)
        import xt_told

        error = error_of(xt_told.call, lambda: 1 / 0)
        return names(xtab.filter_traceback(error, xtab.frames_outside(xt_told))), ["error_of", "<lambda>"]


@fault("registered source was not shown where an error can't be raised")
def _():
    text = "class D:\n def __del__(self):\n  return 1 / 0\n"
    code, names = compile(text, "<told>", "exec"), {}
    xtab.register_source(code, text)
    exec(code, names)
    sys.unraisablehook, sys.stderr, before = sys.__unraisablehook__, io.StringIO(), sys.stderr
    try:
        with xtab.install_excepthook():
            names["D"]()
            shown = sys.stderr.getvalue()
    finally:
        sys.stderr = before
    return "return 1 / 0" in shown, True


@fault("a text that was registered from two folders stayed for ever")
def _():
    code, text = compile("x = 1\n", "told.py", "exec"), "x = 1\n"
    before = set(linecache.cache)
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            xtab.register_source(code, text)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
    xtab.register_source(code, text)  # in no folder at all: that was an error
    os.chdir("/")
    del code
    gc.collect()
    return linecache.cache.keys() - before, set()


@fault("a traceback handed to sys.excepthook was exchanged for the whole one")
def _():
    error, seen = error_of(lambda: 1 / 0), []
    sys.excepthook = lambda *arguments: seen.append(arguments)
    with xtab.install_excepthook():
        sys.excepthook(type(error), error, error.__traceback__.tb_next)
        sys.excepthook(KeyError, "no exception", None)
    return [each[2] for each in seen], [error.__traceback__.tb_next, None]


@fault("an error in a thread was lost where stderr can't encode it")
def _():
    excepthooks._HOOKS_READ_LINECACHE = False  # as up to 3.12: else Python's own hook shows it, or doesn't
    stream, before = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict"), sys.stderr
    sys.stderr = stream
    try:
        with xtab.install_excepthook():
            threading.excepthook(threading.ExceptHookArgs((KeyError, KeyError("\u2603"), None, None)))
    finally:
        sys.stderr = before
    stream.flush()
    return b"u2603" in stream.buffer.getvalue(), True


@fault("find_handler took no function")
def _():
    return xtab.find_handler(lambda: 0, 0), None


@fault("a form feed made `where` show another line")
def _():
    text = "def f(x):\n    a = '\u2028'\n\x0c\n    x.a()\n"
    return command("where", "odd.py:4", odd=text.encode())[0].split("\n")[0], "odd.py:4   x.a()"


@fault("`where` ended in a traceback for codecs that can't replace")
def _():
    return command("where", "odd.py:2", odd=b"# coding: idna\nx.a\n")[1], 0


@fault("a decorator was no part of the body that it begins")
def _():
    text = b"try:\n  @d\n  def f(): ...\nexcept E:\n  pass\n"
    return "for its body, lines 2-3" in command("where", "odd.py:5", odd=text)[0], True


@fault("stdin named twice was empty the second time")
def _():
    return command("where", "-:1", "-:2")[1], 0


@fault("`diff` found no difference between two signatures")
def _():
    return command("diff", "a.py:f", "b.py:f", a=b"def f(a): return 1", b=b"def f(*, a): return 1")[1], 1


@fault("what an imported module prints stood before the JSON")
def _():
    out, _ = command("dis", "--json", "--import", "noisy.py", noisy=b"print(1)\ndef f(): ...\n")
    return out[:1], "{"


@fault("a cached function was refused")
def _():
    text = b"import functools\n@functools.cache\ndef f(): ...\n"
    return command("dis", "--import", "cached.py:f", cached=text)[1], 0
