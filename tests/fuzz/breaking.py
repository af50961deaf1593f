"""Mutations that break one thing for certain, and which group of rules has to say so."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from mutation import Subject, mutation, named, pick, with_bytes, with_entries, with_unit
from units import entries_of, read_units

from xtab.analysis.verify import CodeParts
from xtab.format.opcodes import CURRENT, OperandKind

if TYPE_CHECKING:
    import random

    from trees import Tree

GENERATOR_FLAGS = 0x20 | 0x80 | 0x200


def deepest(subject: Subject) -> int:
    """How deep the stack gets where control comes without an exception; what nothing leads to needs no stack."""
    units = {unit.begin: unit for unit in read_units(subject.tree.code)}
    waiting, seen, most = [0], set(), 0
    while waiting:
        at = waiting.pop()
        if at in seen or at not in units:
            continue
        seen.add(at)
        unit, most = units[at], max(most, subject.depths.get(at, 0))
        waiting += [] if CURRENT.stops[unit.opcode] else [unit.end]
        waiting += [] if unit.target is None or unit.opcode in CURRENT.marks else [unit.target]
    return most


@mutation("1xx")
def table_cut(rng: random.Random, subject: Subject) -> Tree | None:
    table = subject.tree.exceptiontable
    return subject.tree._replace(exceptiontable=table[:-1]) if table else None


@mutation("1xx")
def table_without_first_start_bit(rng: random.Random, subject: Subject) -> Tree | None:
    table = subject.tree.exceptiontable
    return subject.tree._replace(exceptiontable=bytes([table[0] & 127]) + table[1:]) if table else None


@mutation("1xx")
def table_without_end(rng: random.Random, subject: Subject) -> Tree | None:
    return subject.tree._replace(exceptiontable=b"\xff" + b"\x7f" * 50)


@mutation("1xx")
def locations_without_start_bit(rng: random.Random, subject: Subject) -> Tree | None:
    table = subject.tree.linetable
    return subject.tree._replace(linetable=bytes([table[0] & 127]) + table[1:]) if table else None


@mutation("2xx")
def range_beyond_code(rng: random.Random, subject: Subject) -> Tree | None:
    entries = entries_of(subject.tree)
    if not entries:
        return None
    entries[-1] = entries[-1]._replace(end=len(subject.tree.code) + 2)
    return with_entries(subject.tree, entries)


@mutation("2xx")
def ranges_swapped(rng: random.Random, subject: Subject) -> Tree | None:
    entries = entries_of(subject.tree)
    place = rng.randrange(len(entries) - 1) if len(entries) > 1 else None
    if place is None:
        return None
    entries[place : place + 2] = entries[place + 1], entries[place]
    return with_entries(subject.tree, entries, raw=True)


@mutation("2xx")
def ranges_overlap(rng: random.Random, subject: Subject) -> Tree | None:
    entries = entries_of(subject.tree)
    if len(entries) < 2:
        return None
    place = rng.randrange(len(entries) - 1)
    entries[place] = entries[place]._replace(end=entries[place + 1].start + 2)
    return with_entries(subject.tree, entries, raw=True)


@mutation("2xx")
def range_in_caches(rng: random.Random, subject: Subject) -> Tree | None:
    entries = entries_of(subject.tree)
    inside = {unit.begin: unit.begin + 2 for unit in read_units(subject.tree.code) if unit.end - unit.begin > 2}
    fit = [place for place, entry in enumerate(entries) if entry.start in inside and inside[entry.start] < entry.end]
    if not fit:
        return None
    place = rng.choice(fit)
    entries[place] = entries[place]._replace(start=inside[entries[place].start])
    return with_entries(subject.tree, entries)


@mutation("3xx")
def handler_beyond_code(rng: random.Random, subject: Subject) -> Tree | None:
    entries = entries_of(subject.tree)
    if not entries:
        return None
    place = rng.randrange(len(entries))
    entries[place] = entries[place]._replace(target=len(subject.tree.code) + 2 * rng.randrange(9))
    return with_entries(subject.tree, entries, raw=True)


@mutation("3xx")
def handler_in_caches(rng: random.Random, subject: Subject) -> Tree | None:
    entries = entries_of(subject.tree)
    unit = pick(rng, (unit for unit in read_units(subject.tree.code) if unit.end - unit.begin > 2))
    if not entries or unit is None:
        return None
    place = rng.randrange(len(entries))
    entries[place] = entries[place]._replace(target=unit.begin + 2)
    return with_entries(subject.tree, entries, raw=True)


@mutation("4xx")
def no_stack(rng: random.Random, subject: Subject) -> Tree | None:
    return subject.tree._replace(stacksize=0) if deepest(subject) else None


@mutation("4xx")
def stack_below_deepest(rng: random.Random, subject: Subject) -> Tree | None:
    most = deepest(subject)
    return subject.tree._replace(stacksize=most - 1) if most > 1 else None


@mutation("4xx")
def underflow(rng: random.Random, subject: Subject) -> Tree | None:
    empty = (unit for unit in named(subject.tree, "LOAD_FAST", "LOAD_CONST") if subject.depths.get(unit.begin) == 0)
    unit = pick(rng, empty)
    return with_bytes(subject.tree, unit.start, bytes([CURRENT.number["POP_TOP"], 0])) if unit else None


@mutation("4xx")
def end_gone(rng: random.Random, subject: Subject) -> Tree | None:
    last = read_units(subject.tree.code)[-1]
    reached = last.begin in subject.depths and CURRENT.stops[last.opcode]
    return with_bytes(subject.tree, last.start, bytes([CURRENT.nop, 0])) if reached else None


@mutation("5xx")
def half_a_unit(rng: random.Random, subject: Subject) -> Tree | None:
    return subject.tree._replace(code=subject.tree.code[:-1])


@mutation("5xx")
def unknown_opcode(rng: random.Random, subject: Subject) -> Tree | None:
    unit = pick(rng, read_units(subject.tree.code))
    numbers = [number for number in range(256) if CURRENT.unknown[number]]
    return with_bytes(subject.tree, unit.start, bytes([rng.choice(numbers)])) if unit else None


@mutation("5xx")
def index_beyond_list(rng: random.Random, subject: Subject) -> Tree | None:
    kinds = (OperandKind.CONST, OperandKind.NAME, OperandKind.LOCAL)
    largest = max(len(subject.tree.consts), len(subject.tree.names), subject.tree.nlocals + 60)
    unit = pick(rng, (unit for unit in read_units(subject.tree.code) if CURRENT.kind[unit.opcode] in kinds))
    fits = unit and largest << CURRENT.flag_bits[unit.opcode] < 256
    return with_unit(subject.tree, unit, arg=255) if unit and fits else None


@mutation("5xx")
def jump_beyond_code(rng: random.Random, subject: Subject) -> Tree | None:
    jumps = (unit for unit in read_units(subject.tree.code) if CURRENT.distance[unit.opcode] == 1)
    unit = pick(rng, (unit for unit in jumps if unit.end + 2 * 255 > len(subject.tree.code)))
    return with_unit(subject.tree, unit, arg=255) if unit else None


@mutation("5xx")
def cache_filled(rng: random.Random, subject: Subject) -> Tree | None:
    unit = pick(rng, (unit for unit in read_units(subject.tree.code) if unit.end > unit.start + 2))
    return with_bytes(subject.tree, unit.end - 1, bytes([rng.randrange(1, 256)])) if unit else None


@mutation("5xx")
def generator_flag(rng: random.Random, subject: Subject) -> Tree | None:
    flags = subject.tree.flags
    return subject.tree._replace(flags=flags & ~GENERATOR_FLAGS if flags & GENERATOR_FLAGS else flags | 0x20)


@mutation("5xx")
def local_too_many(rng: random.Random, subject: Subject) -> Tree | None:
    return subject.tree._replace(nlocals=subject.tree.nlocals + 1)


@mutation("5xx")
def truncated(rng: random.Random, subject: Subject) -> Tree | None:
    unit = pick(rng, (unit for unit in read_units(subject.tree.code) if unit.end > unit.start + 2))
    return subject.tree._replace(code=subject.tree.code[: unit.end - 2], exceptiontable=b"") if unit else None


@mutation("5xx")
def resume_gone(rng: random.Random, subject: Subject) -> Tree | None:
    resumes = named(subject.tree, "RESUME")
    plain = bytes([CURRENT.nop, 0]) * ((resumes[0].end - resumes[0].start) // 2) if resumes else b""
    return with_bytes(subject.tree, resumes[0].start, plain) if resumes else None


@mutation("6xx")
def null_returned(rng: random.Random, subject: Subject) -> Tree | None:
    """PUSH_NULL in the place of the load in front of a return."""
    units = read_units(subject.tree.code)
    loads = ("LOAD_CONST", "LOAD_FAST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT", "LOAD_FAST_BORROW")
    found = (
        a for a, b in pairwise(units) if a.name in loads and b.name == "RETURN_VALUE" and a.begin in subject.depths
    )
    unit = pick(rng, (unit for unit in found if unit.begin == unit.start))
    return with_bytes(subject.tree, unit.start, bytes([CURRENT.number["PUSH_NULL"], 0])) if unit else None


@mutation("6xx")
def not_a_code_object(rng: random.Random, subject: Subject) -> Tree | None:
    """A nested code object whose function is made replaced by a number."""
    makers = {unit.begin for unit in named(subject.tree, "MAKE_FUNCTION") if unit.begin in subject.depths}
    loads = [unit for unit in named(subject.tree, "LOAD_CONST") if unit.end in makers]
    unit = pick(rng, (load for load in loads if isinstance(subject.tree.consts[load.arg], CodeParts)))
    if unit is None:
        return None
    consts = list(subject.tree.consts)
    consts[unit.arg] = 5
    return subject.tree._replace(consts=tuple(consts))


@mutation("6xx")
def exception_left(rng: random.Random, subject: Subject) -> Tree | None:
    """POP_TOP in the place of a POP_EXCEPT that a return follows."""
    unit = pick(rng, (unit for unit in named(subject.tree, "POP_EXCEPT") if _returns(subject, unit.end)))
    return with_bytes(subject.tree, unit.start, bytes([CURRENT.number["POP_TOP"], 0])) if unit else None


def _returns(subject: Subject, begin: int) -> bool:
    """Whether a plain return of a constant begins here, and can be reached."""
    ways = ("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT", "RETURN_CONST", "RETURN_VALUE")
    units = {unit.begin: unit for unit in read_units(subject.tree.code)}
    while begin in units and units[begin].name in ways and begin in subject.depths:
        if units[begin].name.startswith("RETURN"):
            return True
        begin = units[begin].end
    return False
