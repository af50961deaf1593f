"""What the proof does to every code object: six functions of a `Body`, from harmless to rude.

None of them changes what a program does, apart from what it can learn of its own bytecode, stack, lines and frames.
"""

from __future__ import annotations

import itertools

from xtab import Instruction, Span
from xtab.transform import emit

MANY = 300  #: so many NOPs need an EXTENDED_ARG to be jumped over


def nothing(body):
    """Taken apart and put together."""


def nops(body):
    """A NOP before every instruction where one may stand."""
    free = set(body.insertion_points())
    rest = set(body.insertion_points(jumps="stay")) - free
    body.insert_before_each({each: some_nops(1) for each in free})
    body.insert_before_each({each: some_nops(1) for each in rest}, jumps="stay")


def wide(body):
    """300 NOPs at the start, and at the head of every loop."""
    place = {each: index for index, each in enumerate(body.instructions)}
    start = next(index for index, each in enumerate(body.instructions) if each.opname == "RESUME") + 1
    heads = {each.target for each in body.instructions if each.target is not None and place[each.target] <= place[each]}
    chosen = heads.union(body.instructions[start : start + 1]).intersection(body.insertion_points())
    body.insert_before_each({each: some_nops(MANY) for each in chosen})


def guarded(body):
    """The whole body in ``try: ... except BaseException: raise``."""
    handler = passing_on(None)
    resume = next(each for each in body.instructions if each.opname == "RESUME")
    body.protect(resume, body.instructions[-1], handler[0], lasti=True)
    body.instructions += handler


def called(body):
    """A call before every line."""
    free = set(body.insertion_points())
    body.insert_copies_before([each for each, line in body.line_starts() if line and each in free], A_CALL)


def finally_everywhere(body):
    """Each run that a span protects itself in a ``try: ... finally:`` that calls something."""
    handlers = []
    for span, run in itertools.groupby(body.instructions, lambda each: each.exn_tab_entry):
        if span is not None:
            handler = passing_on(span, *a_call())
            inside = Span(handler[0], lasti=True, outer=span)
            for each in run:
                each.exn_tab_entry = inside
            handlers += handler
    body.instructions += handlers


def passing_on(outer, *instructions):
    """A handler that does something and raises again what it caught.

    It is written as the compiler writes that of a ``with``: RERAISE 2 sets the frame back to the instruction that
    raised, so that no tracer sees the frame end on another line.
    """
    leave = [Instruction("COPY", 3), Instruction("POP_EXCEPT"), Instruction("RERAISE", 1)]
    enter = [Instruction("PUSH_EXC_INFO"), *instructions, Instruction("RERAISE", 2)]
    clean_up = Span(leave[0], lasti=True, outer=outer)
    for each in enter:
        each.exn_tab_entry = clean_up
    for each in leave:
        each.exn_tab_entry = outer
    return enter + leave


def some_nops(count):
    return [Instruction("NOP") for _ in range(count)]


def a_call():
    """``().__len__()``: what is called has no frame, and no event for a profiler; `marshal` can write the constant."""
    return emit.call_method(emit.load_const(()), "__len__") + emit.pop()


A_CALL = a_call()  #: to be copied
TRANSFORMS = {each.__name__: each for each in (nothing, nops, wide, guarded, called, finally_everywhere)}
