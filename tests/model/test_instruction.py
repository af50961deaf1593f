"""`Instruction` and `Span`: making them, what their operands stand for, changing them."""

from __future__ import annotations

import dis
import math
import subprocess
import types

import pytest

import xtab
from xtab import AssembleError, Cell, Free, Instruction, Location, Span, XtabError
from xtab.format.opcodes import CURRENT, OperandKind

HERE = set(CURRENT.number)
JUMP_IF_FALSE = next(name for name in ("POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE") if name in HERE)


def operands(function, opname):
    return [each.operand for each in xtab.decode(function).instructions if each.opname == opname]


def with_new(function, *new, before=None):
    """Return the function with instructions put behind the first RESUME, or before the last one of a name."""
    body = xtab.decode(function)
    names = [each.opname for each in body.instructions]
    place = names.index("RESUME") + 1 if before is None else len(names) - 1 - names[::-1].index(before)
    body.instructions[place:place] = new
    return types.FunctionType(xtab.assemble(body), {"__builtins__": __builtins__}, closure=function.__closure__)


def constant(value):
    """Return what a function gives that returns the constant, beside others that are equal to it but not the same."""

    def template():
        return 0.0, 1, 1.5, "a", b"a", (0.0, 1), True, None, ..., -0.0, (1, True)

    body = xtab.decode(template)
    resume = next(each for each in body.instructions if each.opname == "RESUME")
    body.instructions[:] = [resume, Instruction("LOAD_CONST", value), Instruction("RETURN_VALUE")]
    before = list(body.consts)
    code = xtab.assemble(body)
    assert list(map(repr, code.co_consts[: len(before)])) == list(map(repr, before))
    return types.FunctionType(code, {})()


# making them


def test_unknown_opcodes_are_refused_with_close_matches():
    """A misspelt opcode is named, with those that are close to it."""
    with pytest.raises(XtabError, match=r"but found 'LOAD_FATS'; close to it: .*LOAD_FAST") as caught:
        Instruction("LOAD_FATS", "x")
    assert "CPython {}.{}".format(*CURRENT.version) in str(caught.value)


@pytest.mark.parametrize("op", [-1, 256, 10**9, None, 1.5, b"NOP", CURRENT.name.index(None), ""])
def test_what_is_no_opcode_is_refused(op):
    """A number without an opcode, or something else altogether, is an XtabError and nothing else."""
    with pytest.raises(XtabError, match="expected an opcode of CPython"):
        Instruction(op)


@pytest.mark.parametrize("opname", ["EXTENDED_ARG", "CACHE"])
def test_what_assembly_makes_is_refused(opname):
    """EXTENDED_ARG and caches are no instructions: assembly makes them, and one more would change its neighbours."""
    with pytest.raises(XtabError, match=opname):
        Instruction(opname) if opname == "CACHE" else Instruction(opname, 1)


def test_numbers_do_as_well_as_names():
    """An opcode is given by name or by number."""
    assert Instruction(CURRENT.number["LOAD_FAST"], "x").opname == "LOAD_FAST"
    assert Instruction("LOAD_FAST", "x").opcode == CURRENT.number["LOAD_FAST"]


def test_a_missing_operand_is_refused():
    """What works on something needs it."""
    with pytest.raises(XtabError, match="expected an operand for LOAD_CONST, but found none"):
        Instruction("LOAD_CONST")


@pytest.mark.parametrize("operand", [0, 1, "x", None])
def test_a_superfluous_operand_is_refused(operand):
    """What works on nothing takes nothing, not even None or 0."""
    with pytest.raises(XtabError, match=r"expected no operand for NOP, but found "):
        Instruction("NOP", operand)


def test_a_jump_may_get_its_target_later():
    """Loops need a jump before its target, or the other way round."""
    jump, target = Instruction("JUMP_FORWARD"), Instruction("NOP")
    assert jump.target is jump.operand is None
    jump.target = target
    assert jump.operand is jump.target is target
    assert (jump.is_jump, target.is_jump, target.target) == (True, False, None)


