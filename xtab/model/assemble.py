"""`assemble`: a `Body` becomes a code object.

1. `shape.read_body` reads the instructions as numbers, and refuses what can't be written: an instruction that stands
   twice, a target that is not in the body, an operand that doesn't fit.
2. `mending` puts right what an edit makes necessary.
3. `layout.lay_out` chooses directions and sizes of jumps until nothing changes.
4. Here, the parts are written: code, location table, exception table; the stack is measured.

Nothing that was not edited changes: sizes never shrink by themselves, pieces of the location table go back as they
came, recorded depths are kept, lists of names and constants only grow. Linear in the number of instructions. Follows
Python/assemble.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xtab.errors import AssembleError, StackError, TableFormatError
from xtab.format.exception_table import ExceptionTableEntry, assemble_exception_table
from xtab.format.locations import encode_location, line_at
from xtab.format.opcodes import CURRENT
from xtab.model.borrows import unborrow
from xtab.model.depths import measure, measure_size
from xtab.model.layout import lay_out
from xtab.model.mending import mend_yields, owed_nops
from xtab.model.offsets import Layout
from xtab.model.positions import location_table
from xtab.model.shape import read_body

if TYPE_CHECKING:
    from types import CodeType

    from xtab.model.body import Body
    from xtab.model.flow import Entry
    from xtab.model.layout import LaidOut
    from xtab.model.shape import BodyShape
    from xtab.model.source import Source

__all__ = ["assemble", "code_bytes", "exception_table", "mended", "tables_to_write"]


def assemble(body: Body) -> CodeType:
    """The code object of a body. The body stays as it is, and ``body.layout`` tells where its instructions came to lie.

    Args:
        body: from :func:`xtab.decode`, edited or not. An unedited body gives the code object it came from, byte for
            byte.

    Raises:
        AssembleError: an instruction stands twice, a target or handler is not in the body, an operand doesn't fit, a
            location is impossible.
        StackError: the depth of the stack is not the same on all ways to an instruction, or falls below zero.

    >>> import xtab
    >>> code = compile("print('hello')", "example", "exec")
    >>> xtab.assemble(xtab.decode(code)) == code
    True
    """
    if not body.instructions:
        raise AssembleError("expected at least one instruction, but found none")
    laid_out = lay_out(mended(body))
    shape, starts = laid_out.shape, laid_out.starts
    try:
        stack_size, all_reached = measure_size(shape, lambda index: line_at(laid_out.instructions[index].location))
    except StackError:
        if len(laid_out.instructions) != len(body.instructions):  # NOPs were put in: say it by places in the body
            measure(read_body(body).shape, line_of=lambda index: line_at(body.instructions[index].location))
        raise
    body.layout = Layout(laid_out.instructions, starts)
    return body._code.replace(
        co_code=code_bytes(laid_out, body._source),
        co_linetable=_locations(laid_out, body),
        co_exceptiontable=exception_table(shape.entries, starts),
        co_stacksize=stack_size if all_reached else max(stack_size, body.stacksize),
        co_name=body.name,
        co_qualname=body.qualname,
        co_filename=body.filename,
        co_firstlineno=body.first_line,
        co_flags=body.flags,
        co_argcount=body.argcount,
        co_posonlyargcount=body.posonlyargcount,
        co_kwonlyargcount=body.kwonlyargcount,
        **tables_to_write(body._source),
    )


def _locations(laid_out: LaidOut, body: Body) -> bytes:
    """co_linetable; of a location that no table can hold, the instruction is named."""
    try:
        return location_table(laid_out, body._source, body.first_line)
    except TableFormatError as error:
        for index, each in enumerate(body.instructions):
            location = each.location  # which fails if the table is at fault that it is read from
            try:
                encode_location(1, location, 0)
            except TableFormatError:
                raise AssembleError(f"{error.detail}, its location", instruction=each, index=index) from None
        raise


def mended(body: Body) -> BodyShape:
    """The body as numbers, with what an edit makes necessary put right."""
    source = body._source
    found = read_body(body)
    owed = owed_nops(found, source)
    if owed:
        found = read_body(body, owed)
    return mend_yields(unborrow(found, source), source)


def tables_to_write(source: Source) -> dict[str, Any]:
    """What has to be said of constants, names and variables: nothing while nobody has seen the lists."""
    tables = source.changed_tables()
    if tables is None:
        return {}
    return {
        "co_consts": tuple(tables.consts),
        "co_names": tuple(tables.names),
        "co_varnames": tuple(tables.varnames),
        "co_nlocals": len(tables.varnames),
        "co_cellvars": tuple(tables.cellvars),
        "co_freevars": tuple(tables.freevars),
    }


_rows: list[list[bytes]] = [[]] * 256  # [opcode][operand below 256] -> the bytes of the instruction, caches included


def code_bytes(laid_out: LaidOut, source: Source) -> bytes:
    """co_code: slices of the source's for stretches that are as they were, instruction for instruction for others."""
    if not laid_out.plain:
        return _run_bytes(laid_out, 0, len(laid_out.instructions))
    opcodes, args, prefixes, sizes = laid_out.shape.opcodes, laid_out.shape.args, laid_out.prefixes, laid_out.sizes
    code, old_starts = source.code.co_code, source.starts
    pieces = []
    runs: dict[Any, bytes] = {}  # by stencil, whose copies have the same operands everywhere
    for place, old, length in laid_out.parts:
        if old >= 0:
            if laid_out.resized and sizes[place : place + length] != source.sizes[old : old + length]:
                pieces.append(_run_bytes(laid_out, place, place + length))
            else:
                pieces.append(code[2 * old_starts[old] : 2 * old_starts[old + length]])
        elif length > 1:
            fields: Any = laid_out.instructions[place]._at
            run = runs.get(fields.location)
            if run is None:
                run = runs[fields.location] = _run_bytes(laid_out, place, place + length)
            pieces.append(run)
        else:
            pieces.append(_unit_bytes(opcodes[place], args[place], prefixes.get(place, 0)))
    if not laid_out.loose and not laid_out.mended:
        return b"".join(pieces)
    joined = bytearray().join(pieces)
    for place in (*laid_out.loose, *laid_out.mended):
        unit_bytes = _unit_bytes(opcodes[place], args[place], prefixes.get(place, 0))
        start = 2 * laid_out.starts[place]
        joined[start : start + len(unit_bytes)] = unit_bytes
    return bytes(joined)


