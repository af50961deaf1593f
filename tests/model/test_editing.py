"""Editing: what an edit promises of handlers, jumps and locations is what the assembled code does.

The model that answers are compared with knows nothing of tables: for each instruction, who handles its exceptions.
"""

from __future__ import annotations

import contextlib
import runpy
import sys
from pathlib import Path
from types import FunctionType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtab
from xtab import EditError, Span, XtabError, find_handler
from xtab import Instruction as I
from xtab.format.opcodes import CURRENT
from xtab.transform import emit

CASES = runpy.run_path(str(Path(__file__).parents[1] / "cases" / "tracers.py"))


def seams(a):
    """Two handlers of equal depth side by side, in a third."""
    try:
        try:
            a.one()
        except KeyError:
            a.two()
        try:
            a.three()
        except ValueError:
            a.four()
    finally:
        a.five()


def generator(a):
    try:
        with a:
            received = yield a
            yield from received
    finally:
        a.close()


async def coroutine(a):
    async with a as b:
        async for each in b:
            try:
                await each
            except* OSError:
                b = [x async for x in each]
    return b


SAMPLES = [seams, generator, coroutine, CASES["b22"], CASES["b45_star"]]


def handler_for(body):
    """A handler for new spans, at the end of the body: it is right at any depth."""
    handler = I("RERAISE", 0)
    body.instructions.append(handler)
    return handler


class Model:
    """Who handles what: for each instruction its (handler, lasti), or None."""

    def __init__(self, body):
        code = xtab.assemble(body)
        self.protected = {each: self.handler(body, code, offset) for offset, each in body.layout}
        entries = xtab.parse_exception_table(code)
        self.depths = {body.layout.instruction_at(entry.target): entry.depth for entry in entries}

    @staticmethod
    def handler(body, code, unit):
        entry = find_handler(code.co_exceptiontable, unit)
        return entry and (body.layout.instruction_at(entry.target), entry.lasti)

    def lead(self, old, new):
        """Whatever had one instruction as its handler has another now."""
        for each, found in self.protected.items():
            if found and found[0] is old:
                self.protected[each] = new, found[1]
        if old in self.depths:
            self.depths[new] = self.depths[old]

    def check(self, body):
        """The assembled code says so at every unit of every instruction."""
        code = xtab.assemble(body)
        assert set(body.instructions) == set(self.protected)
        for offset, each in body.layout:
            if each in self.protected:  # and isn't the assembler's own
                for unit in {offset, body.layout.end_of(each) - 2}:
                    assert self.handler(body, code, unit) == self.protected[each], (each, unit)


def jumps_of(body):
    return {each: each.target for each in body.instructions if each.is_jump}


def kinds_of(body, place):
    """What stands at a place, as far as tables are concerned."""
    instructions = body.instructions
    here, before = instructions[place].exn_tab_entry, instructions[place - 1].exn_tab_entry if place else None
    covered = [place for place, each in enumerate(instructions) if each.exn_tab_entry]
    if here is None and covered and covered[0] < place < covered[-1]:
        yield "hole"
    if instructions[place] in {each.exn_tab_entry.target for each in instructions if each.exn_tab_entry}:
        yield "handler"
    if here is before:
        yield "outside" if here is None else "inside"
    elif None in (here, before):
        yield "start" if before is None else "end"
    else:
        yield "seam"


def promised(model, body, place, *, behind=True):
    """What a policy promises that names the handler of an instruction; `behind`: the new ones stand before it.

    The handler of a PUSH_EXC_INFO counts on what that pushes, and CLEANUP_THROW on throw(): then it's the next one, who
    gets what these raise. Before POP_EXCEPT the exception is still handled, as it is where control comes from. What
    can't raise may have no handler even though all around it has: then it's the one that both sides share.
    """
    each = body.instructions[place]
    found = model.protected[each]
    if behind and each.opname == "POP_EXCEPT":
        old = [each for each in body.instructions if each in model.protected]
        found = handler_beside(model, old, old.index(each), -1) or found
    elif found is None and left_out(each):
        found = shared(model, body, place)
    if each.opname == "PUSH_EXC_INFO" and behind and found:
        found = model.protected[found[0]]
    while found and found[0].opname == "CLEANUP_THROW":
        found = model.protected[found[0]]
    return found


def left_out(instruction):
    """Whether a compiler may leave an instruction out of a range."""
    return CURRENT.raises_on_signal[instruction.opcode] and instruction.opname not in ("PUSH_EXC_INFO", "POP_EXCEPT")


