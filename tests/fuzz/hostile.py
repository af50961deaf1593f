"""What mutants are called with, and all that they can reach: objects that answer anything, and nothing that does harm.

Everything is drawn from one `random.Random`, so a mutant and a number say what happened. No value gives the way to a
module, a file or the interpreter's own insides. Objects end what they could go on with for ever, such as iteration.
"""

from __future__ import annotations

import builtins
import gc
import sys
from types import CellType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

MOODS = ("kind", "odd", "raising")
#: the last two may not be thrown into what has not begun: debug builds abort there, whatever the code
ERRORS = (ValueError, TypeError, KeyError, AttributeError, GeneratorExit, IndexError, StopIteration, StopAsyncIteration)
BINARY = "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor".split()
METHODS = (
    *(f"__{prefix}{name}__" for name in BINARY for prefix in ("", "r", "i")),
    *"__lt__ __le__ __eq__ __ne__ __gt__ __ge__ __neg__ __pos__ __invert__ __getitem__ __setitem__ __delitem__".split(),
    *"__call__ __enter__ __exit__ __aenter__ __aexit__ __iter__ __next__ __await__ __aiter__ __anext__".split(),
    *"__contains__ __len__ __bool__ __index__ __hash__ __str__ __repr__ __format__ __getattr__ __setattr__".split(),
    *"__delattr__ __missing__ __set_name__ __get__ __reversed__ __mro_entries__ __class_getitem__ __int__".split(),
)
#: what each of these gives when the object is kind
RIGHT = {
    "__len__": int, "__bool__": bool, "__index__": int, "__hash__": int, "__str__": str, "__repr__": str,
    "__int__": int, "__format__": str, "__contains__": bool, "__exit__": bool,
}  # fmt: skip
HARMLESS = """ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup Ellipsis Exception
    ExceptionGroup False GeneratorExit IndexError KeyError KeyboardInterrupt LookupError NameError None NotImplemented
    NotImplementedError OSError OverflowError RecursionError RuntimeError StopAsyncIteration StopIteration SyntaxError
    TypeError UnboundLocalError ValueError ZeroDivisionError __build_class__ __debug__ abs all any ascii bool bytearray
    bytes callable chr classmethod complex delattr dict divmod enumerate filter float format frozenset getattr hasattr
    hash id int isinstance issubclass iter len list locals map max min next object ord pow print property range repr
    reversed round set setattr slice sorted staticmethod str sum super tuple type zip aiter anext memoryview""".split()
ALLOWED = {name: getattr(builtins, name) for name in HARMLESS}


class Thing:
    """An object whose special methods give, raise or do anything; see `_method`."""

    __match_args__ = ("x", "y")
    _rng: random.Random
    _mood: str
    _left: int

    def __init__(self, rng: random.Random, mood: str) -> None:
        object.__setattr__(self, "_rng", rng)
        object.__setattr__(self, "_mood", mood)
        object.__setattr__(self, "_left", rng.randrange(1, 12))

    def __del__(self) -> None:
        object.__setattr__(self, "_left", [None] * 3)  # what was freed too early is overwritten

    @property
    def prop(self) -> Any:
        """Runs Python code where an attribute is read."""
        return _answer(self, "prop")


class Names(Thing):
    """The same as a namespace: it has no names that no source can have."""

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, str) and name[:1] == ".":
            raise KeyError(name)
        return _answer(self, "__getitem__")


def _answer(thing: Thing, name: str) -> Any:
    """What a special method of this name gives: something right, something else, or an exception."""
    rng, mood, left = thing._rng, thing._mood, thing._left - 1
    if rng.random() < 0.03:  # in the middle of the mutant's instruction, its frame is looked at from outside
        gc.collect()
        dict(sys._getframe(2).f_locals)
    object.__setattr__(thing, "_left", left)
    if left < 0 and name in ("__next__", "__anext__", "__bool__", "__getitem__", "__len__", "__call__"):
        if name in ("__bool__", "__len__"):
            return 0 if name == "__len__" else False
        raise {"__next__": StopIteration, "__anext__": StopAsyncIteration}.get(name, IndexError)("enough")
    if mood == "raising" and rng.random() < 0.5:
        raise rng.choice(ERRORS)(name)
    if mood != "odd" or rng.random() < 0.6:
        return _right(thing, name)
    return rng.choice((thing, None, NotImplemented, 7, "text", [1, 2], (3, 4), iter([5]), True))


def _right(thing: Thing, name: str) -> Any:
    """What is expected of a special method."""
    rng = thing._rng
    if name in RIGHT:
        return {int: rng.randrange(4), bool: rng.random() < 0.5, str: "thing"}[RIGHT[name]]
    if name in ("__aenter__", "__aexit__", "__anext__"):
        return _awaitable(rng.choice((thing, False, 1)), rng.randrange(3))
    if name == "__await__":
        return iter([None] * rng.randrange(3)) if rng.random() < 0.5 else _steps(thing, rng.randrange(3))
    if name in ("__iter__", "__reversed__"):
        return rng.choice((thing, iter([1, thing]), iter((1, 2, 3)), _steps(thing, 2)))
    if name == "__mro_entries__":
        return ()
    return thing if rng.random() < 0.6 else value(rng, "kind", 1)


