"""`try_except`, `try_finally`, `with_block`: blocks around a run of instructions that stands in a body.

1. `Run` tells what belongs to the run, where control leaves it, and how deep the stack is.
2. Every way out that is no exception gets the code that the block owes there: right in front of a return or a jump that
   always leaves; between two instructions where control falls out; at the end of the body for conditional jumps
   (`weaving`).
3. The handler goes to the end of the body, in the shape that the compiler gives it: PUSH_EXC_INFO ... POP_EXCEPT, and a
   second handler for exceptions of the handler itself.
4. A new span goes around the members of the run, and around the spans inside it.

Follows Python/codegen.c (3.11 to 3.13: Python/compile.c), codegen_try_except, codegen_try_finally and codegen_with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from xtab.errors import EditError
from xtab.format.code import CO_OPTIMIZED
from xtab.format.opcodes import CURRENT
from xtab.model.arguments import instructions_given, require
from xtab.model.instruction import Instruction, Span
from xtab.transform import emit
from xtab.transform.runs import Run, is_jump_only, is_return
from xtab.transform.sequences import copies, settle
from xtab.transform.weaving import Weaving

if TYPE_CHECKING:
    from xtab.format.locations import Location
    from xtab.model.body import Body

__all__ = ["try_except", "try_finally", "with_block"]

Code = Iterable[Instruction] | Callable[[], Iterable[Instruction]]
"""Instructions, or a function that makes them anew for each place that needs them."""

_ENTERS_IN_STEPS = "LOAD_SPECIAL" in CURRENT.number
_EXIT_SLOTS = 2 if _ENTERS_IN_STEPS else 1  # on the stack in a with block: __exit__, and from 3.14 on its self or NULL


def try_except(
    body: Body,
    first: Instruction,
    last: Instruction,
    handler: Iterable[Instruction],
    *,
    catch: Iterable[Instruction] | None = None,
    name: str | None = None,
) -> Span:
    """Put a run of instructions into a ``try``, with one ``except``.

    The handler finds the stack as low as the run ever has it, and must leave it as it is behind the run; so where the
    run computes a value, the handler leaves one instead of it. It may raise, and it may return or jump to other places
    in the body, but it has to do itself what the blocks around the run want done then.

    Args:
        body: the body that is edited.
        first: the first instruction of the run.
        last: its last instruction, included.
        handler: the body of the ``except`` clause.
        catch: an operand, the class of exceptions or a tuple of such; None: all exceptions.
        name: a variable for the exception, unbound again behind the handler.

    Returns:
        The span that is now around the run.

    Raises:
        EditError: the run can't be protected, as it cuts a loop in two, is entered in its middle, or lies partly in a
            span; or the handler falls through although nothing comes behind the run, or returns from within a loop or
            block.

    >>> import xtab
    >>> def f(x):
    ...     return 1 / x
    >>> body = xtab.decode(f)
    >>> first, last = body.start, body.instructions[-1]
    >>> handler = emit.return_(emit.load_const("none"))
    >>> span = try_except(body, first, last, handler, catch=emit.load_global("ArithmeticError"))
    >>> f.__code__ = xtab.assemble(body)
    >>> f(0), f(2)
    ('none', 0.5)
    """
    run = Run(body, first, last)
    weaving = Weaving(body, run)
    content = instructions_given(handler, "as the handler")
    catching = [] if catch is None else instructions_given(catch, "as what to catch", maker="load_global")
    _require_name(name)
    _refuse_returns(run, content)
    goal, extra = _goal(run, content)
    cleanup = _cleanup()
    guard = Span(cleanup[0], None, True, run.around)
    reraise = Instruction("RERAISE", 0)
    bind, unbind = (_binding(body, name)) if name is not None else (emit.pop, list)
    begin: list[Instruction] = [Instruction("PUSH_EXC_INFO")]
    if catch is not None:
        begin += [*catching, Instruction("CHECK_EXC_MATCH"), *emit.jump_if(False, reraise, exact=True)]
    begin += bind()
    unname = [*unbind(), Instruction("RERAISE", 1)] if name is not None else []
    inner = Span(unname[0], None, True, guard) if unname else guard

    def leave(values: int) -> list[Instruction]:
        """End the handling of the exception, which lies below some values."""
        return settle([*_raised(1, values), Instruction("POP_EXCEPT"), *unbind()], run.around, first.location)

    settle(begin, guard, first.location)
    woven, ways = _with_ways_out(settle(content, inner, first.location), leave)
    end = [*leave(extra), Instruction("JUMP_FORWARD", goal)] if goal is not None else []
    settle(end, run.around, first.location)
    rest = [*([reraise] if catch is not None else []), *unname]
    settle(rest, guard, first.location)
    settle(cleanup, run.around, first.location)
    settle(ways, run.around, first.location)
    weaving.tail += [*begin, *woven, *end, *rest, *cleanup, *ways]
    span = weaving.protect(begin[0], lasti=False)
    weaving.apply()
    return span


def try_finally(body: Body, first: Instruction, last: Instruction, final: Code) -> Span:
    """Put a run of instructions into a ``try`` with a ``finally``: `final` runs on each way out of the run.

    Args:
        body: the body that is edited.
        first: the first instruction of the run.
        last: its last instruction, included.
        final: the body of ``finally``, or a function that makes it anew for each way out; it leaves the stack as it is.
            A list is copied where it is needed more than once.

    Returns:
        The span that is now around the run.

    Raises:
        EditError: the run can't be protected, or `final` returns or jumps out.

    >>> import xtab
    >>> def f(x):
    ...     return 1 / x
    >>> seen = []
    >>> body = xtab.decode(f)
    >>> note = emit.call_method(emit.load_const(seen), "append", emit.load_local("x")) + emit.pop()
    >>> span = try_finally(body, body.start, body.instructions[-1], note)
    >>> f.__code__ = xtab.assemble(body)
    >>> f(2), seen
    (0.5, [2])
    """
    run = Run(body, first, last)
    weaving = Weaving(body, run)
    make = _maker(final)
    weaving.leave_by(lambda _: make())
    cleanup = _cleanup()
    handling = [Instruction("PUSH_EXC_INFO"), *make(), Instruction("RERAISE", 0)]
    settle(handling, Span(cleanup[0], None, True, run.around), first.location)
    weaving.tail += [*handling, *settle(cleanup, run.around, first.location)]
    span = weaving.protect(handling[0], lasti=False)
    weaving.apply()
    return span


def with_block(
    body: Body,
    first: Instruction,
    last: Instruction,
    manager: Iterable[Instruction],
    *,
    target: str | Iterable[Instruction] | None = None,
) -> Span:
    """Put a run of instructions into a ``with`` statement.

    Args:
        body: the body that is edited.
        first: the first instruction of the run.
        last: its last instruction, included.
        manager: an operand, the context manager.
        target: what ``as`` binds: a variable, or instructions that take the value from the stack.

    Returns:
        The span that is now around the run.

    Raises:
        EditError: the run can't be protected, or it takes values from the stack that were there before it, or leaves it
            without any (a with block keeps ``__exit__`` there). Also if it ends where nothing comes behind.

    >>> import contextlib, xtab
    >>> def f(x):
    ...     x = 1 / x
    ...     return x
    >>> body = xtab.decode(f)
    >>> first, last = body.start, next(each for each in body.instructions if each.opname.startswith("STORE"))
    >>> span = with_block(body, first, last, emit.load_const(contextlib.suppress(ZeroDivisionError)))
    >>> f.__code__ = xtab.assemble(body)
    >>> f(0), f(2)
    (0, 0.5)
    """
    run = Run(body, first, last)
    managing = instructions_given(manager, "as the context manager", maker="load_const")
    if isinstance(target, str):
        _require_name(target)
        store = _binding(body, target)[0]()
    else:
        store = emit.pop() if target is None else instructions_given(target, "that bind what __enter__ gives")
    if run.depth != run.depth_at(first):
        message = (
            f"expected a run that leaves the values below it alone, but found that the run from {first!r} takes some"
        )
        raise EditError(message, instruction=first)
    goal, extra = _goal(run, ())
    if extra:
        message = f"expected a run that leaves no value, as a suppressed exception does, but {last!r} leaves {extra}"
        raise EditError(message, instruction=last)
    weaving = Weaving(body, run)
    weaving.leave_by(lambda depth: [*_raised(_EXIT_SLOTS, depth - run.depth), *_exit_call()])
    handling, cleanup, end = _with_handler(goal, run, first.location)
    weaving.tail += [*handling, *end, *cleanup]
    for inside in run.spans_inside():
        if inside.depth is not None:
            inside.depth += _EXIT_SLOTS
    span = weaving.protect(handling[0], lasti=True, more=_EXIT_SLOTS)
    enter = settle([*managing, *_enter()], run.around, first.location)
    weaving.begin_with([*enter, *settle(store, span, first.location)])
    weaving.apply()
    return span


def _enter() -> list[Instruction]:
    """Turn the context manager on the stack into its ``__exit__``, and above it what ``__enter__`` gives."""
    if not _ENTERS_IN_STEPS:
        return [Instruction("BEFORE_WITH")]
    return [
        Instruction("COPY", 1),
        Instruction("LOAD_SPECIAL", "__exit__"),
        Instruction("SWAP", 2),
        Instruction("SWAP", 3),
        Instruction("LOAD_SPECIAL", "__enter__"),
        Instruction("CALL", 0),
    ]


def _exit_call() -> list[Instruction]:
    """Call the ``__exit__`` on the stack with three times None, and drop what it gives."""
    nones = [each for _ in range(3) for each in emit.load_const(None)]
    # with one slot, the first None stands where self does
    return [*nones, *emit.call_instructions(1 + _EXIT_SLOTS), *emit.pop()]


def _with_handler(
    goal: Instruction | None, run: Run, location: Location | None
) -> tuple[list[Instruction], list[Instruction], list[Instruction]]:
    """The handler of a with block, its clean-up, and what comes between when ``__exit__`` suppresses the exception."""
    cleanup = _cleanup()
    drop = emit.pop()
    handling = [
        Instruction("PUSH_EXC_INFO"),
        Instruction("WITH_EXCEPT_START"),
        *emit.jump_if(True, drop[0]),
        Instruction("RERAISE", 2),
        *drop,
    ]
    end = [Instruction("POP_EXCEPT"), *emit.pop(1 + _EXIT_SLOTS)]  # lasti, __exit__
    if goal is not None:
        end.append(Instruction("JUMP_FORWARD", goal))
    elif run.depth:
        raise EditError(
            "expected a run with something behind it, where a suppressed exception goes on, but found none behind "
            f"{run.last!r}, and {run.depth} values on the stack",
            instruction=run.last,
        )
    else:
        end += emit.return_(emit.load_const(None))
    settle(handling, Span(cleanup[0], None, True, run.around), location)
    settle(end, run.around, location)
    settle(cleanup, run.around, location)
    return handling, cleanup, end


def _raised(slots: int, values: int) -> list[Instruction]:
    """Bring `slots` values up that lie below some other values."""
    if not values:
        return []
    return [Instruction("SWAP", distance) for _ in range(slots) for distance in range(2, values + slots + 1)]


def _cleanup() -> list[Instruction]:
    """The handler of a handler: it ends the handling of the first exception, and raises the second again."""
    return [Instruction("COPY", 3), Instruction("POP_EXCEPT"), Instruction("RERAISE", 1)]


def _require_name(name: str | None) -> None:
    if name is not None:
        require(name, str, "the name of a variable as a string")


def _binding(body: Body, name: str) -> tuple[Callable[[], list[Instruction]], Callable[[], list[Instruction]]]:
    """What makes the instructions that bind a variable of a body, and those that unbind it, bound or not."""
    if not body.flags & CO_OPTIMIZED:
        store, delete = emit.store_name, emit.delete_name
    elif name in body.cellvars:
        store, delete = emit.store_cell, emit.delete_cell
    elif name in body.freevars:
        store, delete = emit.store_free, emit.delete_free
    else:
        store, delete = emit.store_local, emit.delete_local
    return lambda: store(name), lambda: [*emit.load_const(None), *store(name), *delete(name)]


def _goal(run: Run, handler: Sequence[Instruction]) -> tuple[Instruction | None, int]:
    """Where control goes on behind a handler, and how many values more than those below the run must be there."""
    if handler and CURRENT.stops[handler[-1].opcode]:
        return None, 0
    goal = run.goes_on()
    depth = None if goal is None else run.depth_at(goal)
    if goal is None or depth is None or depth < run.depth:
        if not handler:
            return None, 0
        raise EditError(
            f"expected a handler that returns, raises or jumps, since it can't go on behind {run.last!r}, but found "
            f"{handler[-1]!r} at its end",
            instruction=handler[-1],
        )
    return goal, depth - run.depth


def _refuse_returns(run: Run, handler: Sequence[Instruction]) -> None:
    leaving = next(filter(is_return, handler), None)
    if leaving is not None and run.depth:
        raise EditError(
            f"expected a handler that doesn't return, since {run.depth} values of the loops and blocks around the run "
            f"would stay on the stack, but found {leaving!r}; store the value, and return it elsewhere",
            instruction=leaving,
        )


def _with_ways_out(
    content: Sequence[Instruction], leave: Callable[[int], list[Instruction]]
) -> tuple[list[Instruction], list[Instruction]]:
    """The body of a handler, with what it owes where it returns or jumps away; and code to put behind it for that."""
    own = set(content)
    woven: list[Instruction] = []
    ways: list[Instruction] = []
    leads: dict[Instruction, Instruction] = {}
    for each in content:
        owed: list[Instruction] = []
        if is_return(each):
            owed = leave(1 if each.opname == "RETURN_VALUE" else 0)
        elif each.is_jump and each.target is not None and each.target not in own:
            owed = leave(0)
            if not is_jump_only(each):
                ways += [*owed, Instruction("JUMP_FORWARD", each.target)]
                each.target, owed = owed[0], []
        if owed:
            leads[each] = owed[0]
            each.exn_tab_entry = owed[0].exn_tab_entry
        woven += [*owed, each]
    for each in content:
        if each.target in leads:
            each.target = leads[each.target]
    return woven, ways


def _maker(code: Code) -> Callable[[], list[Instruction]]:
    """A function that makes the code anew each time; a list is used itself the first time."""
    if callable(code):
        given = code
        return lambda: _require_straight(instructions_given(given(), "from the function that makes `final`"))
    content = _require_straight(instructions_given(code, "as `final`"))
    model = copies(content)
    waiting = [content]
    return lambda: waiting.pop() if waiting else copies(model)


def _require_straight(final: list[Instruction]) -> list[Instruction]:
    own = set(final)
    for each in final:
        if is_return(each) or (each.is_jump and each.target not in own):
            message = f"expected a finally body that neither returns nor jumps away, but found {each!r}"
            raise EditError(message, instruction=each)
    return final