def shared(model, body, place):
    """The first handler on the way out of where control comes from, that is also on the way out of where it goes."""
    old = [each for each in body.instructions if each in model.protected]  # without those that were put in
    place = old.index(body.instructions[place])
    ways = []
    for step in (-1, 1):
        found = handler_beside(model, old, place, step)
        way = []
        while found and found not in way:
            way.append(found)
            depth = model.depths[found[0]]
            found = model.protected[found[0]]
            while found and model.depths[found[0]] > depth:  # a handler's own clean-up
                found = model.protected[found[0]]
        ways.append(way)
    return next((found for found in ways[0] if found in ways[1]), None)


def handler_beside(model, old, at, step):
    """The handler of what runs before an instruction, or after; past those that have none because they can't raise."""
    while 0 <= at + step < len(old):
        here, beside = old[at], old[at + step]
        if step < 0 and CURRENT.stops[beside.opcode]:
            jumps = [each for each in old if each.is_jump and each.target is here]
            return model.protected[jumps[-1]] if jumps else None
        if step > 0 and CURRENT.stops[here.opcode]:
            return model.protected[here.target] if here.is_jump else None
        if model.protected[beside] or not left_out(beside):
            return model.protected[beside]
        at += step
    return None


POLICIES = ["anchor", "before", "after", None, "given"]


@pytest.mark.parametrize("policy", POLICIES)
def test_insert_before_keeps_its_words_everywhere(policy):
    """At the start of ranges, inside, at their end, at handlers, at seams, in holes."""
    seen = set()
    for function in SAMPLES:
        for place in range(len(xtab.decode(function).instructions)):
            for jumps in ("new", "stay") if policy == "anchor" else ("new",):
                body = xtab.decode(function)
                anchor = body.instructions[place]
                if body.why_not_before(anchor, jumps=jumps) is None:
                    check_insertion(body, place, policy, jumps)
                    seen.update(kinds_of(xtab.decode(function), place))
    assert seen == {"outside", "inside", "start", "end", "seam", "hole", "handler"}


def check_insertion(body, place, policy, jumps):
    anchor = body.instructions[place]
    protect = Span(handler_for(body), 0) if policy == "given" else policy
    model, before = Model(body), jumps_of(body)
    new = [I("NOP"), I("NOP")]
    before_it = promised(model, body, place)
    at_front = promised(model, body, place - 1, behind=False)
    body.insert_before(anchor, new, protect=protect, jumps=jumps)
    assert body.instructions[place : place + 3] == [*new, anchor]
    given = isinstance(protect, Span) and (protect.target, False)
    says = {"anchor": before_it, "after": before_it, "before": at_front, "given": given, None: None}
    model.protected |= dict.fromkeys(new, says[policy])
    if jumps == "new":
        model.lead(anchor, new[0])
    model.check(body)
    led = {anchor: new[0]} if jumps == "new" else {}
    assert jumps_of(body) == {jump: led.get(target, target) for jump, target in before.items()}
    assert [each.location for each in new] == [anchor.location] * 2


@pytest.mark.parametrize("policy", POLICIES)
def test_insert_after_keeps_its_words_everywhere(policy):
    for function in SAMPLES:
        for place in range(len(xtab.decode(function).instructions)):
            body = xtab.decode(function)
            behind = body.instructions[place + 1 : place + 2]
            if behind and body.why_not_before(behind[0], jumps="stay") is not None:
                continue
            anchor = body.instructions[place]
            if not behind and policy == "given":
                continue  # the handler would come between
            protect = Span(handler_for(body), 0) if policy == "given" else policy
            model, jumps = Model(body), jumps_of(body)
            new = I("NOP")
            last = promised(model, body, place + 1) if behind else None
            body.insert_after(anchor, [new], protect=protect)
            assert body.instructions[place + 1] is new
            model.protected[new] = {
                "anchor": promised(model, body, place, behind=False),
                "before": promised(model, body, place, behind=False),
                "after": last,
                "given": isinstance(protect, Span) and (protect.target, False),
                None: None,
            }[policy]
            model.check(body)
            assert jumps_of(body) == jumps


