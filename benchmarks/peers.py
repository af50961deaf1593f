"""What is compared with what: the functions of xtab, and beside each those of others that do the same work.

A `Side` does its work on one item, such as a code object; what it needs made beforehand, `prepare` makes, and that
isn't timed. A `Pair` is two sides that get the same items.
"""

from __future__ import annotations

import dis
import importlib
import importlib.util
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import CodeType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import xtab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["WORK", "Pair", "Side", "missing_peers", "pairs", "peer_versions"]

WORK = ("parse", "lookup", "decode", "stack size", "assemble", "round trip")
"""The kinds of work that are compared."""

GOALS = {
    ("parse", "dis"): 1.5,
    ("lookup", "dis"): 50.0,
    ("round trip", "bytecode"): 20.0,
    ("round trip", "bytecode, raw"): 6.0,
    ("round trip", "TorchDynamo"): 20.0,
}


def as_it_is(item: Any) -> Any:
    """For sides that need nothing made beforehand."""
    return item


@dataclass(frozen=True)
class Side:
    """One way to do the work."""

    calls: str  #: what is called, for readers
    run: Callable[[Any], object]
    prepare: Callable[[Any], Any] = as_it_is
    #: how often it is done in a round, so that what is quick is timed for long enough; 1 if it changes what it is given
    repeat: int = 1


@dataclass(frozen=True)
class Pair:
    """xtab and another way to do the same. `select` makes the items out of the code objects of one module."""

    what: str
    peer: str
    ours: Side
    theirs: Side
    select: Callable[[list[CodeType]], list[Any]] = as_it_is

    @property
    def goal(self) -> float | None:
        """How many times faster xtab means to be."""
        return GOALS.get((self.what, self.peer))


def behind_resume(instructions: Iterable[object], name: str) -> int:
    """The index behind RESUME in any list of instructions, whose names are in the attribute `name`."""
    for index, instruction in enumerate(instructions):
        if getattr(instruction, name, None) == "RESUME":
            return index + 1
    raise ValueError("expected a RESUME, but found none")


def pairs() -> list[Pair]:
    """All pairs whose other side can be had here, by kind of work."""
    found = [*_dis_pairs(), *_bytecode_pairs(), *_dynamo_pairs()]
    return sorted(found, key=lambda pair: WORK.index(pair.what))


def missing_peers() -> list[str]:
    """What can't be measured here, and why."""
    missing = [f"dis.{name}, which this Python doesn't have" for name in _PRIVATE if not hasattr(dis, name)]
    if not _has_dynamo():
        missing.append("TorchDynamo: torch is not installed for this Python")
    return missing


