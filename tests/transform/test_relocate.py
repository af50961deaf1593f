"""Relocated code is what the compiler gives for the same text elsewhere, and everybody who asks sees it there."""

from __future__ import annotations

import ast
import inspect
import json
import linecache
import os
import subprocess
import sys
import textwrap
import traceback
import types
from importlib import util
from pathlib import Path

import pytest

import xtab
from xtab.format.code import code_objects
from xtab.format.locations import Location, LocationEntry, assemble_location_table
from xtab.format.opcodes import CURRENT
from xtab.transform.relocate import relocate

RELOCATION = Path(__file__).parents[1] / "relocation"


def load(path, name=None):
    name = name or path.stem
    spec = util.spec_from_file_location(name, path)
    sys.modules[name] = module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LIBRARY = load(RELOCATION / "run.py", "relocation_run")
WRAPPING = load(RELOCATION / "wrapping.py")
MODEL_FILE = RELOCATION.parent / "cases" / "wrapped_model.py"
MODEL = load(MODEL_FILE)


def compiled(text):
    return compile(text, "here.py", "exec", dont_inherit=True)


def places(code):
    """Everything that says where code objects are from."""
    fields = ("co_filename", "co_firstlineno", "co_qualname", "co_name", "co_linetable")
    return [[getattr(each, field) for field in fields] for each in code_objects(code)]


# -- against the compiler


@pytest.mark.pure
@pytest.mark.parametrize("part", range(4))
def test_the_library_as_the_compiler_would_place_it(part):
    """A fortieth of it; tests/relocation/run.py does it for all."""
    reports = [LIBRARY.check(path, verified=False) for path in LIBRARY.files(40)[part::4]]
    assert [line for report in reports for line in report.differences] == []
    assert sum(report.counts["compared with the compiler"] for report in reports) > 20
    assert sum(report.counts["compiled to other instructions"] for report in reports) == 0


def test_a_wrong_place_is_found():
    """The comparison itself finds what is wrong."""
    report = LIBRARY.Report("", LIBRARY.Counter(), [])
    LIBRARY.COLUMNS = 5
    try:
        LIBRARY.compare_with_compiler("def f():\n    return g()\n", "x.py", report)
        assert report.differences == []
        placed, LIBRARY.placed = LIBRARY.placed, lambda text: placed(text).replace("\n     def", "\n\n     def")
        LIBRARY.compare_with_compiler("def f():\n    return g()\n", "x.py", report)
    finally:
        LIBRARY.COLUMNS, LIBRARY.placed = 4, placed
    assert len(report.differences) == 1


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_the_whole_library(part):
    reports = [LIBRARY.check(path) for path in LIBRARY.files(16, part)]
    assert [line for report in reports for line in report.differences] == []
    assert sum(report.counts["code objects"] for report in reports) > 1000


def test_nothing_moves_nothing():
    code = compiled("class C:\n    def f(self): return [x for x in self]\n")
    assert relocate(code) is code
    assert relocate(code, filename="here.py", name="<module>", firstlineno=1) is code
    moved = relocate(code, filename="there.py")
    assert moved is not code
    assert relocate(moved, filename="there.py") is moved


def test_what_does_not_change_is_not_copied():
    """Only the outer code object has another first line, so only that one is new."""
    code = compiled("def f(): pass\n")
    new = relocate(code, name="other")
    assert new.co_consts[0] is code.co_consts[0]
    assert new.co_name == new.co_qualname == "other"


def test_code_with_no_location_table_entries_for_columns():
    code = compiled("def f():\n    return 1\n").co_consts[0]
    size = len(code.co_code)
    table = [LocationEntry(0, 2, Location(1, 1, None, None)), LocationEntry(2, size, Location(2, 2, None, None))]
    code = code.replace(co_linetable=assemble_location_table(table, 1))
    assert list(relocate(code, lines=5, columns=4).co_positions())[-1] == (7, 7, None, None)


def test_no_location_stays():
    code = compiled("def f():\n    return 1\n").co_consts[0]
    code = code.replace(co_linetable=assemble_location_table([LocationEntry(0, len(code.co_code), None)], 1))
    moved = relocate(code, lines=5, columns=4, filename="there.py")
    assert set(moved.co_positions()) == {(None, None, None, None)}
    assert moved.co_firstlineno == 6


