"""`rewrite` and `rewrite_code` run a transform over the body of a function or code object; `swap_code` gives new code.

1. With ``recursive``, code objects are taken innermost first, so that a transform finds rewritten ones among the
   constants.
2. Each is decoded and handed to the transform, which edits the body, or returns another body or a code object.
3. What comes back is assembled and must fit (`fit`): the same arguments, unless the body was edited on purpose, and no
   free variables but those that the code around it, or the closure of the function, has cells for.
4. The function gets a twin with the new code, and with everything else that it had; its cells are matched by name.

Nothing runs before all of that is done. Follows Objects/funcobject.c.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from xtab.analysis.verify import require_valid
from xtab.errors import VerificationError
from xtab.format.code import code_objects
from xtab.model.assemble import assemble
from xtab.model.body import Body
from xtab.model.decode import decode
from xtab.transform.fit import misfit, require_defaults, require_same_shape, with_free_variables
from xtab.transform.functions import twin, unwrapped, wrapped_again
from xtab.transform.named import transform_name
from xtab.transform.notes import add_notes
from xtab.transform.origins import made_from, origin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Transform", "rewrite", "rewrite_code", "swap_code"]

#: What edits a body in place, or returns what shall take its place.
Transform: TypeAlias = "Callable[[Body], Body | CodeType | None]"

_Function = TypeVar("_Function", bound="Callable[..., Any] | staticmethod[..., Any] | classmethod[Any, ..., Any]")
_TOOLS = range(6)
"""The tool ids of sys.monitoring."""


def rewrite(
    function: _Function, transform: Transform, *, recursive: bool = False, note: bool = False, verify: bool = False
) -> _Function:
    """A function like `function`, with the code that `transform` makes of its code.

    It has the same name, arguments, defaults, annotations (not evaluated if they were not), type parameters,
    attributes, globals, and the same cells in its closure, found by name. The code keeps its locations, so tracebacks
    show the original lines.

    Args:
        function: a function, method, staticmethod or classmethod; the result is of the same type. It stays as it is.
        transform: called with the body. It edits it and returns None, or returns a body or a code object. The
            arguments may change only by editing the counts, flags and names of the body that it was given.
        recursive: whether to transform the code objects among the constants too, those inside first: inner functions,
            lambdas, comprehensions, class bodies.
        note: whether an exception that is raised at run time by instructions that the transform put in gets a note
            which says so. Instructions in a code object that the transform returned are not told apart.
        verify: whether to prove the new code safe before it is used: see :func:`xtab.require_valid`.

    Raises:
        VerificationError: with `verify`, the new code could crash the interpreter.
        RewriteError: what the transform gave doesn't fit the function. Errors of the transform, and of the assembly of
            what it edited, come through with a note that tells the transform and the function.
        TypeError: `function` has no code that could be replaced.

    >>> def scale(x):
    ...     return x * 10
    >>> def hundreds(body):
    ...     for instruction in body.instructions:
    ...         if instruction.operand == 10:
    ...             instruction.operand = 100
    >>> rewrite(scale, hundreds)(2)
    200
    """
    plain, wrappers = unwrapped(function)
    code = _rewritten(plain.__code__, transform, recursive=recursive, note=note)
    if verify:
        _prove(code, transform, nested=recursive)
    cells = dict(zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True))
    missing = [name for name in code.co_freevars if name not in cells]
    if missing:
        raise misfit(
            plain.__code__,
            f"free variables that the closure has cells for ({', '.join(cells)})",
            ", ".join(missing),
        )
    with_free_variables(code, None, plain.__code__)
    require_defaults(plain, code)
    return wrapped_again(twin(plain, code, cells), wrappers)  # type: ignore[no-any-return]


def rewrite_code(code: CodeType, transform: Transform, *, recursive: bool = False, verify: bool = False) -> CodeType:
    """The code object that `transform` makes of `code`: :func:`rewrite` for what belongs to no function yet.

    Args:
        code: a code object, such as a module's; it stays as it is.
        transform: as for :func:`rewrite`.
        recursive: likewise.
        verify: likewise.

    Raises:
        VerificationError: with `verify`, the new code could crash the interpreter.
        RewriteError: the new code takes other arguments, or a nested one has other free variables than before. Errors
            of the transform come through with a note.

    >>> code = compile("print('hello')", "example", "exec")
    >>> rewrite_code(code, lambda body: None) == code
    True
    """
    if not isinstance(code, CodeType):
        raise TypeError(f"expected a code object, but found {code!r:.80} of type {type(code).__qualname__}")
    new = _rewritten(code, transform, recursive=recursive, note=False)
    if verify:
        _prove(new, transform, nested=recursive)
    return new


def _prove(code: CodeType, transform: Transform, *, nested: bool) -> None:
    """Raise VerificationError, and say which transform made the code."""
    try:
        require_valid(code, nested=nested)
    except VerificationError as error:
        error.add_note(f"made by the transform {transform_name(transform)}")
        raise


def swap_code(function: Callable[..., Any], code: CodeType, *, verify: bool = False) -> CodeType:
    """Give a function other code, in place: calls from now on run it, frames that run already keep what they have.

    Args:
        function: a function, method, staticmethod or classmethod. Its closure stays: if `code` has its free variables
            in another order, or lacks some, it is written anew to have them as the function's old code.
        code: must take the same arguments as the function's code. Events of ``sys.monitoring`` that tools have set for
            the old code are set for it too, and likewise for nested code objects, which are paired by qualified name.
        verify: whether to prove it safe first, with all nested code objects: see :func:`xtab.require_valid`.

    Returns:
        The old code.

    Raises:
        VerificationError: with `verify`, the code could crash the interpreter.
        RewriteError: the arguments differ, or there is a free variable that the function's closure lacks.
        TypeError: `function` has no code that could be replaced, or `code` is not a code object.

    >>> def greet():
    ...     return "hello"
    >>> old = swap_code(greet, (lambda: "good day").__code__)
    >>> greet()
    'good day'
    """
    plain, _ = unwrapped(function)
    if not isinstance(code, CodeType):
        raise TypeError(f"expected a code object, but found {code!r:.80} of type {type(code).__qualname__}")
    old = plain.__code__
    require_same_shape(old, code)
    new = with_free_variables(code, old.co_freevars, old)
    if verify:
        require_valid(new, nested=True)
    if new is not code:
        new = made_from(new, code, transform_name(swap_code))
    elif origin_of(code) is None and not _goes_back(code, old):
        new = made_from(code, old, transform_name(swap_code))
    _carry_events(old, new)
    plain.__code__ = new
    return old


def _goes_back(code: CodeType, old: CodeType) -> bool:
    """Whether `code` is what `old` was made from: then it is an original, and was made from nothing."""
    origin = origin_of(old)
    return origin is not None and origin[:3] == (code.co_filename, code.co_firstlineno, code.co_qualname)


def _rewritten(code: CodeType, transform: Transform, *, recursive: bool, note: bool) -> CodeType:
    """Step 1; code objects are told apart by identity, since equal ones may be of different files."""
    name = transform_name(transform)
    if not recursive:
        return made_from(_transformed(code, transform, note=note), code, name)
    done: dict[int, CodeType] = {}
    for each in reversed(list(code_objects(code))):
        if id(each) in done:
            continue
        constants = tuple(done[id(item)] if isinstance(item, CodeType) else item for item in each.co_consts)
        changed = any(new is not old for new, old in zip(constants, each.co_consts, strict=True))
        new = _transformed(each.replace(co_consts=constants) if changed else each, transform, note=note)
        fitting = new if each is code else with_free_variables(new, each.co_freevars, each)
        done[id(each)] = made_from(fitting, each, name)
    return done[id(code)]


def _transformed(code: CodeType, transform: Transform, *, note: bool) -> CodeType:
    """Steps 2 and 3."""
    name = transform_name(transform)
    place = f"{code.co_qualname}, {code.co_filename}:{code.co_firstlineno}"
    try:
        body = decode(code)
        decoded = set(body.instructions)
        given = transform(body)
        result = body if given is None else given
        if note and isinstance(result, Body):
            add_notes(result, decoded, f"raised by instructions that {name} put into {place}")
        new = _code_from(result, code)
        if result is not body:
            require_same_shape(code, new)
    except Exception as error:
        error.add_note(f"in the transform {name}, on {place}")
        raise
    return new


def _code_from(result: object, old: CodeType) -> CodeType:
    """The code in what a transform of `old` gave."""
    if isinstance(result, Body):
        return assemble(result)
    if isinstance(result, CodeType):
        return result
    found = f"{result!r:.80} of type {type(result).__qualname__}"
    raise misfit(old, "None, a Body or a code object from the transform", found)


def _carry_events(old: CodeType, new: CodeType) -> None:
    """Set the events that tools of sys.monitoring have set for `old`, and for what is in it, for `new` too."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return
    for tool in _TOOLS:
        if monitoring.get_tool(tool) is None:
            continue
        for before, after in _pairs(old, new):
            events = monitoring.get_local_events(tool, before)
            if events:
                monitoring.set_local_events(tool, after, events)


def _pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Code objects and what they became: those nested in them by qualified name, those of one name in order."""
    waiting = [(old, new)]
    for before, after in waiting:
        yield before, after
        named: defaultdict[str, list[CodeType]] = defaultdict(list)
        for constant in reversed(after.co_consts):
            if isinstance(constant, CodeType):
                named[constant.co_qualname].append(constant)
        waiting += [
            (constant, named[constant.co_qualname].pop())
            for constant in before.co_consts
            if isinstance(constant, CodeType) and named[constant.co_qualname]
        ]
