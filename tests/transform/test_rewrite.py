"""`rewrite`, `rewrite_code` and `swap_code`, on every kind of function."""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import subprocess
import sys
import textwrap
import traceback
import types
import weakref

import pytest

import xtab
from xtab.errors import RewriteError, VerificationError
from xtab.transform.rewrite import rewrite, rewrite_code, swap_code

HERE = __file__


def nothing(body):
    pass


def nops(body):
    """A NOP in front of everything: all offsets change, and nothing else."""
    body.insert_before_each({anchor: [xtab.Instruction("NOP")] for anchor in body.insertion_points()})


def tenfold(body):
    """Every 10 becomes 100."""
    for instruction in body.instructions:
        if instruction.operand == 10 and instruction.opname.startswith(("LOAD_", "RETURN_CONST")):
            instruction.operand = 100


def source(text, name="f", **names):
    """A function from source, with the globals it needs."""
    exec(compile(textwrap.dedent(text), "<sample>", "exec", dont_inherit=True), names)
    return names[name]


def plain(a, /, b=2, *rest, c=3, **more):
    """Doc."""
    return a, b, rest, c, more, 10


async def ticks(count):
    for i in range(count):
        await asyncio.sleep(0)
        yield i + 10


def closure():
    first, second = 10, 20

    def inner(x):
        nonlocal second
        second += x
        return first, second

    return inner


@pytest.mark.parametrize("transform", [nothing, nops])
@pytest.mark.parametrize("recursive", [False, True])
def test_arguments(transform, recursive):
    new = rewrite(plain, transform, recursive=recursive)
    assert new is not plain
    assert new(1) == (1, 2, (), 3, {}, 10)
    assert new(1, 5, 6, c=7, d=8) == (1, 5, (6,), 7, {"d": 8}, 10)
    assert inspect.signature(new) == inspect.signature(plain)


def test_the_transform_acts():
    assert rewrite(plain, tenfold)(1)[-1] == 100
    assert plain(1)[-1] == 10


def test_everything_else_is_kept():
    def sample(a: int = 1, *, b: str = "x") -> None:
        """Its doc."""

    sample.__module__ = "elsewhere"
    sample.__qualname__ = "Some.where"
    sample.__name__ = "renamed"
    sample.extra = [1]
    new = rewrite(sample, nops)
    for name in ("module", "qualname", "name", "doc", "defaults", "kwdefaults", "annotations"):
        name = f"__{name}__"
        assert getattr(new, name) == getattr(sample, name), name
    assert new.__globals__ is sample.__globals__
    assert new.extra is sample.extra
    new.more, new.__kwdefaults__["b"], new.__annotations__["c"] = 1, "y", int
    assert not hasattr(sample, "more")
    assert sample.__kwdefaults__ == {"b": "x"}
    assert "c" not in sample.__annotations__


def test_no_doc_stays_no_doc():
    assert rewrite(lambda: "text", nothing).__doc__ is None


@pytest.mark.skipif(not hasattr(plain, "__annotate__"), reason="annotations are evaluated at once")
def test_annotations_are_not_evaluated():
    asked = []
    f = source("def f(x: asked.append(1)): pass", asked=asked)
    new = rewrite(f, nops)
    assert asked == []
    assert new.__annotations__ == {"x": None}
    assert asked == [1]
    f.__annotations__ = {"x": str}
    assert rewrite(f, nops).__annotations__ == {"x": str}


@pytest.mark.skipif(not hasattr(plain, "__type_params__"), reason="no type parameters")
def test_type_parameters():
    f = source("def f[T: int, *Ts, **P](x: T, *y: *Ts) -> T:\n  return x, T")
    new = rewrite(f, nops)
    assert new.__type_params__ == f.__type_params__
    assert new(3) == (3, f.__type_params__[0])
    text = "class Box[T]:\n  def get[S](self, x: S) -> T: return T, S, __class__\n"
    code = compile(text, "m", "exec", dont_inherit=True)
    names = {}
    exec(rewrite_code(code, nops, recursive=True), names)
    box = names["Box"]
    assert box().get(1) == (*box.__type_params__, *box.get.__type_params__, box)
    assert box.get.__annotations__["return"] is box.__type_params__[0]


