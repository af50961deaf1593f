"""`location_table`: what was not edited goes back as it came, cut in the middle or moved."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

import xtab
from xtab import Instruction
from xtab.format.code import code_objects
from xtab.format.opcodes import CURRENT
from xtab.model.layout import lay_out
from xtab.model.positions import location_table
from xtab.model.shape import read_body

STDLIB = Path(sysconfig.get_path("stdlib"))


def codes():
    path = STDLIB / "contextlib.py"
    return list(code_objects(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))


def table_of(body):
    return location_table(lay_out(read_body(body)), body._source, body.first_line)


def test_an_unedited_table_comes_back():
    for code in codes():
        assert table_of(xtab.decode(code)) == code.co_linetable


def test_the_first_line_alone_does_not_move_locations():
    """The lines of instructions stay: only the first delta differs."""
    for code in codes():
        body = xtab.decode(code)
        body.first_line += 1000
        new = xtab.assemble(body)
        assert new.co_firstlineno == code.co_firstlineno + 1000
        assert list(new.co_positions()) == list(code.co_positions())


@pytest.mark.parametrize("step", [1, 2, 7])
def test_whatever_is_cut_keeps_its_locations(step):
    """Instructions with a location of their own in between, at the borders of entries and inside them."""
    for code in codes():
        body = xtab.decode(code)
        wanted = [each.location for each in body.instructions]
        for each in body.instructions[::step]:
            each.location = each.location
        new = xtab.decode(code.replace(co_linetable=table_of(body)))
        assert [each.location for each in new.instructions] == wanted


def test_neighbours_share_an_entry_where_the_version_does_so():
    """A NOP at the location of what follows is written into its entry; 3.11 gives each instruction its own."""
    body = xtab.decode(codes()[1])
    place = next(place for place, each in enumerate(body.instructions) if each.opname == "RESUME") + 1
    entries = sum(byte >= 128 for byte in body._source.code.co_linetable)
    body.instructions.insert(place, Instruction("NOP", location=body.instructions[place].location))
    new = table_of(body)
    assert sum(byte >= 128 for byte in new) <= entries + 1
    if CURRENT.merges_locations:
        again = xtab.decode(xtab.assemble(body))
        assert table_of(again) == new


def test_a_table_that_ends_early_is_filled_up():
    """What the table doesn't reach has no location, before and after."""
    code = codes()[1]
    short = code.replace(co_linetable=code.co_linetable[: code.co_linetable.index(max(code.co_linetable[1:]), 1)])
    body = xtab.decode(short)
    wanted = [each.location for each in body.instructions]
    body.instructions.append(Instruction("NOP", location=(5, 5, 1, 2)))
    new = xtab.decode(short.replace(co_code=short.co_code + bytes([CURRENT.nop, 0]), co_linetable=table_of(body)))
    assert [each.location for each in new.instructions] == [*wanted, (5, 5, 1, 2)]
    assert None in wanted
