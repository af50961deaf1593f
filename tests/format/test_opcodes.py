"""The facts of all versions, looked at from whichever version runs."""

from __future__ import annotations

import sys

import pytest

from xtab.errors import UnsupportedVersionError
from xtab.format.opcodes import CURRENT, SUPPORTED, OperandKind, for_version, shared

TABLES = {version: for_version(version) for version in SUPPORTED}
EVERY = pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: ".".join(map(str, table.version)))
NAMES = {name for table in TABLES.values() for name in table.number}
SETS = {name: value for name, value in vars(shared).items() if isinstance(value, frozenset)}


def test_the_current_table_is_that_of_the_running_python():
    """`CURRENT` is the table of the interpreter that runs."""
    assert CURRENT.version == sys.version_info[:2]


@EVERY
def test_every_table_builds_everywhere(table):
    """Any version's table can be had on any version, and numbers and names in it go both ways."""
    assert table.number["EXTENDED_ARG"] == table.extended_arg
    assert [name for name in table.name if name] == sorted(table.number, key=table.number.get)
    assert len(table.kind) == len(table.units) == len(table.caches) == len(table.legal) == len(table.distance) == 256


@pytest.mark.parametrize("version", [(3, 10), (3, 16), (2, 7), (4, 0)])
def test_other_versions_are_refused(version):
    """A version that xtab doesn't know is named, with those it knows."""
    with pytest.raises(UnsupportedVersionError) as caught:
        for_version(version)
    assert caught.value.found == "{}.{}".format(*version)
    assert caught.value.supported == ("3.11", "3.12", "3.13", "3.14", "3.15")
    assert caught.value.found in str(caught.value)


@pytest.mark.parametrize("which", SETS)
def test_every_name_in_a_set_exists_somewhere(which):
    """No set of opcode names is empty, or holds a name that no version has: that would be a misspelling."""
    assert SETS[which]
    assert not SETS[which] - NAMES


@pytest.mark.parametrize("which", ["DIRECTIONS", "ONLY_BACKWARD", "REVERSED", "ADJACENT", "EFFECTS", "BORROWS"])
def test_every_name_in_a_mapping_exists_somewhere(which):
    """The same holds for mappings, keys and values."""
    mapping = getattr(shared, which)
    values = [] if which == "EFFECTS" else [{value} if isinstance(value, str) else value for value in mapping.values()]
    assert mapping
    assert not set().union(mapping, *values) - NAMES
    assert set(shared.PROLOGUE) <= NAMES


@EVERY
def test_sets_are_not_empty_by_accident(table):
    """Each version has jumps both ways, terminators, all kinds of operands, pairs to keep, effects for all."""
    kinds = {kind for name, kind in vars(OperandKind).items() if name.isupper()}
    for kind in kinds - {OperandKind.LOCAL_PAIR}:  # 3.11 and 3.12 have none of these
        assert [name for name, op in table.number.items() if table.kind[op] == kind]
    assert {1, 2} <= set(table.distance)
    assert any(table.stops)
    assert table.adjacent
    assert all(table.adjacent.values())
    assert table.must_follow
    assert table.adjacent.keys() - table.must_follow == table.numbers(*shared.OTHERS_MAY_FOLLOW) & table.adjacent.keys()
    assert sum(table.quiet) < sum(table.fills)
    assert any(table.raises_again)
    assert len(table.keep_before) == {11: 1, 12: 3, 13: 3, 14: 4, 15: 4}[table.version[1]]
    assert bool(table.keep_as_target) == (table.version == (3, 11))
    assert any(table.runs_python)
    assert {1, 2} <= set(table.hands_on)
    assert bool(table.borrows) == bool(table.version > (3, 13))
    assert bool(table.resume_one_span) == (table.version > (3, 12))
    assert table.yield_counts_spans == (table.version == (3, 12))
    assert bool(table.marks) == (table.version > (3, 13))
    assert bool(table.reversed) == (table.version > (3, 11))
    assert table.forward_form.keys() > {table.number["JUMP_BACKWARD"]}
    assert table.backward_form[table.number["JUMP_FORWARD"]] == table.number["JUMP_BACKWARD"]
    for op in table.number.values():
        assert isinstance(table.effect(op, 2), int)


@EVERY
def test_jumps_turn_round_and_back(table):
    """The backward form of a forward form is the jump itself, and reversing twice changes nothing."""
    for op, other in table.backward_form.items():
        assert table.forward_form[other] == op
        assert (table.distance[op], table.distance[other]) == (1, 2)
    for op, other in table.reversed.items():
        assert table.reversed[other] == op != other


@EVERY
def test_generators_start_with_a_value(table):
    """RETURN_GENERATOR leaves one value in the frame on every version, whatever ``dis.stack_effect`` says."""
    assert table.effect(table.number["RETURN_GENERATOR"], 0) == 1
    assert ("RETURN_GENERATOR" in table.stack_effect_differs) == (table.version < (3, 13))


@EVERY
def test_effects_that_versions_differ_in(table):
    """A few effects that were found out by running code."""
    effect = {
        name: lambda arg=0, jump=False, op=op: table.effect(op, arg, jump=jump) for name, op in table.number.items()
    }
    version = table.version
    assert effect["RETURN_VALUE"]() == -1
    assert effect["FOR_ITER"](jump=False) == 1
    assert effect["FOR_ITER"](jump=True) == (-1 if version == (3, 11) else 1)
    assert effect["LOAD_GLOBAL"](1) == 2
    assert effect["LOAD_ATTR"](1) == (0 if version == (3, 11) else 1)
    assert effect["PUSH_EXC_INFO"]() == 1
    assert effect["CALL"](2) == (-1 if version == (3, 11) else -3)
    assert effect["GET_ITER"]() == (1 if version == (3, 15) else 0)
    assert effect["UNPACK_EX"](0x0102) == 3


@EVERY
def test_what_is_no_opcode_has_no_effect(table):
    """Asking for the effect of a number that is no opcode is a ValueError that names it."""
    number = table.name.index(None)
    with pytest.raises(ValueError, match=f"has no opcode {number}"):
        table.effect(number, 0)


@EVERY
def test_the_prologue_ends_with_resume(table):
    """The prologue's last opcode is RESUME, and COPY_FREE_VARS comes first."""
    assert [table.name[op] for op in table.prologue][:: len(table.prologue) - 1] == ["COPY_FREE_VARS", "RESUME"]


@EVERY
def test_comparisons_have_the_masks_of_the_compiler(table):
    """From 3.12 on the flags of a COMPARE_OP say which results make it true; other operands have none."""
    masks = [table.comparison_flags(word) for word in ("<", "<=", "==", "!=", ">", ">=")]
    assert masks == ([0] * 6 if table.version == (3, 11) else [2, 10, 8, 7, 4, 12])
    assert [table.comparison_flags(number) for number in range(6)] == masks
    assert table.comparison_flags("in") == table.comparison_flags(None) == table.comparison_flags(6) == 0


@EVERY
def test_numbers_of_names(table):
    """Names that a version lacks are left out."""
    assert table.numbers("NOP", "no such opcode", "EXTENDED_ARG") == {table.nop, table.extended_arg}
    assert table.python == ".".join(map(str, table.version))