def test_synthetic_locations_keep_their_columns():
    code = relocate(compiled("class C:\n    x = 1\n"), lines=10, columns=4)
    body = next(item for item in code.co_consts if isinstance(item, types.CodeType))
    assert next(location for location in code.co_positions() if location[0] is not None) == (10, 11, 0, 0)
    assert (11, 11, 0, 0) in list(body.co_positions())
    assert (12, 12, 8, 9) in list(body.co_positions())
    assert relocate(code, lines=-10, columns=-4) == compiled("class C:\n    x = 1\n")


# -- names


def test_names_of_nested_code_follow():
    def outer():
        class A:
            def method(self):
                return lambda: [0 for _ in self]

        return A

    new = relocate(outer, name="other")
    qualname = outer.__qualname__.rpartition(".")[0] + ".other"
    assert new.__name__ == new.__code__.co_name == "other"
    assert new.__qualname__ == new.__code__.co_qualname == qualname
    assert new().__qualname__ == f"{qualname}.<locals>.A"
    assert new()().method().__qualname__ == f"{qualname}.<locals>.A.method.<locals>.<lambda>"
    assert outer().__qualname__.endswith("outer.<locals>.A")


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ({}, ("f", "K.f")),
        ({"name": "g"}, ("g", "K.g")),
        ({"qualname": "A.b"}, ("b", "A.b")),
        ({"name": "<lambda>", "qualname": "A.b"}, ("<lambda>", "A.b")),
    ],
)
def test_one_name_follows_from_the_other(arguments, expected):
    class K:
        def f(self):
            return 1

    code = relocate(K.f.__code__, qualname="K.f")
    new = relocate(code, **arguments)
    assert (new.co_name, new.co_qualname) == expected


def test_names_that_only_begin_alike_stay():
    code = compiled("def f():\n    def g(): pass\n    global fg\n    def fg(): pass\n").co_consts[0]
    names = [each.co_qualname for each in code_objects(relocate(code, name="h"))]
    assert names == ["h", "h.<locals>.g", "fg"]


# -- functions


def test_functions_and_methods():
    class K:
        def plain(self, x=1, *, y=2):
            return x, y, __class__

        @staticmethod
        def static():
            return "static"

        @classmethod
        def of_class(cls):
            return cls

    new = relocate(K.plain, filename="there.py")
    assert new is not K.plain
    assert new(None) == (1, 2, K)
    assert new.__code__.co_filename == "there.py"
    assert K.plain.__code__.co_filename == __file__
    assert new.__qualname__ == K.plain.__qualname__
    bound = relocate(K().plain, lines=3)
    assert bound(5) == (5, 2, K)
    assert bound.__func__.__code__.co_firstlineno == K.plain.__code__.co_firstlineno + 3
    for name in ("static", "of_class"):
        wrapper = vars(K)[name]
        assert type(relocate(wrapper, lines=1)) is type(wrapper)
        assert (
            relocate(wrapper, lines=1).__func__.__code__.co_firstlineno == wrapper.__func__.__code__.co_firstlineno + 1
        )


def test_origins_are_recorded():
    code = compiled("def f():\n    return lambda: 0\n")
    for each in list(code_objects(relocate(code, lines=4)))[1:]:
        origin = xtab.origin_of(each)
        assert origin.filename == "here.py"
        assert origin.firstlineno == each.co_firstlineno - 4
        assert origin.transform == "xtab.transform.relocate:relocate"


# -- positions


def test_positions_by_function():
    code = compiled("def f():\n    return g(\n1)\n").co_consts[0]
    seen = []

    def move(location):
        seen.append(location)
        if location.column is None:
            return Location(100, 100, None, None)
        return location._replace(line=location.line + 200, end_line=location.end_line + 200)

    new = relocate(code, positions=move)
    assert new.co_firstlineno == 100
    assert [each[0] for each in new.co_positions() if each[0] is not None and each[2:] != (0, 0)][-1] == 202
    assert next(each[:2] for each in new.co_positions()) == (100, 100)
    assert len(seen) == len(set(seen)), "asked twice for the same"
    assert not any(location[2:] == (0, 0) for location in seen), "asked for what is in no text"


