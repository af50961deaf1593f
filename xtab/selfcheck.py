"""Compare the data of `xtab.format.opcodes` with the interpreter that runs: ``python -m xtab.selfcheck``.

Silent and 0 when all agrees; else a line for each fact that differs, and 1. Run it on a new release of CPython first.
"""

from __future__ import annotations

import importlib.util
import opcode
import sys
from typing import TYPE_CHECKING, Any

from xtab.format.opcodes import CURRENT, OperandKind
from xtab.format.opcodes.shared import CELL, CONST, LOCAL, LOCAL_PAIR, NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["differences"]

_OPERANDS = (*range(260), 0x1000, 0x10000)
_OUT_OF_RANGE: dict[str, Callable[[int], bool]] = {
    "BUILD_SLICE": lambda arg: arg not in (2, 3),
    "MAKE_FUNCTION": lambda arg: arg > 15,
}
"""Operands that no code holds, and about which ``stack_effect`` says different things on different versions."""


def differences() -> list[str]:
    """What this interpreter says otherwise than xtab's data: a line each, empty when all agrees."""
    return [*_numbers(), *_caches(), *_operands(), *_effects(), *_words()]


def _numbers() -> Iterator[str]:
    magic = int.from_bytes(importlib.util.MAGIC_NUMBER[:2], "little")
    if magic != CURRENT.magic:
        yield f"magic number: {CURRENT.magic} in xtab, {magic} here"
    real = {
        name: number for name, number in opcode.opmap.items() if number < 256 and not name.startswith("INSTRUMENTED_")
    }
    for name in sorted(real.keys() | CURRENT.number.keys()):
        if real.get(name) != CURRENT.number.get(name):
            yield f"{name}: number {CURRENT.number.get(name)} in xtab, {real.get(name)} here"


def _caches() -> Iterator[str]:
    stored: Any = opcode._inline_cache_entries  # type: ignore[attr-defined]
    by_name = stored if hasattr(stored, "items") else dict(zip(opcode.opname, stored, strict=False))
    for name, number in CURRENT.number.items():
        if by_name.get(name, 0) != CURRENT.caches[number]:
            yield f"{name}: {CURRENT.caches[number]} caches in xtab, {by_name.get(name, 0)} here"


def _operands() -> Iterator[str]:
    has_operand = getattr(opcode, "hasarg", None) or range(opcode.HAVE_ARGUMENT, 256)
    # haslocal and hasfree each leave out or add a few from version to version: compared together
    groups = (
        ("hasconst", CONST, opcode.hasconst),
        ("hasname", NAME, opcode.hasname),
        ("haslocal or hasfree", LOCAL | LOCAL_PAIR | CELL, [*opcode.haslocal, *opcode.hasfree]),
    )
    jumps = {*opcode.hasjrel, *opcode.hasjabs}
    for name, number in CURRENT.number.items():
        if (number in has_operand) != (CURRENT.kind[number] != OperandKind.NONE):
            yield f"{name}: kind {CURRENT.kind[number]} in xtab, operand {number in has_operand} here"
        if (number in jumps) != (CURRENT.kind[number] == OperandKind.TARGET):
            yield f"{name}: kind {CURRENT.kind[number]} in xtab, jump {number in jumps} here"
        for what, names, numbers in groups:
            if (number in numbers) != (name in names):
                yield f"{name}: {name in names} for {what} in xtab, {number in numbers} here"


def _effects() -> Iterator[str]:
    for name, number in CURRENT.number.items():
        if name in CURRENT.stack_effect_differs:
            continue
        for arg in _OPERANDS if CURRENT.kind[number] else (None,):
            if arg is not None and name in _OUT_OF_RANGE and _OUT_OF_RANGE[name](arg):
                continue
            for jump in (False, True):
                ours = CURRENT.effect(number, arg or 0, jump=jump)
                theirs = _their_effect(number, arg, jump=jump)
                if ours != theirs:
                    yield f"{name} {arg}: effect {ours} (jump={jump}) in xtab, {theirs} here"


def _their_effect(number: int, arg: int | None, *, jump: bool) -> int | str:
    try:
        return opcode.stack_effect(number, arg, jump=jump)
    except ValueError as error:
        return str(error)


def _words() -> Iterator[str]:
    here: dict[str, list[str]] = {
        "COMPARE_OP": list(opcode.cmp_op),
        "BINARY_OP": [word for _, word in opcode._nb_ops],  # type: ignore[attr-defined]
        "CALL_INTRINSIC_1": list(getattr(opcode, "_intrinsic_1_descs", ())),
        "CALL_INTRINSIC_2": list(getattr(opcode, "_intrinsic_2_descs", ())),
        "LOAD_SPECIAL": list(getattr(opcode, "_special_method_names", ())),
        "LOAD_COMMON_CONSTANT": [
            getattr(constant, "__name__", None) or (str(constant) if str(constant).isidentifier() else repr(constant))
            for constant in getattr(opcode, "_common_constants", ())
        ],
    }
    for name, words in here.items():
        ours = list(CURRENT.words.get(CURRENT.number.get(name, -1), ()))
        if ours != words:
            yield f"{name}: {ours} in xtab, {words} here"


if __name__ == "__main__":
    found = differences()
    sys.stdout.writelines(f"{line}\n" for line in found)
    sys.exit(bool(found))
