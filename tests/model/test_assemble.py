"""`assemble`: bodies, edited and not, become code objects that do what they should."""

from __future__ import annotations

import dis
import os
import runpy
import subprocess
import sys
import sysconfig
import types
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtab
from xtab import AssembleError, Instruction, Location, Span, StackError
from xtab.format.code import code_objects
from xtab.format.opcodes import CURRENT

HERE = set(CURRENT.number)
TESTS = Path(__file__).parents[1]
TOOLS = runpy.run_path(str(TESTS / "insertion.py"))
STDLIB = Path(sysconfig.get_path("stdlib"))
CASES = runpy.run_path(str(TESTS / "cases" / "bytecode_defects.py"))["SOURCES"]


def named(*names):
    """Return the first of these opcodes that this version has."""
    return next(name for name in names if name in HERE)


JUMPS_IF = {
    "true": named("POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_TRUE"),
    "false": named("POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE"),
    "none": named("POP_JUMP_IF_NONE", "POP_JUMP_FORWARD_IF_NONE"),
    "not none": named("POP_JUMP_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE"),
}
I = Instruction  # noqa: E741 (there are very many)


def body_of(source, name="f"):
    namespace = {}
    exec(compile(source, "example", "exec", dont_inherit=True), namespace)
    return xtab.decode(namespace[name])


def function_of(body, **names):
    return types.FunctionType(xtab.assemble(body), {"__builtins__": __builtins__, **names})


def start_of(body):
    """Return the place behind the prologue."""
    return next(place for place, each in enumerate(body.instructions) if each.opname == "RESUME") + 1


def nops(count):
    return [I("NOP") for _ in range(count)]


def everything(code):
    """Return all that a code object holds, with constants told apart."""
    names = [name for name in dir(code) if name.startswith("co_") and name not in ("co_lnotab", "co_consts")]
    values = {name: getattr(code, name) for name in names}
    return {
        name: list(value()) if callable(value) else value for name, value in values.items() if name != "co_branches"
    } | {"co_consts": list(map(repr, code.co_consts))}


# what was not edited


def samples():
    for name, (version, source, _) in CASES.items():
        if CURRENT.version >= version:
            yield name, source.encode()
    for name in ("tracers.py", "hostile_tables.py", "bytecode_defects.py"):
        yield name, (TESTS / "cases" / name).read_bytes()
    for name in ("contextlib", "dataclasses", "asyncio/tasks", "typing", "subprocess"):
        yield name, (STDLIB / f"{name}.py").read_bytes()


@pytest.mark.parametrize("name, source", [*samples()], ids=[name for name, _ in samples()])
def test_unedited_code_comes_back(name, source):
    """All that a code object holds comes back as it was, byte for byte."""
    for code in code_objects(compile(source, name, "exec", dont_inherit=True)):
        assert everything(xtab.assemble(xtab.decode(code))) == everything(code)


def test_what_was_looked_at_comes_back():
    """Asking for operands, locations and depths changes nothing."""
    for code in code_objects(compile((STDLIB / "contextlib.py").read_bytes(), "x", "exec", dont_inherit=True)):
        body = xtab.decode(code)
        for each in body.instructions:
            repr(each), each.operand, each.location, each.flags, each.target, each.arg
        xtab.stack_depths(body)
        assert everything(xtab.assemble(body)) == everything(code)


def test_assembling_twice_gives_the_same():
    """A body can be assembled, edited and assembled again, and what was assembled can be decoded again."""
    body = xtab.decode(subprocess.run)
    body.instructions.insert(start_of(body), I("NOP"))
    first = xtab.assemble(body)
    assert everything(xtab.assemble(body)) == everything(first)
    assert everything(xtab.assemble(xtab.decode(first))) == everything(first)
    del body.instructions[start_of(body)]
    assert everything(xtab.assemble(body)) == everything(subprocess.run.__code__)


# names, constants, locals


def test_new_names_and_constants_are_appended():
    """Old ones keep their numbers, new ones follow in the order of their instructions."""

    def f(a):
        b = a.name
        return b, 1.5, "x"

    old = f.__code__
    body = xtab.decode(f)
    place = start_of(body)
    body.instructions[place:place] = [
        *(I("LOAD_CONST", "new"), I("STORE_FAST", "c"), I("LOAD_CONST", 2.5), I("STORE_FAST", "d")),
        *(I("LOAD_GLOBAL", "other"), I("STORE_FAST", "c"), I("LOAD_GLOBAL", "name"), I("POP_TOP")),
    ]
    code = xtab.assemble(body)
    assert code.co_consts == (*old.co_consts, "new", 2.5)
    assert code.co_names == (*old.co_names, "other")
    assert code.co_varnames == (*old.co_varnames, "c", "d")
    assert code.co_nlocals == old.co_nlocals + 2