def test_positions_come_before_lines_and_columns():
    code = compiled("x = y")
    new = relocate(code, positions=lambda at: Location(5, 5, at.column, at.end_column), lines=10, columns=2)
    assert (15, 15, 6, 7) in list(new.co_positions())


def test_positions_from_a_table():
    code = compiled("def f():\n    return g(1)\n").co_consts[0]
    new = relocate(code, positions={Location(2, 2, 11, 15): Location(7, 8, 1, 2)}, firstlineno=7)
    found = set(new.co_positions())
    assert found == {(7, 7, 0, 0), (7, 8, 1, 2), (None, None, None, None)}
    assert new.co_firstlineno == 7


def test_without_a_first_line_the_least_is_taken():
    code = compiled("def f():\n    return g(1)\n").co_consts[0]
    table = {Location(2, 2, 11, 15): Location(9, 9, 1, 2), Location(2, 2, 4, 15): Location(8, 9, 0, 2)}
    assert relocate(code, positions=table).co_firstlineno == 8
    assert relocate(code, positions={}, lines=5).co_firstlineno == 6


def test_nested_code_begins_where_it_is_loaded():
    """A lambda's first line has no node of its own: it begins where the code around it loads it."""
    code = compiled("def f():\n    return [lambda: 1, lambda: 2]\n").co_consts[0]
    table = {Location(2, 2, 12, 21): Location(31, 31, 0, 1), Location(2, 2, 23, 32): Location(32, 32, 0, 1)}
    new = relocate(code, positions=table, firstlineno=30)
    assert [each.co_firstlineno for each in code_objects(new)] == [30, 31, 32]


def test_nested_code_that_came_from_nowhere_is_where_its_parent_is():
    code = compiled("def f():\n    return lambda: 1\n").co_consts[0]
    new = relocate(code, positions={}, firstlineno=30)
    assert [each.co_firstlineno for each in code_objects(new)] == [30, 30]


# -- errors


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"lines": -3}, "expected a first line from 1 .* but found 0, from 3"),
        ({"columns": -5}, "columns from 0 to .* column=-1"),
        ({"lines": 1 << 31}, "first line from 1"),
        ({"columns": 1 << 31}, "columns from 0"),
        ({"firstlineno": 0}, "another firstlineno, but found 0"),
        ({"positions": lambda at: at._replace(line=0)}, "found 0, from 3"),
        ({"positions": lambda at: at._replace(line=0), "firstlineno": 1}, "lines from 1 .*line=0"),
        ({"positions": lambda at: at._replace(end_line=1), "firstlineno": 1}, "the last not before the first"),
        ({"positions": lambda at: at._replace(column=-1), "firstlineno": 1}, "column=-1"),
        ({"positions": lambda at: at._replace(column=9, end_column=3)}, "the last column not before the first"),
    ],
)
def test_impossible_places(arguments, message):
    code = compiled("\n\ndef f():\n    g(1)\n").co_consts[0]
    with pytest.raises(xtab.RelocationError, match=message) as caught:
        relocate(code, **arguments)
    assert (caught.value.qualname, caught.value.filename, caught.value.line) == ("f", "here.py", 3)


@pytest.mark.parametrize("arguments, advised", [
    ({"lines": -3}, True),
    ({"columns": -5}, True),
    ({"lines": -4, "firstlineno": 1}, True),
    ({"positions": lambda at: at._replace(line=0)}, False),
    ({"positions": lambda at: at._replace(column=-1), "firstlineno": 1}, False),
], ids=range(5))  # fmt: skip
def test_what_lines_and_columns_can_not_say_positions_can(arguments, advised):
    code = compiled("\n\ndef f():\n    g(1)\n").co_consts[0]
    with pytest.raises(xtab.RelocationError) as caught:
        relocate(code, **arguments)
    assert ("give positions=xtab.source_map(original, generated)" in str(caught.value)) is advised


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"filename": 1}, "a string for filename, but found 1 of type int"),
        ({"lines": "1"}, "an integer for lines"),
        ({"columns": 1.0}, "an integer for columns"),
        ({"name": b"x"}, "a string for name"),
        ({"qualname": ()}, "a string for qualname"),
        ({"firstlineno": "x"}, "an integer for firstlineno"),
        ({"positions": 3}, "a function or a mapping for positions, but found 3"),
        ({"positions": lambda at: 3}, "a Location or None from positions"),
        ({"positions": lambda at: (1, 2)}, "a Location or None from positions"),
        ({"positions": lambda at: ("1", 1, 1, 1)}, "a Location or None from positions for Location"),
        ({"positions": lambda at: (1.0, 1, 1, 1)}, "a Location or None from positions for Location"),
    ],
)
def test_wrong_types(arguments, message):
    with pytest.raises(TypeError, match=message):
        relocate(compiled("f(1)"), **arguments)