def _steps(thing: Any, count: int) -> Any:
    """A generator that takes what is thrown at it for granted."""
    for _ in range(count):
        try:
            yield thing
        except GeneratorExit:
            raise
        except Exception as error:
            yield error
    return thing


class _awaitable:
    """Something to await that gives a result, after some steps."""

    def __init__(self, result: Any, count: int) -> None:
        self.result, self.count = result, count

    def __await__(self) -> Any:
        for _ in range(self.count):
            yield
        return self.result


def _method(name: str) -> Any:
    def method(self: Thing, *args: Any, **kwargs: Any) -> Any:
        return _answer(self, name)

    return method


for _name in METHODS:
    setattr(Thing, _name, classmethod(lambda cls, item: cls) if _name == "__class_getitem__" else _method(_name))


class Manager:
    """A context manager, of both kinds, that suppresses or not."""

    def __init__(self, suppress: bool) -> None:
        self.suppress = suppress

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> bool:
        return self.suppress

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *exc: object) -> bool:
        return self.suppress


class Asynchronous:
    """An asynchronous iterator of a few values."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        self.count -= 1
        if self.count < 0:
            raise StopAsyncIteration
        return self.count


def value(rng: random.Random, mood: str, depth: int = 0) -> Any:
    """Some object."""

    def inner() -> Any:
        return value(rng, mood, depth + 1) if depth < 2 else rng.choice((0, 1, "a", None, 2.5, ()))

    def function(*args: Any, **kwargs: Any) -> Any:
        if mood == "raising":
            raise rng.choice(ERRORS)("called")
        return inner()

    def generator(*args: Any, **kwargs: Any) -> Any:
        yield function()
        yield from (1, 2)

    choices: tuple[Callable[[], Any], ...] = (
        lambda: Thing(rng, mood),
        lambda: Thing(rng, rng.choice(MOODS)),
        lambda: function,
        lambda: generator,
        lambda: generator(),
        lambda: rng.randrange(5),
        lambda: rng.choice((None, True, False, 2.5, "ab", b"cd", 10**30)),
        lambda: [inner() for _ in range(rng.randrange(4))],
        lambda: (inner(), inner()),
        lambda: {"k": inner(), 1: inner()},
        lambda: {1, 2, "c"},
        lambda: iter([inner(), inner()]),
        lambda: rng.choice(ERRORS)("value"),
        lambda: rng.choice(ERRORS),
        lambda: Manager(rng.random() < 0.5),
        lambda: Asynchronous(3),
        lambda: _awaitable(inner(), 2),
        lambda: range(4),
        lambda: [(1, (2, 3)), (4, (5, 6))],
        lambda: rng.choice((int, list, type, object, Thing)),
        lambda: zip("ab", "cd"),
        lambda: ExceptionGroup("group", [ValueError(1), KeyError(2)]),
        lambda: rng.choice((len, max, [].append, "".join)),
    )
    return rng.choice(choices)()


def argument(rng: random.Random, mood: str, name: str) -> Any:
    """A value for a parameter. What starts with a dot no caller can name, so its kind is trusted."""
    if name == ".0":
        return rng.choice((iter([1, 2, 3]), iter([(1, 2)]), zip("ab", [[1], [2]]), iter([value(rng, mood)]), iter(())))
    if name == ".defaults":
        return (value(rng, mood),)
    if name == ".kwdefaults":
        return {"k": value(rng, mood)}
    if name in (".format", "format"):  # of __annotate__, where the result of a comparison is taken for a bool
        return rng.randrange(5)
    return value(rng, mood)


def cell(rng: random.Random, mood: str, name: str) -> CellType:
    """A cell, seldom an empty one."""
    if name == ".type_params":
        return CellType((value(rng, mood),))
    if name == "__classdict__":  # a namespace, which gives nothing else for names that only the compiler knows
        return CellType({key: value(rng, mood) for key in ("a", "b", "T")})
    if name == "__class__":
        return CellType(rng.choice((Thing, int, value(rng, mood))))
    return CellType() if rng.random() < 0.1 else CellType(value(rng, mood))


def namespace(rng: random.Random, mood: str, names: Iterable[str]) -> dict[str, Any]:
    """Globals: a stand-in for nearly every name that isn't a harmless builtin, nor one that no source can have."""

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return Thing(rng, mood)

    found: dict[str, Any] = {"__builtins__": ALLOWED | {"__import__": stand_in, "__lazy_import__": stand_in}}
    found["__name__"] = "stand_in"
    for name in names:
        if name not in found and name[:1] != "." and rng.random() < (0.05 if name in ALLOWED else 0.9):
            found[name] = value(rng, mood)
    return found
