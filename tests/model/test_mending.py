"""What assembly puts right: NOPs at seams, and what yields say of their spans."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import xtab
from xtab import AssembleError
from xtab import Instruction as I
from xtab.format.opcodes import CURRENT

owes = pytest.mark.skipif(not CURRENT.looks_up_unit_before, reason="this version looks up the instruction itself")


def caller(f):
    f.a
    return f(1)


def generator(f):
    yield 1
    yield 2
    f()


def handler_for(body):
    handler = I("RERAISE", 0)
    body.instructions.append(handler)
    return handler


def call_of(body):
    return next(each for each in body.instructions if each.opname == "CALL")


@owes
def test_a_span_that_begins_at_a_call_gets_a_nop():
    """So that the unit before the call, which is the one looked up, has the call's handler."""
    body = xtab.decode(caller)
    call = call_of(body)
    body.protect(call, call, handler_for(body))
    code = xtab.assemble(body)
    offset = body.layout.offset_of(call)
    nop = body.layout.instruction_at(offset - 2)
    assert nop.opname == "NOP"
    assert nop not in body.instructions
    assert nop.exn_tab_entry is call.exn_tab_entry
    assert xtab.find_handler(code.co_exceptiontable, offset - 2) == xtab.find_handler(code.co_exceptiontable, offset)
    assert nop.location == call.location


@owes
def test_a_span_that_ends_before_a_call_gets_a_nop():
    body = xtab.decode(caller)
    call = call_of(body)
    place = body.instructions.index(call)
    body.protect(body.instructions[place - 1], body.instructions[place - 1], handler_for(body))
    code = xtab.assemble(body)
    offset = body.layout.offset_of(call)
    assert body.layout.instruction_at(offset - 2).opname == "NOP"
    assert xtab.find_handler(code.co_exceptiontable, offset - 2) is None
    assert xtab.find_handler(code.co_exceptiontable, offset - 4) is not None


def test_nothing_is_put_where_none_is_owed():
    """Neither in the middle of a span, nor at its ends where nothing calls, nor between two spans with one handler."""
    body = xtab.decode(caller)
    first, last = body.instructions[1], body.instructions[-1]
    new = body.protect(first, last, handler_for(body), 0)
    call_of(body).exn_tab_entry = xtab.Span(new.target, 0)
    xtab.assemble(body)
    assert [each for _, each in body.layout] == body.instructions


@owes
def test_code_that_came_so_stays_so():
    """A seam at a call that was decoded is nobody's edit."""
    body = xtab.decode(caller)
    call = call_of(body)
    body.protect(call, call, handler_for(body), 0)
    code = xtab.assemble(body)
    offset, end = body.layout.offset_of(call), body.layout.end_of(call)
    table = [entry._replace(start=offset, end=end) for entry in xtab.parse_exception_table(code)]
    odd = code.replace(co_exceptiontable=xtab.assemble_exception_table(table))
    assert xtab.assemble(xtab.decode(odd)).co_code == odd.co_code
    body = xtab.decode(odd)
    body.insert_after(body.instructions[0], [I("NOP")])
    assert len(xtab.assemble(body).co_code) == len(odd.co_code) + 2


@owes
def test_a_seam_inside_a_pair_is_refused():
    pairs = [
        (first, second)
        for first, seconds in CURRENT.adjacent.items()
        for second in seconds
        if CURRENT.runs_python[second]
    ]
    if not pairs:
        pytest.skip("no pair of this version ends with a call")

    def manager(a):
        with a:
            pass

    body = xtab.decode(manager)
    call = next(
        second
        for first, second in zip(body.instructions, body.instructions[1:], strict=False)
        if (first.opcode, second.opcode) in pairs
    )
    body.protect(call, call, handler_for(body), 0)
    with pytest.raises(AssembleError, match="which must stay together, in the same span"):
        xtab.assemble(body)


def wrapped(body):
    """Wrap all of a body in one more handler."""
    place = next(place for place, each in enumerate(body.instructions) if each.opname == "RESUME")
    first, last = body.instructions[place + 1], body.instructions[-1]
    body.protect(first, last, handler_for(body))
    return body