def test_none_is_a_constant():
    """None given is not the same as nothing given."""
    assert Instruction("LOAD_CONST", None).operand is None
    assert constant(None) is None


@pytest.mark.parametrize("flags", [-1, 2, 100])
def test_flags_out_of_range_are_refused(flags):
    """LOAD_GLOBAL has one flag, so 0 and 1 it is."""
    with pytest.raises(XtabError, match=rf"expected flags from 0 to 1 for LOAD_GLOBAL, but found {flags}"):
        Instruction("LOAD_GLOBAL", "len", flags=flags)
    instruction = Instruction("LOAD_GLOBAL", "len", flags=1)
    with pytest.raises(XtabError, match="expected flags from 0 to 1"):
        instruction.flags = flags
    assert instruction.flags == 1


def test_flags_of_what_has_none_are_refused():
    """An opcode without flags takes 0 only."""
    assert Instruction("LOAD_FAST", "x", flags=0).flags == 0
    with pytest.raises(XtabError, match="expected flags from 0 to 0 for LOAD_FAST, but found 1"):
        Instruction("LOAD_FAST", "x", flags=1)


def test_a_location_may_be_a_tuple():
    """A location is given as a `Location`, as four numbers or as None, when made and later."""
    instruction = Instruction("NOP", location=(1, 2, 3, 4))
    assert instruction.location == Location(1, 2, 3, 4)
    assert instruction.location.line == 1
    instruction.location = None
    assert instruction.location is None
    instruction.location = (5, 6, 7, 8)
    assert isinstance(instruction.location, Location)


@pytest.mark.parametrize("given", [3, (1, 1, 1), ("1", 1, 1, 1), (1, 1.0, 1, 1), [1, 1, 1, 1]])
def test_what_is_no_location(given):
    with pytest.raises(XtabError, match="expected a Location, four numbers in a tuple, or None, but found"):
        Instruction("NOP").location = given


def test_they_are_compared_by_identity():
    """Two that look the same are two, and can be keys."""
    one, other = Instruction("NOP"), Instruction("NOP")
    assert one != other
    assert len({one, other}) == 2
    assert Span(one) != Span(one)


def test_no_attribute_can_be_misspelt():
    """Neither instructions nor spans take attributes that they don't have."""
    for thing in (Instruction("NOP"), Span(Instruction("NOP"))):
        with pytest.raises(AttributeError):
            thing.targets = None


# what operands stand for


def test_names_constants_and_locals():
    """Operands are what the numbers stand for."""

    def f(x):
        global g
        g = len(x.real) + 1.5
        del x
        return g

    assert operands(f, "STORE_GLOBAL") == ["g"]
    assert operands(f, "LOAD_GLOBAL") == ["len", "g"]
    assert operands(f, "LOAD_ATTR") == ["real"]
    assert 1.5 in operands(f, "LOAD_CONST")
    assert operands(f, "DELETE_FAST") == ["x"]
    assert [each.flags for each in xtab.decode(f).instructions if each.opname == "LOAD_GLOBAL"] == [1, 0]


def test_cells_and_free_variables():
    """Cells, free variables and arguments that became cells are told apart."""

    def f(argument):
        cell = 1

        def inner():
            nonlocal cell
            cell = argument
            return cell

        return inner, cell

    assert [str(name) for name in operands(f, "MAKE_CELL")] == ["argument", "cell"]
    assert operands(f, "LOAD_DEREF") == ["cell"]
    assert all(type(name) is Cell for name in operands(f, "LOAD_DEREF") + operands(f, "STORE_DEREF"))
    inner = next(const for const in f.__code__.co_consts if isinstance(const, types.CodeType))
    assert operands(inner, "STORE_DEREF") == ["cell"]
    assert sorted(operands(inner, "LOAD_DEREF")) == ["argument", "cell"]
    assert all(type(name) is Free for name in operands(inner, "LOAD_DEREF"))


def test_operators_are_words():
    """The operand of an operator or a comparison is its sign."""

    def f(a, b):
        a += b
        return a + b, a < b, a != b, a // b

    assert operands(f, "BINARY_OP") == ["+=", "+", "//"]
    assert operands(f, "COMPARE_OP") == ["<", "!="]


