"""`template`. The checks run in a process of their own, since a wrong one may crash it."""

from __future__ import annotations

import gc
import marshal
import subprocess
import sys
import types
import weakref

import pytest

import xtab
from xtab.transform import emit
from xtab.transform.template import Local, template

COUNT = 3


def host(x, y=2):
    return x


def made_of(function, how="return", like=host, options=None, **bindings):
    """Return a function that runs a template: and returns its result, drops it, or adds it to values on the stack."""
    body = xtab.decode(like)
    anchor = body.instructions[-1]
    if anchor.opname != "RETURN_VALUE":
        raise AssertionError(anchor)
    result = "drop" if how == "drop" else "keep"
    code = template(function, **bindings).instructions(body, result=result, **(options or {}))
    if how == "return":
        code = [*emit.pop(), *code]
    elif how == "on a stack":  # three values below it, one of them NULL
        code = [*emit.pop(), *emit.call(emit.load_const(pair), emit.load_const("a"), code)]
    body.insert_before(anchor, code)
    names = {"pair": pair, "COUNT": "of the host"}
    return types.FunctionType(xtab.assemble(body), names, "made", like.__defaults__, like.__closure__)


def pair(a, b):
    return a, b


def helper(value):
    return value * 10


def plain(a, b=5):
    return helper(a) + b + COUNT


def returns(a):
    if a == 0:
        return "none"
    for each in range(10):
        if each == a:
            return each
        for inner in range(3):
            if inner + each == a * 2:
                return inner
    return None


def handlers(a):
    try:
        try:
            if a == 1:
                raise KeyError(a)
            if a == 2:
                return 1 / 0
            return "fine"
        except KeyError as error:
            return repr(error), sys.exc_info()[0]
        finally:
            helper(a)
    except ZeroDivisionError:
        try:
            return int("x")
        except ValueError as error:
            return type(error.__context__)


class Manager:
    seen = []  # noqa: RUF012

    def __enter__(self):
        self.seen.append("in")
        return self

    def __exit__(self, *exc):
        self.seen.append("out")
        return exc[0] is KeyError


def with_statement(a):
    with Manager() as m, Manager():
        if a:
            raise KeyError(a)
        return m is not None
    return "suppressed"


def comprehensions(a):
    found = [each + b for each in range(a) for b in (1, 2) if each != b]
    return found, {each: each for each in found}, sum(each for each in found), [lambda: each for each in found]


def closures(a):
    total = 0

    def add(by):
        nonlocal total
        total += by * COUNT
        return helper(total)

    class Inner:
        size = COUNT
        also = size + a

        def method(self):
            return add(self.also)

    def later(x=a, *, y=a):
        return [add(n) for n in range(x)] + [y]

    return Inner().method(), later(), total, max([1, 2], key=lambda n: n * a)


def unbound(a):
    if a:
        x = 1
    return x


def imports(a):
    import os.path  # noqa: PLC0415
    from collections import OrderedDict as D  # noqa: PLC0415

    return os.path.basename("a/b"), D([(a, a)])


def sets(a):
    a = a + 1
    del a
    a = [1]
    a += [2]
    return a


def formats(a):
    match a:
        case [x, *rest]:
            return f"{x!r:>5}{rest}"
        case {"k": value}:
            return value
        case _:
            return (a is None and "None") or a


PROGRAMS = {
    plain: [1, 2.5],
    returns: [0, 1, 3, 20],
    handlers: [0, 1, 2],
    with_statement: [0, 1],
    closures: [2, 3],
    imports: [1],
    sets: [1],
    formats: [[1, 2, 3], {"k": 4}, None, 7],
}


def check_all_programs():
    for function, values in PROGRAMS.items():
        for value in values:
            want = function(value)
            as_constant = made_of(function, a=value)
            as_local = made_of(function, a=Local("x"))
            as_operand = made_of(function, a=emit.load_local("x"))
            on_a_stack = made_of(function, "on a stack", a=Local("x"))
            for _ in range(10):
                assert as_constant(None) == as_local(value) == as_operand(value) == want, function
                assert on_a_stack(value) == ("a", want)
            assert made_of(function, "drop", a=emit.load_const(value))(value) is value or function is sets
            assert sys.exc_info() == (None, None, None)


