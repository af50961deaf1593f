"""`Run`: what belongs to a run. What blocks make of it is in test_blocks."""

from __future__ import annotations

import pytest

import xtab
from xtab.transform.runs import Run, is_jump_only, is_return


def sample(xs, f):
    for x in xs:
        try:
            f(x)
        except KeyError as error:
            f(error)
            break
        f("after")
    return xs


def generator(f):
    yield f
    try:
        yield f()
    finally:
        f(1)


def lines_of(instructions, function):
    first = function.__code__.co_firstlineno
    return {each.location.line - first for each in instructions if each.location is not None}


def at_line(body, line):
    found = [each for each in body.instructions if each.location and each.location.line == body.first_line + line]
    return found[0], found[-1]


def test_handlers_belong_to_the_run_wherever_they_stand():
    body = xtab.decode(sample)
    first, _ = at_line(body, 2)
    behind, _ = at_line(body, 7)
    run = Run(body, first, body.instructions[body.instructions.index(behind) - 1])
    assert {3, 4, 5} <= lines_of(run.members, sample) <= {1, 2, 3, 4, 5, 6}
    assert "PUSH_EXC_INFO" in {each.opname for each in run.members}
    assert not set(run.members) & {behind, *at_line(body, 8)}
    assert run.goes_on() is behind
    assert run.depth == xtab.stack_depths(body)[body.instructions.index(first)] > 0
    assert run.around is None
    assert run.spans_inside()
    assert all(before in run.members and after not in run.members for before, after in run.ways_out())
    assert behind in {after for _, after in run.ways_out()}


def test_the_way_out_of_the_loop_around_is_no_member():
    """A `break` pops the iterator, which lies below the run."""
    body = xtab.decode(sample)
    first, _ = at_line(body, 2)
    behind, _ = at_line(body, 7)
    run = Run(body, first, body.instructions[body.instructions.index(behind) - 1])
    depths = dict(zip(body.instructions, xtab.stack_depths(body), strict=True))
    assert min(depths[each] for each in run.members) == run.depth


def test_a_whole_function():
    for function in (sample, generator):
        body = xtab.decode(function)
        places = [place for place, each in enumerate(body.instructions) if each.opname == "RESUME"]
        run = Run(body, body.instructions[places[0] + 1], body.instructions[-1])
        assert run.depth == 0
        assert run.goes_on() is None
        assert any(map(is_return, run.members))
        assert not list(run.ways_out())


def test_borders_are_checked():
    body = xtab.decode(generator)
    yields = next(each for each in body.instructions if each.opname == "YIELD_VALUE")
    resume = body.instructions[body.instructions.index(yields) + 1]
    first = body.instructions[body.instructions.index(yields) - 1]
    with pytest.raises(xtab.XtabError, match="may begin and end"):
        Run(body, first, yields)
    with pytest.raises(xtab.XtabError, match="may begin and end"):
        Run(body, resume, body.instructions[-1])


def test_a_border_that_is_closed_names_the_next_place():
    """As where somebody takes instruction 1 for the first one of a generator."""
    body = xtab.decode(generator)
    with pytest.raises(
        xtab.EditError, match=r"the next good place is before instruction \d+, .*, which is body.start$"
    ):
        Run(body, body.instructions[0], body.instructions[-1])
    with pytest.raises(xtab.EditError) as caught:
        Run(body, body.instructions[1], body.instructions[-1])
    assert caught.value.next_place is body.start
    assert Run(body, body.start, body.instructions[-1]).first is body.start


def test_what_cannot_be_reached_is_no_run():
    body = xtab.decode(lambda x: x)
    nop, last = xtab.Instruction("NOP"), xtab.Instruction("RETURN_VALUE")
    body.instructions += [nop, xtab.Instruction("LOAD_CONST", 1), last]
    with pytest.raises(xtab.XtabError, match="can be reached"):
        Run(body, nop, last)


def test_kinds_of_leaving():
    nop = xtab.Instruction("NOP")
    assert is_return(xtab.Instruction("RETURN_VALUE"))
    assert not is_return(nop)
    assert is_jump_only(xtab.Instruction("JUMP_FORWARD", nop))
    assert not is_jump_only(xtab.Instruction("FOR_ITER", nop))
    assert not is_jump_only(xtab.Instruction("RAISE_VARARGS", 0))
