"""What is compared with what: the functions of xtab, and beside each those of others that do the same work.

A `Side` does its work on one item, such as a code object; what it needs made beforehand, `prepare` makes, and that isn't
timed. A `Pair` is two sides that get the same items.
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
    from collections.abc import Callable, Iterator

__all__ = ["Pair", "Side", "missing_peers", "pairs", "peer_versions"]

DYNAMO = "torch._dynamo.bytecode_transformation"
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

    does: str  #: what is called, for the legend
    run: Callable[[Any], object]
    prepare: Callable[[Any], Any] = as_it_is
    repeat: int = 1  #: how often in a round, so that what is quick is timed for long enough; more than 1: changes nothing


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


def behind_resume(names: Iterator[str | None]) -> int:
    """The index behind RESUME, given the names of instructions."""
    return next(index for index, name in enumerate(names) if name == "RESUME") + 1


def pairs() -> list[Pair]:
    """All pairs whose other side can be had here."""
    return [*_dis_pairs(), *_bytecode_pairs(), *_dynamo_pairs()]


def missing_peers() -> list[str]:
    """What can't be measured here, and why."""
    missing = [f"dis: this Python has no dis.{name}" for name in _PRIVATE if not hasattr(dis, name)]
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


# xtab ---------------------------------------------------------------------------------------------------------------


def _with_nop(code: CodeType) -> xtab.Body:
    body = xtab.decode(code)
    place = behind_resume(instruction.opname for instruction in body.instructions)
    body.instructions.insert(place, xtab.Instruction("NOP"))
    return body


def _round_trip(code: CodeType) -> CodeType:
    return xtab.assemble(_with_nop(code))


DECODE = Side("decode(code)", xtab.decode)
STACK_SIZE = Side("stack_size(body)", xtab.stack_size, prepare=_with_nop)
ASSEMBLE = Side("assemble(body), with a NOP put in behind RESUME", xtab.assemble, prepare=_with_nop)
ROUND_TRIP = Side("assemble(decode(code)), with a NOP put in between, behind RESUME", _round_trip)


# dis ----------------------------------------------------------------------------------------------------------------

_PRIVATE = ("_parse_exception_table", "_unpack_opargs")


def _dis_pairs() -> Iterator[Pair]:
    instructions = Side("list(dis.get_instructions(code))", lambda code: list(dis.get_instructions(code)))
    if hasattr(dis, "_parse_exception_table"):
        parse: Callable[[Any], list[Any]] = dis._parse_exception_table

        def find(item: tuple[SimpleNamespace, int]) -> object:
            holder, offset = item
            return next((entry for entry in parse(holder) if entry.start <= offset < entry.end), None)

        yield Pair(
            "parse",
            "dis",
            Side("parse_exception_table(code), of code that has a table", xtab.parse_exception_table, repeat=30),
            Side("dis._parse_exception_table(code)", parse, repeat=20),
            select=_those_with_a_table,
        )
        yield Pair(
            "lookup",
            "dis",
            Side(
                "find_handler(table, offset), in the bytes of a table of 1,000 entries",
                lambda item: xtab.find_handler(item[0].co_exceptiontable, item[1]),
                repeat=50,
            ),
            Side("a search along dis._parse_exception_table(code)", find),
            select=_lookups,
        )
    yield Pair("decode", "dis", DECODE, instructions)
    if hasattr(dis, "_unpack_opargs"):
        unpack: Callable[[bytes], Iterator[object]] = dis._unpack_opargs
        floor = Side(
            "list(dis._unpack_opargs(code.co_code)) and list(code.co_positions()), the floor of plain Python",
            lambda code: (list(unpack(code.co_code)), list(code.co_positions())),
        )
        yield Pair("decode", "floor", DECODE, floor)
        yield Pair("round trip", "floor", ROUND_TRIP, floor)


def _those_with_a_table(codes: list[CodeType]) -> list[CodeType]:
    return [code for code in codes if code.co_exceptiontable]


def _lookups(_: list[CodeType]) -> list[tuple[SimpleNamespace, int]]:
    """A table of 1,000 entries, and offsets all along it, one in five behind the end of a range."""
    entries = [xtab.ExceptionTableEntry(20 * n, 20 * n + 16, 20_000 + 10 * n, n % 5, n % 2 == 1) for n in range(1000)]
    holder = SimpleNamespace(co_exceptiontable=xtab.assemble_exception_table(entries))
    return [(holder, offset) for offset in range(4, 20_000, 20 * 83 + 4)]


# bytecode -----------------------------------------------------------------------------------------------------------


