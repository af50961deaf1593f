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


@pytest.mark.parametrize("by", [1, 255, 256, 100_000])
def test_a_class_with_many_constants(by):
    """Another EXTENDED_ARG makes the code longer, and so its location table."""
    body = "".join(f"  x{number} = {number + 1000}\n" for number in range(400))
    code = compile(f"class C:\n{body}  def f(self): pass\n", "here.py", "exec")
    there = relocate(code, lines=by, columns=4)
    assert [problem for each in code_objects(there) for problem in xtab.verify(each)] == []
    for each, before in zip(code_objects(there), code_objects(code), strict=True):
        assert len(list(each.co_positions())) == len(each.co_code) // 2
        assert len(each.co_consts) <= len(before.co_consts) + 1
    back = relocate(there, lines=-by, columns=-4)
    assert [each.co_code for each in code_objects(back)] == [each.co_code for each in code_objects(code)]
    assert back == code


def test_broken_code_stays_broken():
    """Operands that name nothing are not looked up; telling of them is the verifier's."""
    code = compile("def f(): pass\nclass C:\n  def g(self): pass\n  x = 1\n", "here.py", "exec")
    for each in code_objects(code):
        inner = tuple(item for item in each.co_consts if hasattr(item, "co_code"))
        for broken in (each.replace(co_consts=inner), each.replace(co_consts=()), each.replace(co_names=())):
            there = relocate(broken, lines=1, qualname="other", positions=lambda location: location)
            assert there.co_firstlineno == each.co_firstlineno + 1
