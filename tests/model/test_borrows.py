"""Loads that borrow stay where the compiler's proof holds, and count a reference where an edit may have ended it."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import xtab
from xtab import Instruction as I
from xtab.format.opcodes import CURRENT
from xtab.model import borrows

pytestmark = pytest.mark.skipif(not CURRENT.borrows, reason="this version has no loads that borrow")


def sample(a, b):
    a.one(b)
    return a.two(b, a)


def borrowed(code):
    return [each.operand for each in xtab.decode(code).instructions if each.opcode in CURRENT.borrows]


def after(edit, function=sample):
    """The operands of the loads that still borrow once a body was edited."""
    body = xtab.decode(function)
    edit(body)
    return borrowed(xtab.assemble(body))


ALL = borrowed(sample) if CURRENT.borrows else []


def loads_of(body):
    return [each for each in body.instructions if each.opcode in CURRENT.borrows]


def test_untouched_code_borrows_on():
    assert len(ALL) >= 4
    assert after(lambda body: None) == ALL


def test_nops_prove_nothing_wrong():
    """Neither do instructions that are touched, but say what they said."""

    def put_nops(body):
        for each in body.insertion_points():
            body.insert_before(each, [I("NOP")])

    assert after(put_nops) == ALL

    def touch(body):
        for each in body.instructions:
            each.location = (1, 1, 0, 0)

    assert after(touch) == ALL


def test_code_between_a_load_and_its_consumer_does():
    """Only the loads whose values are on the stack there are changed."""

    def store(body):
        load = loads_of(body)[0]
        body.insert_after(load, [I("LOAD_CONST", None), I("STORE_FAST", "a")])

    assert after(store) == ALL[1:]


def test_code_after_the_consumer_does_not():
    def behind(body):
        first_pop = next(each for each in body.instructions if each.opname == "POP_TOP")
        body.insert_after(first_pop, [I("LOAD_CONST", None), I("POP_TOP")])

    assert after(behind) == ALL


def test_a_jump_into_the_middle_does():
    def jump(body):
        load = loads_of(body)[0]
        behind = body.instructions[body.instructions.index(load) + 1]
        body.insert_before(load, [I("LOAD_FAST", "b"), I("JUMP_FORWARD", behind)])

    assert after(jump)[:2] == ALL[1:3]


def test_a_jump_that_is_led_elsewhere_does_not():
    """It consumes what it tests, wherever it leads; what leads to the new instructions finds nothing borrowed."""

    def guarded(a):
        if a is None:
            a = 1
        return a

    def in_front(body):
        for each in body.insertion_points()[2:]:
            if each.exn_tab_entry is None and any(other.target is each for other in body.instructions):
                body.insert_before(each, [I("LOAD_CONST", None), I("POP_TOP")])

    assert after(in_front, guarded) == borrowed(guarded) != []


def test_a_consumer_that_went_does():
    """So does one at the end of the body, where nothing comes behind."""

    def cut(body):
        last = loads_of(body)[-1]
        place = body.instructions.index(last)
        body.instructions[place + 1 :] = [I("RETURN_VALUE")]
        body.instructions[:] = [each for each in body.instructions if each.exn_tab_entry is None]

    def returned(a):
        return a

    def replaced(body):
        body.replace(body.instructions[-1], [I("STORE_FAST", "a"), I("LOAD_CONST", None), I("RETURN_VALUE")])

    assert borrowed(returned.__code__) == ["a"]
    assert after(replaced, returned) == []


def test_moved_loads_do():
    def move(body):
        last = loads_of(body)[-1]
        body.replace(last, body.copy(last))

    assert after(move) == ALL[:2]  # the self of the method, which waits below, is changed as well


def test_pairs_become_pairs():
    def pair(a, b):
        return a + b

    body = xtab.decode(pair)
    body.insert_before(body.instructions[-1], [I("NOP")])
    load = next(each for each in body.instructions if isinstance(each.operand, tuple))
    body.insert_after(load, [I("LOAD_CONST", None), I("STORE_FAST", "a")])
    names = [each.opname for each in xtab.decode(xtab.assemble(body)).instructions]
    assert "LOAD_FAST_LOAD_FAST" in names
    assert load.opname == "LOAD_FAST_BORROW_LOAD_FAST_BORROW"


def test_a_value_that_was_swapped_down_counts_as_alive():
    """SWAP may put a borrowed value below others: it is alive to the end of its block then."""

    def swapped(a, b):
        a.x += b

    body = xtab.decode(swapped)
    add = next(each for each in body.instructions if each.opname == "BINARY_OP")
    body.insert_after(add, [I("LOAD_CONST", None), I("POP_TOP")])
    assert "a" not in str(borrowed(xtab.assemble(body)))


KEPT = """
    import xtab
    from xtab import Instruction as I
    def fail():
        raise ValueError
    def function(a):
        return [a, fail()]
    body = xtab.decode(function)
    call = next(each for each in body.instructions if each.opname == "CALL")
    push = I("PUSH_EXC_INFO")
    drop_and_return = [I("LOAD_CONST", None), I("STORE_FAST", "a"), I("RETURN_VALUE")]
    body.instructions += [push, I("POP_TOP"), I("POP_EXCEPT"), *drop_and_return]
    body.protect(call, call, push)
    function.__code__ = xtab.assemble(body)
    print([function(list("abc")) for _ in range(1000)].count(list("abc")))
"""


def test_what_a_new_handler_keeps_is_counted():
    """A value below the depth of a new span lives on in its handler, which the compiler has not seen."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KEPT)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.strip() == "1000", done.stderr


def called(a, k):
    return a.strip(k)


def formatted(a, k):
    return f"{a}{k}"


@pytest.mark.parametrize("function, opname", [(called, "LOAD_ATTR"), (formatted, "FORMAT_SIMPLE")])
def test_what_hands_a_value_on_does_not_consume_it(function, opname):
    """The self of a method, a str that is its own format: the value is there still."""
    body = xtab.decode(function)
    place = next(each for each in body.instructions if each.opname == opname)
    body.insert_after(place, [I("LOAD_CONST", None), I("STORE_FAST", "a")])
    assert "a" not in borrowed(xtab.assemble(body))


def test_each_instruction_is_looked_at_once(monkeypatch):
    """A value that COPY has doubled is not looked for to the end of the body, over and over."""
    namespace = {}
    exec("def f(a):\n" + "    a.x += 1\n" * 2_000, namespace)
    body = xtab.decode(namespace["f"])
    for place in body.instructions[1], body.instructions[-1]:
        body.insert_before(place, [I("LOAD_CONST", None), I("POP_TOP")])
    moves = []
    move = borrows._move
    monkeypatch.setattr(borrows, "_move", lambda *arguments: (moves.append(1), move(*arguments)))
    code = xtab.assemble(body)
    assert len(borrowed(code)) == 2_000
    assert 2_000 <= len(moves) <= len(body.instructions)


FREED = """
    import xtab
    class Thing:
        def method(self):
            return "alive"
    def function(a):
        return a.method()
    body = xtab.decode(function)
    load = next(each for each in body.instructions if each.opname.startswith("LOAD_FAST"))
    body.insert_after(load, [xtab.Instruction("LOAD_CONST", None), xtab.Instruction("STORE_FAST", "a")])
    function.__code__ = xtab.assemble(body)
    print([function(Thing()) for _ in range(1000)].count("alive"))
"""


def test_nothing_is_used_after_it_was_freed():
    """A local is dropped while its value waits on the stack: with the borrowing load, that would be freed memory."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FREED)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.strip() == "1000", done.stderr
