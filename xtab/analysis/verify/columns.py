"""`Columns`: the instructions of any bytes, as far as they are such (XT501, XT502, XT507, XT508, XT509)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from xtab.analysis.verify.report import Report

__all__ = ["Columns", "read_instructions"]

_MAX_OPERAND = (1 << 31) - 1
_ZEROS = tuple(bytes(2 * count) for count in range(max(CURRENT.caches) + 1))


class Columns(NamedTuple):
    """Instructions by index. Offsets are in bytes."""

    starts: list[int]  #: of the first prefix
    at: list[int]  #: of the opcode
    ends: list[int]  #: behind the caches
    opcodes: list[int]
    args: list[int]
    index_of: dict[int, int]  #: start -> index


def read_instructions(code: bytes, report: Report) -> Columns | None:
    """The instructions, or None where the bytes are not all instructions, which is reported then."""
    size = len(code)
    if not size or size & 1:
        report.add(
            "XT501",
            f"expected an even number of bytes of code, and not none, but found {size}",
            "code units have two bytes",
        )
        return None
    before = report.errors
    columns = Columns([], [], [], [], [], {})
    starts, places, ends, opcodes, args, index_of = columns
    legal, caches, extended = CURRENT.legal, CURRENT.caches, CURRENT.extended_arg
    offset = 0
    while offset < size:
        start = offset
        opcode, arg = code[offset], code[offset + 1]
        if opcode == extended:
            opcode, arg, offset = _prefixed(code, offset, report)
        if not legal[opcode]:
            _refuse_opcode(opcode, offset, report)
            offset += 2
            continue
        end = offset + 2
        cached = caches[opcode]
        if cached:
            end += 2 * cached
            if code[offset + 2 : end] != _ZEROS[cached]:
                _refuse_caches(code, opcode, offset, end, report)
        index_of[start] = len(starts)
        starts.append(start)
        places.append(offset)
        ends.append(end)
        opcodes.append(opcode)
        args.append(arg)
        offset = end
    return columns if report.errors == before else None


def _prefixed(code: bytes, start: int, report: Report) -> tuple[int, int, int]:
    """Opcode, operand and opcode's offset of an instruction that begins with EXTENDED_ARG at `start`."""
    extended = CURRENT.extended_arg
    offset, arg = start, 0
    while offset < len(code) and code[offset] == extended:
        arg = arg << 8 | code[offset + 1]
        if not arg:
            report.add(
                "XT509",
                "expected an EXTENDED_ARG that adds something, but found one of 0 with none before it",
                "leave it out: debug builds abort on it",
                offset=offset,
            )
        if arg > _MAX_OPERAND:  # so that hostile prefixes can't make it larger and larger
            arg = _MAX_OPERAND + 1
        offset += 2
    if offset >= len(code):
        report.add("XT507", "expected an instruction behind EXTENDED_ARG, but found the end of the code", offset=start)
        return CURRENT.nop, 0, offset - 2
    arg = arg << 8 | code[offset + 1]
    if arg > _MAX_OPERAND:
        name = CURRENT.name[code[offset]]
        report.add("XT503", f"expected an operand of {name} below 2**31, but found a larger one", offset=start)
    return code[offset], arg, offset


def _refuse_opcode(opcode: int, offset: int, report: Report) -> None:
    name = CURRENT.name[opcode]
    found = f"{opcode}, {name}, which only the interpreter itself writes" if name else f"{opcode}"
    hint = "specialised and instrumented opcodes stand in the code only while it runs: take co_code, not what it became"
    message = f"expected an opcode of compiled code for CPython {CURRENT.python}, but found {found}"
    report.add("XT502", message, hint, offset=offset)


def _refuse_caches(code: bytes, opcode: int, offset: int, end: int, report: Report) -> None:
    name, count = CURRENT.name[opcode], CURRENT.caches[opcode]
    if end > len(code):
        left = (len(code) - offset - 2) // 2
        message = f"expected {count} cache units behind {name}, but found the end of the code after {left}"
        report.add("XT507", message, "assemble() writes the caches", offset=offset)
        return
    found = code[offset + 2 : end].hex(" ")
    hint = f"an instruction of this version has its caches right behind it; {name} has {count}"
    report.add("XT508", f"expected {2 * count} zero bytes behind {name}, but found {found}", hint, offset=offset)