def test_many_at_once_are_each_as_one():
    """`insert_before_each` gives what `insert_before` gives one by one."""
    for function in SAMPLES:
        codes = []
        for at_once in (False, True):
            body = xtab.decode(function)
            new = {anchor: [I("NOP"), I("NOP")] for anchor in body.insertion_points()}
            if at_once:
                body.insert_before_each(new)
            else:
                for anchor, instructions in new.items():
                    body.insert_before(anchor, instructions)
            codes.append(xtab.assemble(body))
        assert codes[0] == codes[1]
        assert codes[0].co_exceptiontable == codes[1].co_exceptiontable


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_edits_keep_their_words(data):
    """Random edits, one after another: handlers, as the model has them."""
    body = xtab.decode(data.draw(st.sampled_from(SAMPLES)))
    end = body.instructions[-1]
    model = Model(body)
    for _ in range(data.draw(st.integers(1, 8))):
        what = data.draw(st.sampled_from(["before", "after", "replace", "remove", "move", "copy"]))
        place = data.draw(st.integers(0, len(body.instructions) - 2))
        anchor = body.instructions[place]
        with contextlib.suppress(EditError):  # nothing was done then
            edit(data, body, model, what, anchor)
    assert body.instructions[-1] is end
    with contextlib.suppress(xtab.StackError, xtab.AssembleError):  # code that makes no sense any more
        model.check(body)


def edit(data, body, model, what, anchor):
    new = I("NOP")
    place = body.instructions.index(anchor)
    before_it, behind_it = promised(model, body, place), promised(model, body, place, behind=False)
    if what == "before":
        body.insert_before(anchor, [new])
        model.protected[new] = before_it
        model.lead(anchor, new)
    elif what == "after":
        body.insert_after(anchor, [new])
        model.protected[new] = behind_it
    elif what == "replace":
        if CURRENT.effect(anchor.opcode, anchor.arg or 0) or anchor.is_jump or CURRENT.stops[anchor.opcode]:
            return
        body.replace(anchor, [new])
        model.protected[new] = before_it
        del model.protected[anchor]
        model.lead(anchor, new)
    elif what == "remove":
        if anchor.opname != "NOP":
            return
        heir = body.instructions[body.instructions.index(anchor) + 1]
        body.remove(anchor)
        model.lead(anchor, heir)
        del model.protected[anchor]
    elif what == "move":
        if anchor.opname == "NOP":
            goal = body.instructions[data.draw(st.integers(0, len(body.instructions) - 1))]
            if goal is not anchor:
                body.move(anchor, before=goal)
    else:
        copied = body.copy(anchor)
        if anchor.opname == "NOP":
            body.insert_after(anchor, copied)
            model.protected[copied[0]] = model.protected[anchor] or behind_it


# single words of the promises


def test_what_is_tied_together_stays_together():
    """Each pair that must stay together gives an error that says why, and where there is room."""
    seen = set()
    for function in SAMPLES:
        body = xtab.decode(function)
        points = set(body.insertion_points())
        for each in body.instructions:
            if each in points:
                continue
            with pytest.raises(
                EditError, match=r"expected a place .* but found instruction \d+, .*: .*; the next good"
            ) as caught:
                body.insert_before(each, [I("NOP")])
            assert caught.value.instruction is each
            assert caught.value.next_place in points
            seen.add(each.opname)
    assert {"RESUME", "RETURN_GENERATOR"} <= seen
    assert seen >= {CURRENT.name[op] for op in CURRENT.keep_before - {CURRENT.number.get("END_FOR")}}


def test_next_place_can_be_none():
    body = xtab.decode(lambda: None)
    del body.instructions[1:]
    with pytest.raises(EditError, match="the next good place is at the end") as caught:
        body.insert_before(body.instructions[0], [I("NOP")])
    assert caught.value.next_place is None


def test_spans_of_new_instructions_go_inside():
    """What brings spans of its own keeps them, inside the span that the policy names."""
    body = xtab.decode(seams)
    handler = handler_for(body)
    anchor = next(each for each in body.instructions if each.exn_tab_entry and each.exn_tab_entry.outer)
    inner = Span(handler, outer=Span(handler, 0))
    new = [I("NOP", exn_tab_entry=inner), I("NOP", exn_tab_entry=inner.outer), I("NOP")]
    body.insert_before(anchor, new)
    assert inner.outer.outer is anchor.exn_tab_entry
    assert new[2].exn_tab_entry is anchor.exn_tab_entry
    copied = body.copy(anchor)  # spans that are in the body already stay where they are
    body.insert_before(body.instructions[1], copied, protect=None)
    assert copied[0].exn_tab_entry is anchor.exn_tab_entry
    assert anchor.exn_tab_entry.outer is not None


def test_locations_that_are_given_stay():
    body = xtab.decode(seams)
    new = I("NOP", location=(7, 7, 1, 2))
    body.insert_before(body.instructions[3], [new])
    assert new.location == (7, 7, 1, 2)