def check_comprehensions():
    for a in (Local("x"), emit.load_local("x"), 3):
        found = made_of(comprehensions, a=a)(3)
        want = comprehensions(3)
        assert found[:3] == want[:3]
        assert [each() for each in found[3]] == [each() for each in want[3]]


def check_unbound_locals():
    made = made_of(unbound, a=Local("x"))
    assert made(1) == 1
    with pytest.raises(UnboundLocalError):
        made(0)


def check_a_local_may_be_set():
    def double(v):
        v = v * 2

    assert made_of(double, "drop", like=host, v=Local("x"))(4) == 4  # it was loaded already
    body = xtab.decode(host)
    body.insert_after(body.instructions[0], template(double, v=Local("x")).instructions(body, result="drop"))
    assert types.FunctionType(xtab.assemble(body), {})(4, 0) == 8


def check_cells_of_the_target():
    def outer():
        free = 5

        def with_cells(x):
            return lambda: (x, free)

        return with_cells

    def reads_and_sets(a, b):
        a = a + b
        return a

    like = outer()
    body = xtab.decode(like)
    resume = next(each for each in body.instructions if each.opname == "RESUME")
    code = template(reads_and_sets, a=Local("x"), b=Local("free")).instructions(body, result="drop")
    body.insert_after(resume, code)
    like.__code__ = xtab.assemble(body)
    assert like(1)() == (6, 5)


def check_cells_are_new_each_time():
    def keep(functions, value):
        functions.append(lambda: value)

    def loop(values):
        for each in values:
            values.__len__()
        return values

    functions = []
    body = xtab.decode(loop)
    store = next(each for each in body.instructions if each.opname == "STORE_FAST" and each.operand == "each")
    body.insert_after(store, template(keep, functions=functions, value=Local("each")).instructions(body, result="drop"))
    loop.__code__ = xtab.assemble(body)
    loop([1, 2, 3])
    assert [each() for each in functions] == [1, 2, 3]


def check_outer_variables():
    limit, total = 3, 0

    def check(a):
        nonlocal total
        total += a
        return limit, total, lambda: (limit, total)

    made = made_of(check, a=Local("x"))
    assert made(2)[:2] == (3, 2)
    assert made(2)[2]() == (3, 4)
    assert total == 4
    limit = 4
    assert made(1)[:2] == (3, 5)


def check_in_generators_and_modules():
    def generator(x):
        yield x
        yield x + 1

    body = xtab.decode(generator)
    for each in [each for each in body.instructions if each.opname == "YIELD_VALUE"]:
        code = template(handlers, a=1).instructions(body, result="drop")
        body.insert_before(each, code)
    generator.__code__ = xtab.assemble(body)
    assert list(generator(1)) == [1, 2]

    body = xtab.decode(compile("y = 1\nz = y", "made", "exec"))
    load = next(each for each in body.instructions if each.opname == "LOAD_NAME")
    code = template(closures, a=Local("y")).instructions(body)
    body.insert_before(load, [*code, *emit.store_name("w")])
    names = {}
    exec(xtab.assemble(body), names)
    assert names["w"] == closures(1)
    assert names["z"] == 1


def check_twice_in_a_body():
    body = xtab.decode(host)
    for _ in range(3):
        code = template(closures, a=Local("x")).instructions(body, result="drop")
        body.insert_before(body.instructions[-1], code)
    assert types.FunctionType(xtab.assemble(body), {})(2, 0) == 2


def check_names_looked_up():
    """The globals are those of the body, and the code can be written to disk."""

    def uses(a):
        total = COUNT

        def inner():
            return total, a

        return inner()

    made = made_of(uses, a=Local("x"), options={"names": "lookup"})
    made.__code__ = marshal.loads(marshal.dumps(made.__code__))
    assert made(1) == ("of the host", 1)


def check_nothing_is_kept_alive():
    class Thing:
        pass

    def keeps(a):
        b = a
        (lambda: (a, b)).__name__
        if a.fails:
            raise KeyError(a)
        return None

    def like(x):
        try:
            done = None
            return locals()
        except KeyError:
            x = None
            return locals()

    body = xtab.decode(like)
    store = next(each for each in body.instructions if each.opname == "STORE_FAST" and each.operand == "done")
    body.insert_after(store, template(keeps, a=Local("x")).instructions(body, result="drop"))
    like.__code__ = xtab.assemble(body)
    for fails in (False, True):
        thing = Thing()
        thing.fails = fails
        assert like(thing).keys() <= {"x", "done"}
        alive = weakref.ref(thing)
        del thing
        gc.collect()
        assert alive() is None


