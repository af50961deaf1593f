"""`unwrapped`, `twin`, `wrapped_again`: functions taken out of what wraps them, copied with other code, wrapped again.

Follows Objects/funcobject.c.
"""

from __future__ import annotations

from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["twin", "unwrapped", "wrapped_again"]

#: What makes a method, staticmethod or classmethod of a function.
Wrapper: TypeAlias = "Callable[[Any], Any]"


def unwrapped(function: Any) -> tuple[FunctionType, list[Wrapper]]:
    """The plain function in a method and the like, and what wraps it, outermost first.

    Raises:
        TypeError: there is no function written in Python in it. The text says what to pass instead.

    >>> plain, wrappers = unwrapped(staticmethod(unwrapped))
    >>> plain is unwrapped, len(wrappers)
    (True, 1)
    """
    wrappers: list[Wrapper] = []
    found = function
    while not isinstance(found, FunctionType):
        if isinstance(found, MethodType):
            wrappers.append(_Bound(found.__self__))
        elif isinstance(found, staticmethod | classmethod):
            wrappers.append(_Like(found))
        else:
            raise TypeError(
                "expected a function, method, staticmethod or classmethod written in Python, but found "
                f"{found!r:.80} of type {type(found).__qualname__}{_hint(found)}"
            )
        found = found.__func__
    return found, wrappers


def wrapped_again(function: FunctionType, wrappers: Sequence[Wrapper]) -> Any:
    """A function in the wrappers that :func:`unwrapped` took off another.

    >>> wrapped_again(*unwrapped(staticmethod(unwrapped))).__func__ is unwrapped
    True
    """
    found: Any = function
    for wrap in reversed(wrappers):
        found = wrap(found)
    return found


class _Like:
    """Makes a staticmethod or classmethod like another, of its class and with its attributes, for another function."""

    def __init__(self, found: staticmethod[..., Any] | classmethod[Any, ..., Any]) -> None:
        self._type = type(found)
        self._base: Any = staticmethod if isinstance(found, staticmethod) else classmethod
        plain = self._base(found.__func__)  # which copies some attributes of the function
        nothing = object()
        attributes = vars(found)
        self._own = {name: value for name, value in attributes.items() if vars(plain).get(name, nothing) is not value}

    def __call__(self, function: Callable[..., Any]) -> Any:
        made = self._base.__new__(self._type, function)  # a subclass may want more than that
        self._base.__init__(made, function)
        vars(made).update(self._own)
        return made


class _Bound:
    """Binds a function to an object."""

    def __init__(self, owner: object) -> None:
        self._owner = owner

    def __call__(self, function: Callable[..., Any]) -> MethodType:
        return MethodType(function, self._owner)


def _hint(found: object) -> str:
    if isinstance(found, CodeType):
        return ": rewrite_code takes code objects"
    if isinstance(found, type):
        return ": pass one of its methods"
    for name in ("fget", "func", "__wrapped__"):
        if hasattr(found, name):
            return f": pass its {name}"
    return ""


def twin(function: FunctionType, code: CodeType, cells: Mapping[str, Any]) -> FunctionType:
    """A function with the same everything, but for the code and the order of its cells.

    Args:
        function: what it is like; it stays as it is.
        code: what it runs.
        cells: a cell for each free variable of the code, by name.

    >>> twin(unwrapped, twin.__code__, {}).__name__
    'unwrapped'
    """
    other: Any = FunctionType(
        code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in code.co_freevars) or None,
    )
    other.__kwdefaults__ = None if function.__kwdefaults__ is None else dict(function.__kwdefaults__)
    other.__qualname__ = function.__qualname__
    other.__module__ = function.__module__
    other.__doc__ = function.__doc__
    if hasattr(function, "__type_params__"):
        other.__type_params__ = function.__type_params__
    annotate = getattr(function, "__annotate__", None)
    if annotate is not None:
        other.__annotate__ = annotate
    else:
        other.__annotations__ = dict(function.__annotations__)
    other.__dict__.update(function.__dict__)
    return other  # type: ignore[no-any-return]
