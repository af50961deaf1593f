"""`add_notes`: exceptions that new instructions raise at run time say so.

1. Each new instruction gets a span of its own inside the one that it has, with a handler that adds a note to the
   exception and raises it again, to where it would have gone in the first place.
2. There is one handler for all instructions that had the same span. It is entered at the depth of that span: what lies
   above is dropped by the handler outside anyway. The place of the instruction that raised goes along (lasti), so that
   the frame's line stays the right one.
3. Instructions that raise again what somebody caught are left out: what they raise is seldom theirs. So is the
   prologue, where no handler can run yet.

The handler follows the clean-up code that the compiler emits for a named ``except`` (Python/codegen.c,
codegen_try_except).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.format.opcodes import CURRENT
from xtab.model.instruction import Instruction, Span
from xtab.transform.emit import call_method, duplicate, load_const, pop

if TYPE_CHECKING:
    from collections.abc import Container

    from xtab.model.body import Body

__all__ = ["add_notes"]


def add_notes(body: Body, decoded: Container[Instruction], text: str) -> None:
    """Let exceptions that new instructions raise have a note.

    Args:
        body: what to edit.
        decoded: the instructions that are not new.
        text: the note.

    >>> import xtab
    >>> from xtab.transform.emit import load_global, pop
    >>> def f():
    ...     return 1
    >>> body = xtab.decode(f)
    >>> decoded = set(body.instructions)
    >>> body.insert_before(body.instructions[-1], [*load_global("oops"), *pop()])
    >>> add_notes(body, decoded, "from the new code")
    >>> f.__code__ = xtab.assemble(body)
    >>> try:
    ...     f()
    ... except NameError as error:
    ...     error.__notes__
    ['from the new code']
    """
    spans: dict[Span | None, Span] = {}
    handlers: list[Instruction] = []
    prologue = True
    for instruction in body.instructions:
        if not (prologue or instruction in decoded or _raises_again(instruction)):
            outer = instruction.exn_tab_entry
            if outer not in spans:
                handler = _handler(text, outer)
                handlers += handler
                spans[outer] = Span(handler[0], _depth(outer), lasti=True, outer=outer)
            instruction.exn_tab_entry = spans[outer]
        prologue = prologue and instruction.opname != "RESUME"
    body.instructions += handlers


def _raises_again(instruction: Instruction) -> bool:
    bare = instruction.opname == "RAISE_VARARGS" and instruction.operand == 0
    return bare or CURRENT.raises_again[instruction.opcode] != 0


def _depth(outer: Span | None, more: int = 0) -> int | None:
    """The depth of a span in `outer`, with so many values more below; None: assembly computes it."""
    if outer is None:
        return more
    return None if outer.depth is None else outer.depth + more


def _handler(text: str, outer: Span | None) -> list[Instruction]:
    """What is entered with lasti and the exception on the stack; the comments show the stack, the top at the right."""
    entry = [
        Instruction("PUSH_EXC_INFO"),  # lasti, previous, exception
        *duplicate(),
    ]
    noting = [*call_method((), "add_note", load_const(text)), *pop()]
    leave = [
        Instruction("SWAP", 2),  # lasti, exception, previous
        Instruction("POP_EXCEPT"),
        Instruction("RERAISE", 1),
    ]
    failed = [  # lasti, previous, exception, new lasti, new exception
        Instruction("COPY", 4),
        Instruction("POP_EXCEPT"),
        Instruction("RERAISE", 1),
    ]
    for instruction in (*entry, *leave, *failed):
        instruction.exn_tab_entry = outer
    clean_up = Span(failed[0], _depth(outer, 3), lasti=True, outer=outer)
    for instruction in noting:
        instruction.exn_tab_entry = clean_up
    return [*entry, *noting, *leave, *failed]
