"""`Weaving`: where new instructions go. That the result runs is shown in test_blocks."""

from __future__ import annotations

import xtab
from xtab import Instruction
from xtab.transform.runs import Run
from xtab.transform.weaving import Weaving


def sample(x, f):
    if x:
        return f(x)
    f(1)
    return f(2)


def weave():
    body = xtab.decode(sample)
    first = body.instructions[1]
    last = [each for each in body.instructions if each.opname == "POP_TOP"][-1]
    run = Run(body, first, last)
    return body, run, Weaving(body, run)


def test_every_way_out_gets_its_code():
    body, _, weaving = weave()
    depths = []

    def make(depth):
        depths.append(depth)
        return [Instruction("NOP")]

    old = body.instructions.copy()
    weaving.leave_by(make)
    weaving.apply()
    new = [place for place, each in enumerate(body.instructions) if each not in old]
    assert sorted(depths) == [0, 1]  # where it falls through, and before the return
    assert [body.instructions[place + 1].opname == "RETURN_VALUE" for place in new] == [True, False]
    assert xtab.stack_depths(body)
    assert [each for each in body.instructions if each in old] == old


def test_what_enters_the_run_meets_its_beginning():
    body, run, weaving = weave()
    nop = Instruction("NOP")
    weaving.begin_with([nop])
    weaving.apply()
    assert body.instructions[body.instructions.index(run.first) - 1] is nop


def test_members_are_protected():
    body, run, weaving = weave()
    handler = [Instruction("PUSH_EXC_INFO"), Instruction("RERAISE", 0)]
    weaving.tail += handler
    span = weaving.protect(handler[0], lasti=False)
    weaving.apply()
    assert body.instructions[-2:] == handler
    assert {each for each in body.instructions if each.exn_tab_entry is span} == set(run.members)
    assert (span.target, span.outer, span.depth) == (handler[0], None, None)
    xtab.assemble(body)
