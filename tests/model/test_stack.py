"""`stack_depths` and `stack_size` agree with what the compiler found."""

from __future__ import annotations

import sys
import types
from itertools import pairwise

import pytest

import xtab
from xtab import Instruction, StackError
from xtab.format.opcodes import CURRENT

#: name -> source, co_stacksize on 3.11 to 3.15, number of table entries on them
TRUTH = {
    "except": ("def f(a):\n try:\n  a()\n except ValueError:\n  pass\n", (4, 4, 4, 4, 4), (3, 3, 3, 3, 3)),
    "except as, and several": (
        "def f(a):\n try:\n  a()\n except ValueError as e:\n  a(e)\n except (KeyError, TypeError):\n  pass\n",
        (4, 4, 4, 4, 4),
        (5, 5, 5, 6, 5),
    ),
    "finally with a return": ("def f(a, b):\n try:\n  return a()\n finally:\n  b(1)\n", (5,) * 5, (2,) * 5),
    "else and finally": (
        "def f(a, b):\n try:\n  a()\n except ValueError:\n  b(1)\n else:\n  b(2)\n finally:\n  b(3)\n",
        (5,) * 5,
        (7,) * 5,
    ),
    "with": ("def f(a):\n with a as b:\n  return b(1)\n", (6, 6, 6, 7, 7), (3, 2, 2, 2, 2)),
    "with two": ("def f(a):\n with a, a as b:\n  return b(1)\n", (7, 7, 7, 9, 9), (9, 6, 6, 6, 6)),
    "for, continue and break": (
        "def f(a):\n for i in a:\n  try:\n   if i:\n    continue\n   a(i)\n  except ValueError:\n   break\n",
        (5, 5, 5, 5, 6),
        (4,) * 5,
    ),
    "nothing completes": (
        (
            "def f(a):\n out = []\n for i in a:\n  try:\n   try:\n    raise TypeError\n"
            "   except ValueError as e:\n    raise\n  except TypeError:\n   out.append(i)\n return out\n"
        ),
        (5, 5, 5, 5, 6),
        (7,) * 5,
    ),
    "except*": ("def f(a):\n try:\n  a()\n except* ValueError as e:\n  a(e)\n", (7,) * 5, (4, 4, 4, 5, 4)),
    "generator": ("def f(a):\n yield 1\n yield a\n", (1, 2, 2, 2, 2), (0, 1, 1, 1, 1)),
    "async with": ("async def f(a):\n async with a as b:\n  await b\n", (6, 7, 7, 8, 9), (3, 15, 15, 16, 15)),
    "async for": ("async def f(a):\n async for i in a:\n  a(i)\n", (4, 4, 4, 4, 5), (1, 7, 7, 7, 7)),
    "comprehension": ("def f(a):\n return [i for i in a if i]\n", (2, 4, 4, 4, 5), (0, 2, 2, 2, 1)),
    "while, with, try": (
        "def f(a):\n while a:\n  with a as b:\n   try:\n    b(1)\n   except ValueError:\n    continue\n",
        (6, 6, 6, 7, 7),
        (9, 7, 7, 7, 7),
    ),
}
#: name -> whole tables on 3.11 to 3.15
TABLES = {
    "except": "820a0e008e0a1c039b011c03 82070a008a09160395011603 82070a008a0a170396011703 82070b008b0b1a0399011a03 "
    "83070c008c0b1b039a011b03",
    "finally with a return": "82091700970d2403 82061100910a1b03 82061100910a1b03 82061100910a1b03 83061200920a1c03",
    "with": "830b1b039b041f07a2011f07 8308150395051e07 83081503950a2307 8b081e059e0b2f09 8c081f059f0b3009",
    "nothing completes": "89071002900a20059a011b059b052005a0032302a31f410505c10401410505 "
    "8a061302930922059c011d059d052205a2032502a51a410205c10101410205 "
    "8a061402940a24059e011f059f052405a4032702a71b410605c10501410605 "
    "8a061402940b25059f012005a0052505a5032802a81c410805c10701410805 "
    "8c061604960b2707a1012207a2052707a7032a04aa1c410a07c10901410a07",
}
COLUMN = CURRENT.version[1] - 11


