"""Class bodies say the right name and line of their class, and there and back gives the same bytes."""

from __future__ import annotations

import inspect
import linecache
import sys
import types

import pytest

import xtab
from xtab.format.code import code_objects
from xtab.transform.class_prologue import with_class_facts
from xtab.transform.relocate import relocate

SAYS_LINES = hasattr(type("C", (), {}), "__firstlineno__") or sys.version_info >= (3, 13)


def body_of(text):
    code = compile(text, "x.py", "exec", dont_inherit=True)
    return next(each for each in code_objects(code) if each.co_name == "C")


def facts(code):
    """What the class body stores when it runs."""
    names = {}
    exec(code, {"__name__": "m"}, names)
    return names["__qualname__"], names.get("__firstlineno__")


def lines(first, *statements):
    return "\n" * (first - 1) + "class C:\n" + "".join(f"    {each}\n" for each in statements or ["pass"])


MANY = [f"x{number} = {number}.5" for number in range(300)]
SHAPES = {
    "plain": lines(7),
    "large line": lines(1007),
    "line used too": lines(7, "x = 7", "y = 1007"),
    "large line used too": lines(1007, "x = 1007", "y = 2007"),
    "line that is a constant": lines(7, "x = 1007", "def f(self): pass"),
    "line at the end": lines(300, "x = 1.5", "y = 300"),
    "many constants": lines(7, *MANY),
    "many constants, line among them": lines(1007, *MANY, "x = 1007"),
    "docstring and more": lines(7, "'doc'", "def f(self): return __class__", "x: int = 3"),
    "name used too": lines(7, "x = 'C'"),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("by", [1, 100, 1000, 100_000])
def test_lines(shape, by):
    code = body_of(SHAPES[shape])
    first = code.co_firstlineno
    new = relocate(code, lines=by)
    assert facts(new) == ("C", first + by if SAYS_LINES else None)
    assert [problem for problem in xtab.verify(new) if problem.severity == "error"] == []
    back = relocate(new, lines=-by)
    assert facts(back) == facts(code)
    if shape not in ("many constants", "many constants, line among them"):
        assert back.co_code == code.co_code
        assert [(type(each), each) for each in back.co_consts] == [(type(each), each) for each in code.co_consts]


@pytest.mark.parametrize("shape", SHAPES)
def test_names(shape):
    code = body_of(SHAPES[shape])
    new = relocate(code, qualname="outer.<locals>.Other")
    assert facts(new)[0] == "outer.<locals>.Other"
    assert new.co_name == "Other"
    assert facts(relocate(new, qualname="C"))[0] == "C"


def test_what_the_class_body_assigns_itself_stays():
    code = body_of("class C:\n    __qualname__ = 'D'\n    __firstlineno__ = 1\n")
    assert facts(relocate(code, lines=5, qualname="E")) == ("D", 1)


def test_a_module_that_has_such_names_stays():
    code = compile("__module__ = 1\n__qualname__ = '<module>'\n__firstlineno__ = 1\n", "x.py", "exec")
    names = {}
    exec(relocate(code, lines=5, name="other"), names)
    assert (names["__qualname__"], names["__firstlineno__"]) == ("<module>", 1)


def test_code_of_functions_stays():
    code = (lambda: 0).__code__
    assert with_class_facts(code, "x", 3) is code


def test_the_source_of_a_relocated_class(tmp_path):
    path = tmp_path / "users.py"
    text = "class C:\n    def f(self):\n        return 1\n"
    path.write_text("\n" * 400 + text)
    code = relocate(compile(text, "<generated>", "exec", dont_inherit=True), filename=str(path), lines=400)
    sys.modules["users"] = module = types.ModuleType("users")
    module.__file__ = str(path)
    try:
        exec(code, module.__dict__)
        assert inspect.getsource(module.C) == text
        assert inspect.getsourcelines(module.C)[1] == 401
    finally:
        del sys.modules["users"]
        linecache.clearcache()