def test_cells_are_shared():
    inner = closure()
    new = rewrite(inner, nops)
    assert new(1) == (10, 21)
    assert inner(1) == (10, 22)


def turned_round():
    """Code of a function of x that reads the free variables `second` and `first`, in this order."""

    def outer():
        first = second = None
        return lambda x: (first, second, lambda: (first, second, x))

    code = outer().__code__
    (nested,) = (const for const in code.co_consts if isinstance(const, types.CodeType))
    turned = nested.replace(co_freevars=("second", "first", "x"))
    consts = tuple(turned if const is nested else const for const in code.co_consts)
    return code.replace(co_freevars=("second", "first"), co_consts=consts)


def test_cells_are_found_by_name():
    new = rewrite(closure(), lambda body: turned_round())
    assert new.__code__.co_freevars == ("second", "first")
    second, first, get = new(1)
    assert (second, first) == (20, 10)
    assert get() == (20, 10, 1)


def test_a_free_variable_may_go():
    new = rewrite(closure(), lambda body: (lambda x: x + 1).__code__)
    assert new(1) == 2
    assert new.__closure__ is None


def test_a_free_variable_that_the_closure_lacks():
    def outer():
        third = first = 1
        return (lambda x: (first, third)).__code__

    with pytest.raises(RewriteError, match=r"cells for \(first, second\), but found third") as caught:
        rewrite(closure(), lambda body: outer())
    assert (caught.value.qualname, caught.value.filename) == ("closure.<locals>.inner", HERE)
    assert caught.value.line == closure().__code__.co_firstlineno

    def lengthen(body):
        body.freevars.append("more")

    with pytest.raises(RewriteError, match="more"):
        rewrite(closure(), lengthen)


def test_a_count_of_free_variables_that_would_crash():
    code = closure().__code__
    for wrong in (code.replace(co_freevars=("first",)), code.replace(co_code=code.co_code[2:])):
        with pytest.raises((RewriteError, xtab.XtabError)):
            rewrite(closure(), lambda body, wrong=wrong: wrong)
        with pytest.raises((RewriteError, xtab.XtabError)):
            swap_code(closure(), wrong)

    def more(body):
        copy = next(i for i in body.instructions if i.opname == "COPY_FREE_VARS")
        copy.operand = 9

    with pytest.raises(RewriteError, match=r"expected COPY_FREE_VARS 2 .* but found COPY_FREE_VARS 9"):
        rewrite(closure(), more)


def test_other_arguments_are_refused():
    for other in (lambda: 0, lambda x, y: 0, lambda y: 0, lambda *x: 0, lambda *, x: 0, lambda x, /: 0):
        with pytest.raises(RewriteError, match=r"expected code that takes the arguments \(x\), but found \("):
            rewrite(lambda x: x, lambda body, other=other: other.__code__)
        with pytest.raises(RewriteError, match="arguments"):
            swap_code(lambda x: x, other.__code__)
    assert rewrite(lambda x: x, lambda body: (lambda x: 5).__code__)(1) == 5
    with pytest.raises(RewriteError, match="expected a function's code, but found the code of a module or class"):
        rewrite(lambda: 0, lambda body: compile("0", "m", "exec"))


def test_arguments_changed_on_purpose():
    def drop_keyword(body):
        body.kwonlyargcount -= 1

    def f(a, b=1, *, c):
        return a, b

    assert inspect.signature(rewrite(f, drop_keyword)).parameters.keys() == {"a", "b"}
    f.__kwdefaults__ = {"c": 1}
    with pytest.raises(RewriteError, match="expected a keyword argument 'c', for the default, but found"):
        rewrite(f, drop_keyword)

    def none(body):
        body.argcount = 0

    with pytest.raises(RewriteError, match="expected 1 positional arguments or more, for the defaults, but found"):
        rewrite(f, none)