def test_what_follows_resume_is_on_the_next_line():
    """RESUME stands on the line of the def, for which no line event comes, with instructions behind it or without."""
    body = xtab.decode(seams)
    resume, behind = body.instructions[:2]
    new = I("NOP")
    body.insert_after(resume, [new])
    assert new.location == behind.location != resume.location


def test_a_new_jump_to_the_anchor_stays_one():
    """Only what led to the anchor before is led to the new instructions; those themselves may lead to it."""
    body = xtab.decode(CASES["b22"])
    loop = next(each for each in body.instructions if each.opname == "FOR_ITER")
    back = [each for each in body.instructions if each.target is loop]
    skip = I("JUMP_FORWARD", loop)
    body.insert_before(loop, [skip])
    assert back
    assert {each.target for each in back} == {skip}
    assert skip.target is loop


def test_a_jump_that_was_led_elsewhere_says_so_and_stays_untouched():
    body = xtab.decode(lambda a: 1 if a else 2)
    jump = next(each for each in body.instructions if each.is_jump and each.target in body.insertion_points())
    first, second = I("NOP"), I("NOP")
    body.insert_before(jump.target, [first])
    assert jump.target is first
    assert jump.arg is None
    assert not body._source.touched
    body.insert_before(first, [second])
    assert jump.target is second
    laid_out = xtab.decode(xtab.assemble(body)).instructions
    assert laid_out[body.instructions.index(jump)].target is laid_out[body.instructions.index(second)]
    jump.location = None  # touched now: it leads there still
    assert jump.target is second
    assert jump.arg is None
    body.instructions.remove(second)
    with pytest.raises(xtab.AssembleError, match="lead to an instruction of this body"):
        xtab.assemble(body)


def test_what_is_replaced_may_be_among_what_comes_instead():
    """What led to an instruction leads to what stands before it now; a new jump leads where it was made to."""
    body = xtab.decode(CASES["b36"])
    loop = next(each for each in body.instructions if each.opname == "FOR_ITER")
    back = next(each for each in body.instructions if each.target is loop)
    skip = I("JUMP_FORWARD", loop)
    body.replace(loop, [skip, loop])
    assert back.target is skip
    assert skip.target is loop


def test_copies_lead_to_each_other():
    body = xtab.decode(CASES["b22"])
    run = body.instructions[1:]
    copied = body.copy(run[0], run[-1])
    twin = dict(zip(run, copied, strict=True))
    assert not set(run) & set(copied)
    for old, new in twin.items():
        assert (new.opcode, new.flags, new.location) == (old.opcode, old.flags, old.location)
        assert new.operand is twin[old.operand] if old.is_jump else new.operand == old.operand
        span, copy = old.exn_tab_entry, new.exn_tab_entry
        while span is not None:
            assert (copy.target, copy.depth, copy.lasti) == (twin[span.target], span.depth, span.lasti)
            span, copy = span.outer, copy.outer
        assert copy is None
    body.insert_after(body.instructions[0], copied)  # the copy runs, and returns before the rest is reached
    function = CASES["b22"]
    namespace = type(function)(xtab.assemble(body), function.__globals__)
    assert namespace(5) == function(5)


def test_copies_of_a_part_lead_outside():
    """Targets and spans outside of the run are those of the original."""
    body = xtab.decode(seams)
    spanned = next(each for each in body.instructions if each.exn_tab_entry)
    assert body.copy(spanned)[0].exn_tab_entry is spanned.exn_tab_entry
    jump = next(each for each in xtab.decode(CASES["b22"]).instructions if each.is_jump)
    body = xtab.decode(CASES["b22"])
    jump = next(each for each in body.instructions if each.is_jump)
    assert body.copy(jump)[0].target is jump.target


def test_removing_the_last_is_refused_where_something_leads_to_it():
    body = xtab.decode(lambda a: a and a.b)
    last = body.instructions[-1]
    jump = next(each for each in body.instructions if each.is_jump)
    jump.target = last
    with pytest.raises(EditError, match=r"expected an instruction behind .* but found the end"):
        body.remove(last)
    assert body.instructions[-1] is last


