"""`emit`: sequences that run on every version. The checks run in a process of their own: a wrong one may crash it."""

from __future__ import annotations

import marshal
import subprocess
import sys

import pytest

import xtab
from xtab.transform import emit


def function_of(instructions, like=lambda x=None: None, **changes):
    """Return a function that returns what the instructions leave on the stack."""
    body = xtab.decode(like)
    resume = next(each for each in body.instructions if each.opname == "RESUME")
    body.instructions[body.instructions.index(resume) + 1 :] = emit.return_(instructions)
    return type(like)(xtab.assemble(body), like.__globals__, "made", like.__defaults__, like.__closure__)


def consts(values):
    return [emit.load_const(value) for value in values]


def record(*args, **kwargs):
    return args, list(kwargs.items())


class Owner:
    def __init__(self):
        self.attribute = record

    def method(self, *args, **kwargs):
        return (self, *args), list(kwargs.items())

    @classmethod
    def on_class(cls, *args, **kwargs):
        return (cls, *args), list(kwargs.items())

    @staticmethod
    def static(*args, **kwargs):
        return args, list(kwargs.items())


SHAPES = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (0, 3), (3, 2), (31, 4), (255, 0), (254, 2), (300, 0), (0, 300)]
RUNS = 20  # the interpreter specialises after a few


def check_call_of_every_shape():
    for positional, named in SHAPES:
        names = [f"k{number}" for number in range(named)]
        expected = tuple(range(positional)), [(name, number) for number, name in enumerate(names)]
        keywords = dict(zip(names, consts(range(named)), strict=True))
        made = function_of(emit.call(emit.load_const(record), *consts(range(positional)), keywords=keywords))
        for _ in range(RUNS):
            assert made() == expected


def check_call_of_many_callables():
    """Functions, builtins, classes, bound methods, objects with __call__: each has its own path in the interpreter."""

    class Called:
        def __call__(self, *args, **kwargs):
            return args, list(kwargs.items())

    def exact(a, b):
        return (a, b), []

    owner = Owner()
    for callee in (record, Called(), Owner.static, exact, lambda a, b: ((a, b), [])):
        made = function_of(emit.call(emit.load_const(callee), *consts([1, 2])))
        assert [made() for _ in range(RUNS)] == [((1, 2), [])] * RUNS
    made = function_of(emit.call(emit.load_const(owner.method), *consts([1])))
    assert [made() for _ in range(RUNS)] == [((owner, 1), [])] * RUNS
    for callee, values in (
        (len, ["abc"]),
        (max, [1, 3]),
        (int, ["3", 10]),
        (str, [3]),
        (tuple, ["ab"]),
        (isinstance, [1, int]),
        (dict, []),
    ):
        made = function_of(emit.call(emit.load_const(callee), *consts(values)))
        assert [made() for _ in range(RUNS)] == [callee(*values)] * RUNS


def check_star_arguments():
    for positional, named in ((0, 0), (2, 0), (0, 2), (3, 3)):
        for star in (None, (), (7, 8), [7, 8], "ab", {7: 8}.keys()):
            for double_star in (None, {}, {"y": 1, "z": 2}):
                made = function_of(
                    emit.call(
                        emit.load_const(record),
                        *consts(range(positional)),
                        keywords={f"k{n}": emit.load_const(n) for n in range(named)},
                        star=None if star is None else emit.load_const(star),
                        double_star=None if double_star is None else emit.load_const(double_star),
                    )
                )
                expected = record(
                    *range(positional), *(star or ()), **{f"k{n}": n for n in range(named)}, **(double_star or {})
                )
                assert made() == made() == expected, (positional, named, star, double_star)


def check_errors_of_star_arguments():
    """The messages name the callable, as those of compiled code do."""
    for wrong, words in (
        ({"star": 3}, "after \\*"),
        ({"double_star": 3}, "after \\*\\*"),
        ({"double_star": {"k": 1}}, "multiple values"),
    ):
        parts = {name: emit.load_const(value) for name, value in wrong.items()}
        made = function_of(emit.call(emit.load_const(record), keywords={"k": emit.load_const(1)}, **parts))
        for _ in range(3):
            with pytest.raises(TypeError, match=words):
                made()


