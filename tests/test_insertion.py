"""`insertion.py`, the tool of other tests: where a NOP may stand, and where not."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import xtab
from xtab.format.opcodes import CURRENT

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
    """The places are those of the body, each said once; what is left out are the prologue and the pairs."""
    body = xtab.decode(outer())
    places, reasons = TOOLS["insertion_points"](body)
    assert sorted([*places, *reasons]) == list(range(len(body.instructions)))
    names = [each.opname for each in body.instructions]
    resume = names.index("RESUME")
    assert [reasons[place] for place in range(resume + 1)] == [TOOLS["PROLOGUE"]] * (resume + 1)
    for place, name in enumerate(names):
        if name == "RESUME" and place > resume:
            assert reasons[place] == TOOLS["PAIR"]
            assert names[place - 1] == "YIELD_VALUE" or CURRENT.version < (3, 12)
        if name in ("END_SEND", "NOT_TAKEN"):
            assert reasons[place] == TOOLS["LANDING"]
    assert len(places) > len(names) / 2


def test_a_send_keeps_the_jump_that_leads_to_it():
    """Where jumps would lead to the NOP, none may stand before a SEND, else one may."""
    body = xtab.decode(outer())
    sends = {place for place, each in enumerate(body.instructions) if each.opname == "SEND"}
    assert sends
    free, _ = TOOLS["insertion_points"](body)
    redirected, reasons = TOOLS["insertion_points"](body, redirect=True)
    assert set(free) - set(redirected) == sends
    assert {reasons[place] for place in sends} == {TOOLS["RESUMED"]}


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
    assert any(TOOLS["PROLOGUE"] in line for line in rest)