@pytest.mark.skipif(not CURRENT.resume_one_span, reason="RESUME of this version doesn't tell")
def test_resume_no_longer_says_that_one_span_is_around():
    body = xtab.decode(generator)
    said = [each.operand for each in body.instructions if each.opname == "RESUME"]
    assert any(operand & CURRENT.resume_one_span for operand in said)
    after = [each.operand for each in xtab.decode(xtab.assemble(wrapped(body))).instructions if each.opname == "RESUME"]
    assert after == [operand & ~CURRENT.resume_one_span for operand in said]
    assert [each.operand for each in body.instructions if each.opname == "RESUME"] == said


@pytest.mark.skipif(not CURRENT.yield_counts_spans, reason="YIELD_VALUE of this version doesn't count")
def test_yields_count_their_spans():
    body = xtab.decode(generator)
    before = [each.operand for each in body.instructions if each.opname == "YIELD_VALUE"]
    after = xtab.decode(xtab.assemble(wrapped(body))).instructions
    assert [each.operand for each in after if each.opname == "YIELD_VALUE"] == [count + 1 for count in before]


def test_what_was_odd_when_decoded_stays():
    """Code that says of its spans what no compiler would comes back as it was."""
    body = wrapped(xtab.decode(generator))
    code = xtab.assemble(body)
    body = xtab.decode(code)
    changed = 0
    for each in body.instructions:
        if each.opname == "RESUME" and CURRENT.resume_one_span and each.operand & 3:
            each.operand |= CURRENT.resume_one_span
            changed += 1
        elif each.opname == "YIELD_VALUE" and CURRENT.yield_counts_spans:
            each.operand += 5
            changed += 1
    odd = bytearray(code.co_code)
    for offset, each in body.layout:
        if each.opname in ("RESUME", "YIELD_VALUE") and changed:
            odd[offset + 1] = each.operand if each.operand is not None else odd[offset + 1]
    code = code.replace(co_code=bytes(odd))
    assert xtab.assemble(xtab.decode(code)).co_code == code.co_code


CLOSED = """
    import xtab
    log = []
    def generator():
        yield 1
        log.append("never")
    body = xtab.decode(generator)
    I = xtab.Instruction
    place = next(place for place, each in enumerate(body.instructions) if each.opname == "YIELD_VALUE")
    first, last = body.instructions[place - 1], body.instructions[-1]
    push = I("PUSH_EXC_INFO")
    handler = [push, I("LOAD_CONST", "closed"), I("STORE_GLOBAL", "seen"), I("RERAISE", 0)]
    clean_up = [I("COPY", 3), I("POP_EXCEPT"), I("RERAISE", 1)]
    body.instructions += handler + clean_up
    body.protect(first, last, push)
    body.protect(push, handler[-1], clean_up[0], lasti=True)
    generator.__code__ = xtab.assemble(body)
    waiting = generator()
    next(waiting)
    waiting.close()
    print(seen, log)
"""


OTHER = """
    import xtab
    from xtab import Instruction as I
    from xtab.transform import emit
    log = []
    note = emit.call(emit.load_const(lambda: log.append("seen"))) + emit.pop()
    def generator():
        yield 1
    body = xtab.decode(generator)
    wrapper = next((each for each in body.instructions if each.opname == "CALL_INTRINSIC_1"), None)
    if wrapper is None:
        print("seen seen")
        raise SystemExit
    body.insert_before(wrapper, note)
    noting = xtab.assemble(body)

    body = xtab.decode(generator)
    span = next(each.exn_tab_entry for each in body.instructions if each.exn_tab_entry)
    members = [each for each in body.instructions if each.exn_tab_entry is span]
    body.unprotect(span)
    push = I("PUSH_EXC_INFO")
    body.instructions += [push, *emit.call(emit.load_const(lambda: log.append("seen"))), *emit.pop(), I("RERAISE", 0)]
    body.protect(members[0], members[-1], push)
    for generator.__code__ in noting, xtab.assemble(body):
        waiting = generator()
        next(waiting)
        waiting.close()
    print(*log)
"""


@pytest.mark.parametrize("source, printed", [(CLOSED, "closed []"), (OTHER, "seen seen")], ids=["around", "instead"])
def test_close_runs_a_handler_around_a_yield(source, printed):
    """The interpreter takes no generator for finished that an edit gave one more handler, or another one."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.strip() == printed, done.stderr
