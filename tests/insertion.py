"""A NOP in every place where one may stand, put there by hand, and the places where none may, with the reason.

As a program, ``python insertion.py FILE`` prints the places that are left out.
"""

from __future__ import annotations

import sys
import types
from collections import Counter

import xtab
from xtab.format.code import code_objects


def insertion_points(body, *, redirect=False):
    """Tell where a NOP may be put before an instruction.

    Args:
        body: what `decode` gave.
        redirect: whether jumps and spans that lead to the instruction shall lead to the NOP.

    Returns:
        The places in ``body.instructions``, and a dictionary of the others: place -> reason.
    """
    jumps = "new" if redirect else "stay"
    answers = {place: body.why_not_before(each, jumps=jumps) for place, each in enumerate(body.instructions)}
    return (
        [place for place, reason in answers.items() if reason is None],
        {place: reason for place, reason in answers.items() if reason is not None},
    )


def put_nops(body, *, redirect=False, places=None):
    """Put a NOP before each instruction where one may stand (or of `places`), protected as the instruction is."""
    if places is None:
        places, _ = insertion_points(body, redirect=redirect)
    instead = {}
    chosen = set(places)
    edited = []
    for place, instruction in enumerate(body.instructions):
        if place in chosen:
            nop = xtab.Instruction("NOP", location=instruction.location, exn_tab_entry=instruction.exn_tab_entry)
            instead[instruction] = nop
            edited.append(nop)
        edited.append(instruction)
    if redirect:
        spans = {}
        for instruction in body.instructions:
            if instruction.target in instead:
                instruction.target = instead[instruction.target]
            span = instruction.exn_tab_entry
            while span is not None and span not in spans:
                spans[span] = None
                span.target = instead.get(span.target, span.target)
                span = span.outer
    body.instructions[:] = edited
    return body


def transformed(code, edit=None):
    """Give a code object decoded, edited and assembled, and so all those inside it."""
    consts = tuple(transformed(const, edit) if isinstance(const, types.CodeType) else const for const in code.co_consts)
    body = xtab.decode(code.replace(co_consts=consts))
    if edit is not None:
        edit(body)
    return xtab.assemble(body)


def main(path):
    """Print how many places there are, and those that are left out."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    free, kept = 0, Counter()
    for code in code_objects(compile(source, path, "exec", dont_inherit=True)):
        body = xtab.decode(code)
        places, reasons = insertion_points(body)
        free += len(places)
        for place, reason in reasons.items():
            kept[body.instructions[place].opname, reason] += 1
    sys.stdout.write(f"a NOP may stand before {free} instructions, but not before {kept.total()}:" + "\n")
    for (opname, reason), count in sorted(kept.items()):
        sys.stdout.write(f"{count:6} {opname}: {reason}" + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