def test_new_locals_move_cells_and_free_variables():
    """Cells and free variables are numbered behind the locals: a new local moves them, in instructions old and new."""

    def outer(free):
        def f(argument):
            cell = argument + 1

            def inner(more):
                nonlocal cell
                cell += more
                return cell, argument, free

            return inner(10), inner(20), cell, free

        return f

    f = outer("free")
    wanted = f(1)
    body = xtab.decode(f)
    place = start_of(body)
    body.instructions[place:place] = [each for name in "xyz" for each in (I("LOAD_CONST", name), I("STORE_FAST", name))]
    last = len(body.instructions) - 1
    assert body.instructions[last].opname == "RETURN_VALUE"
    body.instructions[last:last] = [
        I("LOAD_FAST", "x"),
        I("LOAD_DEREF", "cell"),
        I("LOAD_DEREF", "free"),
        I("BUILD_TUPLE", 4),
    ]
    code = xtab.assemble(body)
    f.__code__ = code
    assert f(1) == (wanted, "x", 32, "free")
    assert (code.co_cellvars, code.co_freevars) == (("argument", "cell"), ("free",))
    assert f.__code__.co_varnames[-3:] == ("x", "y", "z")
    assert everything(xtab.assemble(xtab.decode(code))) == everything(code)


# what is refused


def refused(body, words, error=AssembleError):
    with pytest.raises(error, match=words) as caught:
        xtab.assemble(body)
    return caught.value


def test_an_empty_body_is_refused():
    """A body without instructions is no code."""
    body = xtab.decode(lambda: None)
    body.instructions.clear()
    refused(body, "expected at least one instruction, but found none")


def test_an_instruction_that_stands_twice_is_refused():
    """It would be two places at once: the error names both."""
    body = xtab.decode(lambda: None)
    nop = I("NOP")
    body.instructions[1:1] = [nop, I("NOP"), nop]
    error = refused(
        body, r"instruction 3: expected each instruction once, but found Instruction\('NOP'\) again, first at 1"
    )
    assert (error.instruction, error.index) == (nop, 3)


@pytest.mark.parametrize("thing", [None, "NOP", 9, ("NOP", None), Instruction, [], {}])
def test_what_is_no_instruction_is_refused(thing):
    """Anything else in the list is named, with its place."""
    body = xtab.decode(lambda: None)
    body.instructions.insert(1, thing)
    error = refused(body, "instruction 1: expected an Instruction, but found ")
    assert (error.instruction, error.index) == (thing, 1)


def test_a_missing_target_is_refused():
    """A jump without a target, to one that is not in the body, and to one that was deleted."""
    for target in (None, I("NOP")):
        body = xtab.decode(lambda: None)
        jump = I("JUMP_FORWARD") if target is None else I("JUMP_FORWARD", target)
        body.instructions.insert(1, jump)
        error = refused(body, "instruction 1: expected JUMP_FORWARD to lead to an instruction of this body, but found ")
        assert (error.instruction, error.index) == (jump, 1)
    body = xtab.decode(lambda x: 1 if x else 2)
    jump = next(each for each in body.instructions if each.is_jump)
    body.instructions.remove(jump.target)
    error = refused(body, "which is not in it")
    assert error.instruction is jump


def guarded(x):
    try:
        return x.y
    except AttributeError:
        return None


def test_a_missing_handler_is_refused():
    """A span whose handler was deleted, and one that was made for another body."""
    body = xtab.decode(guarded)
    first = next(place for place, each in enumerate(body.instructions) if each.exn_tab_entry)
    body.instructions.remove(body.instructions[first].exn_tab_entry.target)
    error = refused(
        body, "expected the handler of its span to be an instruction of this body, but found .*PUSH_EXC_INFO"
    )
    assert (error.instruction, error.index) == (body.instructions[first], first)

    body, other = xtab.decode(guarded), xtab.decode(guarded)
    body.instructions[first].exn_tab_entry = other.instructions[first].exn_tab_entry
    assert refused(body, "was the span made for another body").index == first