def _unit_bytes(opcode: int, arg: int, prefixes: int) -> bytes:
    """The bytes of one instruction, EXTENDED_ARG and caches included."""
    high = b"" if not prefixes else (arg >> 8).to_bytes(prefixes, "big")
    units = [bytes((CURRENT.extended_arg, byte)) for byte in high]
    return b"".join([*units, bytes((opcode, arg & 0xFF)), bytes(2 * CURRENT.caches[opcode])])


def _run_bytes(laid_out: LaidOut, begin: int, end: int) -> bytes:
    """The bytes of [begin, end), one after the other."""
    opcodes, args, prefixes = laid_out.shape.opcodes[begin:end], laid_out.shape.args[begin:end], laid_out.prefixes
    rows = _rows
    try:
        parts = [rows[opcode][arg & 0xFF] for opcode, arg in zip(opcodes, args, strict=True)]
    except IndexError:  # a row that was not needed until now
        for opcode in {opcode for opcode in opcodes if not rows[opcode]}:
            caches = bytes(2 * CURRENT.caches[opcode])
            rows[opcode] = [bytes((opcode, arg)) + caches for arg in range(256)]
        parts = [rows[opcode][arg & 0xFF] for opcode, arg in zip(opcodes, args, strict=True)]
    for index in filter(prefixes.__contains__, range(begin, end)) if prefixes else ():
        high = (args[index - begin] >> 8).to_bytes(prefixes[index], "big")
        parts[index - begin] = b"".join([bytes((CURRENT.extended_arg, byte)) for byte in high]) + parts[index - begin]
    return b"".join(parts)


def exception_table(entries: list[Entry], starts: list[int]) -> bytes:
    """co_exceptiontable: the entries, by the code units that instructions start at."""
    if not entries:
        return b""
    new = tuple.__new__  # twice as fast as the constructor of a NamedTuple
    return assemble_exception_table(
        [
            new(ExceptionTableEntry, (2 * starts[first], 2 * starts[end], 2 * starts[handler], depth or 0, lasti))
            for first, end, handler, depth, lasti in entries
        ]
    )
