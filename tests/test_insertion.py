"""`insertion.py`, the tool of other tests: where a NOP may stand, and where not."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import xtab

TOOL = Path(__file__).parent / "insertion.py"
TOOLS = runpy.run_path(str(TOOL))


def outer():
    x = 1

    async def f(a):
        async for i in a:
            with i:
                yield await i, x

    return f


def test_every_place_is_free_or_has_its_reason():
    """The places are those of the body, each said once."""
    body = xtab.decode(outer())
    for redirect in (False, True):
        places, reasons = TOOLS["insertion_points"](body, redirect=redirect)
        assert sorted([*places, *reasons]) == list(range(len(body.instructions)))
        jumps = "new" if redirect else "stay"
        assert [body.instructions[place] for place in places] == body.insertion_points(jumps=jumps)
        assert len(places) > len(body.instructions) / 2


def test_nops_stand_before_what_they_should():
    """Each place gets one, protected as its instruction is; those that are named get one only."""
    body = xtab.decode(outer())
    before = body.instructions.copy()
    places, _ = TOOLS["insertion_points"](body)
    TOOLS["put_nops"](body)
    assert [each for each in body.instructions if each in set(before)] == before
    for place in places:
        at = body.instructions.index(before[place])
        nop = body.instructions[at - 1]
        assert nop.opname == "NOP"
        assert (nop.location, nop.exn_tab_entry) == (before[place].location, before[place].exn_tab_entry)
    assert len(body.instructions) == len(before) + len(places)

    body = xtab.decode(outer())
    TOOLS["put_nops"](body, places=places[:1])
    assert len(body.instructions) == len(before) + 1


def test_as_a_program_it_prints_what_it_leaves_out():
    done = subprocess.run([sys.executable, str(TOOL), __file__], capture_output=True, text=True, check=True)
    first, *rest = done.stdout.splitlines()
    assert first.startswith("a NOP may stand before ")
    assert any("the first RESUME" in line for line in rest)