@pytest.mark.skipif("LOAD_FAST_LOAD_FAST" not in HERE, reason="this version has no instructions on two locals")
def test_pairs_of_locals():
    """Where an instruction works on two locals, both are in its operand."""

    def f(a, b):
        c, d = b, a
        return c, d

    pairs = [each for each in xtab.decode(f).instructions if CURRENT.kind[each.opcode] == OperandKind.LOCAL_PAIR]
    assert ("b", "a") in [each.operand for each in pairs]
    new = with_new(f, Instruction("LOAD_FAST_LOAD_FAST", ("b", "a")), Instruction("STORE_FAST_STORE_FAST", ("b", "a")))
    assert new(1, 2) == (1, 2)  # b = a and a = b: first in, last out


def test_jumps_have_instructions():
    """The operand of a jump is the instruction that it leads to."""

    def f(x):
        return 1 if x else 2

    instructions = xtab.decode(f).instructions
    jump = next(each for each in instructions if each.is_jump)
    assert jump.operand is jump.target
    assert jump.target in instructions


def test_arg_is_what_dis_shows():
    """`arg` is the number in the code, for whatever was decoded and not changed."""
    body = xtab.decode(subprocess.run)
    wanted = [each.arg for each in dis.get_instructions(subprocess.run) if each.opname not in ("EXTENDED_ARG", "CACHE")]
    assert [(each.opname, each.arg if CURRENT.kind[each.opcode] else None) for each in body.instructions] == [
        (each.opname, arg) for each, arg in zip(body.instructions, wanted, strict=True)
    ]
    named = next(each for each in body.instructions if each.opname == "LOAD_FAST")
    named.operand = "x"
    assert named.arg is None
    assert Instruction("LOAD_FAST", "x").arg is None


NAN = float("nan")
EQUAL_BUT_NOT_THE_SAME = [
    *(0, 0.0, -0.0, False, 0j, complex(0, -0.0), complex(-0.0, 0)),
    *(
        1,
        1.0,
        True,
        1 + 0j,
        "a",
        b"a",
        (0.0, 1),
        (-0.0, 1),
        (0, 1),
        (0.0, True),
        ((0.0,),),
        ((-0.0,),),
        (1, True),
        (True, 1),
    ),
    *(frozenset({0.0}), frozenset({0}), frozenset({-0.0}), None, ..., (), frozenset(), 10**40, float("inf")),
]


@pytest.mark.parametrize("value", EQUAL_BUT_NOT_THE_SAME, ids=lambda value: f"{type(value).__name__}-{value!r}")
def test_constants_are_told_apart(value):
    """Constants that are equal but of another type or sign, in tuples too, are not mixed up."""
    found = constant(value)
    assert (type(found), repr(found)) == (type(value), repr(value))


def test_constants_without_a_value_of_their_own_keep_their_identity():
    """Anything that no compiler makes a constant is told apart by identity."""

    class Same:
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    body = xtab.decode(lambda: None)
    values = [Same(), Same(), [1], [1], {}, type("S", (str,), {})("a"), type("I", (int,), {})(1)]
    body.instructions[1:] = [
        *(Instruction("LOAD_CONST", value) for value in values),
        Instruction("BUILD_TUPLE", len(values)),
        Instruction("RETURN_VALUE"),
    ]
    found = types.FunctionType(xtab.assemble(body), {})()
    assert [a is b for a, b in zip(found, values, strict=True)] == [True] * len(values)


def test_nan_keeps_its_sign():
    """A nan is a nan, with the sign it was given."""
    assert math.isnan(constant(NAN))

    body = xtab.decode(lambda: None)
    values = [NAN, -NAN]
    body.instructions[1:] = [
        *(Instruction("LOAD_CONST", value) for value in values),
        Instruction("BUILD_TUPLE", 2),
        Instruction("RETURN_VALUE"),
    ]
    found = types.FunctionType(xtab.assemble(body), {})()
    assert [math.copysign(1, value) for value in found] == [math.copysign(1, value) for value in values]


