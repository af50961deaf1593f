"""`lay_out`: directions, sizes, places."""

from __future__ import annotations

import random
import sysconfig
from itertools import accumulate
from pathlib import Path

import pytest

import xtab
from xtab import Instruction
from xtab.format.code import code_objects
from xtab.format.opcodes import CURRENT
from xtab.model.assemble import code_bytes, mended
from xtab.model.layout import lay_out
from xtab.model.positions import location_table
from xtab.model.shape import read_body

LIBRARY = Path(sysconfig.get_path("stdlib"))


def laid_out(body):
    return lay_out(read_body(body))


def jumping(distance, *, back=False):
    """Return a body with a jump over so many NOPs, and the jump."""
    body = xtab.decode(lambda x: x)
    nops = [Instruction("NOP") for _ in range(distance)]
    end = body.instructions[1]
    jump = Instruction("JUMP_FORWARD", (nops or [end])[0] if back else end)
    body.instructions[1:1] = [*nops, jump] if back else [jump, *nops]
    return body, jump


@pytest.mark.parametrize("distance", [0, 1, 255, 256, 65_535, 65_536])
def test_a_jump_has_the_prefixes_that_its_distance_needs(distance):
    body, jump = jumping(distance)
    found = laid_out(body)
    place = body.instructions.index(jump)
    prefixes = (distance > 0xFF) + (distance > 0xFFFF)
    assert found.prefixes == ({place: prefixes} if prefixes else {})
    assert found.shape.args[place] == distance
    assert found.sizes[place] == CURRENT.units[jump.opcode] + prefixes
    assert found.starts == list(accumulate(found.sizes, initial=0))
    assert found.instructions == body.instructions


@pytest.mark.parametrize("distance", [10, 252, 253, 254, 255, 256])
def test_a_jump_back_counts_itself(distance):
    """The distance is counted from behind its caches, and its own prefix is in between."""
    body, jump = jumping(distance, back=True)
    found = laid_out(body)
    place = body.instructions.index(jump)
    assert CURRENT.name[found.shape.opcodes[place]] == "JUMP_BACKWARD"
    size = found.sizes[place]
    assert found.shape.args[place] == distance + size
    assert (place in found.prefixes) == (found.shape.args[place] > 255)
    assert jump.opname == "JUMP_FORWARD"  # the body stays as it is


def test_jumps_that_make_each_other_longer():
    """Each is short until the other one has its prefix."""
    body = xtab.decode(lambda x: x)
    end = body.instructions[1]
    inner = [Instruction("NOP") for _ in range(254)]
    second = Instruction("NOP")
    first = Instruction("JUMP_FORWARD", second)
    middle = Instruction("JUMP_FORWARD", end)
    tail = [Instruction("NOP") for _ in range(255)]
    body.instructions[1:1] = [first, middle, *inner, second, *tail]
    found = laid_out(body)
    assert found.prefixes == {1: 0} or found.prefixes in ({2: 1}, {1: 1, 2: 1})
    for jump in (first, middle):
        place = body.instructions.index(jump)
        target = body.instructions.index(jump.target)
        assert found.shape.args[place] == found.starts[target] - found.starts[place + 1]
        assert (found.shape.args[place] > 255) == (place in found.prefixes)


def test_an_untouched_body_is_laid_out_as_it_was():
    code = compile("for x in y:\n    if x:\n        a.b.c = x.y.z, x.y.z\n" * 20, "example", "exec")
    body = xtab.decode(code)
    found = laid_out(body)
    assert 2 * found.starts[-1] == len(code.co_code)
    assert [2 * start for start in found.starts[:-1]] == [offset for offset, _ in body.layout]
    assert found.parts == [(0, 0, len(body.instructions))]


@pytest.mark.skipif(not CURRENT.reversed, reason="this version has conditional jumps for both ways")
def test_a_conditional_jump_back_is_reversed():
    """Over a JUMP_BACKWARD, which stands at the place of the branch in the source text."""
    body = xtab.decode(lambda x: x)
    place = next(place for place, each in enumerate(body.instructions) if each.opname == "RESUME") + 1
    top = Instruction("NOP")
    branch = Instruction("POP_JUMP_IF_TRUE", top, location=(7, 7, 1, 2))
    ask = [Instruction("TO_BOOL")] if "TO_BOOL" in CURRENT.number else []
    body.instructions[place:place] = [top, Instruction("LOAD_FAST", "x"), *ask, branch]
    found = laid_out(body)
    at = found.instructions.index(branch)
    names = [CURRENT.name[opcode] for opcode in found.shape.opcodes]
    skipped = ["NOT_TAKEN"] if "NOT_TAKEN" in CURRENT.number else []
    assert names[at : at + 2 + len(skipped)] == ["POP_JUMP_IF_FALSE", *skipped, "JUMP_BACKWARD"]
    back = at + 1 + len(skipped)
    assert found.shape.targets == {at: back + 1, back: place}
    assert found.instructions[back].location == branch.location
    assert branch not in found.instructions[at + 1 :]
    assert len(found.instructions) == len(body.instructions) + 1 + len(skipped)
    assert branch.opname == "POP_JUMP_IF_TRUE"


@pytest.mark.parametrize("name", ["contextlib", "subprocess", "asyncio/tasks"])
def test_the_short_way_gives_what_the_long_way_gives(name):
    """NOPs at random places, a few with a location: as if nobody knew where instructions come from."""
    choose = random.Random(name)
    path = LIBRARY / f"{name}.py"
    short = 0
    for code in code_objects(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)):
        for count in (0, 1, 1, 2, 300):
            body = xtab.decode(code)
            for _ in range(count):
                location = choose.choice([*[None] * 9, (3, 3, 4, 5)])
                place = choose.randrange(len(body.instructions))
                body.instructions.insert(place, Instruction("NOP", location=location))
            found = mended(body)
            now = lay_out(found)
            then = lay_out(found._replace(loose=list(found.shape.targets), plain=False))
            assert (now.shape, now.starts, now.sizes, now.prefixes) == (
                then.shape,
                then.starts,
                then.sizes,
                then.prefixes,
            )
            assert code_bytes(now, body._source) == code_bytes(then._replace(plain=False), body._source)
            tables = [location_table(each, body._source, body.first_line) for each in (now, then._replace(plain=False))]
            assert tables[0] == tables[1]
            short += now.plain
    assert short > 0


def test_a_branch_back_needs_something_behind_it():
    """Where no conditional jump goes back, it is written as one forward over a jump back, and leads behind that."""
    body = xtab.decode(lambda x: 1 if x else 2)
    branch = next(each for each in body.instructions if each.opname.startswith("POP_JUMP"))
    place = body.instructions.index(branch)
    resume, *test = body.instructions[:place]
    leave = [Instruction("LOAD_CONST", None), Instruction("RETURN_VALUE")]
    body.instructions[:] = [resume, *leave, *body.instructions[place + 1 :], *test, branch]
    if not CURRENT.reversed:
        assert xtab.decode(xtab.assemble(body)).instructions[-1].is_jump
        return
    with pytest.raises(xtab.AssembleError, match="to lead on to if it doesn't jump back, but found the end") as caught:
        xtab.assemble(body)
    assert caught.value.instruction is branch
    body.instructions.append(Instruction("NOP"))
    assert xtab.decode(xtab.assemble(body)).instructions[-1].opname == "NOP"
