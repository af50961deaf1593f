"""`decode`: a code object becomes a `Body`.

1. `read_source` tells the instructions apart. Caches read back as zeros and no opcode is zero, so the units that are
   not zero are the instructions (`_without_caches`); prefixes are folded into the instruction behind them.
2. Jumps and ranges of the exception table are turned from offsets into indices (`_targets`, `_by_index`).
3. `decode` makes the objects: an `Instruction` each, targets linked, one `Span` a region, its `outer` found as `nest`
   finds it. All else an instruction knows stays in the columns of the `Source` until it is asked for.

Steps 1 and 2 are all that `stack_depths` and `stack_size` need of a code object.
"""

from __future__ import annotations

from bisect import bisect_left
from codecs import utf_16_be_decode, utf_16_be_encode
from itertools import accumulate, compress, repeat
from typing import TYPE_CHECKING

from xtab.errors import DecodeError
from xtab.format.code import code_of
from xtab.format.exception_table import parse_exception_table
from xtab.format.opcodes import CURRENT
from xtab.model.body import Body
from xtab.model.flow import Entry, Shape
from xtab.model.instruction import Instruction, Span
from xtab.model.nesting import region_parents
from xtab.model.source import Source

if TYPE_CHECKING:
    from types import CodeType

    from xtab.format.code import HasCode
    from xtab.format.exception_table import ExceptionTableEntry
    from xtab.model.nesting import RegionKey

__all__ = ["decode", "read_source"]

_NOT_PREFIX = bytes(op != CURRENT.extended_arg for op in range(256))
_HAS_TARGET = bytes(way > 0 for way in CURRENT.distance)


def decode(code: HasCode) -> Body:
    """The instructions of a code object, and all else it holds, ready to edit.

    Args:
        code: a code object, or a function, method, generator, coroutine, async generator, frame or traceback.

    Returns:
        A `Body`. Nested code objects stay constants: decode them by themselves.

    Raises:
        DecodeError: the bytecode is not well formed.
        TableFormatError: the exception table or the location table is not.

    >>> import xtab
    >>> body = xtab.decode(compile("x = 1", "example", "exec"))
    >>> body.instructions[0]
    Instruction('RESUME', 0)

    The layout of code is described in CPython's InternalDocs/code_objects.md; see also Lib/dis.py, _unpack_opargs.
    """
    code = code_of(code)
    source = read_source(code)
    # one C loop makes the objects, one Python loop fills them: faster than a constructor by a factor of two to three
    instructions: list[Instruction] = list(map(object.__new__, repeat(Instruction, len(source.opcodes))))
    for place, instruction in enumerate(instructions):
        instruction._at = place
        instruction._source = source
        instruction._span = None
    for index, target in source.targets.items():
        instructions[index]._target = instructions[target]
    spans = _add_spans(instructions, source.shape.entries, source.entries) if source.entries else []
    return Body(code, instructions, source, spans)


def read_source(code: CodeType) -> Source:
    """The instructions of a code object as numbers, in columns."""
    code_bytes = code.co_code
    compact = _without_caches(code_bytes)
    opcodes, args = compact[::2], list(compact[1::2])
    sizes = opcodes.translate(CURRENT.units)
    starts = [0, *accumulate(sizes)]
    _check_units(code_bytes, opcodes, starts)
    prefixes: dict[int, int] = {}
    wide = CURRENT.extended_arg in opcodes
    if wide:
        opcodes, args, starts, sizes, prefixes = _fold_prefixes(opcodes, args, starts)
    targets = _targets(opcodes, args, starts)
    entries: list[ExceptionTableEntry] = []
    by_index: list[Entry] = []
    if code.co_exceptiontable:
        entries = parse_exception_table(code.co_exceptiontable, code_size=len(code_bytes))
        by_index = _by_index(entries, starts)
    shape = Shape(opcodes, args, wide, targets, by_index)
    return Source(code, shape, starts, sizes, prefixes, entries)


def _without_caches(code_bytes: bytes) -> bytes:
    """The code units that are not zero.

    Units are taken for the characters of a text, from which one character is dropped: the fastest loops over pairs of
    bytes that there are. `surrogatepass` lets all units through. Called by name, the codecs would be looked up first.
    """
    text, _ = utf_16_be_decode(code_bytes, "surrogatepass")
    compact, _ = utf_16_be_encode(text.replace("\0", ""), "surrogatepass")
    return compact


