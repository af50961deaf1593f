"""Each kind of region in small sources, also after they were edited. That all of it is right, tests/regions shows."""

from __future__ import annotations

import ast
import sys
import warnings
from itertools import groupby
from types import CodeType

import pytest

from xtab import Instruction, assemble, decode, regions
from xtab.analysis.region_kinds import BOOKKEEPING, Kind, kind_of
from xtab.format.code import code_objects
from xtab.format.locations import Location, encode_location
from xtab.format.opcodes import CURRENT
from xtab.model.decode import read_source
from xtab.transform import blocks, emit

HAS_WRAPPERS = sys.version_info >= (3, 12)  # of generators; and comprehensions are inlined

WRITTEN = {
    "with a: b()": ["with"],
    "with a as x.y, b: c()": ["with", "with"],
    "try: f()\nexcept: g()": ["bare except"],
    "try: f()\nexcept: pass": ["bare except"],
    "try: f()\nexcept:\n  raise": ["bare except"],
    "try: f()\nexcept: 'text'": ["bare except"],
    "try: f()\nexcept:\n  'text'\n  raise": ["bare except"],
    "for x in y:\n  try: f()\n  except: continue": ["bare except"],
    "for x in y:\n  try: f()\n  except: break": ["bare except"],
    "def g():\n  try: f()\n  except: return": ["bare except"],
    "def g():\n  try: f()\n  except:\n    return": ["bare except"],
    "def g():\n  try: f()\n  except: return 1": ["bare except"],
    "def g():\n  try: f()\n  except:\n    if a: return\n    b()": ["bare except"],
    "try: f()\nexcept KeyError: g()": ["except KeyError"],
    "try: f()\nexcept (KeyError, os.error) as e: g()": ["except KeyError, os.error"],
    "try: f()\nexcept A: pass\nexcept B.c as e: raise\nexcept (C, (D, E)): g()\nelse: h()": ["except A, B.c, C, D, E"],
    "try: f()\nexcept A: g()\nexcept: h()": ["except A, bare except"],
    "try: f()\nexcept A: raise\nexcept: raise": ["except A, bare except"],
    "def g(A):\n  def k(): A\n  try: f()\n  except A: g()": ["except A"],
    "def g(A, B):\n  try: f()\n  except (A, B): g()": ["except A, B"],
    "class C:\n  try: f()\n  except __A: g()": ["except _C__A"],
    "def g(A):\n  class C:\n    try: f()\n    except A: g()": ["except A"],
    "try: f()\nexcept h(A): g()": ["except ..."],
    "try: f()\nexcept h.k(A).b: g()": ["except ..."],
    "try: f()\nexcept (A, h(B), C): g()": ["except A, ..., C"],
    "try: f()\nexcept (A, *B): g()": ["except ..."],
    "try: f()\nexcept A if b else C: g()": ["except ..."],
    "try: f()\nexcept (A or B, C): g()\nexcept D: h()": ["except ..., D"],
    "try: f()\nexcept errors[0]: g()": ["except ..."],
    "try: f()\nexcept (): g()": ["except ()"],
    "try: f()\nexcept (x := A): g()": ["except A"],
    "try: f()\nexcept tuple(x for x in y): g()": ["except ..."],
    "try: f()\nexcept {x: y for x in y for y in x if y}[0]: g()\nexcept A: h()": ["except ..., A"],
    "try: f()\nexcept (lambda: A)(): g()": ["except ..."],
    "async def g():\n  try: f()\n  except await h(): g()\n  except A: g()": ["except ..., A"],
    "async def g():\n  try: f()\n  except [x async for x in y][0]: g()\n  except A: g()": ["except ..., A"],
    "try: f()\nexcept* A: g()": ["except* A"],
    "try: f()\nexcept* (A, b.c) as e: g()\nexcept* D: h()\nexcept* k() as e: h()": ["except* A, b.c, D, ..."],
    "try: f()\nexcept* A if b else C: g()\nexcept* D: h()": ["except* ..., D"],
    "try: f()\nfinally: g()": ["finally"],
    "try: f()\nfinally: pass": ["finally"],
    "def g():\n  try: f()\n  finally: return": ["finally"],
    "def g():\n  try: f()\n  finally: return 1": ["finally"],
    "def g():\n  try: f()\n  finally: return h()": ["finally"],
    "for x in y:\n  try: f()\n  finally: continue": ["finally"],
    "for x in y:\n  try: f()\n  finally: break": ["finally"],
    "while x:\n  try: f()\n  finally:\n    if a: continue\n    b()": ["finally"],
    "try: f()\nfinally:\n  try: g()\n  except A: h()": ["finally", "except A", "except A"],
    "try: f()\nfinally:\n  try: g()\n  except: h()": ["finally", "bare except", "bare except"],
    "try: f()\nfinally:\n  try: g()\n  except* A: h()": ["finally", "except* A", "except* A"],
    "try: f()\nfinally:\n  with a: g()": ["finally", "with", "with"],
    "try: f()\nfinally:\n  x = None; del x": ["finally"],
    "try: f()\nfinally:\n  isinstance(e, A) and g()": ["finally"],
    "try: f()\nfinally:\n  for x in y: g()": ["finally"],
    "try: f()\nfinally:\n  raise A": ["finally"],
    "try: f()\nfinally:\n  while True: g()": ["finally"],
    "try: f()\nexcept A: g()\nfinally: h()": ["finally", "except A"],
    "try: f()\nexcept A:\n  with b: g()": ["except A", "with"],
    "def g():\n  try: yield f()\n  finally: yield h()": ["finally"],
    "async def g():\n  async with a: b()": ["async with"],
    "async def g():\n  async with a, b: c()": ["async with", "async with"],
    "async def g():\n  with a:\n    async with b: c()": ["with", "async with"],
    "async def g():\n  with a: await b": ["with"],
    "match f():\n  case [A(), *_] if g():\n    with a: b()": ["with"],
}