@pytest.mark.skipif(not hasattr(relocate, "__annotate__"), reason="annotations are evaluated at once before 3.14")
def test_annotations_of_a_generic_function():
    names = {}
    exec(compiled("\ndef f[T](x: missing): ...\ndef g[T](x: T): ..."), names)
    moved = relocate(names["f"], filename="there.py", lines=5)
    with pytest.raises(NameError) as caught:
        inspect.get_annotations(moved)
    assert traceback.extract_tb(caught.value.__traceback__)[-1][:2] == ("there.py", 7)
    names["g"].__annotate__ = names["f"].__annotate__
    assert relocate(names["g"], lines=9).__annotate__ is names["f"].__annotate__, "it is another function's"


def test_a_file_name_that_can_not_be_shown():
    with pytest.raises(xtab.XtabError, match=r"a file name without null characters, but found 'a\\x00b'"):
        relocate(compiled("f(1)"), filename="a\0b")


@pytest.mark.parametrize("what", [3, None, print, int, "text"])
def test_what_has_no_code(what):
    with pytest.raises(TypeError, match=r"but found"):
        relocate(what, lines=1)


def test_a_broken_table():
    code = compiled("x").replace(co_linetable=b"\x01")
    with pytest.raises(xtab.TableFormatError):
        relocate(code, lines=1)


# -- those who ask


@pytest.fixture
def model(tmp_path):
    """A copy of the model, as a module from a file of its own."""
    path = tmp_path / "users_model.py"
    path.write_text(MODEL_FILE.read_text("utf-8"), "utf-8")
    yield load(path)
    del sys.modules["users_model"]
    linecache.checkcache()


def text_of_error(model, name):
    try:
        getattr(model.Model(), name)()
    except Exception as error:
        return "".join(traceback.format_exception(error))
    raise AssertionError("nothing was raised")


def wrap_all(model):
    """Put the wrapped methods in the place of the methods, and return the names of what was called through them."""
    called = []

    def wrap(value, name):
        called.append(name)
        return value

    for name, method in list(vars(model.Model).items()):
        if inspect.isfunction(method):
            setattr(model.Model, name, WRAPPING.wrapped(method, wrap))
    return called


@pytest.mark.parametrize("name", MODEL.FAILING)
def test_tracebacks_of_wrapped_methods(model, name):
    """The text of the traceback is that of the method as it was written, carets included."""
    plain = text_of_error(model, name)
    called = wrap_all(model)
    assert text_of_error(model, name) == plain
    assert "users_model.py" in plain
    assert called or name in {"in_the_call", "in_an_argument", "in_a_handler"} or "self.layer" in plain


def test_wrapped_methods_are_where_the_methods_are(model):
    """First lines, names and text of the code, and of all that is nested in it."""
    methods = [method for method in vars(model.Model).values() if inspect.isfunction(method)]
    wrap_all(model)
    for method in methods:
        new = getattr(model.Model, method.__name__)
        assert places(new.__code__)[0][:4] == places(method.__code__)[0][:4]
        assert [each[:4] for each in places(new.__code__)] == [each[:4] for each in places(method.__code__)]
        assert inspect.getsource(new) == inspect.getsource(method)