def check_call_method():
    owner = Owner()
    for name, expected in (("method", (owner,)), ("on_class", (Owner,)), ("static", ()), ("attribute", ())):
        for positional, named in SHAPES:
            names = [f"k{number}" for number in range(named)]
            made = function_of(
                emit.call_method(
                    emit.load_local("x"),
                    name,
                    *consts(range(positional)),
                    keywords=dict(zip(names, consts(range(named)), strict=True)),
                )
            )
            result = (*expected, *range(positional)), [(name, number) for number, name in enumerate(names)]
            for _ in range(RUNS):
                assert made(owner) == result
        made = function_of(
            emit.call_method(
                emit.load_local("x"), name, star=emit.load_const((1,)), double_star=emit.load_const({"k": 2})
            )
        )
        assert made(owner) == ((*expected, 1), [("k", 2)])


def check_call_on_stack():
    for positional, named in SHAPES:
        names = [f"k{number}" for number in range(named)]
        values = [each for value in consts([*range(positional), *range(named)]) for each in value]
        for callee in (record, Owner.static):
            made = function_of(emit.load_const(callee) + values + emit.call_on_stack(positional + named, names))
            expected = tuple(range(positional)), [(name, number) for number, name in enumerate(names)]
            for _ in range(RUNS):
                assert made() == expected
            values = [each for value in consts([*range(positional), *range(named)]) for each in value]


def check_nested_calls():
    inner = emit.call(emit.load_const(record), emit.call(emit.load_const(len), emit.load_const("ab")))
    made = function_of(
        emit.call(emit.load_const(record), inner, emit.load_local("x"), keywords={"k": emit.load_local("x")})
    )
    assert made(5) == ((((2,), []), 5), [("k", 5)])


def check_exceptions_of_a_callee():
    """They come out, from 3.13 on too, where the unit before the call counts; and inside a handler they are caught."""

    def fails(*args, **kwargs):
        raise KeyError(args)

    for made in (
        function_of(emit.call(emit.load_const(fails))),
        function_of(emit.call(emit.load_const(fails), star=emit.load_const([1]))),
        function_of(emit.call(emit.load_const(fails), keywords={"k": emit.load_const(1)})),
    ):
        for _ in range(20):
            with pytest.raises(KeyError):
                made()
            assert sys.exc_info() == (None, None, None)


def check_loads_and_stores():
    made = function_of([*emit.load_const(4), *emit.store_local("x"), *emit.load_local("x")])
    assert made() == 4
    made = function_of([*emit.delete_local("x"), *emit.load_local("x", check=True)])
    with pytest.raises(UnboundLocalError):
        made(1)
    made = function_of([*emit.load_const(4), *emit.store_global("stored"), *emit.load_global("stored")])
    assert made() == 4 == globals()["stored"]
    function_of([*emit.delete_global("stored"), *emit.load_const(None)])()
    assert "stored" not in globals()
    owner = Owner()
    made = function_of(
        [*emit.load_const(4), *emit.store_attr(emit.load_local("x"), "y"), *emit.load_attr(emit.load_local("x"), "y")]
    )
    assert made(owner) == 4 == owner.y
    function_of([*emit.delete_attr(emit.load_local("x"), "y"), *emit.load_const(None)])(owner)
    assert not hasattr(owner, "y")
    assert function_of([*emit.load_local("x"), *emit.duplicate(), xtab.Instruction("BUILD_TUPLE", 2)])(1) == (1, 1)
    assert function_of([*emit.load_const(1), *consts([2, 3])[0], *consts([3])[0], *emit.pop(2)])() == 1
    with pytest.raises(ZeroDivisionError, match="text"):
        function_of(emit.raise_(emit.load_const(ZeroDivisionError("text"))))()
    assert function_of([*emit.load_const([1, 2]), *emit.tuple_from_iterable()])() == (1, 2)


