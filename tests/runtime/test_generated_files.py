"""Generated names mapped back: as the original would have shown it, and never an error of its own."""

from __future__ import annotations

import gc
import io
import logging
import re
import traceback
import types
from pathlib import Path

import pytest

import xtab
from xtab.errors import XtabError
from xtab.format.locations import Location
from xtab.runtime.generated_files import GeneratedFiles
from xtab.runtime.tracebacks import related

ORIGINAL = """\
class Model:
    def forward(self, x):
        def scale(y):
            return [
                1 / each
                for each in y
            ]
        try:
            return (lambda y: y["k"] + 1)(x)
        except TypeError as error:
            try:
                scale([1, 0])
            except ZeroDivisionError as other:
                raise ExceptionGroup("all", [error, other]) from KeyError("k")
"""


def outcome(function):
    try:
        function({})
    except BaseException as error:
        return error


@pytest.fixture
def original(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(ORIGINAL)
    names = {}
    exec(compile(ORIGINAL, path, "exec"), names)
    return path, names["Model"]().forward


def generated(name, first=2):
    """The method, without the class and its indentation, as a function of a generated name."""
    lines = ORIGINAL.splitlines(keepends=True)[first - 1 :]
    text = "".join(line.removeprefix("    ") for line in lines).replace("forward", "wrapped")
    names = {}
    exec(compile(text, name, "exec"), names)
    return lambda x: names["wrapped"](None, x)


def shown(error):
    """The text, without the frames of this test."""
    lines = "".join(traceback.format_exception(error)).splitlines(keepends=True)
    drop = re.compile(rf'.*"{re.escape(__file__)}"')
    kept, dropping = [], False
    for line in lines:
        if "  File " in line:
            dropping = bool(drop.match(line))
        elif dropping and not re.match(r"[ |]*    ", line):
            dropping = False
        if not dropping:
            kept.append(line)
    return "".join(kept)


@pytest.mark.parametrize("bad", [{}, {"k": "x"}])
def test_the_text_is_that_of_the_original(original, bad):
    path, forward = original
    files = GeneratedFiles()
    files.register("<wrapped 1>", str(path), firstlineno=2, columns=4, name="Model.forward")
    wrapped = generated("<wrapped 1>")
    errors = []
    for function in (forward, wrapped):
        with pytest.raises((KeyError, ExceptionGroup)) as caught:
            function(bad)
        errors.append(caught.value)
    assert files.remap(errors[1]) is errors[1]
    assert shown(errors[1]) == shown(errors[0])
    assert "^" in shown(errors[0])
    assert shown(errors[0]).count("model.py") >= (5 if bad else 2)
    names = [
        [frame.f_code.co_qualname for frame, _ in traceback.walk_tb(each.__traceback__)][-1]
        for error in errors
        for each in related(error)
        if each.__traceback__
    ]
    assert names[: len(names) // 2] == names[len(names) // 2 :]


def test_logging_shows_it(original):
    files = GeneratedFiles()
    files.register("<wrapped 2>", str(original[0]), firstlineno=2, columns=4, name={"wrapped": "Model.forward"})
    text = io.StringIO()
    logger = logging.getLogger("xtab test")
    logger.addHandler(handler := logging.StreamHandler(text))
    try:
        generated("<wrapped 2>")({})
    except KeyError as error:
        logger.error("failed", exc_info=files.remap(error))
    logger.removeHandler(handler)
    assert re.search(r'model.py", line 9, in forward\n +return \(lambda', text.getvalue())
    assert re.search(r'model.py", line 9, in <lambda>\n', text.getvalue())


def fail(name, text="def f():\n    x = 1\n    return x / 0\n"):
    names = {}
    exec(compile(text, name, "exec"), names)
    with pytest.raises(ZeroDivisionError) as caught:
        names["f"]()
    return caught.value


def last(error):
    return traceback.extract_tb(error.__traceback__)[-1]


def test_a_map_of_lines():
    files = GeneratedFiles()
    files.register("<1>", "a.py", lines={1: 11, 3: 30})
    found = last(files.remap(fail("<1>")))
    assert (found.filename, found.lineno, found.end_lineno, found.name) == ("a.py", 30, 30, "f")
    assert found.colno == 11
    code = files.remap(fail("<1>")).__traceback__.tb_next.tb_frame.f_code
    assert code.co_firstlineno == 11


def test_a_map_of_locations():
    files = GeneratedFiles()
    files.register("<1>", "a.py", positions=lambda at: Location(at.line * 10, at.line * 10, 2, 5))
    found = last(files.remap(fail("<1>")))
    assert (found.lineno, found.colno, found.end_colno) == (30, 2, 5)


@pytest.mark.parametrize(
    "how",
    [
        {"lines": {1: 11}},
        {"positions": lambda at: None},
        {"positions": {}.__getitem__},
        {"positions": lambda at: Location(-5, -9, 1, 1)},
        {"positions": lambda at: Location(None, None, None, None)},
        {"lines": {3: -7}},
    ],
)
def test_places_without_an_image_stay_as_they_are(how):
    files = GeneratedFiles()
    files.register("<1>", "a.py", **how)
    error = fail("<1>")
    before = error.__traceback__
    assert files.remap(error).__traceback__ is before


def test_unknown_frames_stay_as_they_are():
    files = GeneratedFiles()
    files.register("<1>", "a.py")
    error = fail("<unknown file>")
    before = error.__traceback__
    assert files.remap(error).__traceback__ is before
    assert GeneratedFiles().remap(ValueError("never raised")).__traceback__ is None


def test_known_frames_among_unknown_ones():
    files = GeneratedFiles()
    files.register("<1>", "a.py", firstlineno=100)
    names = {"g": lambda: 1 / 0}
    exec(compile("def f():\n    g()\n", "<1>", "exec"), names)
    with pytest.raises(ZeroDivisionError) as caught:
        names["f"]()
    ends = caught.value.__traceback__, caught.value.__traceback__.tb_next.tb_next
    found = traceback.extract_tb(files.remap(caught.value).__traceback__)
    assert [(each.filename, each.lineno) for each in found][1] == ("a.py", 101)
    assert caught.value.__traceback__.tb_frame is ends[0].tb_frame
    assert caught.value.__traceback__.tb_next.tb_next is ends[1]


def test_several_hops_and_circles():
    files = GeneratedFiles()
    files.register("<2>", "<1>", firstlineno=10)
    files.register("<1>", "a.py", firstlineno=100)
    assert last(files.remap(fail("<2>")))[:2] == ("a.py", 111)
    files.register("<3>", "<4>", firstlineno=2)
    files.register("<4>", "<3>", firstlineno=2)
    assert last(files.remap(fail("<3>"))).filename == "<3>"


def test_twice_is_once():
    files = GeneratedFiles()
    files.register("<1>", "a.py", firstlineno=100)
    error = files.remap(fail("<1>"))
    before = error.__traceback__
    assert files.remap(error).__traceback__ is before


def test_two_files_need_two_names():
    files = GeneratedFiles()
    files.register("<1>", "a.py", name="f")
    files.register("<1>", "a.py", name="f")
    with pytest.raises(XtabError, match=r"not registered yet, but found '<1>', registered for 'a\.py'"):
        files.register("<1>", "b.py", name="f")
    files.unregister("<1>")
    files.register("<1>", "b.py", name="f")
    files.unregister("<never>")


def add_nop(body):
    body.insert_before(body.instructions[-1], [xtab.Instruction("NOP")])


def test_an_entry_goes_with_its_code():
    files = GeneratedFiles()
    code = compile("def f():\n    return 1 / 0\n", "<1>", "exec")
    files.register("<1>", "a.py", code=code)
    names = {}
    exec(code, names)
    new = xtab.rewrite(names.pop("f"), add_nop)
    del code, names
    gc.collect()
    with pytest.raises(ZeroDivisionError) as caught:
        new()
    assert last(files.remap(caught.value))[:2] == ("a.py", 2)
    del new, caught
    gc.collect()
    assert not files._originals
    with pytest.raises(TypeError, match="expected a code object"):
        files.register("<2>", "a.py", code=len)


@pytest.mark.parametrize(
    "name, qualname, want",
    [
        ("K.g", "f", "K.g"),
        ("K.g", "f.<locals>.<lambda>", "K.g.<locals>.<lambda>"),
        ("K.g", "<module>", "<module>"),
        ({"f": "K.g"}, "f.<locals>.h.<locals>.i", "K.g.<locals>.h.<locals>.i"),
        ({"f": "K.g"}, "other.<locals>.f", "other.<locals>.f"),
        ({"<lambda>": "K.g"}, "<lambda>", "K.g"),
        (None, "f", "f"),
    ],
)
def test_names(name, qualname, want):
    files = GeneratedFiles()
    files.register("<1>", "a.py", name=name)
    assert files._originals["<1>"].qualname(qualname) == want


def test_an_entry_whose_line_was_changed():
    """Whoever made it says which line; the instruction's columns are not that line's."""
    files = GeneratedFiles()
    files.register("<1>", "a.py", firstlineno=100)
    error = fail("<1>")
    entry = error.__traceback__.tb_next
    error.__traceback__ = types.TracebackType(None, entry.tb_frame, entry.tb_lasti, 2)
    assert (last(files.remap(error)).lineno, last(error).colno) == (101, None)


def test_an_entry_goes_with_the_last_of_several_codes():
    files = GeneratedFiles()
    text = "def f():\n    return 1 / 0\n"
    first, second, third = (compile(text, "<1>", "exec") for _ in range(3))
    files.register("<1>", "a.py", code=first)
    files.register("<1>", "a.py", code=second)
    del first
    gc.collect()
    assert files._originals
    del second
    gc.collect()
    assert not files._originals
    files.register("<1>", "a.py", code=third)
    files.register("<1>", "a.py")
    files.register("<1>", "a.py", code=third)
    del third
    gc.collect()
    assert files._originals, "registered for good"


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"generated": None}, "a string for generated"),
        ({"filename": Path("a.py")}, "a string for filename"),
        ({"firstlineno": "3"}, "an integer for firstlineno"),
        ({"columns": None}, "an integer for columns"),
        ({"name": 5}, "a mapping from strings to strings for name"),
        ({"name": {"f": 5}}, "a mapping from strings to strings for name"),
        ({"lines": [3]}, "a mapping from integers to integers for lines"),
        ({"lines": {1: "x"}}, "a mapping from integers to integers for lines"),
        ({"positions": {}}, "a function for positions"),
    ],
)
def test_wrong_types_are_refused_before_there_is_an_error(arguments, message):
    with pytest.raises(TypeError, match=f"expected .*{message}"):
        GeneratedFiles().register(**{"generated": "<1>", "filename": "a.py", **arguments})


