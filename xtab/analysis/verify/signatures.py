"""`step_of`: the step that a signature of `format.opcodes.signatures` stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from xtab.analysis.verify.kinds import ACCEPTED, EXCS, FUNCTION, LEFT, NONE, NULL, STR, TUPLE, Value
from xtab.analysis.verify.machine import Fault
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from xtab.analysis.verify.machine import Machine

    OpcodeStep = Callable[[Machine, int], None]
    """What an instruction does to the machine, given its operand."""

__all__ = ["check_detail", "step_of"]

_CLOSER = frozenset({"strs", "cells", "alias", "own", "own_or_null"})
_DICTS = frozenset({"own", "own_or_null"})


class _Token(NamedTuple):
    word: str
    bit: int  # the operand's bit that says whether it is there; 0: it always is
    times: int  # how many for each one that the operand counts; 0: it doesn't count them


def _token(text: str) -> _Token:
    if "*" in text:
        word, _, count = text.partition("*")
        return _Token(word, 0, 2 if count == "2n" else 1)
    if "?" in text:
        word, _, bit = text.partition("?")
        return _Token(word, int(bit or 1), 0)
    return _Token(text, 0, 0)


def _words(tokens: list[_Token], arg: int) -> list[str]:
    words: list[str] = []
    for word, bit, times in tokens:
        if times:
            words += [word] * (times * arg)
        elif not bit or arg & bit:
            words.append(word)
    return words


def _count(tokens: list[_Token], arg: int) -> int:
    """How many words they stand for; without laying them out, since `arg` may be enormous."""
    return sum(token.times * arg if token.times else not token.bit or bool(arg & token.bit) for token in tokens)


def step_of(signature: str, opcode: int) -> OpcodeStep:
    """The step of an instruction that only takes and leaves."""
    takes, _, leaves = signature.partition("--")
    taken, left = [_token(text) for text in takes.split()], [_token(text) for text in leaves.split()]
    hands_on = CURRENT.hands_on[opcode]
    if any(token.bit or token.times for token in (*taken, *left)):
        return _varying(taken, left, hands_on)
    words, out = _words(taken, 0), _words(left, 0)
    if hands_on or any(word.startswith("=") for word in out) or _CLOSER.intersection(words):
        return lambda machine, arg: _apply(machine, words, out, hands_on == 1 or bool(hands_on and arg & 1))
    return _fixed(words, out)


def _fixed(words: list[str], out: list[str]) -> OpcodeStep:
    """The common case, fast."""
    accepted = [(len(words) - place, ~ACCEPTED[word]) for place, word in enumerate(words)]
    values = [LEFT[word] for word in out]
    count = len(words)
    if not count:
        return lambda machine, _: machine.stack.extend(values)
    if count == 1:
        refused = ~ACCEPTED[words[0]]

        def one(machine: Machine, _: int) -> None:
            stack = machine.stack
            if not stack:
                machine.need(1)
            if stack[-1].kinds & refused:
                machine.wrong(1, ~refused, words[0])
            stack[-1:] = values

        return one

    def several(machine: Machine, _: int) -> None:
        stack = machine.stack
        if len(stack) < count:
            machine.need(count)
        for place, refused in accepted:
            if stack[-place].kinds & refused:
                machine.wrong(place, ~refused, words[count - place])
        stack[-count:] = values

    return several


def _varying(taken: list[_Token], left: list[_Token], hands_on: int) -> OpcodeStep:
    """What hangs on the operand: laid out once for each operand that occurs."""
    layouts: dict[int, tuple[list[str], list[str]]] = {}

    def step(machine: Machine, arg: int) -> None:
        layout = layouts.get(arg)
        if layout is None:
            count = _count(taken, arg)
            machine.need(count)
            machine.grow(_count(left, arg) - count)
            layout = _words(taken, arg), _words(left, arg)
            if arg < 256:  # large ones are rare, and take much room
                layouts[arg] = layout
        _apply(machine, *layout, hands_on == 1 or bool(hands_on and arg & 1))

    return step


def _apply(machine: Machine, words: list[str], out: list[str], hands_on: bool) -> None:
    stack, count = machine.stack, len(words)
    machine.need(count)
    machine.grow(len(out) - count)
    first = len(stack) - count
    for place, word in enumerate(words):
        value = stack[first + place]
        if value.kinds & ~ACCEPTED[word]:
            machine.wrong(count - place, ACCEPTED[word], word)
        if word in _CLOSER:
            check_detail(machine, count - place, word)
    inputs = stack[first:]
    borrowed = 0
    if hands_on:
        for value in inputs:
            borrowed |= value.borrowed
    del stack[first:]
    for word in out:
        if word[0] == "=":
            stack.append(inputs[int(word[1:])])
            continue
        value = LEFT[word]
        if word == "list" and not inputs:
            value = Value(EXCS)
        stack.append(Value(value.kinds, None, borrowed) if borrowed else value)


def _check_own(machine: Machine, place: int) -> None:
    value = machine.stack[-place]
    if value.kinds != NULL and value.detail != "own":
        message = f"expected a dict that nobody else holds for {machine.opname()}, but found one that may be shared"
        raise Fault("XT602", message, "build it with BUILD_MAP, and leave the only reference to the call")


def check_detail(machine: Machine, place: int, word: str) -> None:
    """Make sure of more than the kind, where the interpreter trusts that: what is in a tuple, who holds a dict."""
    if word in _DICTS:
        _check_own(machine, place)
        return
    items = machine.stack[-place].detail
    if word == "strs":
        fine = items is not None and all(item == STR for item in items)
    elif word == "alias":
        fine = items is not None and len(items) == 3 and items[0] == STR and items[2] == FUNCTION
        fine = fine and not items[1] & ~(NONE | TUPLE)
    else:
        fine = items is not None
    if not fine:
        machine.wrong(place, ACCEPTED[word], word)