@pytest.mark.parametrize("given", [5, "code", lambda: 0, True])
def test_what_a_transform_may_not_return(given):
    with pytest.raises(RewriteError, match="expected None, a Body or a code object from the transform, but found"):
        rewrite(plain, lambda body: given)


def test_what_can_not_be_rewritten():
    class Callable:
        def __call__(self):
            pass

    for odd in (len, int, plain.__code__, Callable(), functools.partial(plain), property(plain), None, "".join):
        with pytest.raises(TypeError, match="expected a function, method, staticmethod or classmethod"):
            rewrite(odd, nothing)
        with pytest.raises(TypeError):
            swap_code(odd, plain.__code__)
    with pytest.raises(TypeError, match="pass its fget"):
        rewrite(property(plain), nothing)
    with pytest.raises(TypeError, match="pass its func"):
        rewrite(functools.partial(plain), nothing)
    with pytest.raises(TypeError, match="expected a code object"):
        rewrite_code(plain, nothing)
    with pytest.raises(TypeError, match="expected a code object"):
        swap_code(plain, plain)


class Base:
    def who(self):
        return "base", 10


class Child(Base):
    def who(self):
        return ("child", *super().who(), __class__)

    @classmethod
    def make(cls):
        return cls, 10

    @staticmethod
    def add(x):
        return x + 10


def test_methods():
    child = Child()
    bound = rewrite(child.who, nops)
    assert isinstance(bound, types.MethodType)
    assert bound.__self__ is child
    assert bound() == child.who()
    made = rewrite(Child.make, tenfold)
    assert made() == (Child, 100)


def test_descriptors():
    new = types.new_class("New", (Child,))
    for name in ("make", "add"):
        old = inspect.getattr_static(Child, name)
        twin = rewrite(old, tenfold)
        assert type(twin) is type(old)
        setattr(new, name, twin)
    assert new.make() == (new, 100)
    assert new.add(1) == 101
    assert new().add(1) == 101


def test_generators():
    def generate(n):
        try:
            for i in range(n):
                got = yield i
                if got:
                    yield got
        finally:
            yield "last"

    for f in (generate, rewrite(generate, nops)):
        running = f(3)
        assert [next(running), running.send("x"), next(running)] == [0, "x", 1]
        with pytest.raises(KeyError):
            assert running.throw(KeyError) == "last"
            next(running)


def test_coroutines_and_async_generators():
    async def main(ticks):
        return [x async for x in ticks(3)], [y async for y in ticks(2) if y % 2]

    for recursive in (False, True):
        new_main, new_ticks = rewrite(main, nops, recursive=recursive), rewrite(ticks, nops, recursive=recursive)
        assert inspect.iscoroutinefunction(new_main)
        assert inspect.isasyncgenfunction(new_ticks)
        assert asyncio.run(new_main(new_ticks)) == ([10, 11, 12], [11])


NESTED = """
class Outer:
    number = 10
    class Inner:
        def number(self):
            return 10
    def f(self):
        def g():
            return [lambda: 10 for _ in range(2)], 10, self
        return g
values = (Outer.number, Outer.Inner().number(), [h() for h in Outer().f()()[0]])
"""


def test_recursive_goes_everywhere():
    names = {}
    exec(rewrite_code(compile(NESTED, "m", "exec", dont_inherit=True), tenfold, recursive=True), names)
    assert names["values"] == (100, 100, [100, 100])
    names = {}
    exec(rewrite_code(compile(NESTED, "m", "exec", dont_inherit=True), tenfold), names)
    assert names["values"] == (10, 10, [10, 10])


def test_inner_ones_come_first():
    seen = []
    code = compile("def f():\n def g(): pass\ndef h(): pass", "m", "exec")
    rewrite_code(code, lambda body: seen.append(body.name), recursive=True)
    assert seen == ["h", "g", "f", "<module>"]