def function(source):
    namespace = {}
    exec(compile(source, "example", "exec", dont_inherit=True), namespace)
    return namespace["f"]


@pytest.mark.parametrize("name", TRUTH)
def test_the_size_is_that_of_the_compiler(name):
    """What CPython wrote, written down: stack size and entries, from code, from its body, and after assembly."""
    source, sizes, entries = TRUTH[name]
    made = function(source)
    body = xtab.decode(made)
    assert xtab.stack_size(made) == xtab.stack_size(body) == made.__code__.co_stacksize == sizes[COLUMN]
    body.stacksize = 0
    assert xtab.assemble(body).co_stacksize == sizes[COLUMN]
    assert len(xtab.parse_exception_table(made)) == entries[COLUMN]
    assert xtab.stack_depths(made) == xtab.stack_depths(body)
    assert len(xtab.stack_depths(made)) == len(body.instructions)


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_those_of_the_compiler(name):
    made = function(TRUTH[name][0])
    body = xtab.decode(made)
    body.instructions[:] = body.instructions.copy()
    assert xtab.assemble(body).co_exceptiontable.hex() == TABLES[name].split()[COLUMN]


GENERATORS = {
    "generator": "def f(a):\n x = yield\n yield from a\n return x\n",
    "coroutine": "async def f(a):\n return await a\n",
    "async generator": "async def f(a):\n async with a:\n  yield [i async for i in a]\n",
}


@pytest.mark.parametrize("kind", GENERATORS)
def test_generators_start_with_one_value(kind):
    """RETURN_GENERATOR leaves the value that the first send passes in, whatever else there is."""
    made = function(GENERATORS[kind])
    depths = xtab.stack_depths(made)
    names = [each.opname for each in xtab.decode(made).instructions]
    place = names.index("RETURN_GENERATOR")
    assert depths[: place + 3] == [0] * (place + 1) + [1, 0]
    assert names[place + 1 : place + 3] == ["POP_TOP", "RESUME"]
    assert None not in depths
    assert xtab.stack_size(made) == made.__code__.co_stacksize


def test_what_can_not_be_reached_has_no_depth():
    """None, not a number: for code behind a return, and for a handler of nothing that is reached."""
    body = xtab.decode(lambda x: x.y)
    count = len(body.instructions)
    body.instructions += [Instruction("POP_TOP"), Instruction("POP_TOP"), Instruction("RETURN_VALUE")]
    depths = xtab.stack_depths(body)
    assert None not in depths[:count]
    assert depths[count:] == [None] * 3
    assert xtab.stack_size(body) == 1


def test_the_stack_is_not_made_smaller_while_dead_code_remains():
    body = xtab.decode(lambda x: x.y)
    body.stacksize = 7
    assert xtab.assemble(body).co_stacksize == 1
    body.instructions += [Instruction("POP_TOP"), Instruction("LOAD_CONST", 1), Instruction("RETURN_VALUE")]
    assert xtab.assemble(body).co_stacksize == 7


def test_asking_adds_nothing():
    """Names and constants that an instruction brings are not in the lists before assembly, and nothing else changes."""
    body = xtab.decode(lambda x: x)
    lists = [body.consts, body.names, body.varnames]
    before = [items.copy() for items in lists]
    body.instructions[1:1] = [
        *(Instruction("LOAD_CONST", (1, 2)), Instruction("STORE_FAST", "new")),
        *(Instruction("LOAD_GLOBAL", "new"), Instruction("POP_TOP")),
    ]
    assert xtab.stack_size(body) == 1
    assert [body.consts, body.names, body.varnames] == before
    assert all(now is then for now, then in zip([body.consts, body.names, body.varnames], lists, strict=True))
    code = xtab.assemble(body)
    assert (code.co_names, code.co_varnames) == (("new",), ("x", "new"))