@pytest.mark.parametrize("given", [(1, 2), 5, "ab", lambda: 1 / 0, (3, 1, 0, 0), (3, 3, -4, 2), (-3, -3, 0, 0)])
def test_positions_that_give_no_place(given):
    files = GeneratedFiles()
    files.register("<1>", "a.py", positions=lambda _: given() if callable(given) else given)
    assert last(files.remap(fail("<1>"))).filename == "<1>"


def test_plain_tuples_are_places():
    files = GeneratedFiles()
    files.register("<1>", "a.py", positions=lambda _: (7, None, None, None))
    assert last(files.remap(fail("<1>")))[:2] == ("a.py", 7)


def test_a_recursion_in_long_code():
    """Each point is looked up once."""
    asked = []
    files = GeneratedFiles()
    files.register("<1>", "a.py", positions=lambda location: asked.append(location) or location)
    names = {}
    exec(compile("def f(n):\n    f(n - 1) if n else 1 / 0\n", "<1>", "exec"), names)
    with pytest.raises(ZeroDivisionError) as caught:
        names["f"](200)
    found = traceback.extract_tb(files.remap(caught.value).__traceback__)
    assert [each.filename for each in found].count("a.py") == 201
    assert len(asked) <= 4


def test_a_file_name_that_can_not_be_shown():
    with pytest.raises(xtab.XtabError, match="a file name without null characters"):
        GeneratedFiles().register("<generated>", "a\0b")
