"""5xx, the prologue: what runs before the first RESUME fits the variables and flags (XT506, XT511, XT512, XT613)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.format.code import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_GENERATOR,
    CO_HAS_DOCSTRING,
    CO_NO_MONITORING_EVENTS,
    CO_OPTIMIZED,
)
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.analysis.verify.columns import Columns
    from xtab.analysis.verify.parts import CodeParts
    from xtab.analysis.verify.report import Report
    from xtab.format.exception_table import ExceptionTableEntry

__all__ = ["check_prologue"]

_COPY_FREE_VARS, _MAKE_CELL, _RETURN_GENERATOR, _POP_TOP, _RESUME = CURRENT.prologue
_ALLOWED = CURRENT.prologue[:-1]
_YIELD = CURRENT.number["YIELD_VALUE"]
_INTRINSIC = CURRENT.number.get("CALL_INTRINSIC_1")
_GENERATORS = {
    CO_GENERATOR: "CO_GENERATOR",
    CO_COROUTINE: "CO_COROUTINE",
    CO_ASYNC_GENERATOR: "CO_ASYNC_GENERATOR",
}
_HELPERS = {
    "ASYNC_GEN_WRAP": CO_ASYNC_GENERATOR,
    "INTRINSIC_ASYNC_GEN_WRAP": CO_ASYNC_GENERATOR,
    "INTRINSIC_STOPITERATION_ERROR": CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR,
}
"""What works in frames of these kinds only: flags, of which one must be there."""


def check_prologue(
    parts: CodeParts, columns: Columns, targets: dict[int, int], entries: list[ExceptionTableEntry], report: Report
) -> None:
    """Check what must run before anything else does."""
    opcodes = columns.opcodes
    end = _end(columns)
    if end is None:
        message = "expected a RESUME, but found none"
        hint = "it is the first instruction that a traced function runs"
        report.add("XT511", message, hint, columns=columns, index=0)
        return
    _check_order(columns, report)
    _check_cells(parts, columns, report)
    _check_generator(parts, columns, end, report)
    for source, target in targets.items():
        if target < end:
            _refuse_entry(target, columns.starts[source], columns, report)
    for entry in entries:
        if columns.index_of[entry.target] < end:
            _refuse_entry(columns.index_of[entry.target], entry.start, columns, report)
    class_deref = CURRENT.number.get("LOAD_CLASSDEREF")
    if parts.flags & CO_OPTIMIZED and class_deref in opcodes:
        message = "expected LOAD_CLASSDEREF only in code without CO_OPTIMIZED, but found it in a function's"
        hint = "a function has no namespace to look in"
        report.add("XT512", message, hint, columns=columns, index=opcodes.index(class_deref))
    if parts.flags & CO_NO_MONITORING_EVENTS:
        message = "expected no CO_NO_MONITORING_EVENTS in co_flags, but found it"
        report.add("XT512", message, "only code of the interpreter itself has it: a tracer waits for events forever")
    _check_helpers(parts, columns, report)
    if parts.flags & CO_HAS_DOCSTRING and not parts.consts:
        message = "expected a docstring among the constants, as CO_HAS_DOCSTRING says, but found none"
        report.add("XT512", message, "clear the flag")


def _end(columns: Columns) -> int | None:
    """Index behind the first RESUME; behind that which follows RETURN_GENERATOR, where there is one."""
    opcodes = columns.opcodes
    if _RESUME not in opcodes:
        return None
    end = opcodes.index(_RESUME) + 1
    if _RETURN_GENERATOR in opcodes:
        end = max(end, min(opcodes.index(_RETURN_GENERATOR) + 3, len(opcodes)))
    return end


def _check_order(columns: Columns, report: Report) -> None:
    """Nothing but the prologue comes before the first RESUME."""
    opcodes = columns.opcodes
    for index in range(opcodes.index(_RESUME)):
        if opcodes[index] not in _ALLOWED:
            name = CURRENT.name[opcodes[index]]
            message = (
                f"expected only {', '.join(str(CURRENT.name[op]) for op in _ALLOWED)} before RESUME, but found {name}"
            )
            report.add("XT511", message, "the frame is not complete before that", columns=columns, index=index)
            return


def _check_cells(parts: CodeParts, columns: Columns, report: Report) -> None:
    opcodes, args = columns.opcodes, columns.args
    copies = [index for index, opcode in enumerate(opcodes) if opcode == _COPY_FREE_VARS]
    wanted = len(parts.freevars)
    before_resume = opcodes.index(_RESUME)
    fine = len(copies) == bool(wanted) and all(copy < before_resume and args[copy] == wanted for copy in copies)
    if not fine:
        found = ", ".join(f"COPY_FREE_VARS {args[copy]} at {columns.starts[copy]}" for copy in copies) or "none"
        expected = (
            f"one COPY_FREE_VARS {wanted} before RESUME" if wanted else "no COPY_FREE_VARS, without free variables"
        )
        hint = "it takes the cells out of the function's closure, all of them, once"
        at = copies[0] if copies else 0
        report.add("XT511", f"expected {expected}, but found {found}", hint, columns=columns, index=at)
    if opcodes[0] == _MAKE_CELL and columns.at[0] != columns.starts[0]:
        message = f"expected MAKE_CELL of the first variables first, but found that of {args[0]} behind an EXTENDED_ARG"
        report.add("XT511", message, "super() looks for MAKE_CELL at the very start", columns=columns, index=0)
    made = {args[index] for index in range(before_resume) if opcodes[index] == _MAKE_CELL}
    for number, name in enumerate(parts.varnames[: parts.arguments]):
        if name in parts.cellvars and number not in made:
            message = f"expected MAKE_CELL for the argument {name!r} before RESUME, but found none"
            hint = "super() and locals() expect the cell of an argument from the start"
            report.add("XT511", message, hint, columns=columns, index=before_resume)


def _check_generator(parts: CodeParts, columns: Columns, end: int, report: Report) -> None:
    opcodes = columns.opcodes
    kinds = [name for bit, name in _GENERATORS.items() if parts.flags & bit]
    starts = [index for index, opcode in enumerate(opcodes) if opcode == _RETURN_GENERATOR]
    if len(kinds) > 1:
        message = f"expected one of CO_GENERATOR, CO_COROUTINE and CO_ASYNC_GENERATOR, but found {' and '.join(kinds)}"
        report.add("XT512", message, "a frame is one of them")
    elif len(starts) != len(kinds):
        wanted = "one RETURN_GENERATOR" if kinds else "no RETURN_GENERATOR"
        message = f"expected {wanted}, as co_flags say, but found {len(starts)}"
        hint = "the flag says what is made when the function is called, RETURN_GENERATOR makes it: both or neither"
        report.add("XT512", message, hint, columns=columns, index=starts[0] if starts else 0)
    elif starts and not _straight(columns, starts[0], end):
        message = "expected RETURN_GENERATOR at the start, before anything branches, and POP_TOP and RESUME behind it"
        report.add(
            "XT511", f"{message}, but found otherwise", "it must run once, and first", columns=columns, index=starts[0]
        )
    if not kinds and _YIELD in opcodes:
        message = "expected YIELD_VALUE only in generators and coroutines, but found it in code without such a flag"
        hint = "only their frames can wait; set the flag, and put RETURN_GENERATOR in the prologue"
        report.add("XT613", message, hint, columns=columns, index=opcodes.index(_YIELD))


def _check_helpers(parts: CodeParts, columns: Columns, report: Report) -> None:
    """XT512: what works on generators stands in the code of one."""
    for index, (opcode, arg) in enumerate(zip(columns.opcodes, columns.args, strict=True)):
        name = CURRENT.words[opcode][arg] if opcode == _INTRINSIC else CURRENT.name[opcode]
        if name in _HELPERS and not parts.flags & _HELPERS[name]:
            message = f"expected {name} in a generator of its kind, but found it in other code"
            report.add("XT512", message, "it works on the generator whose frame it is", columns=columns, index=index)


def _straight(columns: Columns, start: int, end: int) -> bool:
    opcodes = columns.opcodes
    branches = any(CURRENT.distance[opcode] or CURRENT.stops[opcode] for opcode in opcodes[:start])
    return not branches and opcodes[start + 1 : start + 3] == [_POP_TOP, _RESUME] and start + 3 == end


def _refuse_entry(target: int, source: int, columns: Columns, report: Report) -> None:
    name = CURRENT.name[columns.opcodes[target]]
    message = (
        "expected nothing that leads to what runs once, before the first RESUME, "
        f"but found {name} entered from {source}"
    )
    hint = "cells would be made anew, a generator started twice; lead to what follows"
    report.add("XT506", message, hint, columns=columns, index=target, related=(source,))
