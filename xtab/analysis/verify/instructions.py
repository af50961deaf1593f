"""5xx, instructions: operands, jumps, and what must stand together. Opcodes and caches are the matter of `columns`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify.ranges import holder
from xtab.format.opcodes import CURRENT, OperandKind

if TYPE_CHECKING:
    from xtab.analysis.verify.columns import Columns
    from xtab.analysis.verify.parts import CodeParts
    from xtab.analysis.verify.report import Report
    from xtab.format.exception_table import ExceptionTableEntry

__all__ = ["check_neighbours", "check_operands", "check_resumes", "check_waits", "read_targets"]

_RESUME, _YIELD = CURRENT.number["RESUME"], CURRENT.number["YIELD_VALUE"]
_COMPARE_OP = CURRENT.compare_op
_HARMLESS = ("CALL_INTRINSIC_1", "CLEANUP_THROW")
"""How handlers begin that close() may skip: they have nothing to do for a GeneratorExit."""


def check_operands(parts: CodeParts, columns: Columns, report: Report) -> None:
    """XT503: each operand is one that the opcode knows."""
    variables = len(parts.variables)
    most = [0] * 9
    most[OperandKind.CONST], most[OperandKind.NAME] = len(parts.consts), len(parts.names)
    most[OperandKind.LOCAL] = most[OperandKind.CELL] = most[OperandKind.LOCAL_PAIR] = variables
    kinds, flag_bits, limits, words = CURRENT.kind, CURRENT.flag_bits, CURRENT.limits, CURRENT.words
    for index, (opcode, arg) in enumerate(zip(columns.opcodes, columns.args, strict=True)):
        kind = kinds[opcode]
        if kind in (OperandKind.RAW, OperandKind.TARGET):
            if opcode not in limits:
                continue
            fine = limits[opcode][0] <= arg <= limits[opcode][1]
        elif kind == OperandKind.NONE:
            fine = not arg
        elif kind == OperandKind.WORD:
            number = arg >> flag_bits[opcode]
            least = limits[opcode][0] if opcode in limits else 0
            fine = least <= number < len(words[opcode]) and (opcode != _COMPARE_OP or _right_mask(arg, number))
        elif kind == OperandKind.LOCAL_PAIR:
            fine = arg >> 4 < variables and arg & 15 < variables and arg < 256  # four bits each
        else:
            fine = arg >> flag_bits[opcode] < most[kind]
        if not fine:
            _refuse_operand(index, most, columns, report)


def _right_mask(arg: int, number: int) -> bool:
    return arg & 15 == CURRENT.comparison_flags(number) & 15 if CURRENT.flag_bits[_COMPARE_OP] else True


def _refuse_operand(index: int, most: list[int], columns: Columns, report: Report) -> None:
    opcode, arg = columns.opcodes[index], columns.args[index]
    kind, name = CURRENT.kind[opcode], CURRENT.name[opcode]
    if kind in (OperandKind.CONST, OperandKind.NAME, OperandKind.LOCAL, OperandKind.CELL, OperandKind.LOCAL_PAIR):
        what = {OperandKind.CONST: "constant", OperandKind.NAME: "name"}.get(kind, "variable")
        least = most[kind] - 1
        wanted = f"the number of a {what}, up to {least}" if least >= 0 else f"no {name}, since there is no {what}"
    elif kind == OperandKind.NONE:
        wanted = "an operand of 0, since it has none"
    elif kind == OperandKind.WORD:
        wanted = f"one of the {len(CURRENT.words[opcode])} operands of {name}"
    else:
        wanted = "an operand from {} to {}".format(*CURRENT.limits[opcode])
    hint = "the interpreter doesn't look whether it is in range: it reads what lies there"
    report.add("XT503", f"expected {wanted}, but found {arg}", hint, columns=columns, index=index)


def read_targets(columns: Columns, report: Report) -> dict[int, int]:
    """Jump -> target, by index; XT504 and XT505 for those that lead to no instruction."""
    targets: dict[int, int] = {}
    starts, ends, index_of, size = columns.starts, columns.ends, columns.index_of, columns.ends[-1]
    distance = CURRENT.distance
    for index, opcode in enumerate(columns.opcodes):
        way = distance[opcode]
        if not way:
            continue
        offset = ends[index] + (2 * columns.args[index] if way == 1 else -2 * columns.args[index])
        target = index_of.get(offset)
        if target is not None:
            targets[index] = target
            continue
        name = CURRENT.name[opcode]
        if not 0 <= offset < size:
            message = f"expected {name} to stay inside [0,{size}), but found that it leads to {offset}"
            report.add("XT504", message, "jumps count code units from behind the caches", columns=columns, index=index)
            continue
        at = holder(columns, offset)
        message = (
            f"expected {name} to lead to an instruction, but found that it leads to {offset}, inside the "
            f"{CURRENT.name[columns.opcodes[at]]} at [{starts[at]},{ends[at]})"
        )
        hint = "a jump leads to the first EXTENDED_ARG of an instruction, never behind it, and never to a cache"
        report.add("XT505", message, hint, columns=columns, index=index, related=(starts[at],))
    return targets


def check_waits(columns: Columns, report: Report) -> None:
    """XT514: a RESUME says how the generator waited before it, if at all; throw() and close() go by that."""
    opcodes, args = columns.opcodes, columns.args
    depth_bit = CURRENT.resume_one_span
    for index, opcode in enumerate(opcodes):
        if opcode != _RESUME:
            continue
        says = args[index] & ~depth_bit
        if not index or opcodes[index - 1] != _YIELD:
            wanted, fine = CURRENT.resume_at_start, args[index] in CURRENT.resume_at_start
        elif CURRENT.yield_tells_delegation:
            wanted = (2, 3) if args[index - 1] else (1,)
            fine = says in wanted
        else:
            wanted = (1, 2, 3)
            fine = says in wanted
        if not fine:
            message = f"expected {' or '.join(map(str, wanted))} for RESUME here, but found {args[index]}"
            hint = "0 where a call begins, 1 behind a yield, 2 behind yield from, 3 behind await"
            report.add("XT514", message, hint, columns=columns, index=index)


def check_neighbours(columns: Columns, targets: dict[int, int], report: Report) -> None:
    """XT510: what the interpreter skips, or looks for beside or at the end of a jump, is there."""
    opcodes = columns.opcodes
    must_follow, leads_to = CURRENT.must_follow, CURRENT.leads_to
    for index, opcode in enumerate(opcodes):
        if opcode in must_follow:
            following = opcodes[index + 1] if index + 1 < len(opcodes) else -1
            if following != must_follow[opcode]:
                _refuse_pair(
                    index, f"{CURRENT.name[must_follow[opcode]]} right behind", _name(following), columns, report
                )
            elif columns.starts[index + 1] != columns.at[index + 1]:
                _refuse_pair(index, f"{_name(following)} right behind", "an EXTENDED_ARG before it", columns, report)
        if opcode in leads_to and opcodes[targets[index]] != leads_to[opcode]:
            wanted = f"{CURRENT.name[leads_to[opcode]]} where it leads"
            _refuse_pair(index, wanted, _name(opcodes[targets[index]]), columns, report)
    if CURRENT.keep_as_target:
        _check_sends(columns, report)
    if "PRECALL" in CURRENT.number:
        _check_calls(columns, targets, report)


def _name(opcode: int) -> str:
    return str(CURRENT.name[opcode]) if opcode >= 0 else "the end of the code"


def _refuse_pair(index: int, wanted: str, found: str, columns: Columns, report: Report) -> None:
    name = CURRENT.name[columns.opcodes[index]]
    message = f"expected {wanted} {name}, but found {found}"
    report.add("XT510", message, "the interpreter takes it for granted", columns=columns, index=index)


def _check_sends(columns: Columns, report: Report) -> None:
    """3.11: throw() finds the SEND right before the YIELD_VALUE at which a delegating generator waits."""
    opcodes, args = columns.opcodes, columns.args
    for index, opcode in enumerate(opcodes):
        delegates = opcode == _RESUME and args[index] & 3 > 1
        if delegates and (
            index < 2 or opcodes[index - 1] != _YIELD or opcodes[index - 2] not in CURRENT.keep_as_target
        ):
            _refuse_pair(index, "SEND and YIELD_VALUE right before", _name(opcodes[index - 1]), columns, report)


def _check_calls(columns: Columns, targets: dict[int, int], report: Report) -> None:
    """3.11: a CALL goes on with what its PRECALL began."""
    opcodes, args = columns.opcodes, columns.args
    precall, call = CURRENT.number["PRECALL"], CURRENT.number["CALL"]
    entered = set(targets.values())
    for index, opcode in enumerate(opcodes):
        if opcode != call:
            continue
        if not index or opcodes[index - 1] != precall or args[index - 1] != args[index] or index in entered:
            _refuse_pair(index, f"PRECALL {args[index]} on every way to", _name(opcodes[index - 1]), columns, report)


def _first_of_handler(opcodes: list[int], index: int) -> str | None:
    """Name of what a handler does first, NOPs apart."""
    while opcodes[index] == CURRENT.nop and index + 1 < len(opcodes):
        index += 1
    return CURRENT.name[opcodes[index]]


def check_resumes(entries: list[ExceptionTableEntry], covering: list[int], columns: Columns, report: Report) -> None:
    """XT514: close() skips all handlers of a generator that says that only its StopIteration wrapper is around it."""
    if not CURRENT.resume_one_span and not CURRENT.yield_counts_spans:
        return
    opcodes, args, index_of = columns.opcodes, columns.args, columns.index_of
    for index, opcode in enumerate(opcodes):
        if CURRENT.yield_counts_spans:
            says = opcode == _YIELD and args[index] == 1
        else:
            says = opcode == _RESUME and bool(args[index] & CURRENT.resume_one_span)
        if not says:
            continue
        number = covering[index]
        if number < 0 or _first_of_handler(opcodes, index_of[entries[number].target]) in _HARMLESS:
            continue
        message = (
            "expected the generator's own StopIteration handler, and no other, around it, "
            f"but found that at {entries[number].target}"
        )
        hint = "clear the bit, or count the spans: else close() skips finally blocks (assemble() does it)"
        report.add("XT514", message, hint, columns=columns, index=index)