def test_equal_constants_are_stored_once():
    """A constant that is there already is not stored again."""

    def f():
        return "a", ("b", 1)

    body = xtab.decode(f)
    count = len(body.consts)
    body.consts.append(("b", 1))
    body.instructions[1:1] = [
        *(
            each
            for value in (("b", 1), (1, "c"), (1, "c"))
            for each in (Instruction("LOAD_CONST", value), Instruction("POP_TOP"))
        )
    ]
    assert len(xtab.assemble(body).co_consts) == count + 2


@pytest.mark.parametrize(
    "opname, operand, words",
    [
        ("LOAD_FAST", 3, "expected a name for LOAD_FAST, but found 3"),
        ("LOAD_GLOBAL", None, "expected a name for LOAD_GLOBAL, but found None"),
        ("BUILD_TUPLE", "x", "expected a number for BUILD_TUPLE, but found 'x'"),
        ("BUILD_TUPLE", -1, "but found -1"),
        ("BUILD_TUPLE", 2**31, "but found 2147483648"),
        ("BINARY_OP", "<>", r"expected one of \+, .* for BINARY_OP, but found '<>'"),
        ("LOAD_DEREF", "nobody", "expected a cell or free variable of this body for LOAD_DEREF, but found 'nobody'"),
        ("JUMP_FORWARD", 5, "expected JUMP_FORWARD to lead to an instruction of this body, but found 5"),
    ],
)
def test_operands_that_do_not_fit_are_refused(opname, operand, words):
    """An operand of the wrong kind is an AssembleError that says which instruction and what was expected."""
    body = xtab.decode(lambda: None)
    new = Instruction(opname, operand)
    body.instructions.insert(1, new)
    with pytest.raises(AssembleError, match=f"instruction 1: .*{words}") as caught:
        xtab.assemble(body)
    assert (caught.value.instruction, caught.value.index) == (new, 1)


# changing them


def test_setting_the_opcode_keeps_the_operand():
    """Another opcode of the same kind works on the same thing, whether it was decoded or given."""

    def f(x):
        return len(x)

    body = xtab.decode(f)
    load = next(each for each in body.instructions if each.operand == "len")
    load.opname = "LOAD_NAME"
    assert (load.operand, load.flags) == ("len", 0)
    given = Instruction("LOAD_FAST", "x")
    given.opcode = CURRENT.number["STORE_FAST"]
    assert (given.opname, given.operand) == ("STORE_FAST", "x")
    with pytest.raises(XtabError, match="expected an opcode"):
        given.opname = "STORE_FATS"
    assert (given.opname, given.operand) == ("STORE_FAST", "x")


def test_setting_the_opcode_keeps_the_target():
    """A jump that becomes another jump leads where it did."""
    target = Instruction("NOP")
    jump = Instruction("JUMP_FORWARD", target)
    jump.opname = JUMP_IF_FALSE
    assert jump.target is target


def test_setting_the_opcode_drops_what_it_does_not_need():
    """What becomes an instruction without an operand has none."""
    instruction = Instruction("LOAD_GLOBAL", "x", flags=1)
    instruction.opname = "NOP"
    assert (instruction.operand, instruction.flags) == (None, 0)


def test_setting_the_operand_keeps_the_flags():
    """Another name under the same flags."""
    instruction = Instruction("LOAD_GLOBAL", "x", flags=1)
    instruction.operand = "y"
    assert (instruction.operand, instruction.flags) == ("y", 1)


def test_setting_the_operator_of_a_comparison_changes_what_it_does():
    """A comparison turned round gives the other answer, specialised too: the flags say which results make it true."""

    def f(x, y):
        return x < y

    body = xtab.decode(f)
    next(each for each in body.instructions if each.opname == "COMPARE_OP").operand = ">"
    turned = types.FunctionType(xtab.assemble(body), {})
    assert [turned(2, 1) for _ in range(2000)] == [True] * 2000
    assert [turned(1.0, 2.0) for _ in range(2000)] == [False] * 2000


