"""`hook_call`, `hook_calls`. The checks run in a process of their own, since a wrong one may crash it."""

from __future__ import annotations

import marshal
import subprocess
import sys
import types

import pytest

import xtab
from xtab.transform.emit import load_import
from xtab.transform.hook import hook_call, hook_calls

seen = []
CALLS = ("CALL", "CALL_KW", "CALL_FUNCTION_EX")


def passing(callee, args, kwargs):
    seen.append((callee, args, kwargs))
    return callee(*args, **(kwargs or {}))


def hooked(function, callback=passing):
    body = xtab.decode(function)
    count = hook_calls(body, callback)
    made = types.FunctionType(
        xtab.assemble(body), function.__globals__, "hooked", function.__defaults__, function.__closure__
    )
    return made, count


class Owner:
    def __init__(self):
        self.attribute = record

    def method(self, *args, **kwargs):
        return args, kwargs

    def again(self, *args):
        return super().__repr__


def record(*args, **kwargs):
    return args, kwargs


def positional(f):
    return f(), f(1), f(1, 2, 3)


def by_keyword(f):
    return f(1, a=2), f(b=1, a=2, c=3), f(1, 2, b=1, a=2), f(1, d=1, c=2, b=3, a=4)


def unpacked(f):
    a, b = (1, 2), {"k": 1}
    return f(*a), f(**b), f(*a, **b), f(0, *[1, 2], x=1, **b), f(*"ab", *a), f(*iter(a))


def of_global():
    return len("abc"), max(1, 2), record(1, k=2), record(*[1])


def methods(owner):
    return owner.method(1), owner.method(1, k=2), owner.attribute(1), owner.method(*[1], k=2), "a".upper()


def conditional(f, c):
    return (
        (f if c else record)(1),
        f(1 if c else 2),
        f(k=1 if c else 2),
        f(1 if c else 2, k=2),
        (f if c else record)(k=c or 2),
    )


def nested(f):
    return f(f(f(1), k=f(2)), *f(3)[0])[0][0]


def comprehensions(f):
    return (
        [f(n) for n in range(3)],
        f([f(n) for n in range(2)], k=[f(n) for n in range(2)]),
        sum(len(str(n)) for n in range(3)),
    )


def decorated(f):
    @f
    def g():
        pass

    @f
    class C:
        pass

    return g[0][0].__name__, C[0][0].__name__


def with_statements(manager):
    results = []
    for n in range(3):
        with manager as m:
            results.append(m)
            if n == 1:
                continue
            if n == 2:
                return len(results)
        len(results)
    return None


def in_handlers(f):
    try:
        f(int("x"))
    except ValueError as error:
        return f(type(error), f(1))
    finally:
        f(2)


def asserting(f):
    try:
        assert not f(1), f(2)
    except AssertionError as error:
        return error.args


def formatted(f):
    return f"{f(1)!r:>20}{f(2)}"


def generator(f):
    x = f((yield 1), k=(yield 2))
    yield f(*x)
    yield from f(3)[0]


class Manager:
    exits = 0

    def __enter__(self):
        return 5

    def __exit__(self, *exc):
        self.exits += 1


PROGRAMS = [
    (positional, (record,), 3),
    (by_keyword, (record,), 4),
    (unpacked, (record,), 7),
    (of_global, (), 4),
    (methods, (Owner(),), 5),
    (conditional, (record, True), 5),
    (conditional, (record, False), 5),
    (nested, (record,), 5),
    (decorated, (record,), None),
    (with_statements, (Manager(),), None),
    (in_handlers, (record,), None),
    (asserting, (record,), None),
    (formatted, (record,), 2),
    (comprehensions, (record,), None),
]


def check_the_result_stays():
    for function, arguments, count in PROGRAMS:
        made, found = hooked(function)
        assert count is None or found == count, (function.__name__, found)
        for _ in range(10):
            assert made(*arguments) == function(*arguments), function.__name__
        assert sys.exc_info() == (None, None, None)


def check_what_the_callback_sees():
    seen.clear()
    owner = Owner()
    hooked(methods)[0](owner)
    expected = [
        (owner.method, (1,), None),
        (owner.method, (1,), {"k": 2}),
        (record, (1,), None),
        (owner.method, (1,), {"k": 2}),
    ]
    assert seen[:-1] == expected
    assert seen[-1][0]() == "A"
    seen.clear()
    hooked(by_keyword)[0](record)
    assert seen[1:] == [
        (record, (), {"b": 1, "a": 2, "c": 3}),
        (record, (1, 2), {"b": 1, "a": 2}),
        (record, (1,), {"d": 1, "c": 2, "b": 3, "a": 4}),
    ]
    assert [list(kwargs) for _, _, kwargs in seen] == [["a"], ["b", "a", "c"], ["b", "a"], ["d", "c", "b", "a"]]
    seen.clear()
    hooked(unpacked)[0](record)
    assert [type(args) for _, args, _ in seen] == [tuple] * len(seen)
    assert next(kwargs for _, _, kwargs in seen if kwargs is not None) == {"k": 1}