def test_code_objects_that_are_equal_are_told_apart():
    first, second = (compile("def f(): pass", name, "exec").co_consts[0] for name in ("a.py", "b.py"))
    assert first == second
    outer = compile("f, g = 1, 2", "m", "exec")
    seen = []
    rewrite_code(outer.replace(co_consts=(first, second, 1)), lambda body: seen.append(body.filename), recursive=True)
    assert sorted(seen) == ["a.py", "b.py", "m"]


def test_a_nested_function_keeps_its_free_variables():
    def outer():
        first, second = 10, 20

        def inner(x):
            return first, second

        return inner

    def turn(body):
        return turned_round() if body.name == "inner" else None

    def lengthen(body):
        if body.name == "inner":
            body.freevars.append("third")

    assert rewrite(outer, nops, recursive=True)()(1) == (10, 20)
    assert rewrite(outer, turn, recursive=True)()(1)[:2] == (20, 10)
    with pytest.raises(RewriteError, match=r"expected no free variables but first, second, but found third"):
        rewrite(outer, lengthen, recursive=True)


def test_locations_are_kept():
    def fails(x):
        y = x
        return y / 0

    errors = []
    for f in (fails, rewrite(fails, nops)):
        with pytest.raises(ZeroDivisionError) as caught:
            f(1)
        errors.append(traceback.extract_tb(caught.value.__traceback__)[-1])
    old, new = errors
    assert (new.filename, new.lineno, new.line, new.name) == (HERE, old.lineno, "return y / 0", "fails")
    assert (new.colno, new.end_colno) == (old.colno, old.end_colno)


class Broken:
    def __call__(self, body):
        raise ValueError("no")


def fails_to_assemble(body):
    body.instructions.append(body.instructions[0])


@pytest.mark.parametrize(
    "transform, error", [(Broken(), ValueError), (fails_to_assemble, xtab.AssembleError)], ids=["raises", "assembles"]
)
def test_errors_are_noted(transform, error):
    with pytest.raises(error) as caught:
        rewrite(plain, transform)
    (note,) = caught.value.__notes__
    name = getattr(transform, "__qualname__", "Broken")
    assert note == f"in the transform {__name__}:{name}, on plain, {HERE}:{plain.__code__.co_firstlineno}"


def test_nothing_leaks():
    class Thing:
        pass

    def make():
        thing = Thing()

        def f():
            return thing

        return f, weakref.ref(thing)

    f, thing = make()
    new = rewrite(f, nops, recursive=True)
    ref, code = weakref.ref(new), weakref.ref(new.__code__)
    assert new() is f() is thing()
    counts = [sys.getrefcount(f.__code__), sys.getrefcount(f.__closure__[0])]
    for _ in range(50):
        rewrite(f, nops)
    gc.collect()
    assert [sys.getrefcount(f.__code__), sys.getrefcount(f.__closure__[0])] == counts
    del new
    gc.collect()
    assert ref() is None
    assert code() is None
    del f
    gc.collect()
    assert thing() is None


def test_swap_code():
    inner = closure()
    old = inner.__code__
    cells = inner.__closure__
    assert swap_code(inner, rewrite_code(old, nops)) is old
    assert inner(1) == (10, 21)
    assert inner.__closure__ is cells


def test_swap_code_puts_free_variables_in_order():
    inner = closure()
    swap_code(inner, turned_round())
    assert inner.__code__.co_freevars == ("first", "second")
    second, first, get = inner(1)
    assert (second, first) == (20, 10)
    assert get() == (20, 10, 1)


def test_swap_code_adds_free_variables_that_the_code_lacks():
    inner = closure()
    swap_code(inner, (lambda x: x + 1).__code__)
    assert inner(1) == 2
    assert inner.__code__.co_freevars == ("first", "second")
    with pytest.raises(RewriteError, match="expected no free variables, but found first, second"):
        swap_code(lambda x: x, closure().__code__)