@pytest.mark.parametrize("word", ["<", "<=", "==", "!=", ">", ">="])
def test_new_comparisons_are_right_when_specialised(word):
    """A comparison that was made by its sign gives the right answer however often it runs."""
    body = xtab.decode(lambda x, y: None)
    body.instructions[1:] = [
        Instruction("LOAD_FAST", "x"),
        Instruction("LOAD_FAST", "y"),
        Instruction("COMPARE_OP", word),
        Instruction("RETURN_VALUE"),
    ]
    found = types.FunctionType(xtab.assemble(body), {})
    for x, y in ((1, 2), (2, 1), (1, 1), (1.0, 2.0), ("a", "a"), ("a", "b")):
        wanted = eval(f"x {word} y", {"x": x, "y": y})
        assert {found(x, y) for _ in range(300)} == {wanted}


def test_an_operand_where_there_is_none_is_refused():
    """NOP takes no operand later either, and only jumps have a target."""
    instruction = Instruction("NOP")
    with pytest.raises(XtabError, match="expected no operand for NOP, but found 1"):
        instruction.operand = 1
    with pytest.raises(XtabError, match="expected a jump, but found NOP"):
        instruction.target = Instruction("NOP")


# showing them


def test_repr_shows_what_was_given():
    """The repr is what makes the instruction, but for a target, which is named only."""
    for instruction, shown in (
        (Instruction("NOP"), "Instruction('NOP')"),
        (Instruction("LOAD_FAST", "x"), "Instruction('LOAD_FAST', 'x')"),
        (Instruction("LOAD_GLOBAL", "len", flags=1), "Instruction('LOAD_GLOBAL', 'len', flags=1)"),
        (Instruction("JUMP_FORWARD", Instruction("LOAD_CONST", 1)), "Instruction('JUMP_FORWARD', <LOAD_CONST>)"),
        (Instruction("JUMP_FORWARD"), "Instruction('JUMP_FORWARD', None)"),
        (Instruction("LOAD_DEREF", Cell("x")), "Instruction('LOAD_DEREF', Cell('x'))"),
        (Instruction("LOAD_DEREF", Free("x")), "Instruction('LOAD_DEREF', Free('x'))"),
    ):
        assert repr(instruction) == shown


def test_repr_of_spans():
    """A span shows its handler, depth, lasti, and the handler of the span around it."""
    handler = Instruction("PUSH_EXC_INFO")
    outer = Span(handler, depth=0)
    assert repr(outer) == "Span(PUSH_EXC_INFO, depth=0, lasti=False)"
    inner = Span(handler, 2, lasti=True, outer=outer)
    assert repr(inner) == "Span(PUSH_EXC_INFO, depth=2, lasti=True, outer=<PUSH_EXC_INFO>)"


# variables


def test_a_cell_is_no_local():
    """A local with the name of a cell would take the cell's place: it is refused, by name."""

    def f():
        x = 1
        y = 2
        return lambda: (x, y)

    body = xtab.decode(f)
    place = next(place for place, each in enumerate(body.instructions) if each.opname == "RESUME") + 1
    body.instructions[place:place] = [Instruction("LOAD_CONST", 99), Instruction("STORE_FAST", "x")]
    with pytest.raises(AssembleError, match="STORE_FAST, but found 'x'") as caught:
        xtab.assemble(body)
    assert caught.value.index == place + 1


def test_variables_appended_by_hand_are_found():
    """A name appended to the body's list between two assemblies is not appended again."""
    body = xtab.decode(lambda p: p)
    body.instructions[1:1] = [Instruction("LOAD_CONST", 1), Instruction("STORE_FAST", "x")]
    xtab.assemble(body)
    body.varnames.append("y")
    body.names.append("z")
    body.instructions[1:1] = [
        Instruction("LOAD_CONST", 2),
        Instruction("STORE_FAST", "y"),
        Instruction("LOAD_CONST", 2),
        Instruction("STORE_GLOBAL", "z"),
    ]
    code = xtab.assemble(body)
    assert code.co_varnames == ("p", "x", "y")
    assert code.co_names == ("z",)