def kinds(source, *, bookkeeping):
    codes = code_objects(compile(source, "example", "exec", dont_inherit=True))
    found = [region for code in codes for region in regions(code)]
    return [region.label for region in found if region.bookkeeping == bookkeeping]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("source", WRITTEN)
def test_what_was_written(source):
    assert sorted(kinds(source, bookkeeping=False)) == sorted(WRITTEN[source])


def test_the_shapes_have_every_written_kind():
    told = {
        label.split(" ")[0] if label.startswith("except") else label for labels in WRITTEN.values() for label in labels
    }
    assert told == {str(kind) for kind in Kind} - {str(kind) for kind in BOOKKEEPING} - {"unknown"}


BOOKED = {
    "with a: b()": {Kind.HANDLER_CLEANUP},
    "try: f()\nexcept A: g()": {Kind.HANDLER_CLEANUP},
    "try: f()\nexcept A as e: g()": {Kind.HANDLER_CLEANUP, Kind.NAME_CLEANUP},
    "def g():\n  global e\n  try: f()\n  except A as e: g()": {Kind.HANDLER_CLEANUP, Kind.NAME_CLEANUP},
    "def g():\n  try: f()\n  except A as e: lambda: e": {Kind.HANDLER_CLEANUP, Kind.NAME_CLEANUP},
    "try: f()\nexcept* A: g()": {Kind.HANDLER_CLEANUP, Kind.EXCEPT_STAR_ITEM},
    "try: f()\nexcept* A as e: g()": {Kind.HANDLER_CLEANUP, Kind.NAME_CLEANUP},
    "def g(): yield f()": {Kind.STOP_ITERATION} if HAS_WRAPPERS else set(),
    "g = (x for x in y)": {Kind.STOP_ITERATION} if HAS_WRAPPERS else set(),
    "async def g(): await f()": {Kind.STOP_ITERATION, Kind.THROW_CLEANUP} if HAS_WRAPPERS else set(),
    "def g(): yield from f()": {Kind.STOP_ITERATION, Kind.THROW_CLEANUP} if HAS_WRAPPERS else set(),
    "async def g():\n  async for x in y: f()": {
        Kind.ASYNC_FOR, *({Kind.STOP_ITERATION, Kind.THROW_CLEANUP} if HAS_WRAPPERS else set())
    },
    "x = [f() for y in z]": {Kind.COMPREHENSION_RESTORE} if HAS_WRAPPERS else set(),
    "def g(z):\n  return {x: (y, w) for x in z for y, w in x}": {Kind.COMPREHENSION_RESTORE} if HAS_WRAPPERS else set(),
    "def g(z):\n  return [lambda: x + y for x, y in z]": {Kind.COMPREHENSION_RESTORE} if HAS_WRAPPERS else set(),
}  # fmt: skip


@pytest.mark.parametrize("source", BOOKED)
def test_bookkeeping(source):
    assert set(kinds(source, bookkeeping=True)) == {str(kind) for kind in BOOKED[source]}


def edited(code, edit):
    """The code with all its code objects edited."""
    consts = [edited(each, edit) if isinstance(each, CodeType) else each for each in code.co_consts]
    body = decode(code.replace(co_consts=tuple(consts)))
    edit(body)
    return assemble(body)


def all_kinds(code):
    return sorted(region.label for each in code_objects(code) for region in regions(each))


@pytest.mark.parametrize("count", [1, 300])
def test_nops_and_long_jumps_change_nothing(count):
    """With one NOP before every instruction; with so many that jumps need prefixes."""

    def edit(body):
        points = body.insertion_points()
        if count > 1:
            branches = [each for each in points if "JUMP_IF" in each.opname or each.opname == "FOR_ITER"]
            after = {body.instructions.index(each) + 1 for each in branches}
            points = [
                each for each in points if each.opname == "PUSH_EXC_INFO" or body.instructions.index(each) in after
            ]
        body.insert_copies_before(points, [Instruction("NOP") for _ in range(count)])

    nops = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in (*WRITTEN, *BOOKED):
            code = compile(source, "example", "exec", dont_inherit=True)
            new = edited(code, edit)
            nops += sum(each.co_code.count(bytes([CURRENT.nop, 0])) for each in code_objects(new))
            assert all_kinds(new) == all_kinds(code), source
    assert nops > 1000


