"""6xx, values: what each instruction trusts of what it finds, and what it leaves. One step an opcode.

Most opcodes are told by a signature (`format.opcodes.signatures`); `steps` has those that do more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify.signatures import step_of
from xtab.analysis.verify.steps import calls, exceptions, flow, plain, variables
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.analysis.verify.signatures import OpcodeStep

__all__ = ["STEPS"]


def _steps() -> list[OpcodeStep | None]:
    steps: list[OpcodeStep | None] = [None] * 256
    for opcode, signature in CURRENT.signatures.items():
        steps[opcode] = step_of(signature, opcode)
    for opcode, (word, taken) in CURRENT.adds_to.items():
        steps[opcode] = plain.adds_to(word, taken, names_callable=CURRENT.name[opcode] == "DICT_MERGE")
    for room in (variables, plain, calls, flow, exceptions):
        for name, step in room.STEPS.items():
            if name in CURRENT.number:
                steps[CURRENT.number[name]] = step
    return steps


STEPS = _steps()
"""Opcode -> its step: checks what is on the stack and changes it, or raises Fault; None where no code may have it."""