@pytest.mark.parametrize("opname, way", [("FOR_ITER", "forward"), ("SEND", "forward")])
def test_a_jump_that_can_not_turn_round_is_refused(opname, way):
    """There is no FOR_ITER that leads back."""
    body = xtab.decode(lambda: None)
    target = I("NOP")
    body.instructions[1:1] = [target, I(opname, target)]
    assert refused(body, f"expected {opname} to lead {way}").index == 2


def test_depths_that_differ_are_refused():
    """A value too many on one way to an instruction is found at assembly."""
    body = body_of("def f(x):\n    return 1 if x else 2\n")
    jump = next(each for each in body.instructions if each.is_jump)
    place = body.instructions.index(jump.target)
    load = I("LOAD_CONST", 1)
    body.instructions.insert(place, load)
    jump.target = load
    body.instructions.insert(place + 1, I("JUMP_FORWARD", body.instructions[start_of(body)]))
    refused(body, "expected depth", StackError)


def test_too_few_values_are_refused():
    """A POP_TOP with nothing on the stack is found at assembly."""
    body = xtab.decode(lambda: None)
    body.instructions.insert(start_of(body), I("POP_TOP"))
    error = refused(body, "expected 1 values or more on the stack for POP_TOP, but found 0", StackError)
    assert error.index == start_of(body)


def test_the_place_of_a_stack_error_is_one_in_the_body():
    """Also where assembly puts a NOP in front of a call, as it does where a span begins there."""
    body = body_of("def f(x):\n    x(1)\n    return x\n")
    call = next(each for each in body.instructions if each.opname == "CALL")
    handler = [I("PUSH_EXC_INFO"), I("RERAISE", 0)]
    body.protect(call, call, handler[0])
    body.instructions += handler
    leave = next(each for each in body.instructions if each.opname == "RETURN_VALUE")
    body.instructions.insert(body.instructions.index(leave), I("POP_TOP"))
    error = refused(body, "on the stack for RETURN_VALUE, but found 0", StackError)
    assert body.instructions[error.index] is leave
    assert (error.opname, error.line) == ("RETURN_VALUE", 3)


# instructions of another body


def test_instructions_of_another_body_are_translated():
    """Names, constants, locals, operators and what has no operand keep their meaning in another body."""

    def source(b, a):
        return [a.y, len(b), 1.5, -0.0, (2, "t"), a < b, a + b]

    def place(a, b):
        """Other names and constants, in another order."""
        return a.x, [0.0], "u"

    body, other = xtab.decode(place), xtab.decode(source)
    body.instructions[start_of(body) :] = other.instructions[start_of(other) :]
    new = function_of(body)

    class A(str):
        __slots__ = ()
        y = "why"

    a, b = A("a"), "b"
    assert repr(new(a, b)) == repr(source(b, a))


def test_locations_of_another_body_are_kept():
    """Instructions of another body stay where they were in its source."""
    body = body_of("def f(a):\n    return a\n")
    other = body_of("\n" * 50 + "def f(a):\n    return (a,\n        a.b)\n")
    body.instructions[start_of(body) :] = other.instructions[start_of(other) :]
    wanted = [each.location for each in body.instructions]
    assert wanted[-1].line > 50
    assert locations_of(body, xtab.assemble(body)) == wanted


def test_a_whole_function_of_another_body_keeps_its_spans():
    """Spans come along, if their handlers do."""
    body, other = xtab.decode(lambda x: None), xtab.decode(guarded)
    body.instructions[:] = other.instructions
    new = function_of(body)
    assert new(5) is None
    assert xtab.parse_exception_table(new) == xtab.parse_exception_table(guarded)


# jumps


@pytest.mark.parametrize("distance, units", [(0, 1), (255, 1), (256, 2), (257, 2), (65535, 2), (65536, 3)])
def test_jumps_forward_grow(distance, units):
    """A distance above 255, and one above 65,535, takes an EXTENDED_ARG more."""
    body = xtab.decode(lambda: None)
    place = start_of(body)
    jump = I("JUMP_FORWARD", body.instructions[place])
    body.instructions[place:place] = [jump, *nops(distance)]
    new = function_of(body)
    assert body.layout.end_of(jump) - body.layout.offset_of(jump) == 2 * units
    assert [each.arg for each in dis.get_instructions(new) if each.opname == "JUMP_FORWARD"] == [distance]
    assert new() is None