def check_references():
    made = [made_of(function, a=Local("x")) for function in PROGRAMS]
    value = 3
    for each in made[:-1]:
        each(value)
    watched = [helper, Manager, *(each.__code__ for each in made)]
    before = [sys.getrefcount(each) for each in watched]
    Manager.seen.clear()
    for _ in range(1000):
        for each in made[:-1]:
            each(value)
    Manager.seen.clear()
    gc.collect()
    assert [sys.getrefcount(each) for each in watched] == before


def check_locations():
    for locations, lines in (
        ("anchor", {host.__code__.co_firstlineno + 1}),
        ("template", range(*[plain.__code__.co_firstlineno, plain.__code__.co_firstlineno + 3])),
    ):
        body = xtab.decode(host)
        code = template(plain, a=Local("x")).instructions(body, result="drop", locations=locations)
        body.insert_before(body.instructions[-1], code)
        assert {each.location.line for each in code[:-1] if each.location} & set(lines)
        if locations == "anchor":
            assert {each.location.line for each in code} == lines


def check_errors_of_a_template():
    """They come through, and the handler of the body around it gets them."""

    def fails(a):
        b = a
        raise KeyError(b)

    def like(x):
        try:
            done = 1
        except KeyError as error:
            return error.args, error.__context__
        return done

    body = xtab.decode(like)
    store = next(each for each in body.instructions if each.opname == "STORE_FAST" and each.operand == "done")
    load = [*emit.load_global("len"), *emit.pop()]  # so that the compiler's range is not the only thing there
    body.insert_before(store, [*load, *template(fails, a=Local("x")).instructions(body, result="drop")])
    body.protect(
        body.instructions[body.instructions.index(load[0])],
        store,
        next(each for each in body.instructions if each.opname == "PUSH_EXC_INFO"),
    ) if not any(each.exn_tab_entry for each in load) else None
    like.__code__ = xtab.assemble(body)
    assert like(7) == ((7,), None)
    assert sys.exc_info() == (None, None, None)


def generator_function(a):
    yield a


async def coroutine_function(a):
    pass


def takes_more(*a):
    pass


def takes_names(**a):
    pass


def sets_global(a):
    global COUNT
    COUNT = a


def reads_nothing(a):
    return not_defined_anywhere  # noqa: F821


@pytest.mark.parametrize("function", [generator_function, coroutine_function, takes_more, takes_names, len, 5])
def test_what_is_no_plain_function_is_refused(function):
    with pytest.raises(xtab.XtabError, match="expected a"):
        template(function, a=1)


@pytest.mark.parametrize(
    "function, bindings, words",
    [
        (plain, {}, "none for 'a'"),
        (plain, {"a": 1, "c": 2}, "found 'c'"),
        (sets_global, {"a": 1}, "STORE_GLOBAL"),
        (reads_nothing, {"a": 1}, "not_defined_anywhere"),
        (plain, {"a": Local("z")}, "found 'z'"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_cannot_be_bound_is_refused(function, bindings, words):
    with pytest.raises(xtab.XtabError, match=words):
        template(function, **bindings).instructions(xtab.decode(host))


@pytest.mark.parametrize("wrong", [{"result": "all"}, {"names": None}, {"locations": 3}], ids=str)
def test_words_that_are_not_known_are_refused(wrong):
    with pytest.raises(xtab.XtabError, match="expected '"):
        template(plain, a=1).instructions(xtab.decode(host), **wrong)


def test_outer_variables_cannot_be_looked_up():
    value = 1
    with pytest.raises(xtab.XtabError, match="outer variable 'value'"):
        template(lambda: value).instructions(xtab.decode(host), names="lookup")


def test_all_checks_in_a_process_of_their_own():
    done = subprocess.run([sys.executable, "-Xfaulthandler", __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    for name in sys.argv[1:] or [name for name in dir() if name.startswith("check_")]:
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        globals()[name]()