def check_cells():
    def outer():
        x = 1

        def like():
            return x

        return like, lambda: x

    like, seen = outer()
    assert function_of(emit.load_free("x"), like)() == 1
    assert function_of([*emit.load_const(2), *emit.store_free("x"), *emit.load_free("x")], like)() == 2 == seen()
    with pytest.raises(NameError):
        function_of([*emit.delete_free("x"), *emit.load_free("x")], like)()

    def with_cell(x):
        return lambda: x

    assert function_of(emit.load_cell("x"), with_cell)(3) == 3
    assert function_of([*emit.load_const(2), *emit.store_cell("x"), *emit.load_cell("x")], with_cell)(3) == 2
    with pytest.raises(NameError):
        function_of([*emit.delete_cell("x"), *emit.load_cell("x")], with_cell)(3)


def check_names():
    """Of a module's body."""
    body = xtab.decode(compile("y = 1", "made", "exec"))
    end = body.instructions[-1]
    new = [
        *emit.load_const(4),
        *emit.store_name("x"),
        *emit.delete_name("y"),
        *emit.load_name("x"),
        *emit.store_name("z"),
    ]
    body.insert_before(body.instructions[-2] if end.opname == "RETURN_VALUE" else end, new)
    names = {}
    exec(xtab.assemble(body), names)
    assert (names["x"], names["z"]) == (4, 4)
    assert "y" not in names


def check_import():
    """The code can be written to disk and read again."""
    made = function_of(emit.call(emit.load_import("os.path", "join"), *consts(["a", "b"])))
    made.__code__ = marshal.loads(marshal.dumps(made.__code__))
    assert made().replace("\\", "/") == "a/b"
    with pytest.raises(ImportError):
        function_of(emit.load_import("os.path", "nothing"))()


def check_jump_if():
    for condition in (True, False):
        for exact in (True, False):
            end = xtab.Instruction("LOAD_LOCAL" if False else "LOAD_CONST", "jumped")
            made = function_of(
                [
                    *emit.load_local("x"),
                    *emit.jump_if(condition, end, exact=exact),
                    *emit.return_(emit.load_const("not")),
                    end,
                ]
            )
            for value in (True, False) if exact else (True, False, [], [1], 0, 5):
                assert made(value) == ("jumped" if bool(value) is condition else "not")


def check_references():
    """Nothing is kept alive, nothing is freed too early."""
    marker, owner = object(), Owner()
    made = [
        function_of(emit.call(emit.load_const(record), emit.load_local("x"), keywords={"k": emit.load_local("x")})),
        function_of(
            emit.call(emit.load_const(record), star=[*emit.load_local("x"), xtab.Instruction("BUILD_LIST", 1)])
        ),
        function_of(emit.load_const(record) + emit.load_local("x") + emit.call_on_stack(1)),
        function_of(emit.load_const(record) + emit.load_local("x") + emit.call_on_stack(1, ["k"])),
        function_of(emit.call_method(emit.load_const(owner), "method", emit.load_local("x"))),
        function_of(emit.load_import("os.path", "join")),
    ]
    for each in made:
        each(marker)
    watched = [marker, owner, record, *(each.__code__ for each in made)]
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(1000):
        for each in made:
            each(marker)
    assert [sys.getrefcount(each) for each in watched] == before


@pytest.mark.parametrize("count, names", [(0, ("k",)), (-1, ()), (2, ("a", "b", "c"))])
def test_call_on_stack_refuses_more_names_than_arguments(count, names):
    with pytest.raises(xtab.XtabError, match="expected how many there are" if count < 0 else "expected at most"):
        emit.call_on_stack(count, names)


def test_all_checks_in_a_process_of_their_own():
    done = subprocess.run([sys.executable, "-Xfaulthandler", __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    for name in sys.argv[1:] or [name for name in dir() if name.startswith("check_")]:
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        globals()[name]()
