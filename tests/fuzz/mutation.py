"""`Mutation`, the list of all of them, and what they are written with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from units import Unit, read_units, write_entries, write_unit

from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable
    from types import CodeType

    from trees import Tree

    from xtab.format.exception_table import ExceptionTableEntry


class Subject(NamedTuple):
    """What a mutation is done to."""

    tree: Tree
    depths: dict[int, int]  #: offset of an instruction -> depth of the stack before it, as far as known
    code: CodeType | None  #: the real code object, while it is an honest one


class Mutation(NamedTuple):
    """One kind of change. `apply` gives None where there is nothing to change in this way."""

    name: str
    group: str | None  #: the group of rules that must reject every result; None: some results may be right
    apply: Callable[[random.Random, Subject], Tree | None]


MUTATIONS: dict[str, Mutation] = {}


def mutation(
    group: str | None = None,
) -> Callable[[Callable[[random.Random, Subject], Tree | None]], Callable[[random.Random, Subject], Tree | None]]:
    """Enter a function into the list under its own name."""

    def enter(function: Callable[[random.Random, Subject], Tree | None]) -> Callable[..., Tree | None]:
        MUTATIONS[function.__name__] = Mutation(function.__name__, group, function)
        return function

    return enter


def pick(rng: random.Random, items: Iterable[Unit]) -> Unit | None:
    """One of some instructions, or None."""
    found = list(items)
    return rng.choice(found) if found else None


def named(tree: Tree, *names: str) -> list[Unit]:
    """The instructions with one of some names."""
    numbers = {CURRENT.number.get(name) for name in names}
    return [unit for unit in read_units(tree.code) if unit.opcode in numbers]


def with_bytes(tree: Tree, at: int, new: bytes) -> Tree:
    """The tree with some bytes of its code overwritten."""
    return tree._replace(code=tree.code[:at] + new + tree.code[at + len(new) :])


def with_unit(tree: Tree, unit: Unit, *, opcode: int | None = None, arg: int | None = None) -> Tree | None:
    """The tree with another opcode or operand in the place of an instruction; None: it would have another size."""
    opcode = unit.opcode if opcode is None else opcode
    arg = unit.arg if arg is None else arg
    if arg < 0 or arg.bit_length() > 31:
        return None
    new = write_unit(opcode, arg)
    return with_bytes(tree, unit.begin, new) if len(new) == unit.end - unit.begin else None


def with_entries(tree: Tree, entries: Iterable[ExceptionTableEntry], *, raw: bool = False) -> Tree | None:
    """The tree with another exception table, or None if it can't be written, or is the same."""
    table = write_entries(entries, raw=raw)
    return None if table is None or table == tree.exceptiontable else tree._replace(exceptiontable=table)