def a_call_before_every_line(body):
    free = set(body.insertion_points())
    call = emit.call_method(emit.load_const(()), "__len__") + emit.pop()
    body.insert_copies_before([each for each, line in body.line_starts() if line and each in free], call)


def test_calls_before_every_line_change_nothing():
    """As what counts the lines that ran puts them: in front of handlers, and behind PUSH_EXC_INFO too."""
    more = ["try: a()\nexcept: b()\n", "def f():\n try: a()\n finally:\n  b()\n  return 1\n"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in (*WRITTEN, *BOOKED, *more):
            code = compile(ast.unparse(ast.parse(source)), "example", "exec", dont_inherit=True)
            new = edited(code, a_call_before_every_line)
            assert len(new.co_code) > len(code.co_code)
            assert all_kinds(new) == all_kinds(code), source


def test_a_handler_that_runs_in_a_circle():
    """Statements that leave the stack as it was, and a jump back to the first: nothing tells, and it ends."""
    body = decode(sample)
    first = Instruction("LOAD_CONST", None)
    body.instructions += [first, Instruction("POP_TOP"), Instruction("JUMP_BACKWARD", first)]
    body.protect(body.instructions[2], body.instructions[3], first, depth=0)
    code = assemble(body)
    (entry,) = read_source(code).entries
    assert kind_of(read_source(code), *entry[2:]) == (Kind.UNKNOWN, ())


def sample(x):
    x.begin()
    x.work()
    x.end()


def made_with(make):
    body = decode(sample)
    calls = [each for each in body.instructions if each.opname == "POP_TOP"]
    first = body.instructions[body.instructions.index(calls[0]) + 1]
    make(body, first, calls[1])
    return sorted(region.label for region in regions(assemble(body)))


def test_what_emit_makes():
    """Blocks that were put in, whose instructions all have one position, are told as those that were compiled."""
    cleanup = "handler clean-up"

    def some():
        return [*emit.load_const(None), *emit.pop()]

    assert made_with(lambda *run: blocks.try_except(*run, [])) == ["bare except", cleanup]
    assert made_with(lambda *run: blocks.try_except(*run, [], catch=emit.load_global("KeyError"))) == [
        "except KeyError",
        cleanup,
    ]
    named = made_with(lambda *run: blocks.try_except(*run, some(), catch=emit.load_name("KeyError"), name="e"))
    assert named == ["except KeyError", cleanup, "name clean-up"]
    assert made_with(lambda *run: blocks.try_finally(*run, [])) == ["finally", cleanup]
    assert made_with(lambda *run: blocks.with_block(*run, emit.load_local("x"))) == [cleanup, "with"]


def test_no_handler_at_all_is_unknown():
    """A handler that neither a compiler nor xtab makes."""
    body = decode(sample)
    target = Instruction("POP_TOP")
    body.instructions += [target, *emit.return_(emit.load_const(None))]
    body.protect(body.instructions[2], body.instructions[3], target, depth=0)
    code = assemble(body)
    (entry,) = read_source(code).entries
    assert kind_of(read_source(code), *entry[2:]) == (Kind.UNKNOWN, ())


def test_no_columns_no_guess():
    """Without columns, a finally that leaves at once is like an except that does, which is more common."""
    source = "def g():\n  try: f()\n  except: return"
    (_, code) = code_objects(compile(source, "example", "exec"))
    lines = code.replace(co_linetable=without_columns(code))
    assert [region.label for region in regions(lines) if not region.bookkeeping] == ["bare except"]


def without_columns(code):
    found = []
    line = code.co_firstlineno
    for position, group in groupby(code.co_positions()):
        count = len(list(group))
        where = None if position[0] is None else Location(position[0], position[0], None, None)
        while count:
            units = min(count, 8)
            found.append(encode_location(units, where, line))
            line = line if where is None else where.line
            count -= units
    return b"".join(found)


def test_work_is_linear(steps):
    """Of handlers of many clauses, of long bodies, and of those that lie in each other."""

    def spent(size):
        clauses = "".join(f"except A{number} if b else C: g()\n" for number in range(size))
        final = "try: f()\nfinally:\n" + "  if a: g()\n" * size
        source = read_source(compile(f"try: f()\n{clauses}\n{final}", "example", "exec"))
        keys = {entry[2:] for entry in source.entries}
        assert {kind_of(source, *key)[0] for key in keys} == {Kind.EXCEPT, Kind.FINALLY, Kind.HANDLER_CLEANUP}
        return steps(lambda: [kind_of(source, *key) for key in keys])

    assert spent(1000) < 12 * spent(100)
