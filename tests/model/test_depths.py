"""`measure`: depths against a walk of another kind, with the effects that `dis` knows."""

from __future__ import annotations

import dis
import sysconfig
from pathlib import Path

import pytest

from xtab.errors import StackError
from xtab.format.code import code_objects
from xtab.format.opcodes import CURRENT
from xtab.model.decode import read_source
from xtab.model.depths import measure, measure_size
from xtab.model.flow import Entry, Shape

TESTS = Path(__file__).parents[1]
STDLIB = Path(sysconfig.get_path("stdlib"))
SAMPLES = ("contextlib", "asyncio/tasks", "asyncio/streams", "typing", "subprocess", "dataclasses")
NUMBER = CURRENT.number


def effect(opcode, arg, *, jump):
    """The effect as `dis` says it, but for what it is known to say otherwise (the module of opcodes tells why)."""
    if CURRENT.name[opcode] in CURRENT.stack_effect_differs or CURRENT.name[opcode] == "RETURN_GENERATOR":
        return CURRENT.effect(opcode, arg, jump=jump)
    return dis.stack_effect(opcode, arg if opcode >= dis.HAVE_ARGUMENT else None, jump=jump)


def walked(shape):
    """Depths by a walk from instruction to instruction."""
    depths = [None] * len(shape.opcodes)
    handlers = {}
    for first, end, handler, depth, lasti in shape.entries:
        handlers.update(dict.fromkeys(range(first, end), (handler, depth + lasti + 1)))
    todo = [(0, 0)]
    while todo:
        place, depth = todo.pop()
        if depths[place] is not None:
            assert depths[place] == depth
            continue
        depths[place] = depth
        opcode, arg = shape.opcodes[place], shape.args[place]
        if place in handlers:
            todo.append(handlers[place])
        if place in shape.targets and opcode not in CURRENT.marks:
            todo.append((shape.targets[place], depth + effect(opcode, arg, jump=True)))
        if not CURRENT.stops[opcode]:
            todo.append((place + 1, depth + effect(opcode, arg, jump=False)))
    return depths


@pytest.mark.parametrize("name", SAMPLES)
def test_depths_are_those_of_a_plain_walk(name):
    """Every instruction of a few modules; and the size is what the compiler wrote where all can be reached."""
    path = STDLIB / f"{name}.py"
    for code in code_objects(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)):
        shape = read_source(code).shape
        stack = measure(shape)
        assert stack.depths == walked(shape), code.co_qualname
        assert stack.all_reached == (None not in stack.depths)
        assert measure_size(shape) == (stack.size, stack.all_reached)
        if stack.all_reached:
            assert stack.size == code.co_stacksize, code.co_qualname


def shape_of(*names, targets=(), entries=()):
    opcodes = bytes(NUMBER[name] for name in names)
    return Shape(opcodes, [0] * len(opcodes), False, dict(targets), [Entry(*entry) for entry in entries])


def test_a_handler_starts_with_what_its_region_keeps():
    """The depth, one more for lasti, one for the exception; the size counts it though nothing falls into it."""
    for lasti in (False, True):
        shape = shape_of("PUSH_NULL", "PUSH_NULL", "RERAISE", "PUSH_EXC_INFO", "RERAISE", entries=[(1, 2, 3, 1, lasti)])
        stack = measure(shape)
        assert stack.depths == [0, 1, 2, 2 + lasti, 3 + lasti]
        assert stack.size == 3 + lasti
        assert stack.all_reached


def test_a_handler_of_nothing_reached_is_not_entered():
    shape = shape_of("PUSH_NULL", "RERAISE", "NOP", "RERAISE", "RERAISE", entries=[(2, 4, 4, 0, False)])
    stack = measure(shape)
    assert stack.depths == [0, 1, None, None, None]
    assert not stack.all_reached


def test_a_region_whose_depth_is_not_known_is_not_entered():
    shape = shape_of("PUSH_NULL", "RERAISE", "RERAISE", entries=[(0, 2, 2, None, False)])
    assert measure(shape).depths == [0, 1, None]


def test_a_segment_entered_earlier_is_walked_from_there():
    """The second way in lies before the first: what was walked is not walked again, and all agree."""
    shape = shape_of(
        *(
            "PUSH_NULL",
            "JUMP_FORWARD",
            "PUSH_NULL",
            "NOP",
            "RERAISE",
            "PUSH_EXC_INFO",
            "POP_TOP",
            "POP_TOP",
            "JUMP_BACKWARD",
        ),
        targets={1: 3, 8: 2},
        entries=[(0, 1, 5, 0, False)],
    )
    assert measure(shape).depths == [0, 1, 0, 1, 1, 1, 2, 1, 0]


@pytest.mark.parametrize("depth", [0, 1])
def test_a_handler_in_front_of_what_it_handles(depth):
    """It is reached from the code before it too, with the same depth, or else that is an error."""
    shape = shape_of(
        *("PUSH_NULL", "PUSH_NULL", "POP_TOP", "PUSH_NULL", "POP_TOP", "RERAISE"), entries=[(3, 4, 2, depth, False)]
    )
    if depth == 1:
        assert walked(shape) == measure(shape).depths == [0, 1, 2, 1, 2, 1]
        assert measure_size(shape) == (2, True)
        return
    for how in (measure, measure_size):
        with pytest.raises(StackError, match="instruction 2"):
            how(shape)


@pytest.mark.parametrize("count", [100_000])
def test_blocks_without_end(count):
    """Neither a chain of jumps nor a chain of handlers needs recursion."""
    jumps = ["JUMP_FORWARD"] * count + ["PUSH_NULL", "RERAISE"]
    stack = measure(shape_of(*jumps, targets={place: place + 1 for place in range(count)}))
    assert (stack.size, stack.all_reached) == (max(1, CURRENT.least_stack_size), True)
    handlers = [(place, place + 1, place + 1, 0, False) for place in range(count)]
    stack = measure(shape_of("PUSH_NULL", *["RERAISE"] * count, entries=handlers))
    assert stack.all_reached