def _check_units(code_bytes: bytes, opcodes: bytes, starts: list[int]) -> None:
    """Every opcode is known, and the zeros are just its caches.

    A code object gives its caches back as zeros, so no distance between two opcodes is too short: none is too long
    either if the last opcode, and the end, are where they should be.
    """
    if (
        opcodes
        and 2 * starts[-1] == len(code_bytes)
        and 2 * starts[-2] + 2 - len(code_bytes.rstrip(b"\0")) in (0, 1)  # 1: its operand is 0
        and 0 not in opcodes
        and 1 not in opcodes.translate(CURRENT.unknown)
        and opcodes[-1] != CURRENT.extended_arg
    ):
        return
    units = code_bytes[::2]
    if not opcodes:
        raise DecodeError(f"expected an instruction, but found {len(units)} units of cache")
    expected = 0
    while expected < len(units) and units[expected]:
        op = units[expected]
        if CURRENT.unknown[op]:
            raise DecodeError(f"expected an opcode of CPython {CURRENT.python}, but found {op}", offset=2 * expected)
        expected += CURRENT.units[op]
    if expected < len(units):
        raise DecodeError("expected an opcode, but found a cache unit", offset=2 * expected)
    if expected > len(units):
        raise DecodeError("expected the caches of an instruction, but found the end", offset=2 * len(units))
    raise DecodeError("expected an instruction behind EXTENDED_ARG, but found the end", offset=2 * expected)


def _fold_prefixes(
    opcodes: bytes, args: list[int], starts: list[int]
) -> tuple[bytes, list[int], list[int], bytes, dict[int, int]]:
    """Fold each run of EXTENDED_ARG into the instruction behind it, which then starts at the first of them."""
    prefix = CURRENT.extended_arg
    surplus: dict[int, int] = {}
    counts: list[tuple[int, int]] = []  # which instruction has how many
    folded = 0
    place = opcodes.find(prefix)
    while place >= 0:
        first, value = place, 0
        while opcodes[place] == prefix:
            value = (value | args[place]) << 8
            place += 1
        count = place - first
        value |= args[place]
        if count > 3 or value >= 1 << 31:
            detail = (
                f"expected an operand below 2**31 in at most three EXTENDED_ARG, but found {count} that make {value}"
            )
            raise DecodeError(detail, offset=2 * starts[first])
        folded += count
        counts.append((place - folded, count))
        if value < 1 << 8 * count:
            surplus[place - folded] = count
        args[place] = value
        starts[place] = starts[first]
        place = opcodes.find(prefix, place)
    keep = opcodes.translate(_NOT_PREFIX)
    kept = opcodes.replace(bytes([prefix]), b"")
    sizes = bytearray(kept.translate(CURRENT.units))
    for place, count in counts:
        sizes[place] += count
    return kept, list(compress(args, keep)), [*compress(starts, keep), starts[-1]], bytes(sizes), surplus


def _targets(opcodes: bytes, args: list[int], starts: list[int]) -> dict[int, int]:
    """Index of each jump -> index of its target."""
    targets: dict[int, int] = {}
    size, ways = len(opcodes), CURRENT.distance
    find = opcodes.translate(_HAS_TARGET).find
    index = find(1)
    while index >= 0:
        behind, arg = starts[index + 1], args[index]
        unit = behind + arg if ways[opcodes[index]] == 1 else behind - arg
        target = bisect_left(starts, unit)
        if target >= size or starts[target] != unit:
            name = CURRENT.name[opcodes[index]]
            message = f"expected {name} to lead to an instruction, but found its target at {2 * unit}"
            raise DecodeError(message, offset=2 * starts[index])
        targets[index] = target
        index = find(1, index + 1)
    return targets


def _by_index(entries: list[ExceptionTableEntry], starts: list[int]) -> list[Entry]:
    """The entries by index of instructions. Their offsets lie inside the code."""
    found: list[Entry] = []
    new = tuple.__new__
    for entry in entries:
        start, end, target, depth, lasti = entry
        first = bisect_left(starts, start >> 1)
        stop = bisect_left(starts, end >> 1, first)
        handler = bisect_left(starts, target >> 1)
        if starts[first] + starts[stop] + starts[handler] != (start + end + target) >> 1:
            raise _split_instruction(len(found), entry, starts)
        found.append(new(Entry, (first, stop, handler, depth, lasti)))
    return found


def _split_instruction(number: int, entry: ExceptionTableEntry, starts: list[int]) -> DecodeError:
    offsets = {"start": entry.start, "end": entry.end, "target": entry.target}
    what, offset = next(item for item in offsets.items() if item[1] // 2 not in starts)
    message = (
        f"expected the {what} of exception table entry {number} at the border of an instruction, but found it inside"
    )
    return DecodeError(message, offset=offset)


def _add_spans(
    instructions: list[Instruction], by_index: list[Entry], entries: list[ExceptionTableEntry]
) -> list[Span]:
    """Give the instructions their spans; returns the span of each entry."""
    spans: dict[RegionKey, Span] = {}
    found: list[Span] = []
    for (first, end, handler, depth, lasti), entry in zip(by_index, entries, strict=True):
        key = entry[2:]
        span = spans.get(key)
        if span is None:
            span = spans[key] = Span(instructions[handler], depth, lasti)
        found.append(span)
        for instruction in instructions[first:end]:
            instruction._span = span
    for key, parent in region_parents(entries).items():
        if parent:
            spans[key].outer = spans[parent]
    return found