def peer_versions() -> dict[str, str | None]:
    """Versions of the other libraries, None where one is not installed."""
    found: dict[str, str | None] = {}
    for name in ("bytecode", "torch"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


# xtab ----------------------------------------------------------------------------------------------------------------


def _with_nop(code: CodeType) -> xtab.Body:
    body = xtab.decode(code)
    body.instructions.insert(behind_resume(body.instructions, "opname"), xtab.Instruction("NOP"))
    return body


def _round_trip(code: CodeType) -> CodeType:
    return xtab.assemble(_with_nop(code))


DECODE = Side("decode(code)", xtab.decode)
STACK_SIZE = Side("stack_size(body)", xtab.stack_size, prepare=_with_nop)
ASSEMBLE = Side("assemble(body), with a NOP put in behind RESUME", xtab.assemble, prepare=_with_nop)
ROUND_TRIP = Side("assemble(decode(code)), with a NOP put in behind RESUME", _round_trip)


# dis -----------------------------------------------------------------------------------------------------------------

_PRIVATE = ("_parse_exception_table", "_unpack_opargs")


def _dis_pairs() -> Iterator[Pair]:
    if hasattr(dis, "_parse_exception_table"):
        yield from _table_pairs(dis._parse_exception_table)
    listing = Side("list(dis.get_instructions(code))", lambda code: list(dis.get_instructions(code)))
    yield Pair("decode", "dis", DECODE, listing)
    if hasattr(dis, "_unpack_opargs"):
        unpack: Callable[[bytes], Iterator[object]] = dis._unpack_opargs
        floor = Side(
            "list(dis._unpack_opargs(code.co_code)) and list(code.co_positions()), for scale",
            lambda code: (list(unpack(code.co_code)), list(code.co_positions())),
        )
        yield Pair("decode", "floor", DECODE, floor)
        yield Pair("round trip", "floor", ROUND_TRIP, floor)


def _table_pairs(parse: Callable[[Any], list[Any]]) -> Iterator[Pair]:
    """Pairs for tables alone; `parse` is the parser of the dis module."""

    def search(item: tuple[SimpleNamespace, int]) -> object:
        holder, offset = item
        return next((entry for entry in parse(holder) if entry.start <= offset < entry.end), None)

    def find(item: tuple[SimpleNamespace, int]) -> object:
        holder, offset = item
        return xtab.find_handler(holder.co_exceptiontable, offset)

    ours = Side("parse_exception_table(code)", xtab.parse_exception_table, repeat=30)
    theirs = Side("dis._parse_exception_table(code)", parse, repeat=20)
    yield Pair("parse", "dis", ours, theirs, select=_those_with_a_table)
    ours = Side("find_handler(table, offset), in the bytes of a table of 1,000 entries", find, repeat=50)
    theirs = Side("a search along dis._parse_exception_table(code)", search)
    yield Pair("lookup", "dis", ours, theirs, select=_lookups)


def _those_with_a_table(codes: list[CodeType]) -> list[CodeType]:
    return [code for code in codes if code.co_exceptiontable]


def _lookups(_: list[CodeType]) -> list[tuple[SimpleNamespace, int]]:
    """A table of 1,000 entries with a few offsets all along it, some of them in no range."""
    entries = [xtab.ExceptionTableEntry(20 * n, 20 * n + 16, 20_000 + 10 * n, n % 5, n % 2 == 1) for n in range(1000)]
    holder = SimpleNamespace(co_exceptiontable=xtab.assemble_exception_table(entries))
    return [(holder, offset) for offset in range(4, 20_000, 20 * 83 + 4)]


# bytecode ------------------------------------------------------------------------------------------------------------


def _bytecode_pairs() -> Iterator[Pair]:
    import bytecode  # noqa: PLC0415 (only the worker processes load it)

    def with_nop(code: CodeType) -> bytecode.Bytecode:
        body = bytecode.Bytecode.from_code(code)
        body.insert(behind_resume(body, "name"), bytecode.Instr("NOP"))
        return body

    def raw_with_nop(code: CodeType) -> tuple[bytecode.ConcreteBytecode, int]:
        body = bytecode.ConcreteBytecode.from_code(code)
        body.insert(behind_resume(body, "name"), bytecode.ConcreteInstr("NOP"))
        return body, code.co_stacksize

    def assemble(body: bytecode.Bytecode) -> CodeType:
        return body.to_code()

    def assemble_raw(item: tuple[bytecode.ConcreteBytecode, int]) -> CodeType:
        return item[0].to_code(stacksize=item[1], compute_exception_stack_depths=False)

    decoding = Side("Bytecode.from_code(code)", bytecode.Bytecode.from_code)
    decoding_raw = Side("ConcreteBytecode.from_code(code)", bytecode.ConcreteBytecode.from_code)
    size = Side("Bytecode.compute_stacksize()", lambda body: body.compute_stacksize(), prepare=with_nop)
    assembling = Side("Bytecode.to_code()", assemble, prepare=with_nop)
    without = "without moving table entries or measuring the stack"
    assembling_raw = Side(f"ConcreteBytecode.to_code(), {without}", assemble_raw, prepare=raw_with_nop)
    both = Side("Bytecode.from_code(code) and .to_code()", lambda code: assemble(with_nop(code)))
    both_raw = Side(
        f"ConcreteBytecode.from_code(code) and .to_code(), {without}", lambda code: assemble_raw(raw_with_nop(code))
    )
    yield Pair("decode", "bytecode", DECODE, decoding)
    yield Pair("decode", "bytecode, raw", DECODE, decoding_raw)
    yield Pair("stack size", "bytecode", STACK_SIZE, size)
    yield Pair("assemble", "bytecode", ASSEMBLE, assembling)
    yield Pair("assemble", "bytecode, raw", ASSEMBLE, assembling_raw)
    yield Pair("round trip", "bytecode", ROUND_TRIP, both)
    yield Pair("round trip", "bytecode, raw", ROUND_TRIP, both_raw)


# TorchDynamo ---------------------------------------------------------------------------------------------------------


def _has_dynamo() -> bool:
    return importlib.util.find_spec("torch") is not None


def _dynamo_pairs() -> Iterator[Pair]:
    if not _has_dynamo():
        return
    dynamo: Any = importlib.import_module("torch._dynamo.bytecode_transformation")
    keys: list[str] = dynamo.get_code_keys()

    def forget() -> None:
        """Dynamo remembers the last code objects that it took apart; here it has to do the work each time."""
        dynamo._cached_cleaned_instructions.cache_clear()

    def decode(code: CodeType) -> Any:
        forget()
        return dynamo.cleaned_instructions(code)

    def insert_nop(instructions: list[Any], _: dict[str, Any]) -> None:
        instructions.insert(behind_resume(instructions, "opname"), dynamo.create_instruction("NOP"))

    def with_nop(code: CodeType) -> tuple[list[Any], dict[str, Any]]:
        instructions = decode(code)
        options = {key: getattr(code, key) for key in keys}
        dynamo.propagate_line_nums(instructions)
        insert_nop(instructions, options)
        return instructions, options

    def assemble(item: tuple[list[Any], dict[str, Any]]) -> object:
        return dynamo.clean_and_assemble_instructions(item[0], keys, item[1])

    def transform(code: CodeType) -> object:
        forget()
        return dynamo.transform_code_object(code, insert_nop)

    decoding = Side("cleaned_instructions(code), without its cache", decode)
    size = Side("stacksize_analysis(instructions)", lambda item: dynamo.stacksize_analysis(item[0]), prepare=with_nop)
    assembling = Side("clean_and_assemble_instructions(instructions, …)", assemble, prepare=with_nop)
    both = Side("transform_code_object(code, …), without its cache", transform)
    yield Pair("decode", "TorchDynamo", DECODE, decoding)
    yield Pair("stack size", "TorchDynamo", STACK_SIZE, size)
    yield Pair("assemble", "TorchDynamo", ASSEMBLE, assembling)
    yield Pair("round trip", "TorchDynamo", ROUND_TRIP, both)