RUN = """
import sys
sys.path[:0] = [{folder!r}, {tests!r}]
import users_model
if {wrapped!r}:
    import wrapping
    for name in ("forward", "in_a_chain"):
        setattr(users_model.Model, name, wrapping.wrapped(getattr(users_model.Model, name), lambda value, name: value))
def run():
    model = users_model.Model()
    model.forward(3)
    try:
        model.in_a_chain()
    except ValueError:
        pass
"""
MEASURE = """
import json, coverage
measured = coverage.Coverage(branch={branch!r}, data_file=None, config_file=False, include=[users_model.__file__])
measured.start()
run()
measured.stop()
data = measured.get_data()
(name,) = data.measured_files()
analysis = measured._analyze(name)
missing = {{str(line): sorted(map(str, ends)) for line, ends in analysis.missing_branch_arcs().items()}}
print(json.dumps([sorted(data.lines(name)), sorted(analysis.missing), missing, measured._collector.tracer_name()]))
"""
BREAK = """
import bdb, json
hits = []
class Debugger(bdb.Bdb):
    def user_line(self, frame):
        hits.append([frame.f_lineno, frame.f_code.co_qualname, sorted(frame.f_locals)])
        self.set_continue()
debugger = Debugger()
with open(users_model.__file__) as file:
    lines = [number for number, text in enumerate(file, 1) if "total" in text or ".split" in text]
for line in lines:
    assert debugger.set_break(users_model.__file__, line) is None
debugger.runcall(run)
print(json.dumps(hits))
"""


def outcome(folder, what, *, wrapped, **options):
    tests = str(RELOCATION)
    text = (RUN + what).format(folder=str(folder), tests=tests, wrapped=wrapped, **options)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COVERAGE_CORE": options.get("core", "")}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.pure
@pytest.mark.parametrize("branch", [False, True])
@pytest.mark.parametrize("core", ["ctrace", "pytrace", "sysmon"])
def test_coverage_measures_it_as_the_original(model, core, branch):
    if core == "sysmon" and not hasattr(sys, "monitoring"):
        core = "ctrace"  # what is taken where there is no sys.monitoring
    folder = Path(model.__file__).parent
    plain, wrapped = (outcome(folder, MEASURE, wrapped=wrapped, core=core, branch=branch) for wrapped in (False, True))
    assert wrapped == plain
    lines, missing, branches, tracer = plain
    assert len(lines) > 5
    assert missing
    assert bool(branches) == branch
    assert tracer


def test_breakpoints_hit(model):
    folder = Path(model.__file__).parent
    plain, wrapped = (outcome(folder, BREAK, wrapped=wrapped) for wrapped in (False, True))
    assert wrapped == plain
    assert len(plain) > 3


def test_code_of_dedented_text(model):
    """Dedented text, compiled and moved back, gives the code of the method byte for byte."""
    method = model.Model.in_nested_code
    lines, first = inspect.getsourcelines(method)
    code = compile(textwrap.dedent("".join(lines)), "<generated>", "exec", dont_inherit=True, flags=0x1000000)
    code = next(item for item in code.co_consts if isinstance(item, types.CodeType))
    moved = relocate(code, filename=model.__file__, lines=first - 1, columns=4, qualname=method.__qualname__)
    assert places(moved) == places(method.__code__)
    assert CURRENT.name  # the same on each version


def test_a_tree_that_kept_its_locations(model):
    """Then there is nothing to map: lines and columns do."""
    method = model.Model.in_the_call
    lines, first = inspect.getsourcelines(method)
    tree = WRAPPING.Wrapper().visit(ast.parse(textwrap.dedent("".join(lines))))
    names = {"wrap": lambda value, name: value}
    exec(compile(ast.fix_missing_locations(tree), "<generated>", "exec", dont_inherit=True), names)
    plain = text_of_error(model, "in_the_call")
    model.Model.in_the_call = relocate(
        names["in_the_call"], filename=model.__file__, lines=first - 1, columns=4, qualname=method.__qualname__
    )
    assert text_of_error(model, "in_the_call") == plain


def test_annotations_that_are_evaluated_later_move_too():
    hint = ": missing" if hasattr(relocate, "__annotate__") else ""  # else they are evaluated at once
    names = {}
    exec(compile(f"def f(x{hint}): pass\ndef g(x{hint}): pass\n", "here.py", "exec", dont_inherit=True), names)
    there = relocate(names["f"], filename="there.py", lines=9, qualname="K.f")
    if not hint:
        assert there.__annotations__ == {}
        return
    with pytest.raises(NameError) as caught:
        inspect.get_annotations(there)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.filename, frame.lineno) == ("there.py", 10)
    assert there.__annotate__.__qualname__ == "K.f.__annotate__"
    assert names["f"].__annotate__.__code__.co_filename == "here.py"
    names["g"].__annotate__ = names["f"].__annotate__
    assert relocate(names["g"], lines=9).__annotate__ is names["f"].__annotate__, "it is another function's"