@pytest.mark.parametrize("distance, prefixes", [(254, 0), (255, 0), (257, 1), (65535, 1), (65537, 2)])
def test_jumps_backward_grow(distance, prefixes):
    """A jump back counts its own prefixes and caches as well: 256 can't be, since with a prefix it is 257."""
    own = 1 + CURRENT.caches[CURRENT.number["JUMP_BACKWARD"]]
    body = xtab.decode(lambda: None)
    place = start_of(body)
    block = [*nops(distance - own - prefixes - 2), I("LOAD_CONST", 7), I("RETURN_VALUE")]
    back = I("JUMP_FORWARD", block[0])  # the name of the other direction
    body.instructions[place:] = [I("JUMP_BACKWARD", back), *block, back]
    new = function_of(body)
    found = [(each.opname, each.arg) for each in dis.get_instructions(new) if each.opname.startswith("JUMP")]
    assert [name for name, _ in found] == ["JUMP_FORWARD", "JUMP_BACKWARD"]
    assert found[1][1] == distance
    assert body.layout.end_of(back) - body.layout.offset_of(back) == 2 * (own + prefixes)
    assert new() == 7


def test_jumps_shrink_when_code_goes():
    """A jump over what is gone needs no prefix any longer."""
    body = xtab.decode(lambda: None)
    place = start_of(body)
    jump = I("JUMP_FORWARD", body.instructions[place])
    body.instructions[place:place] = [jump, *nops(300)]
    body = xtab.decode(xtab.assemble(body))
    jump = body.instructions[place]
    assert body.layout.end_of(jump) - body.layout.offset_of(jump) == 4
    del body.instructions[place + 1 : place + 200]
    assert function_of(body)() is None
    assert body.layout.end_of(jump) - body.layout.offset_of(jump) == 2


@pytest.mark.parametrize("which, stops, goes_on", [
    ("true", False, True), ("false", True, False), ("none", 1, None), ("not none", None, 1),
])  # fmt: skip
@pytest.mark.parametrize("distance", [0, 1, 200, 250, 300, 66_000])
def test_conditional_jumps_go_back(which, stops, goes_on, distance):
    """Where a version has no such jump back, the reverse leads over a JUMP_BACKWARD; the result runs as it should."""
    body = xtab.decode(lambda values: values)
    place = start_of(body)
    top = I("NOP")
    if "LOAD_METHOD" in HERE:
        pop = [I("LOAD_METHOD", "pop"), I("PRECALL", 0), I("CALL", 0)]
    else:
        pop = [I("LOAD_ATTR", "pop", flags=1), I("CALL", 0)]
    body.instructions[place:place] = [top, *nops(distance), I("LOAD_FAST", "values"), *pop, I(JUMPS_IF[which], top)]
    new = function_of(body)
    for times in range(4):
        values = ["left", stops, *[goes_on] * times]
        assert new(values) == ["left"]
    code = new.__code__
    assert everything(xtab.assemble(xtab.decode(code))) == everything(code)