def joined(deep):
    """Return a body where two ways meet, one of them with a value too many."""
    body = xtab.decode(lambda x: x)
    jump = next(name for name in ("POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_TRUE") if name in CURRENT.number)
    meet = Instruction("LOAD_CONST", 5)
    extra = [Instruction("LOAD_CONST", 7)] if deep else [Instruction("NOP")]
    ask = [Instruction("TO_BOOL")] if "TO_BOOL" in CURRENT.number else []
    body.instructions[1:] = [Instruction("LOAD_FAST", "x"), *ask, Instruction(jump, meet), *extra, meet]
    body.instructions.append(Instruction("RETURN_VALUE"))
    return body


def test_a_conflict_names_both_ways():
    """The message has the place, both depths, and the two instructions that lead there."""
    assert xtab.stack_size(joined(deep=False)) == 1
    body = joined(deep=True)
    with pytest.raises(StackError) as caught:
        xtab.stack_depths(body)
    names = [each.opname for each in body.instructions]
    meet = len(names) - 2
    assert caught.value.index == meet
    jump = next(place for place, name in enumerate(names) if name.startswith("POP_JUMP"))
    text = str(caught.value)
    line = joined.__code__.co_firstlineno + 2
    assert text.startswith(f"instruction {meet} (LOAD_CONST): expected depth ")
    assert f"from instruction {jump} ({names[jump]})" in text
    assert f"from instruction {meet - 1} (LOAD_CONST)" in text
    assert (caught.value.opname, caught.value.line) == ("LOAD_CONST", None)
    for each in body.instructions[meet - 1 :]:
        each.location = xtab.Location(line, line, None, None)
    with pytest.raises(StackError) as caught:
        xtab.assemble(body)
    text = str(caught.value)
    assert text.startswith(f"instruction {meet} (LOAD_CONST, line {line}): expected depth ")
    assert f"from instruction {meet - 1} (LOAD_CONST, line {line})" in text
    assert (caught.value.opname, caught.value.line) == ("LOAD_CONST", line)
    assert ("depth 1" in text) != ("depth 0" in text)
    assert caught.value.offset is None


def test_conflicts_in_code_have_offsets():
    body = joined(deep=True)
    code = xtab.assemble(joined(deep=False))
    layout = xtab.decode(code).layout
    offsets = [offset for offset, _ in layout]
    number = CURRENT.number
    place = next(place for place, each in enumerate(body.instructions) if each.operand == 7)
    at = offsets[place]
    code = code.replace(co_code=code.co_code[:at] + bytes([number["PUSH_NULL"], 0]) + code.co_code[at + 2 :])
    with pytest.raises(StackError, match=rf"\(PUSH_NULL, offset {at}\)") as caught:
        xtab.stack_size(code)
    assert caught.value.offset == offsets[caught.value.index]


def test_an_underflow_names_the_instruction():
    body = xtab.decode(lambda x: x)
    body.instructions[1:] = [Instruction("LOAD_CONST", 1), Instruction("BUILD_TUPLE", 3), Instruction("RETURN_VALUE")]
    for ask in (xtab.stack_size, xtab.stack_depths, xtab.assemble):
        with pytest.raises(StackError, match="values or more on the stack for BUILD_TUPLE, but found 1") as caught:
            ask(body)
        assert caught.value.index == 2


@pytest.mark.parametrize("depth", [19, 20])
def test_nested_try(depth):
    """As deep as the compiler lets them be: some versions count the function as a block."""
    lines = ["def f(a):"]
    lines += [" " * level + "try:" for level in range(1, depth + 1)] + [" " * (depth + 1) + "a()"]
    for level in range(depth, 0, -1):
        lines += [" " * level + f"except E{level % 3}:", " " * (level + 1) + f"a({level})"]
    try:
        made = function("\n".join(lines) + "\n")
    except SyntaxError:
        assert depth == 20
        return
    body = xtab.decode(made)
    assert xtab.stack_size(made) == made.__code__.co_stacksize
    assert xtab.assemble(body) == made.__code__
    span = next(each.exn_tab_entry for each in body.instructions if each.opname == "CALL")
    outward = []
    while span is not None:
        outward.append(span)
        span = span.outer
    assert len(outward) == depth