def test_swap_code_of_a_method():
    class Local:
        def f(self):
            return 10

    local = Local()
    swap_code(local.f, rewrite_code(Local.f.__code__, tenfold))
    assert local.f() == 100


def test_a_running_function_goes_on_with_its_old_code():
    def f():
        swap_code(f, rewrite_code(f.__code__, tenfold))
        return 10

    def g():
        yield 10
        yield 10

    assert [f(), f()] == [10, 100]
    running = g()
    assert next(running) == 10
    swap_code(g, rewrite_code(g.__code__, tenfold))
    assert list(running) == [10]
    assert list(g()) == [100, 100]


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="no sys.monitoring")
def test_events_are_carried_over():
    monitoring = sys.monitoring

    def f(x):
        def g():
            return x

        twins = (lambda: 1), (lambda: 2)
        return g(), twins[1]()

    old = f.__code__
    nested = [const for const in old.co_consts if isinstance(const, types.CodeType)]
    seen = []
    tools = 3, 4
    for tool in tools:
        monitoring.use_tool_id(tool, f"test {tool}")
    try:
        starts, lines = monitoring.events.PY_START, monitoring.events.LINE
        monitoring.register_callback(3, starts, lambda code, offset: seen.append(code))
        monitoring.set_local_events(3, old, starts | lines)
        monitoring.set_local_events(4, nested[0], starts)
        monitoring.set_local_events(3, nested[2], starts)
        swap_code(f, rewrite_code(old, nops, recursive=True))
        new = f.__code__
        inside = [const for const in new.co_consts if isinstance(const, types.CodeType)]
        assert [monitoring.get_local_events(tool, new) for tool in tools] == [starts | lines, 0]
        assert [[monitoring.get_local_events(tool, code) for code in inside] for tool in tools] == [
            [0, 0, starts],
            [starts, 0, 0],
        ]
        assert f(5) == (5, 2)
        assert [id(code) for code in seen] == [id(new), id(inside[2])]
    finally:
        for tool in tools:
            monitoring.register_callback(tool, monitoring.events.PY_START, None)
            monitoring.free_tool_id(tool)


def test_the_standard_library_still_works():
    program = """
        import json.decoder, json.encoder, textwrap, types
        from xtab.transform.rewrite import rewrite, swap_code, rewrite_code
        classes = json.decoder.JSONDecoder, json.encoder.JSONEncoder, textwrap.TextWrapper
        for space in (json.decoder, json.encoder, *classes):
            for name, value in list(vars(space).items()):
                if isinstance(value, types.FunctionType):
                    swap_code(value, rewrite_code(value.__code__, nops, recursive=True))
        data = {"a": [1, 2.5, None, True, "x" * 3], "b": {}}
        assert json.loads(json.dumps(data, indent=1)) == data
        assert textwrap.wrap("a b c d", 3) == ["a b", "c d"]
    """
    setup = "import xtab" + textwrap.dedent(f"\n{inspect.getsource(nops)}")
    command = [sys.executable, "-c", setup + textwrap.dedent(program)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stderr == ""


def too_small_a_stack(body):
    """A transform that gives code which could crash the interpreter."""
    return xtab.assemble(body).replace(co_stacksize=0)


def test_verify_refuses_what_could_crash_before_it_runs():
    def function(x):
        return [x, x]

    code = function.__code__
    assert rewrite(function, lambda body: None, verify=True)(1) == [1, 1]
    with pytest.raises(VerificationError, match="XT403 stack-size-too-small") as caught:
        rewrite(function, too_small_a_stack, verify=True)
    assert "too_small_a_stack" in caught.value.__notes__[0]
    with pytest.raises(VerificationError, match="XT403"):
        rewrite_code(code, too_small_a_stack, verify=True)
    with pytest.raises(VerificationError, match="XT403"):
        swap_code(function, code.replace(co_stacksize=0), verify=True)
    assert function.__code__ is code