def test_half_of_a_pair_is_not_removed():
    """Both ends of a pair are refused alone, and go together."""
    for function in SAMPLES:
        size = len(xtab.decode(function).instructions)
        for place in range(size - 1):
            body = xtab.decode(function)
            first, second = body.instructions[place : place + 2]
            if second.opcode in CURRENT.adjacent.get(first.opcode, ()) and first.opname != "RETURN_GENERATOR":
                for half in (first, second):
                    with pytest.raises(EditError, match=r"must stay beside|belongs to the start"):
                        body.remove(half)
                    with pytest.raises(EditError):
                        body.replace(half, [I("NOP")])
                    with pytest.raises(EditError):
                        body.move(half, before=body.instructions[-1])
                body.replace(second, [I(second.opcode, *[second.operand] * (second.operand is not None))])


def test_the_end_of_a_loop_goes_with_the_loop():
    body = xtab.decode(CASES["b36"])
    end = next((each for each in body.instructions if each.opname == "END_FOR"), None)
    if end is None:
        pytest.skip("this version has no END_FOR")
    with pytest.raises(EditError, match=r"leads to it, and must|must stay beside"):
        body.remove(end)


@pytest.mark.parametrize(
    "do, message",
    [
        (lambda body: body.insert_before(I("NOP"), [I("NOP")]), "which is not in it"),
        (lambda body: body.insert_before(3, [I("NOP")]), "expected an Instruction of this body, but found 3"),
        (lambda body: body.insert_before(body.instructions[4], ["NOP"]), "an Instruction in a list of instructions to"),
        (lambda body: body.insert_before(body.instructions[4], [I("NOP")], protect="x"), "expected protect to be"),
        (lambda body: body.insert_before(body.instructions[1], [I("NOP")], jumps="x"), "expected jumps to be"),
        (lambda body: body.insertion_points(jumps=1), "expected jumps to be .new. or .stay., but found 1"),
        (lambda body: body.remove(body.instructions[3], body.instructions[2]), "expected a run whose first"),
        (
            lambda body: body.move(body.instructions[2], body.instructions[4], before=body.instructions[3]),
            "expected a place outside of the run",
        ),
        (lambda body: body.instruction("LOAD_FAST", "out"), "use the instruction for cells"),
        (lambda body: body.instruction("LOAD_DEREF", "nowhere"), "expected a cell or free variable"),
        (lambda body: body.instruction("NOP", 1), "expected no operand"),
    ],
)
def test_what_is_wrong_is_said(do, message):
    def outer(given):
        out = given

        def inner():
            return out

        return inner

    body = xtab.decode(outer)
    before = body.instructions.copy()
    with pytest.raises(XtabError, match=message):
        do(body)
    assert body.instructions == before


def test_a_checked_instruction_adds_nothing():
    body = xtab.decode(lambda x: x)
    assert body.instruction("STORE_FAST", "other").operand == "other"
    assert body.varnames == ["x"]


def test_fresh_locals_are_fresh():
    body = xtab.decode(lambda x: x)
    names = {body.fresh_local(), body.fresh_local(), body.fresh_local("kept")}
    assert len(names) == 3
    body.varnames.append(".tmp4")
    assert body.fresh_local() not in names | {".tmp4"}


RAISING = [seams, CASES["b17"], CASES["b22"], CASES["b10"]]


@pytest.mark.parametrize("function", RAISING)
def test_an_exception_anywhere_leaves_nothing_behind(function):
    """Wherever something is put that raises, the exception that was being handled is no longer, once all is over."""

    def boom():
        raise MemoryError

    points = len(xtab.decode(function).insertion_points())
    for number in range(points):
        body = xtab.decode(function)
        anchor = body.insertion_points()[number]
        body.insert_before(anchor, emit.call(emit.load_const(boom)) + emit.pop())
        edited = FunctionType(xtab.assemble(body), function.__globals__)
        arguments = [Raises()] * function.__code__.co_argcount
        with contextlib.suppress(Exception):
            edited(*arguments)
        assert sys.exc_info() == (None, None, None), anchor


class Raises:
    """Fails in all that the samples ask for."""

    def __getattr__(self, name):
        raise KeyError(name)

    def __getitem__(self, key):
        raise KeyError(key)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def test_an_insertion_costs_what_it_inserts():
    """Neighbours are found where the last one was: putting one before each of many is not quadratic in looks."""
    source = "def f(a):\n" + "".join(f"    a.b{n}\n" for n in range(300))
    namespace = {}
    exec(source, namespace)
    body = xtab.decode(namespace["f"])
    for anchor in body.insertion_points():
        body.insert_before(anchor, [I("NOP")])
        assert body.instructions[body._near] is anchor or body.instructions[body._near + 1] is anchor
    xtab.assemble(body)
