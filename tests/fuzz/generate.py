"""Bodies at random that should be right: statements through `emit`, then blocks around runs of them.

They hold what compilers don't write: jumps out of the middle of loops into others' ends, blocks in blocks in odd order,
values carried over blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import xtab
from xtab import Instruction
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.transform import blocks, emit

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from types import CodeType

    from xtab import Body

LOCALS = ("a", "b", "x", "y")
OPERATORS = ("+", "-", "*", "&", "|", "%", "+=", "//")


_END_FOR = CURRENT.number.get("END_FOR")
#: what ends a loop, by version: nothing, what drops two values, or what is skipped and what drops the iterator
LOOP_END: tuple[str, ...] = ("END_FOR", *(CURRENT.name[op] or "" for op in CURRENT.adjacent.get(_END_FOR or 0, ())))
if _END_FOR is None:
    LOOP_END = ()


def plain_instruction(name: str) -> Instruction:
    """An instruction that has no operand, or one on some versions, then 0."""
    return Instruction(name) if CURRENT.kind[CURRENT.number[name]] == OperandKind.NONE else Instruction(name, 0)


def plain(a: Any, b: Any, *c: Any, d: Any = 1) -> Any:
    """What a generated function begins as."""
    x = y = None
    return (a, x, y)


def generator(a: Any, b: Any) -> Any:
    """What a generated generator begins as."""
    x = y = None
    yield x
    return y


async def coroutine(a: Any, b: Any) -> Any:
    """What a generated coroutine begins as."""
    x = y = None
    await a
    return (x, y)


def closure(a: Any, b: Any) -> Any:
    """What a generated function with cells begins as."""
    x = y = a
    return lambda: (b, y), x


class Writer:
    """Writes statements and expressions, each a list of new instructions."""

    def __init__(self, rng: random.Random, body: Body, goal: Instruction) -> None:
        self.rng = rng
        self.body = body
        self.goal = goal  #: what comes behind all statements: the target of jumps out of everything
        self.locals = [name for name in LOCALS if name in body.varnames and name not in body.cellvars]
        self.cells = [name for name in LOCALS if name in body.cellvars]

    def expression(self, depth: int = 0) -> list[Instruction]:
        """Instructions that leave one value."""
        choices: list[Callable[[int], list[Instruction]]] = [self._load, self._load, self._constant]
        if depth < 3:
            choices += [
                self._binary,
                self._display,
                self._call,
                self._attribute,
                self._compare,
                self._conditional,
                self._dance,
            ]
        return self.rng.choice(choices)(depth + 1)

    def _load(self, depth: int) -> list[Instruction]:
        if self.cells and self.rng.random() < 0.3:
            return emit.load_cell(self.rng.choice(self.cells))
        if self.rng.random() < 0.2:
            return emit.load_global(self.rng.choice(("len", "glob", "ValueError")))
        return emit.load_local(self.rng.choice(self.locals), check=self.rng.random() < 0.2)

    def _constant(self, depth: int) -> list[Instruction]:
        return emit.load_const(self.rng.choice((None, 0, 1, "s", (1, 2), 2.5, True, b"b", ())))

    def _binary(self, depth: int) -> list[Instruction]:
        two = [*self.expression(depth), *self.expression(depth)]
        if self.rng.random() < 0.3:
            subscript = ("BINARY_SUBSCR",) if "BINARY_SUBSCR" in CURRENT.number else ("BINARY_OP", "[]")
            return [*two, Instruction(*subscript)]
        return [*two, Instruction("BINARY_OP", self.rng.choice(OPERATORS))]

    def _compare(self, depth: int) -> list[Instruction]:
        two = [*self.expression(depth), *self.expression(depth)]
        name, operand = self.rng.choice((("COMPARE_OP", "<"), ("COMPARE_OP", "=="), ("IS_OP", 0), ("CONTAINS_OP", 1)))
        return [*two, Instruction(name, operand)]

    def _display(self, depth: int) -> list[Instruction]:
        count = self.rng.randrange(1, 4)
        values = [each for _ in range(count) for each in self.expression(depth)]
        return [*values, Instruction(self.rng.choice(("BUILD_LIST", "BUILD_TUPLE", "BUILD_SET")), count)]

    def _call(self, depth: int) -> list[Instruction]:
        arguments = [self.expression(depth) for _ in range(self.rng.randrange(3))]
        if self.rng.random() < 0.5:
            return emit.call_method(self.expression(depth), self.rng.choice(("m", "append", "send")), *arguments)
        keywords = {"k": self.expression(depth)} if self.rng.random() < 0.3 else None
        star = self.expression(depth) if self.rng.random() < 0.2 else None
        double = self.expression(depth) if self.rng.random() < 0.2 else None
        return emit.call(self.expression(depth), *arguments, keywords=keywords, star=star, double_star=double)

    def _attribute(self, depth: int) -> list[Instruction]:
        return emit.load_attr(self.expression(depth), self.rng.choice(("m", "prop", "args")))

    def _conditional(self, depth: int) -> list[Instruction]:
        other, end = Instruction("NOP"), Instruction("NOP")
        begin = [*self.expression(depth), *emit.jump_if(self.rng.random() < 0.5, other)]
        return [
            *begin, *self.expression(depth), Instruction("JUMP_FORWARD", end), other, *self.expression(depth), end,
        ]  # fmt: skip

    def _dance(self, depth: int) -> list[Instruction]:
        """Values moved about on the stack, and all but one dropped."""
        values = [*self.expression(depth), *self.expression(depth), *self.expression(depth)]
        moves = [Instruction("SWAP", self.rng.randrange(2, 4)) for _ in range(self.rng.randrange(3))]
        return [*values, *moves, Instruction("COPY", self.rng.randrange(1, 4)), *emit.pop(3)]

    def statement(self, depth: int = 0) -> list[Instruction]:
        """Instructions that leave the stack as it was."""
        choices: list[Callable[[int], list[Instruction]]] = [self._store, self._store, self._drop]
        if depth < 3:
            choices += [self._if, self._for, self._while, self._raise, self._delete, self._leave, self._store_attribute]
        if self.body.flags & 0x20:
            choices += [self._yield] * 3
        return self.rng.choice(choices)(depth + 1)

    def statements(self, depth: int) -> list[Instruction]:
        """A few of them."""
        return [each for _ in range(self.rng.randrange(1, 3)) for each in self.statement(depth)]

    def _store(self, depth: int) -> list[Instruction]:
        if self.cells and self.rng.random() < 0.3:
            return [*self.expression(), *emit.store_cell(self.rng.choice(self.cells))]
        return [*self.expression(), *emit.store_local(self.rng.choice(self.locals))]

    def _store_attribute(self, depth: int) -> list[Instruction]:
        return [*self.expression(), *emit.store_attr(self.expression(), "m")]

    def _drop(self, depth: int) -> list[Instruction]:
        return [*self.expression(), *emit.pop()]

    def _delete(self, depth: int) -> list[Instruction]:
        name = self.rng.choice(self.locals)
        return [*emit.delete_local(name), *self.expression(), *emit.store_local(name)]

    def _if(self, depth: int) -> list[Instruction]:
        end = Instruction("NOP")
        return [*self.expression(), *emit.jump_if(self.rng.random() < 0.5, end), *self.statements(depth), end]

    def _leave(self, depth: int) -> list[Instruction]:
        """A jump out of everything, on a condition."""
        return [*self.expression(), *emit.jump_if(True, self.goal)] if depth == 1 else self._drop(depth)

    def _raise(self, depth: int) -> list[Instruction]:
        end = Instruction("NOP")
        value = self.expression() if self.rng.random() < 0.5 else emit.load_global("ValueError")
        return [*self.expression(), *emit.jump_if(False, end), *emit.raise_(value), end]

    def _while(self, depth: int) -> list[Instruction]:
        head, end = Instruction("NOP"), Instruction("NOP")
        begin = [head, *self.expression(), *emit.jump_if(False, end)]
        return [*begin, *self.statements(depth), Instruction("JUMP_BACKWARD", head), end]

    def _for(self, depth: int) -> list[Instruction]:
        end = [Instruction(name) for name in LOOP_END] or [Instruction("NOP")]
        head = Instruction("FOR_ITER", end[0])
        store = emit.store_local(self.rng.choice(self.locals))
        body = [*store, *self.statements(depth), Instruction("JUMP_BACKWARD", head)]
        return [*self.expression(), plain_instruction("GET_ITER"), head, *body, *end]

    def _yield(self, depth: int) -> list[Instruction]:
        give = plain_instruction("YIELD_VALUE")
        end = emit.store_local(self.rng.choice(self.locals)) if self.rng.random() < 0.5 else emit.pop()
        return [*self.expression(), give, Instruction("RESUME", 1), *end]


def _wrap(rng: random.Random, body: Body, writer: Writer, runs: list[list[Instruction]]) -> None:
    """A block around a run of statements; what the model refuses is left out."""
    first = rng.randrange(len(runs))
    last = min(len(runs) - 1, first + rng.randrange(2))
    run = runs[first][0], runs[last][-1]
    kind = rng.randrange(4)
    if kind == 0:
        blocks.try_except(body, *run, writer.statement(2), catch=emit.load_global("ValueError"), name="x")
    elif kind == 1:
        blocks.try_except(body, *run, writer.statement(2))
    elif kind == 2:
        blocks.try_finally(body, *run, lambda: [*emit.load_const(1), *emit.pop()])
    else:
        blocks.with_block(body, *run, writer.expression(2), target="y")


def generated(rng: random.Random) -> CodeType | None:
    """A code object made at random, or None if the model refuses it."""
    body = xtab.decode(rng.choice((plain, plain, generator, coroutine, closure)))
    stores = [each for each in body.instructions if each.opname.startswith("STORE_")]
    goal = body.instructions[body.instructions.index(stores[-1]) + 1]
    writer = Writer(rng, body, goal)
    runs = [writer.statement() for _ in range(rng.randrange(1, 6))]
    try:
        body.insert_before(goal, [each for run in runs for each in run], jumps="stay")
        for _ in range(rng.randrange(4)):
            try:
                _wrap(rng, body, writer, runs)
            except xtab.EditError:
                continue
        return xtab.assemble(body)
    except xtab.XtabError:
        return None
