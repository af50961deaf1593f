"""Entries of tracebacks that show another place: what they show, and what the frames have."""

from __future__ import annotations

import gc
import inspect
import sys
import traceback

import pytest

from xtab.format.locations import Location
from xtab.runtime.stand_in import Place, stand_in
from xtab.transform.origins import origin_of

HERE = Place("user.py", 30, "forward", "Model.forward", Location(33, 34, 4, 9))


def entry_of(function, *args, **keywords):
    with pytest.raises(ZeroDivisionError) as caught:
        function(*args, **keywords)
    entry = caught.value.__traceback__
    while entry.tb_next:
        entry = entry.tb_next
    return entry


def example(a, *rest, key=None, **more):
    local, cell = [a], 3  # noqa: F841 (the frame has it)
    [cell for _ in ()]
    return (lambda: cell) and a / 0


def test_what_it_shows():
    real = entry_of(example, 1)
    entry = stand_in(real, HERE)
    frame, code = entry.tb_frame, entry.tb_frame.f_code
    assert (code.co_filename, code.co_firstlineno, code.co_name, code.co_qualname) == HERE[:4]
    assert entry.tb_lineno == frame.f_lineno == 33
    assert entry.tb_next is None
    assert frame.f_back is None
    assert frame.f_globals is real.tb_frame.f_globals
    assert inspect.getframeinfo(entry).positions == (33, 34, 4, 9)
    (summary,) = traceback.extract_tb(entry)
    assert (summary.lineno, summary.end_lineno, summary.colno, summary.end_colno) == (33, 34, 4, 9)
    assert origin_of(entry)[:3] == (__file__, example.__code__.co_firstlineno, "example")


def test_variables():
    entry = stand_in(real := entry_of(example, 1, 2, key=3, other=4), HERE)
    assert dict(entry.tb_frame.f_locals) == dict(real.tb_frame.f_locals)
    assert set(entry.tb_frame.f_locals) == {"a", "rest", "key", "more", "local", "cell"}
    assert list(inspect.getargvalues(entry.tb_frame).args) == ["a", "key", "rest", "more"]
    gc.collect()
    assert entry.tb_frame.f_locals["a"] == 1, "the frame outlives what it belongs to"
    traceback.clear_frames(entry)
    assert entry.tb_lineno == 33


def test_an_argument_that_was_deleted():
    def function(a, b):
        del a
        return b / 0

    entry = stand_in(entry_of(function, 1, 2), HERE)
    assert dict(entry.tb_frame.f_locals) == {"b": 2}


def test_many_variables():
    names = [f"v{number}" for number in range(400)]
    names = {"f": None} | dict.fromkeys(names)
    exec("def f():\n" + "".join(f"    {name} = '{name}'\n" for name in list(names)[1:]) + "    return 1 / 0\n", names)
    found = stand_in(entry_of(names["f"]), HERE).tb_frame.f_locals
    assert len(found) == 400
    assert found["v399"] == "v399"


def test_comprehensions_classes_and_modules():
    assert stand_in(entry_of(lambda: sum(1 / i for i in [0])), HERE).tb_frame.f_locals["i"] == 0
    text = "class K:\n    x = 1\n    y = x / 0\n"
    found = stand_in(entry_of(exec, text), HERE).tb_frame.f_locals
    assert found["x"] == 1
    real = entry_of(exec, "x = 0\nx / x", {"__name__": "m"})
    entry = stand_in(real, HERE)
    assert entry.tb_frame.f_globals["x"] == 0
    assert not entry.tb_frame.f_locals


def test_no_columns_and_odd_columns():
    for location in (Location(5, 5, None, None), Location(5, 5, 0, 0), Location(5, 900, 300, 2)):
        entry = stand_in(entry_of(example, 1), HERE._replace(location=location))
        assert next(iter(inspect.getframeinfo(entry).positions)) == 5


def test_nothing_of_it_runs():
    seen = []
    real = entry_of(example, 1)
    stand_in(real, HERE)  # what it imports and keeps is there
    old = sys.gettrace()
    sys.settrace(lambda frame, event, arg: seen.append(frame.f_code.co_filename))
    try:
        entry = stand_in(real, HERE)
    finally:
        sys.settrace(old)
    assert seen
    # up to 3.12 Python closes a generator that was never started as it does others
    assert sys.version_info < (3, 13) or "user.py" not in seen
    assert entry.tb_lineno == 33


class Strange(dict):
    def keys(self):
        raise RuntimeError


@pytest.mark.parametrize("made", [{1: 2, (3,): 4, "ok": 5}, Strange(ok=5)])
def test_class_bodies_with_strange_namespaces(made):
    class Meta(type):
        @classmethod
        def __prepare__(cls, *_):
            return made

    code = compile("class C(metaclass=Meta):\n    x = 1 / 0\n", "here.py", "exec")
    real = entry_of(exec, code, {"Meta": Meta})
    assert real.tb_frame.f_code.co_name == "C"
    entry = stand_in(real, HERE)
    assert (entry.tb_lineno, entry.tb_frame.f_code.co_filename) == (33, "user.py")
    assert set(entry.tb_frame.f_locals) <= {"ok", "__module__", "__qualname__", "__firstlineno__"}
