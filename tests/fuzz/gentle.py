"""Mutations that aim to stay right: a good share of their results is accepted, and so is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mutation import Subject, mutation, named, pick, with_entries, with_unit
from units import entries_of, read_units

from xtab.analysis.verify import CodeParts
from xtab.format.opcodes import CURRENT, OperandKind

if TYPE_CHECKING:
    import random

    from trees import Tree
    from units import Unit

CONSTANTS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 300, 2.5, 1j, "", "text", b"bytes", ..., (), (1, 2), ("k",), ("x", "y"), (1, "a"),
    frozenset({1}), "x", 1 << 80, (("a",), 2),
)  # fmt: skip
RENAMED = ("__iter__", "__exit__", "append", "send", "throw", "__class__", "__name__", "args", "with_traceback", "prop")
#: instructions whose operand says what is computed, and not where from
COMPUTING = (
    "BINARY_OP", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "CONVERT_VALUE", "LOAD_COMMON_CONSTANT", "LOAD_SMALL_INT",
    "RESUME", "CALL_INTRINSIC_1", "CALL_INTRINSIC_2", "FORMAT_VALUE", "GET_AWAITABLE", "RAISE_VARARGS", "LOAD_SPECIAL",
    "YIELD_VALUE", "BUILD_INTERPOLATION", "RERAISE", "SET_FUNCTION_ATTRIBUTE", "LOAD_GLOBAL", "LOAD_ATTR",
    "IMPORT_NAME", "LOAD_SUPER_ATTR",
)  # fmt: skip
#: groups of opcodes, each of which could stand for the others as far as the stack goes
LIKE = (
    "LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_BORROW LOAD_FAST_AND_CLEAR LOAD_CLOSURE LOAD_DEREF LOAD_CONST LOAD_NAME",
    "LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW",
    "STORE_FAST STORE_DEREF STORE_NAME STORE_GLOBAL POP_TOP",
    "DELETE_FAST DELETE_DEREF DELETE_NAME DELETE_GLOBAL NOP",
    "UNARY_NOT UNARY_NEGATIVE UNARY_INVERT GET_ITER GET_LEN GET_YIELD_FROM_ITER GET_AITER FORMAT_SIMPLE NOP",
    "BUILD_LIST BUILD_TUPLE BUILD_SET BUILD_STRING BUILD_SLICE",
    "LIST_APPEND SET_ADD LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE",
    "IS_OP CHECK_EXC_MATCH CHECK_EG_MATCH",
    "JUMP_FORWARD NOP",
    "JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT",
    "POP_TOP POP_EXCEPT POP_ITER END_FOR END_SEND",
    "MATCH_MAPPING MATCH_SEQUENCE GET_LEN WITH_EXCEPT_START COPY PUSH_EXC_INFO",
    "GET_ITER GET_AITER GET_AWAITABLE GET_YIELD_FROM_ITER",
    "SEND FOR_ITER",
    "YIELD_VALUE NOP",
    "CLEANUP_THROW END_SEND POP_TOP END_ASYNC_FOR",
    "CALL CALL_KW",
    "RETURN_VALUE RERAISE RAISE_VARARGS",
    "UNPACK_SEQUENCE UNPACK_EX",
    "PUSH_NULL LOAD_LOCALS LOAD_BUILD_CLASS LOAD_ASSERTION_ERROR LOAD_CONST",
)


@mutation()
def other_constant(rng: random.Random, subject: Subject) -> Tree | None:
    unit = pick(rng, named(subject.tree, "LOAD_CONST", "RETURN_CONST", "KW_NAMES"))
    return with_unit(subject.tree, unit, arg=rng.randrange(len(subject.tree.consts))) if unit else None


@mutation()
def constant_replaced(rng: random.Random, subject: Subject) -> Tree | None:
    consts = list(subject.tree.consts)
    places = [place for place, value in enumerate(consts) if not isinstance(value, CodeParts) or rng.random() < 0.1]
    if not places:
        return None
    place = rng.choice(places)
    alike = [value for value in CONSTANTS if type(value) is type(consts[place])]
    consts[place] = rng.choice(alike if alike and rng.random() < 0.5 else CONSTANTS)
    return subject.tree._replace(consts=tuple(consts))


@mutation()
def names_changed(rng: random.Random, subject: Subject) -> Tree | None:
    names = list(subject.tree.names)
    rng.shuffle(names)
    if names and rng.random() < 0.6:
        names[rng.randrange(len(names))] = rng.choice(RENAMED)
    return subject.tree._replace(names=tuple(names)) if names else None


@mutation()
def other_computation(rng: random.Random, subject: Subject) -> Tree | None:
    unit = pick(rng, named(subject.tree, *COMPUTING))
    if unit is None:
        return None
    bits, words = CURRENT.flag_bits[unit.opcode], CURRENT.words.get(unit.opcode)
    index = rng.randrange(len(words) + 1) if words else (unit.arg >> bits) ^ rng.choice((0, 1, 2, 3))
    flags = unit.arg & (1 << bits) - 1 if rng.random() < 0.7 else rng.randrange(1 << bits)
    if CURRENT.kind[unit.opcode] == OperandKind.NAME and subject.tree.names:
        index = rng.randrange(len(subject.tree.names))
    return with_unit(subject.tree, unit, arg=index << bits | flags)


@mutation()
def other_variable(rng: random.Random, subject: Subject) -> Tree | None:
    kinds = (OperandKind.LOCAL, OperandKind.CELL)
    unit = pick(rng, (unit for unit in read_units(subject.tree.code) if CURRENT.kind[unit.opcode] in kinds))
    count = subject.tree.nlocals + len(subject.tree.cellvars) + len(subject.tree.freevars)
    return with_unit(subject.tree, unit, arg=rng.randrange(count)) if unit and count else None


@mutation()
def two_other_variables(rng: random.Random, subject: Subject) -> Tree | None:
    pairs = (unit for unit in read_units(subject.tree.code) if CURRENT.kind[unit.opcode] == OperandKind.LOCAL_PAIR)
    unit, count = pick(rng, pairs), min(16, subject.tree.nlocals)
    return with_unit(subject.tree, unit, arg=rng.randrange(count) << 4 | rng.randrange(count)) if unit else None


@mutation()
def opcode_alike(rng: random.Random, subject: Subject) -> Tree | None:
    group = rng.choice(LIKE).split()
    unit = pick(rng, named(subject.tree, *group))
    others = [CURRENT.number[name] for name in group if name in CURRENT.number]
    fit = [number for number in others if unit and number != unit.opcode]
    return with_unit(subject.tree, unit, opcode=rng.choice(fit)) if unit and fit else None


@mutation()
def opcode_of_same_effect(rng: random.Random, subject: Subject) -> Tree | None:
    unit = pick(rng, (unit for unit in read_units(subject.tree.code) if unit.arg < 256))
    if unit is None:
        return None
    row, size = CURRENT.effect_rows, CURRENT.caches
    fit = [
        number
        for number in range(256)
        if CURRENT.legal[number]
        and row[number][unit.arg] == row[unit.opcode][unit.arg]
        and size[number] == size[unit.opcode]
        and CURRENT.distance[number] == CURRENT.distance[unit.opcode]
    ]
    return with_unit(subject.tree, unit, opcode=rng.choice(fit))


@mutation()
def condition_reversed(rng: random.Random, subject: Subject) -> Tree | None:
    jumps = [unit for unit in read_units(subject.tree.code) if "JUMP_" in unit.name and "_IF_" in unit.name]
    unit = pick(rng, jumps)
    stem = unit.name.rpartition("_IF_")[0] + "_IF_" if unit else ""
    others = [number for name, number in CURRENT.number.items() if stem and name.startswith(stem)]
    return with_unit(subject.tree, unit, opcode=rng.choice(others)) if unit else None


@mutation()
def jump_elsewhere(rng: random.Random, subject: Subject) -> Tree | None:
    """A jump to another place where the stack is as deep, most of the time."""
    depths, jumps = subject.depths, [unit for unit in read_units(subject.tree.code) if unit.target is not None]
    unit = pick(rng, jumps)
    if unit is None:
        return None
    same = [at for at, depth in depths.items() if depth == depths.get(unit.target or 0)] or [0]
    goal = rng.choice(same if rng.random() < 0.9 else [each.begin for each in read_units(subject.tree.code)])
    back = CURRENT.distance[unit.opcode] == 2
    return with_unit(subject.tree, unit, arg=(unit.end - goal if back else goal - unit.end) // 2)


@mutation()
def stack_operand(rng: random.Random, subject: Subject) -> Tree | None:
    unit = pick(
        rng, named(subject.tree, "COPY", "SWAP", "LIST_APPEND", "SET_ADD", "MAP_ADD", "LIST_EXTEND", "DICT_MERGE")
    )
    return with_unit(subject.tree, unit, arg=unit.arg + rng.choice((-1, 1, 2))) if unit else None


@mutation()
def border_moved(rng: random.Random, subject: Subject) -> Tree | None:
    """A range that begins or ends an instruction or two earlier or later."""
    borders = [0, *(unit.end for unit in read_units(subject.tree.code))]
    entries = entries_of(subject.tree)
    if not entries:
        return None
    place, field = rng.randrange(len(entries)), rng.choice(("start", "end"))
    at = borders.index(getattr(entries[place], field)) + rng.choice((-2, -1, 1, 2))
    if not 0 <= at < len(borders):
        return None
    entries[place] = entries[place]._replace(**{field: borders[at]})
    return with_entries(subject.tree, entries)


@mutation()
def entry_changed(rng: random.Random, subject: Subject) -> Tree | None:
    """An entry left out, or its depth or lasti changed, or those of all entries of its handler."""
    entries = entries_of(subject.tree)
    if not entries:
        return None
    place, all_of_them, what = rng.randrange(len(entries)), rng.random() < 0.7, rng.choice(("gone", "depth", "lasti"))
    step, chosen = rng.choice((-1, 1)), entries[place]
    changed = []
    for number, entry in enumerate(entries):
        if number != place and not (all_of_them and entry.target == chosen.target):
            changed.append(entry)
        elif what != "gone":
            new = entry.depth + step if what == "depth" else entry.lasti ^ True
            changed.append(entry._replace(**{what: new}))
    return with_entries(subject.tree, changed)


@mutation()
def entry_to_other_handler(rng: random.Random, subject: Subject) -> Tree | None:
    """An entry led to a handler of another, or to any place where the stack is deep enough."""
    entries = entries_of(subject.tree)
    if not entries:
        return None
    place, other = rng.randrange(len(entries)), rng.choice(entries)
    entry = entries[place]
    if rng.random() < 0.5:
        entries[place] = entry._replace(target=other.target, depth=other.depth, lasti=other.lasti)
    else:
        deep = [at for at, depth in subject.depths.items() if depth == entry.depth + entry.lasti + 1]
        entries[place] = entry._replace(target=rng.choice(deep or [0]))
    return with_entries(subject.tree, entries)


@mutation()
def neighbours_swapped(rng: random.Random, subject: Subject) -> Tree | None:
    """Two instructions in a row exchanged, bytes and all; jumps keep their distances, so they go wrong."""
    units = read_units(subject.tree.code)
    apart = [place for place in range(1, len(units)) if _quiet(units[place - 1]) and _quiet(units[place])]
    if not apart:
        return None
    place = rng.choice(apart)
    first, second, code = units[place - 1], units[place], subject.tree.code
    swapped = code[second.begin : second.end] + code[first.begin : first.end]
    return subject.tree._replace(code=code[: first.begin] + swapped + code[second.end :])


def _quiet(unit: Unit) -> bool:
    return unit.target is None and not CURRENT.stops[unit.opcode] and unit.name not in ("RESUME", "MAKE_CELL")


@mutation()
def arguments_regrouped(rng: random.Random, subject: Subject) -> Tree | None:
    """Another split of the variables into arguments of each kind and locals."""
    tree = subject.tree
    most = max(0, tree.nlocals - (tree.flags >> 2 & 1) - (tree.flags >> 3 & 1))
    positional = rng.randrange(most + 1)
    named_only = rng.randrange(most - positional + 1)
    first = rng.randrange(positional + 1)
    return tree._replace(argcount=positional, posonlyargcount=first, kwonlyargcount=named_only)


@mutation()
def stack_larger(rng: random.Random, subject: Subject) -> Tree | None:
    return subject.tree._replace(stacksize=subject.tree.stacksize + rng.choice((1, 5, 100)))


@mutation()
def collector_flag(rng: random.Random, subject: Subject) -> Tree | None:
    """The flags for *args, **kwargs, and those for how locals are kept."""
    return subject.tree._replace(flags=subject.tree.flags ^ rng.choice((1, 2, 3, 4, 8, 16, 1 << 26)))