def test_what_was_put_in_for_a_jump_back_is_protected():
    """The JUMP_BACKWARD that a conditional jump needs lies in the same spans, and in the same place of the source."""
    body = body_of("def f(x):\n    try:\n        x()\n        x()\n    except KeyError:\n        return 'caught'\n")
    spanned = [each for each in body.instructions if each.exn_tab_entry and each.exn_tab_entry.depth == 0]
    span, depths = spanned[0].exn_tab_entry, xtab.stack_depths(body)
    place = max(
        place for place, each in enumerate(body.instructions) if each.exn_tab_entry is span and depths[place] == 0
    )
    behind = body.instructions[place]
    assert behind is not spanned[0]
    jump = I(JUMPS_IF["true"], spanned[0], location=(9, 9, 1, 2), exn_tab_entry=span)
    load = I("LOAD_CONST", False, exn_tab_entry=span)
    body.instructions[place:place] = [load, jump]
    code = xtab.assemble(body)
    table = xtab.parse_exception_table(code)
    assert body.layout.end_of(jump) <= table[0].end
    positions = list(code.co_positions())
    for offset, each in body.layout:
        if offset >= body.layout.offset_of(jump) and offset < body.layout.offset_of(behind):
            assert xtab.find_handler(table, offset) == table[0]
            assert positions[offset // 2] == (9, 9, 1, 2), each


# layout


@pytest.mark.parametrize("edited", [False, True])
def test_the_layout_tells_where_instructions_lie(edited):
    """Offsets agree with dis, after decoding and after assembly."""
    for function in (subprocess.run, subprocess.Popen.__init__, guarded):
        code, body = function.__code__, xtab.decode(function)
        if edited:
            TOOLS["put_nops"](body)
            code = xtab.assemble(body)
        starts, first = [], None
        for each in dis.get_instructions(code):
            first = each.offset if first is None else first
            if each.opname != "EXTENDED_ARG":
                starts.append((first, each.opname))
                first = None
        assert [(offset, each.opname) for offset, each in body.layout] == starts
        assert len(body.layout) == len(starts) == len(body.instructions)
        ends = [start for start, _ in starts[1:]] + [len(code.co_code)]
        for each, (start, _), end in zip(body.instructions, starts, ends, strict=True):
            assert (body.layout.offset_of(each), body.layout.end_of(each)) == (start, end)
            assert {body.layout.instruction_at(offset) for offset in range(start, end)} == {each}


def test_the_layout_refuses_what_it_does_not_know():
    """An instruction that wasn't there, and an offset outside, are refused."""
    body = xtab.decode(guarded)
    size = len(guarded.__code__.co_code)
    for ask in (body.layout.offset_of, body.layout.end_of):
        with pytest.raises(xtab.XtabError, match=r"but found Instruction\('NOP'\)"):
            ask(I("NOP"))
    for offset in (-1, size, size + 2):
        message = f"expected an offset from 0 to {size - 1}, in bytes, but found {offset}"
        with pytest.raises(xtab.XtabError, match=message):
            body.layout.instruction_at(offset)


# locations


def locations_of(body, code):
    """By instruction, the location that the interpreter reads: the same for all its units."""
    positions = list(code.co_positions())
    assert 2 * len(positions) == len(code.co_code)
    found = []
    for offset, each in body.layout:
        units = {positions[unit] for unit in range(offset // 2, body.layout.end_of(each) // 2)}
        assert len(units) == 1, each
        position = units.pop()
        found.append(None if position == (None, None, None, None) else Location(*position))
    return found


LOCATIONS = [
    *(
        None,
        (None, None, None, None),
        (1, 1, 0, 79),
        (1, 1, 80, 81),
        (1, 1, 78, 95),
        (1, 1, 127, 127),
        (1, 1, 128, 129),
    ),
    *((2, 2, 0, 255), (5, 6, 7, 1), (100_000, 100_002, 300, 4), (3, 3, None, None), (4, 4, 0, 0)),
]
SAMPLES = [
    *code_objects(
        compile(
            """
def f(a, b):
    for x in a:
        try:
            with b as y:
                z = (x +
                     y.attr, x
                     .foo(1, 2))
        except ValueError as e:
            print(e)
    return [q for q in a if q]
async def g(xs):
    async for x in xs:
        async with x:
            yield lambda: x
class C:
    def m(self): return super().m(), (yield 1)
x = 1; print(x, "abc", *x, **x)
"""
            + "\n" * 70
            + "z = 4; "
            + " " * 150
            + "f(z)\n",
            "example",
            "exec",
        )
    )
]


def unreachable(body):
    """Put a return in front, so that the depths behind it are nobody's concern."""
    place = start_of(body)
    body.instructions[place:place] = [I("LOAD_CONST", None), I("RETURN_VALUE")]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_positions_are_those_of_the_instructions(data):
    """After any edits ``co_positions`` says of each instruction what its `location` does."""
    body = xtab.decode(data.draw(st.sampled_from(SAMPLES)))
    unreachable(body)
    instructions = body.instructions
    first = start_of(body) + 2
    kept = {each.target for each in instructions} | {
        each.exn_tab_entry.target for each in instructions if each.exn_tab_entry
    }
    for _ in range(data.draw(st.integers(0, 12))):
        what = data.draw(st.sampled_from(["insert", "beside", "large", "delete", "set", "same", "move", "append"]))
        if first == len(instructions):  # all that there was has been deleted
            what = "append"
        place = data.draw(st.integers(first, max(first, len(instructions) - 1)))
        location = data.draw(st.sampled_from(LOCATIONS))
        if what == "insert":
            instructions.insert(place, I("NOP", location=location))
        elif what == "append":
            instructions.append(I("NOP", location=location))
        elif what == "beside":
            instructions.insert(place, I("NOP", location=instructions[place].location))
        elif what == "large":
            instructions.insert(place, I("LOAD_CONST", object(), location=location))
        elif what == "set":
            instructions[place].location = location
        elif what == "same":
            instructions[place].location = instructions[place].location
        elif instructions[place] not in kept:
            taken = instructions.pop(place)
            if what == "move":
                instructions.insert(data.draw(st.integers(first, len(instructions))), taken)
    body.first_line += data.draw(st.sampled_from([0, 0, 0, 1, -1, 1000]))
    wanted = [each.location if each.location != (None, None, None, None) else None for each in instructions]
    try:
        code = xtab.assemble(body)
    except AssembleError as error:  # a jump that can't turn round was moved behind its target
        assert "to lead" in str(error)
        return
    assert len(body.layout) == len(instructions) or CURRENT.reversed
    by_instruction = dict(zip([each for _, each in body.layout], locations_of(body, code), strict=True))
    assert [by_instruction[each] for each in instructions] == wanted
    assert everything(xtab.assemble(xtab.decode(code))) == everything(code)


def test_what_is_appended_may_have_a_location():
    """An instruction behind the last one, as handlers are put, has its location written."""
    body = xtab.decode(guarded)
    body.instructions += [I("LOAD_CONST", 1, location=(7, 7, 1, 2)), I("RETURN_VALUE", location=(8, 8, 1, 2))]
    wanted = [each.location for each in body.instructions]
    assert locations_of(body, xtab.assemble(body)) == wanted


def test_no_location_leaves_the_line_as_it_is():
    """Lines are stored as differences: an instruction without a line doesn't break the count for those behind it."""
    for nowhere in (None, (None, None, None, None)):
        body = body_of("def f(a):\n    a.b\n\n\n    a.c\n\n    return a.d\n")
        wanted = [each.location for each in body.instructions]
        place = start_of(body)
        body.instructions.insert(place, I("NOP", location=nowhere))
        wanted.insert(place, None)
        assert locations_of(body, xtab.assemble(body)) == wanted


@pytest.mark.skipif(CURRENT.merges_locations, reason="this version joins neighbours with one location")
def test_each_instruction_has_an_entry_of_its_own():
    """3.11 writes a location entry for each instruction, of at most eight units, and so do we for new ones."""
    body = xtab.decode(subprocess.run)
    TOOLS["put_nops"](body)
    code = xtab.assemble(body)
    sizes = [(byte & 7) + 1 for byte in code.co_linetable if byte >= 128]
    wanted = []
    for offset, each in body.layout:
        units = (body.layout.end_of(each) - offset) // 2
        wanted += [8] * ((units - 1) // 8) + [(units - 1) % 8 + 1]
    assert sizes == wanted


# spans


def test_recorded_depths_are_kept():
    """The depth of a span that was decoded stays, even where all instructions inside are deeper."""
    namespace = {}
    exec(CASES["depth is data"][1], namespace)
    code = namespace["f"].__code__
    body = xtab.decode(code)
    TOOLS["put_nops"](body)
    new = xtab.assemble(body)
    assert [entry[3:] for entry in xtab.parse_exception_table(new)] == [
        entry[3:] for entry in xtab.parse_exception_table(code)
    ]
    assert types.FunctionType(new, {})() == [0, 1, 2]


def returning(value):
    """Return the instructions of a handler that returns a constant."""
    return [I("PUSH_EXC_INFO"), I("POP_TOP"), I("POP_EXCEPT"), I("LOAD_CONST", value), I("RETURN_VALUE")]


def boom(*args):
    raise KeyError(args)


STATEMENTS = {
    "straight": "def f(x):\n    a = x(1)\n    return a\n",
    "loop": "def f(x):\n    for i in range(2):\n        for j in range(2):\n            x(i)\n    return 5\n",
    "with": "def f(x):\n    with open('/dev/null'):\n        x(1)\n    return 5\n",
    "try": "def f(x):\n    try:\n        x(1)\n    except ValueError:\n        pass\n    return 5\n",
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_new_span_around_a_whole_body(name):
    """Everything behind the prologue in a new span, the old ones inside it: depth 0, and what raises is caught."""
    body = body_of(STATEMENTS[name])
    handler = returning("caught")
    span = Span(handler[0])
    inner = {each.exn_tab_entry for each in body.instructions}
    for each in body.instructions[start_of(body) :]:
        if each.exn_tab_entry is None:
            each.exn_tab_entry = span
    for old in inner - {None}:
        while old.outer is not None:
            old = old.outer
        if old is not span:
            old.outer = span
    body.instructions += handler
    new = function_of(body)
    assert span.depth is None
    target = body.layout.offset_of(handler[0])
    assert {entry.depth for entry in xtab.parse_exception_table(new) if entry.target == target} == {0}
    assert new(lambda *args: 5) == 5
    assert new(boom) == "caught"
    assert sys.exc_info() == (None, None, None)
    assert sum(1 for each in xtab.stack_depths(new) if each is None) == sum(
        1 for each in xtab.stack_depths(body) if each is None
    )


def in_an_expression(part):
    """``a + g(3, 4)``, "all" of the call or its "end" only in a span whose handler gives 100 instead."""
    body = body_of("def f(a, g):\n    return a + g(3, 4)\n")
    names = [each.opname for each in body.instructions]
    end = names.index("CALL")
    add = next(each for each in body.instructions if each.opname == "BINARY_OP")
    place = start_of(body)
    if part == "all":  # the loads are made anew: some versions load both variables at once
        load = [I("LOAD_FAST", "a")]
        call = [
            I("LOAD_FAST", "g"),
            I("PUSH_NULL"),
            *(I("LOAD_CONST", value) for value in (3, 4)),
            *body.instructions[names.index("PRECALL") if "PRECALL" in names else end : end + 1],
        ]
        if CURRENT.version < (3, 13):
            call[:2] = call[1::-1]
        body.instructions[place : end + 1] = [*load, *call]
    else:
        call = body.instructions[names.index("PRECALL") if "PRECALL" in names else end : end + 1]
    handler = [I("PUSH_EXC_INFO"), I("POP_TOP"), I("POP_EXCEPT"), I("LOAD_CONST", 100), I("JUMP_FORWARD", add)]
    span = Span(handler[0])
    call.insert(0, I("NOP"))
    body.instructions.insert(body.instructions.index(call[1]), call[0])
    for each in call:
        each.exn_tab_entry = span
    body.instructions += handler
    return body


@pytest.mark.parametrize("part", ["all", "end"])
def test_a_new_span_in_an_expression(part):
    """The handler keeps what lies below the values that the protected part takes: ``a``, and nothing of the call."""
    new = function_of(in_an_expression(part))
    assert [entry.depth for entry in xtab.parse_exception_table(new)] == [1]
    assert new(1, lambda *args: 5) == 6
    assert new(1, boom) == new(1, None) == new(1, lambda: 5) == 101


# determinism

PROGRAM = """
import xtab
body = xtab.decode(lambda x: x)
new = [xtab.Instruction("LOAD_CONST", value) for value in ("b", "a", frozenset("a"), 1.5, (1, "c"))]
new += [xtab.Instruction("LOAD_GLOBAL", name) for name in ("n", "m", "o")]
new += [xtab.Instruction("LOAD_CONST", value) for value in "defghij"]
body.instructions[1:1] = [each for load in new for each in (load, xtab.Instruction("POP_TOP"))]
code = xtab.assemble(body)
print(code.co_code.hex(), code.co_consts, code.co_names, code.co_linetable.hex())
"""


def test_the_same_bytes_whatever_the_hash_seed():
    """Names and constants get the same numbers under each PYTHONHASHSEED."""
    outputs = set()
    for seed in "0123":
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
        outputs.add(done.stdout)
    assert len(outputs) == 1


@pytest.mark.parametrize(
    "location, message",
    [
        ((5, 3, 0, 0), "expected an end line that is not before the line"),
        ((1, 1, -1, 0), "expected lines and columns of at least 0"),
        ((None, 1, 1, 1), "expected a line"),
        ((1 << 40, 1 << 40, 0, 0), "expected lines and columns below"),
    ],
)
def test_a_location_that_no_table_can_hold(location, message):
    body = xtab.decode(lambda x: x.y)
    body.instructions[2].location = location
    with pytest.raises(xtab.AssembleError, match=rf"^instruction 2: {message}.*, its location$") as caught:
        xtab.assemble(body)
    assert (caught.value.index, caught.value.instruction) == (2, body.instructions[2])


def test_a_broken_table_is_no_fault_of_an_instruction():
    code = (lambda x: x.y).__code__
    body = xtab.decode(code.replace(co_linetable=b"\xf8\xf0\x80\x00\x00"))
    body.first_line += 1
    with pytest.raises(xtab.TableFormatError):
        xtab.assemble(body)