def _bytecode_pairs() -> Iterator[Pair]:
    import bytecode  # noqa: PLC0415 (what one run doesn't measure is not loaded)

    def with_nop(code: CodeType) -> bytecode.Bytecode:
        taken_apart = bytecode.Bytecode.from_code(code)
        place = behind_resume(item.name if isinstance(item, bytecode.Instr) else None for item in taken_apart)
        taken_apart.insert(place, bytecode.Instr("NOP"))
        return taken_apart

    def raw_with_nop(code: CodeType) -> tuple[bytecode.ConcreteBytecode, int]:
        taken_apart = bytecode.ConcreteBytecode.from_code(code)
        place = behind_resume(item.name if isinstance(item, bytecode.ConcreteInstr) else None for item in taken_apart)
        taken_apart.insert(place, bytecode.ConcreteInstr("NOP"))
        return taken_apart, code.co_stacksize

    def put_together(taken_apart: bytecode.Bytecode) -> CodeType:
        return taken_apart.to_code()

    def put_together_raw(item: tuple[bytecode.ConcreteBytecode, int]) -> CodeType:
        return item[0].to_code(stacksize=item[1], compute_exception_stack_depths=False)

    size = Side("Bytecode.compute_stacksize()", lambda taken_apart: taken_apart.compute_stacksize(), prepare=with_nop)
    raw = "ConcreteBytecode.to_code(stacksize=…, compute_exception_stack_depths=False)"
    full = Side("the same with Bytecode.from_code(code) and .to_code()", lambda code: put_together(with_nop(code)))
    full_raw = Side(
        "the same with ConcreteBytecode, which moves no entry of the exception table and is told the stack size",
        lambda code: put_together_raw(raw_with_nop(code)),
    )
    yield Pair("decode", "bytecode", DECODE, Side("Bytecode.from_code(code)", bytecode.Bytecode.from_code))
    yield Pair(
        "decode", "bytecode, raw", DECODE, Side("ConcreteBytecode.from_code(code)", bytecode.ConcreteBytecode.from_code)
    )
    yield Pair("stack size", "bytecode", STACK_SIZE, size)
    yield Pair("assemble", "bytecode", ASSEMBLE, Side("Bytecode.to_code()", put_together, prepare=with_nop))
    yield Pair("assemble", "bytecode, raw", ASSEMBLE, Side(raw, put_together_raw, prepare=raw_with_nop))
    yield Pair("round trip", "bytecode", ROUND_TRIP, full)
    yield Pair("round trip", "bytecode, raw", ROUND_TRIP, full_raw)


# TorchDynamo --------------------------------------------------------------------------------------------------------


def _has_dynamo() -> bool:
    return importlib.util.find_spec("torch") is not None


def _dynamo_pairs() -> Iterator[Pair]:
    if not _has_dynamo():
        return
    dynamo: Any = importlib.import_module(DYNAMO)
    keys: list[str] = dynamo.get_code_keys()

    def forget() -> None:
        """Dynamo remembers the last code objects that it took apart; here it has to do the work."""
        dynamo._cached_cleaned_instructions.cache_clear()

    def take_apart(code: CodeType) -> list[Any]:
        forget()
        instructions: list[Any] = dynamo.cleaned_instructions(code)
        return instructions

    def insert_nop(instructions: list[Any], _: dict[str, Any]) -> None:
        instructions.insert(behind_resume(each.opname for each in instructions), dynamo.create_instruction("NOP"))

    def with_nop(code: CodeType) -> tuple[list[Any], dict[str, Any]]:
        instructions = take_apart(code)
        options = {key: getattr(code, key) for key in keys}
        dynamo.propagate_line_nums(instructions)
        insert_nop(instructions, options)
        return instructions, options

    def put_together(item: tuple[list[Any], dict[str, Any]]) -> object:
        return dynamo.clean_and_assemble_instructions(item[0], keys, item[1])

    def transform(code: CodeType) -> object:
        forget()
        return dynamo.transform_code_object(code, insert_nop)

    measure = Side("stacksize_analysis(instructions)", lambda item: dynamo.stacksize_analysis(item[0]), prepare=with_nop)
    yield Pair("decode", "TorchDynamo", DECODE, Side("cleaned_instructions(code), not from its cache", take_apart))
    yield Pair("stack size", "TorchDynamo", STACK_SIZE, measure)
    assembling = Side("clean_and_assemble_instructions(…)", put_together, prepare=with_nop)
    yield Pair("assemble", "TorchDynamo", ASSEMBLE, assembling)
    yield Pair("round trip", "TorchDynamo", ROUND_TRIP, Side("transform_code_object(code, …)", transform))
