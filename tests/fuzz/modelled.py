"""Mutations made through xtab's own model: instructions move, and jumps, ranges and locations move with them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from generate import plain_instruction
from mutation import Subject, mutation

import xtab
from xtab import Instruction
from xtab.analysis.verify import CodeParts
from xtab.format.opcodes import CURRENT, OperandKind

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from trees import Tree

    from xtab import Body

PIECES: tuple[tuple[tuple[str, Any], ...], ...] = (
    (("NOP", None),),
    (("LOAD_CONST", None), ("POP_TOP", None)),
    (("COPY", 1), ("POP_TOP", None)),
    (("COPY", 2), ("POP_TOP", None)),
    (("SWAP", 2),),
    (("SWAP", 2), ("SWAP", 2)),
    (("SWAP", 3), ("SWAP", 3)),
    (("PUSH_NULL", None), ("POP_TOP", None)),
    (("POP_TOP", None), ("LOAD_CONST", 1)),
    (("COPY", 1), ("BUILD_LIST", 1), ("POP_TOP", None)),
    (("LOAD_CONST", (1, 2)), ("UNPACK_SEQUENCE", 2), ("POP_TOP", None), ("POP_TOP", None)),
    (("LOAD_CONST", "x"), ("GET_ITER", None), ("POP_TOP", None)),
    (("BUILD_LIST", 0), ("LOAD_CONST", 5), ("LIST_APPEND", 1), ("POP_TOP", None)),
    (("BUILD_MAP", 0), ("LOAD_CONST", 5), ("LOAD_CONST", 6), ("MAP_ADD", 1), ("POP_TOP", None)),
    (("LOAD_CONST", 1), ("RETURN_VALUE", None)),
    (("RAISE_VARARGS", 0),),
    (("LOAD_GLOBAL", "ValueError"), ("RAISE_VARARGS", 1)),
    (("POP_TOP", None),),
    (("COPY", 1),),
)


def edited(subject: Subject, edit: Callable[[Body], Any]) -> Tree | None:
    """The tree with its body edited, or None if the model refuses."""
    if subject.code is None:
        return None
    body = xtab.decode(subject.code)
    try:
        if edit(body) is None:
            return None
        new = CodeParts.of(xtab.assemble(body))
    except (xtab.XtabError, IndexError, OverflowError, ValueError, TypeError):
        return None
    # the nested ones are those of the subject, in their places; what is new stands behind
    consts = subject.tree.consts + new.consts[len(subject.tree.consts) :]
    return new._replace(consts=consts, filename=subject.tree.filename)


def new_piece(rng: random.Random) -> list[Instruction]:
    """A few new instructions, most of them without an effect."""
    made = []
    for name, operand in rng.choice(PIECES):
        kind = CURRENT.kind[CURRENT.number[name]]
        made.append(
            plain_instruction(name)
            if kind in (OperandKind.NONE, OperandKind.RAW) and operand is None
            else Instruction(name, operand)
        )
    return made


def a_place(rng: random.Random, body: Body) -> int:
    """The index of an instruction: half the time, of one at the begin of a handler or near the border of a range."""
    items = body.instructions
    if rng.random() < 0.5:
        return rng.randrange(len(items))
    handlers = {each.exn_tab_entry.target for each in items if each.exn_tab_entry}
    near = [
        place
        for place in range(1, len(items))
        if items[place] in handlers or items[place].exn_tab_entry is not items[place - 1].exn_tab_entry
    ]
    return max(0, min(len(items) - 1, rng.choice(near) + rng.randrange(-2, 9))) if near else rng.randrange(len(items))


@mutation()
def piece_inserted(rng: random.Random, subject: Subject) -> Tree | None:
    def edit(body: Body) -> Any:
        anchor = body.instructions[a_place(rng, body)]
        body.insert_before(anchor, new_piece(rng), protect=rng.choice(("anchor", "before", "after", None)))
        return True

    return edited(subject, edit)


@mutation()
def piece_inserted_rudely(rng: random.Random, subject: Subject) -> Tree | None:
    """As a plain list would take it, anywhere."""

    def edit(body: Body) -> Any:
        at = a_place(rng, body)
        piece = new_piece(rng)
        for each in piece:
            each.exn_tab_entry = body.instructions[at].exn_tab_entry if rng.random() < 0.9 else None
        body.instructions[at:at] = piece
        return True

    return edited(subject, edit)


@mutation()
def instruction_gone(rng: random.Random, subject: Subject) -> Tree | None:
    def edit(body: Body) -> Any:
        del body.instructions[a_place(rng, body)]
        return True

    return edited(subject, edit)


@mutation()
def instruction_twice(rng: random.Random, subject: Subject) -> Tree | None:
    def edit(body: Body) -> Any:
        at = a_place(rng, body)
        body.instructions.insert(at, copy.copy(body.instructions[at]))
        return True

    return edited(subject, edit)


@mutation()
def instruction_elsewhere(rng: random.Random, subject: Subject) -> Tree | None:
    """Exchanged with its neighbour, or moved by a few places."""

    def edit(body: Body) -> Any:
        items = body.instructions
        at = a_place(rng, body)
        moved = items.pop(at)
        items.insert(max(0, at + rng.choice((-1, 1, 1, 2, -3))), moved)
        return True

    return edited(subject, edit)


@mutation()
def instruction_like_another(rng: random.Random, subject: Subject) -> Tree | None:
    """Replaced by a copy of another one of the same effect, or of any."""

    def edit(body: Body) -> Any:
        items = body.instructions
        at = a_place(rng, body)
        effect = CURRENT.fixed_effect[items[at].opcode]
        alike = [each for each in items if CURRENT.fixed_effect[each.opcode] == effect and not each.is_jump]
        if not alike or items[at].is_jump:
            return None
        new = copy.copy(rng.choice(alike))
        new.exn_tab_entry = items[at].exn_tab_entry
        body.replace(items[at], [new])
        return True

    return edited(subject, edit)


@mutation()
def span_moved(rng: random.Random, subject: Subject) -> Tree | None:
    """An instruction that takes the span of another, or none."""

    def edit(body: Body) -> Any:
        items = body.instructions
        at = a_place(rng, body)
        others = [items[max(0, at - 1)].exn_tab_entry, items[min(len(items) - 1, at + 1)].exn_tab_entry, None]
        items[at].exn_tab_entry = rng.choice(others)
        return True

    return edited(subject, edit) if subject.tree.exceptiontable else None


@mutation()
def span_new(rng: random.Random, subject: Subject) -> Tree | None:
    """A run protected by a new handler, or by one that is there."""

    def edit(body: Body) -> Any:
        items = body.instructions
        first, last = sorted((rng.randrange(len(items)), rng.randrange(len(items))))
        old = [each.exn_tab_entry for each in items if each.exn_tab_entry]
        if old and rng.random() < 0.4:
            span = rng.choice(old)
            body.protect(items[first], items[last], span.target, span.depth, span.lasti)
            return True
        lasti = rng.random() < 0.4
        ends = ([("RERAISE", 0)], [("POP_EXCEPT", None), ("LOAD_CONST", 3), ("RETURN_VALUE", None)], [("RERAISE", 1)])
        end = rng.choice(ends)
        new = [Instruction("PUSH_EXC_INFO"), *([Instruction("POP_TOP")] if end[0][0] == "POP_EXCEPT" else [])]
        new += [Instruction(name) if operand is None else Instruction(name, operand) for name, operand in end]
        body.protect(items[first], items[last], new[0], rng.choice((None, None, 0, 1)), lasti)
        items += new
        return True

    return edited(subject, edit)


@mutation()
def jump_to_instruction(rng: random.Random, subject: Subject) -> Tree | None:
    """A jump led to any instruction, in either direction."""

    def edit(body: Body) -> Any:
        jumps = [each for each in body.instructions if each.is_jump]
        if not jumps:
            return None
        rng.choice(jumps).target = rng.choice(body.instructions)
        return True

    return edited(subject, edit)


@mutation()
def nops_everywhere(rng: random.Random, subject: Subject) -> Tree | None:
    def edit(body: Body) -> Any:
        body.insert_before_each({each: [Instruction("NOP")] for each in body.insertion_points() if rng.random() < 0.3})
        return True

    return edited(subject, edit)
