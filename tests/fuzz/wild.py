"""Mutations at random: most results are rejected, and what is not was not expected by anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mutation import Subject, mutation, pick, with_bytes, with_entries, with_unit
from units import entries_of, read_units, write_unit

from xtab.format.exception_table import ExceptionTableEntry
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    import random

    from trees import Tree

LEGAL = [number for number in range(256) if CURRENT.legal[number]]
STEPS = (-2, -1, 1, 2)


@mutation()
def random_byte(rng: random.Random, subject: Subject) -> Tree | None:
    return with_bytes(subject.tree, rng.randrange(len(subject.tree.code)), rng.randbytes(1))


@mutation()
def random_operand(rng: random.Random, subject: Subject) -> Tree | None:
    unit = pick(rng, read_units(subject.tree.code))
    return (
        with_bytes(subject.tree, unit.start + 1, bytes([rng.choice((0, 1, 2, 3, 255, rng.randrange(256)))]))
        if unit
        else None
    )


@mutation()
def operand_step(rng: random.Random, subject: Subject) -> Tree | None:
    unit = pick(rng, read_units(subject.tree.code))
    return with_unit(subject.tree, unit, arg=unit.arg + rng.choice(STEPS)) if unit else None


@mutation()
def random_opcode(rng: random.Random, subject: Subject) -> Tree | None:
    unit = pick(rng, read_units(subject.tree.code))
    return with_bytes(subject.tree, unit.start, bytes([rng.choice(LEGAL)])) if unit else None


@mutation()
def opcode_of_same_size(rng: random.Random, subject: Subject) -> Tree | None:
    unit = pick(rng, read_units(subject.tree.code))
    if unit is None:
        return None
    fit = [number for number in LEGAL if CURRENT.caches[number] == CURRENT.caches[unit.opcode]]
    return with_unit(subject.tree, unit, opcode=rng.choice(fit))


@mutation()
def opcode_with_small_operand(rng: random.Random, subject: Subject) -> Tree | None:
    unit = pick(rng, (unit for unit in read_units(subject.tree.code) if unit.arg < 256))
    if unit is None:
        return None
    fit = [number for number in LEGAL if CURRENT.caches[number] == CURRENT.caches[unit.opcode]]
    return with_unit(subject.tree, unit, opcode=rng.choice(fit), arg=rng.randrange(4))


@mutation()
def table_byte(rng: random.Random, subject: Subject) -> Tree | None:
    table = bytearray(subject.tree.exceptiontable)
    if not table:
        return None
    place = rng.randrange(len(table))
    table[place] = (table[place] & 192) | rng.randrange(64) if rng.random() < 0.8 else rng.randrange(256)
    return subject.tree._replace(exceptiontable=bytes(table))


@mutation()
def entry_field(rng: random.Random, subject: Subject) -> Tree | None:
    entries = entries_of(subject.tree)
    if not entries:
        return None
    place, field = rng.randrange(len(entries)), rng.choice(("start", "end", "target", "depth"))
    step = rng.choice(STEPS) * (1 if field == "depth" else 2)
    entries[place] = entries[place]._replace(**{field: getattr(entries[place], field) + step})
    return with_entries(subject.tree, entries, raw=True)


@mutation()
def entry_of_nothing(rng: random.Random, subject: Subject) -> Tree | None:
    """A new entry, from some instruction to another, to a third."""
    begins = [unit.begin for unit in read_units(subject.tree.code)]
    entries = entries_of(subject.tree)
    start, end = sorted((rng.choice(begins), rng.choice(begins)))
    depth = subject.depths.get(start, 0)
    new = rng.choice(entries) if entries and rng.random() < 0.5 else None
    target = new.target if new else rng.choice(begins)
    free = [entry for entry in entries if entry.end <= start or entry.start >= end]
    kept, lasti = (new.depth, new.lasti) if new else (depth, rng.random() < 0.3)
    return with_entries(subject.tree, [*free, ExceptionTableEntry(start, end, target, kept, lasti)])


@mutation()
def entry_twice(rng: random.Random, subject: Subject) -> Tree | None:
    entries = entries_of(subject.tree)
    place = rng.randrange(len(entries)) if entries else 0
    return with_entries(subject.tree, [*entries[: place + 1], *entries[place:]], raw=True)


@mutation()
def location_byte(rng: random.Random, subject: Subject) -> Tree | None:
    table = bytearray(subject.tree.linetable)
    if not table:
        return None
    table[rng.randrange(len(table))] = rng.randrange(256)
    return subject.tree._replace(linetable=bytes(table))


@mutation()
def locations_of_random(rng: random.Random, subject: Subject) -> Tree | None:
    return subject.tree._replace(linetable=rng.randbytes(rng.randrange(12)))


@mutation()
def flag_bit(rng: random.Random, subject: Subject) -> Tree | None:
    return subject.tree._replace(flags=subject.tree.flags ^ 1 << rng.randrange(30))


@mutation()
def stack_size_step(rng: random.Random, subject: Subject) -> Tree | None:
    return subject.tree._replace(stacksize=subject.tree.stacksize + rng.choice((-1, -1, 1, 1000, -1000, 1 << 30)))


@mutation()
def count_step(rng: random.Random, subject: Subject) -> Tree | None:
    field = rng.choice(("argcount", "posonlyargcount", "kwonlyargcount", "nlocals", "firstlineno"))
    return subject.tree._replace(**{field: getattr(subject.tree, field) + rng.choice(STEPS)})


@mutation()
def list_cut(rng: random.Random, subject: Subject) -> Tree | None:
    field = rng.choice(("consts", "names", "varnames", "freevars", "cellvars"))
    items = getattr(subject.tree, field)
    changes = {field: items[:-1]}
    if field == "varnames" and rng.random() < 0.8:
        changes["nlocals"] = len(items) - 1
    return subject.tree._replace(**changes) if items else None


@mutation()
def variable_moved(rng: random.Random, subject: Subject) -> Tree | None:
    """A name moved from one list of variables to another, or entered into a second one."""
    tree = subject.tree
    lists = {field: list(getattr(tree, field)) for field in ("varnames", "cellvars", "freevars")}
    source, goal = rng.choice([field for field, names in lists.items() if names] or [""]), rng.choice(list(lists))
    if not source:
        return None
    name = rng.choice(lists[source])
    if rng.random() < 0.6:
        lists[source].remove(name)
    lists[goal].insert(rng.randrange(len(lists[goal]) + 1), name)
    return tree._replace(nlocals=len(lists["varnames"]), **{field: tuple(names) for field, names in lists.items()})


@mutation()
def prefix_inserted(rng: random.Random, subject: Subject) -> Tree | None:
    """A prefix overwrites the instruction in front of another, or a whole one is put in, moving all else."""
    units = read_units(subject.tree.code)
    unit, byte = rng.choice(units), rng.choice((0, 1, 255))
    prefix = bytes([CURRENT.extended_arg, byte])
    if unit.begin and rng.random() < 0.5:
        return with_bytes(subject.tree, unit.begin - 2, prefix)
    return subject.tree._replace(code=subject.tree.code[: unit.begin] + prefix + subject.tree.code[unit.begin :])


@mutation()
def piece_copied(rng: random.Random, subject: Subject) -> Tree | None:
    """Instructions written over others."""
    units = read_units(subject.tree.code)
    first = rng.randrange(len(units))
    last = min(len(units) - 1, first + rng.randrange(4))
    piece = subject.tree.code[units[first].begin : units[last].end]
    at = rng.choice(units).begin
    return with_bytes(subject.tree, at, piece) if at + len(piece) <= len(subject.tree.code) else None


@mutation()
def nop_over(rng: random.Random, subject: Subject) -> Tree | None:
    """An instruction replaced by NOPs."""
    unit = pick(rng, read_units(subject.tree.code))
    nops = write_unit(CURRENT.nop, 0) * ((unit.end - unit.begin) // 2) if unit else b""
    return with_bytes(subject.tree, unit.begin, nops) if unit else None