def check_its_result_counts():
    made, _ = hooked(positional, lambda callee, args, kwargs: len(args))
    assert made(record) == (0, 1, 3)


def check_exceptions():
    """Of the callback: they come out at the call's line, or are caught around it."""

    def fails(callee, args, kwargs):
        raise KeyError(args)

    for function in (positional, by_keyword, unpacked, methods):
        made, _ = hooked(function, fails)
        for _ in range(10):
            with pytest.raises(KeyError) as caught:
                made(Owner() if function is methods else record)
            line = caught.traceback[-2].lineno + 1
            assert line == function.__code__.co_firstlineno + (2 if function is unpacked else 1)

    def catching(f):
        try:
            return f(1)
        except KeyError:
            return "caught"

    assert hooked(catching, fails)[0](record) == "caught"


def check_generators():
    for made in (generator, hooked(generator)[0]):
        running = made(record)
        assert [next(running), running.send("a"), running.send("b")] == [1, 2, ((("a",), {"k": "b"}), {})]
        assert list(running) == [3]
        running = made(record)
        next(running)
        running.close()


def check_coroutines():
    async def inner(x):
        return x

    async def outer(f):
        return await inner(f(await inner(1), k=await inner(2)))

    for made in (outer, hooked(outer)[0]):
        with pytest.raises(StopIteration) as caught:
            made(record).send(None)
        assert caught.value.value == ((1,), {"k": 2})


def check_super():
    class C(Owner):
        def method(self, x):
            return super().method(x, k=super().method(x))

    expected = C().method(1)
    body = xtab.decode(C.method)
    calls = [each for each in body.instructions if each.opname in CALLS]
    for call in calls[-1:]:
        hook_call(body, call, passing)
    C.method.__code__ = xtab.assemble(body)
    assert C().method(1) == expected


def check_code_that_can_be_cached():
    body = xtab.decode(of_global)
    hook_calls(body, load_import("operator", "is_not"))
    code = marshal.loads(marshal.dumps(xtab.assemble(body)))
    with pytest.raises(TypeError):
        types.FunctionType(code, globals())()


def check_hooks_once_more():
    """The hooks themselves may be hooked or left alone; the result stays."""
    for function, arguments, _ in PROGRAMS:
        body = xtab.decode(hooked(function)[0])
        hook_calls(body, passing)
        made = types.FunctionType(xtab.assemble(body), globals(), "f", None, function.__closure__)
        assert made(*arguments) == function(*arguments)


def check_references():
    def dropping(callee, args, kwargs):
        return callee(*args, **(kwargs or {}))

    made = [(hooked(function, dropping)[0], arguments) for function, arguments, _ in PROGRAMS[:8]]
    for function, arguments in made:
        function(*arguments)
    watched = [
        record,
        dropping,
        *(function.__code__ for function, _ in made),
        *(each for _, given in made for each in given),
    ]
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(300):
        for function, arguments in made:
            function(*arguments)
    after = [sys.getrefcount(each) for each in watched]
    assert [b for b, each in zip(before, watched) if not isinstance(each, bool)] == [
        a for a, each in zip(after, watched) if not isinstance(each, bool)
    ]


def test_calls_of_with_statements_are_refused():
    """They don't show in the source, and their callee is put in place by other means."""
    body = xtab.decode(with_statements)
    calls = [each for each in body.instructions if each.opname in CALLS]
    refused = 0
    for call in calls:
        try:
            hook_call(body, call, passing)
        except xtab.XtabError as error:
            refused += 1
            assert type(error).__name__ == "EditError"
            assert error.instruction is call
    assert len(calls) - refused == 4  # range, append, len, len
    assert refused >= 3


def test_what_is_no_call_is_refused():
    body = xtab.decode(positional)
    with pytest.raises(xtab.XtabError, match="expected a call of this body"):
        hook_call(body, body.instructions[0], passing)
    with pytest.raises(xtab.XtabError, match="expected a call of this body"):
        hook_call(body, xtab.Instruction("CALL", 0), passing)


def test_all_checks_in_a_process_of_their_own():
    done = subprocess.run([sys.executable, "-Xfaulthandler", __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    for name in sys.argv[1:] or [name for name in dir() if name.startswith(("check_", "test_calls", "test_what"))]:
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        globals()[name]()
