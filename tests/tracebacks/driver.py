"""Runs one situation in one way, and prints what every tool has to say of it: ``driver.py WAY FILE``.

What is printed must not depend on the way: plain, rewritten, or compiled from other text and relocated.
"""

from __future__ import annotations
import __future__

import faulthandler
import inspect
import io
import linecache
import logging
import pdb  # noqa: T100 (what it shows is compared)
import sys
import textwrap
import traceback
import types
import warnings
from pathlib import Path

import xtab
from xtab.transform.emit import call, load_const, pop
from xtab.transform.relocate import relocate

COMMANDS = "where list longlist step where step list up where down next source_of_step continue".split()


def plain(path: Path) -> types.CodeType:
    return compile(path.read_text(encoding="utf-8"), path, "exec", dont_inherit=True)


def with_nops(body: xtab.Body) -> None:
    """Put NOPs in front of each instruction where that may be, and what loads and drops a value."""
    for anchor in body.insertion_points():
        body.insert_before(anchor, [xtab.Instruction("NOP"), *load_const("new"), *pop()])


def with_calls(body: xtab.Body) -> None:
    """Put a call in front of each line."""
    if body.name == "for_ever":
        return  # up to 3.12 calls into C count for the recursion limit too: it would strike in the new one
    open_ones = set(body.insertion_points())
    for anchor, line in body.line_starts():
        if anchor in open_ones:
            body.insert_before(anchor, [*call(load_const(id), load_const(line)), *pop()])


def nops(path: Path) -> types.CodeType:
    return xtab.rewrite_code(plain(path), with_nops, recursive=True)


def calls(path: Path) -> types.CodeType:
    return xtab.rewrite_code(plain(path), with_calls, recursive=True)


def relocated(path: Path) -> types.CodeType:
    """What an indented copy of the text gives, two lines further down and under another name, and moved back."""
    future, text = "from __future__ import annotations\n", path.read_text(encoding="utf-8")
    moved = "\nif True:\n" + textwrap.indent(text.replace(future, "\n"), "    ")
    code = compile(moved, "<generated 1>", "exec", __future__.annotations.compiler_flag, dont_inherit=True)

    def back(location: xtab.Location) -> xtab.Location | None:
        """What is nowhere in the file, the `if`, stays where it is."""
        line, end_line, column, end_column = location
        if line < 3:
            return location
        column, end_column = (None if each is None else max(each - 4, 0) for each in (column, end_column))
        return xtab.Location(line - 2, end_line - 2, column, end_column)

    return relocate(code, filename=str(path), positions=back, firstlineno=1)


WAYS = {"plain": plain, "nops": nops, "calls": calls, "relocated": relocated}


def load(name: str) -> types.ModuleType:
    """Make a module of a file beside the situation's, in the way asked for."""
    path = Path(sys.argv[2]).with_name(f"{name}.py")
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    vars(module).update(probe=quiet, load=load)
    exec(WAYS[sys.argv[1]](path), vars(module))
    return module


def quiet() -> None:
    """What `probe` is while nothing is asked for."""


def probe() -> None:
    """Called by a situation right before its error: what can be asked while code runs."""
    frame = sys._getframe(1)
    print("--- faulthandler")
    sys.stdout.flush()
    faulthandler.dump_traceback(file=sys.stdout, all_threads=False)
    print("--- warnings")
    warnings.warn("from here", stacklevel=2)
    print("--- inspect of a running frame")
    print(frame.f_code.co_qualname, frame.f_lineno, inspect.getframeinfo(frame, context=3))
    print("--- stack")
    traceback.print_stack(file=sys.stdout)


def ask(name: str, function: object, *args: object) -> None:
    print(f"--- {name}")
    try:
        result = function(*args)
    except Exception as error:
        result = repr(error)
    if result is not None:
        print(result if isinstance(result, str) else repr(result))


def codes(module: types.ModuleType) -> list[types.CodeType]:
    """The code objects of a module's functions, those nested in them included."""
    waiting = [value.__code__ for value in vars(module).values() if inspect.isfunction(value)]
    waiting = [code for code in waiting if code.co_filename == module.__file__]
    for code in waiting:
        waiting += [constant for constant in code.co_consts if inspect.iscode(constant)]
    return waiting


def debug(module: types.ModuleType, line: int) -> str:
    """A session of `pdb`."""
    commands = [f"break {module.__file__}:{line}", "continue", *COMMANDS]
    output = io.StringIO()
    session = pdb.Pdb(
        stdin=io.StringIO("\n".join([*commands, "continue\n"] * 2)), stdout=output, readrc=False, nosigint=True
    )
    session.use_rawinput = False
    try:
        session.runcall(module.main)
    except BaseException as error:
        output.write(f"left with {error!r}\n")
    sys.settrace(None)
    return output.getvalue()


def all_of(module: types.ModuleType, source: str, line: int) -> None:
    path = Path(module.__file__)
    ask("pdb", debug, module, line)
    path.write_text(source, encoding="utf-8")
    linecache.clearcache()
    for code in codes(module):
        ask(f"source of {code.co_qualname}", inspect.getsource, code)
    vars(module)["probe"] = probe
    if "helper" in sys.modules:
        vars(sys.modules["helper"])["probe"] = probe
    try:
        module.main()
    except BaseException as caught:
        vars(module)["probe"] = quiet
        error = caught
    path.write_text(source, encoding="utf-8") if module.__name__ == "source_edited" else None
    ask("traceback", lambda: "".join(traceback.format_exception(error)))
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    ask("traceback with locals", lambda: "".join(shown.format()))
    log = io.StringIO()
    logger = logging.getLogger("situation")
    logger.addHandler(logging.StreamHandler(log))
    try:
        module.main()
    except BaseException:
        logger.exception("logged")
    ask("logging", log.getvalue)
    ask("inspect of the traceback", lambda: "\n".join(map(str, inspect.getinnerframes(error.__traceback__, 3))))
    post = io.StringIO()
    session = pdb.Pdb(stdin=io.StringIO("where\nup\nlist\ndown\nlonglist\nargs\nquit\n"), stdout=post, readrc=False)
    session.use_rawinput = False
    session.reset()
    ask("pdb, post mortem", session.interaction, None, error.__traceback__)
    print(post.getvalue())
    path.write_text(source, encoding="utf-8")
    linecache.clearcache()


if __name__ == "__main__":
    warnings.simplefilter("always")
    warnings.showwarning = lambda *args, **_: print(warnings.formatwarning(*args[:4]), end="")
    situation = Path(sys.argv[2])
    text = situation.read_text(encoding="utf-8")
    made = load(situation.stem)
    all_of(made, text, text[: text.index("# break here")].count("\n") + 1)
    sys.stdout.flush()
    made.main()  # and now nobody catches it
