"""Where a new instruction may stand in a body, and where not, with the reason; and a NOP in every such place.

The lists follow the data in `xtab.format.opcodes`: the prologue, the pairs that stay together, and what nothing may be
put in front of. As a program, ``python insertion.py FILE`` prints the places that are left out.
"""

from __future__ import annotations

import sys
import types
from collections import Counter

import xtab
from xtab.format.opcodes import CURRENT

PROLOGUE = "nothing may stand in the prologue, which ends with the first RESUME"
PAIR = "it must follow the instruction before it"
LANDING = "the interpreter jumps over it, or expects it where a jump ends"
RESUMED = "throw() finds the SEND through the jump that leads back to it"


def insertion_points(body, *, redirect=False):
    """Tell where a NOP may be put before an instruction.

    Args:
        body: what `decode` gave.
        redirect: whether jumps and spans that lead to the instruction shall lead to the NOP.

    Returns:
        The places in ``body.instructions``, and a dictionary of the others: place -> reason.
    """
    resume = next(i for i, instruction in enumerate(body.instructions) if instruction.opname == "RESUME")
    places = []
    reasons = {}
    before = None
    for place, instruction in enumerate(body.instructions):
        if place <= resume:
            reasons[place] = PROLOGUE
        elif before in CURRENT.adjacent and instruction.opcode in CURRENT.adjacent[before]:
            reasons[place] = PAIR
        elif instruction.opcode in CURRENT.keep_before:
            reasons[place] = LANDING
        elif redirect and instruction.opname == "SEND":
            reasons[place] = RESUMED
        else:
            places.append(place)
        before = instruction.opcode
    return places, reasons


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


def code_objects(code):
    """All code objects in one, itself first."""
    waiting = [code]
    for found in waiting:
        waiting += [const for const in found.co_consts if isinstance(const, types.CodeType)]
    return waiting


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
