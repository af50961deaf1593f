from __future__ import annotations

import re

import pytest

from xtab import CodeParts, verify_parts
from xtab.analysis.verify.kinds import ACCEPTED, LEFT
from xtab.analysis.verify.steps import calls, exceptions, flow, plain, variables
from xtab.format.opcodes import CURRENT, SUPPORTED, for_version, signatures
from xtab.testing.code_parts import with_instructions

#: they do more than the signature says, and have a step of their own
OWN = {name for room in (variables, plain, calls, flow, exceptions) for name in room.STEPS}
PLAIN = {op: words for op, words in CURRENT.signatures.items() if CURRENT.name[op] not in OWN}
WORD = re.compile(r"(=\d|[a-z_]+)(?:\?(\d*)|\*(2?)n)?")


def count(words, arg):
    """How many values the words of one side stand for."""
    total = 0
    for text in words.split():
        word, bit, twice = WORD.fullmatch(text).groups()
        if "*" in text:
            total += arg * (2 if twice else 1)
        elif "?" in text:
            total += bool(arg & int(bit or 1))
        else:
            total += 1
        assert word[0] == "=" or word in ACCEPTED or word in LEFT
    return total


@pytest.mark.parametrize("op", PLAIN, ids=lambda op: CURRENT.name[op])
def test_counts_agree_with_the_effect(op):
    takes, _, leaves = PLAIN[op].partition("--")
    low, high = CURRENT.limits.get(op, (0, 20))
    if CURRENT.words.get(op):
        high = min(high, 20)
    for arg in range(low, min(high, 20) + 1):
        assert count(leaves, arg) - count(takes, arg) == CURRENT.effect(op, arg), arg


def test_every_word_is_told_and_asked_for():
    """In the docstring, all that some version uses; in the verifier, nothing that no version asks for."""
    tables = [for_version(version) for version in SUPPORTED]
    texts = [*signatures.INTRINSICS.values(), *(text for table in tables for text in table.signatures.values())]
    taken = {match[1] for text in texts for match in WORD.finditer(text.partition("--")[0])}
    left = {match[1] for text in texts for match in WORD.finditer(text.partition("--")[2])}
    parts = {word for word, _ in signatures.ADDS_TO.values()} | {word for _, word in signatures.FUNCTION_PARTS}
    assert set(ACCEPTED) == taken | parts
    told = {word for chunk in re.findall(r"``([^`]+)``", signatures.__doc__) for word in chunk.split()}
    assert {word for word in taken | left | parts if word[0] != "="} - told == set()


def test_what_is_taken_is_checked_one_by_one():
    start = [("RESUME", 0), ("LOAD_FAST", 0), ("PUSH_NULL", 0)]
    parts = with_instructions(CodeParts.of(lambda x: x), [*start, ("BUILD_LIST", 2), ("RETURN_VALUE", 0)])
    assert [problem.code for problem in verify_parts(parts)] == ["XT601"]


@pytest.mark.parametrize("name", ["BUILD_LIST", "BUILD_MAP", "UNPACK_SEQUENCE", "BUILD_STRING"])
def test_an_enormous_operand_takes_no_time(name):
    parts = with_instructions(CodeParts.of(lambda x: x), [("RESUME", 0), ("LOAD_FAST", 0), (name, 2**30)])
    assert {problem.code for problem in verify_parts(parts)} <= {"XT401", "XT403", "XT503"}
    assert verify_parts(parts)