def test_100000_blocks():
    """Blocks one after the other, and each around the rest: neither comes near the recursion limit."""
    count = 100_000
    body = xtab.decode(lambda x: x)
    one_after_the_other = [Instruction("JUMP_FORWARD") for _ in range(count)]
    for here, there in pairwise(one_after_the_other):
        here.target = there
    end = body.instructions[1:]
    one_after_the_other[-1].target = end[0]
    body.instructions[1:1] = one_after_the_other
    depths = xtab.stack_depths(body)
    assert depths[: count + 2] == [0] * (count + 2)
    # backward: each is found from the one behind it
    body.instructions[1:] = [Instruction("JUMP_FORWARD", one_after_the_other[0]), *end, *reversed(one_after_the_other)]
    assert set(xtab.stack_depths(body)) == {0, 1}
    assert sys.getrecursionlimit() <= count


def with_tries(count):
    return "def f(a):\n" + " try:\n  a()\n except E:\n  pass\n" * count


def test_many_try_statements():
    made = function(with_tries(1000))
    assert xtab.stack_size(made) == made.__code__.co_stacksize
    assert xtab.assemble(xtab.decode(made)) == made.__code__


@pytest.mark.slow
def test_30000_try_statements():
    made = function(with_tries(30_000))
    body = xtab.decode(made)
    assert xtab.stack_size(made) == made.__code__.co_stacksize
    assert xtab.assemble(body).co_exceptiontable == made.__code__.co_exceptiontable
    body.instructions.insert(1, Instruction("NOP"))
    assert xtab.assemble(body).co_stacksize == made.__code__.co_stacksize


@pytest.mark.slow
def test_1000000_instructions():
    code = compile("x", "example", "eval")
    start = 2 * CURRENT.units[CURRENT.number["RESUME"]]
    nops = bytes([CURRENT.nop, 0]) * 1_000_000
    table = b"\xff" * (1_000_000 // 8)
    code = code.replace(co_code=code.co_code[:start] + nops + code.co_code[start:], co_linetable=table + b"\xff")
    body = xtab.decode(code)
    assert len(body.instructions) == 1_000_003
    assert set(xtab.stack_depths(body)) == {0, 1}
    body.instructions.insert(500_000, Instruction("NOP"))
    new = xtab.assemble(body)
    assert len(new.co_code) == len(code.co_code) + 2
    assert eval(new, {"x": 5}) == 5


MIXED = " for i in a:\n  try:\n   a(i)\n  except E:\n   continue\n  with a as b:\n   b.c = i\n"


def edited(code):
    body = xtab.decode(code)
    new = []
    for each in body.instructions:
        if each.opname == "STORE_ATTR":
            new.append(Instruction("NOP", location=(1, 1, 0, 0), exn_tab_entry=each.exn_tab_entry))
            each.operand = "d"
        new.append(each)
    body.instructions[:] = new
    return xtab.assemble(body)


WORK = {
    "decode": xtab.decode,
    "assemble": lambda code: xtab.assemble(xtab.decode(code)),
    "an edit in each block": edited,
    "depths": lambda code: (xtab.stack_depths(code), xtab.stack_size(code)),
    "pieces": lambda code: pieces_of_a_span(xtab.decode(code)),
}


def pieces_of_a_span(body):
    return body.pieces_of(next(filter(None, (each.exn_tab_entry for each in body.instructions))))


@pytest.mark.parametrize("work", WORK)
def test_the_work_is_linear(work, steps):
    """Ten times the instructions: at most twelve times the lines, even where every block is edited."""
    small, large = (function("def f(a):\n" + MIXED * count).__code__ for count in (12, 120))
    assert isinstance(small, types.CodeType)
    few, many = steps(WORK[work], small), steps(WORK[work], large)
    assert few > 20
    assert many <= 12 * few
