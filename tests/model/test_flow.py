"""`Shape`: the same whether read from bytes or from instructions."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

import xtab
from xtab.format.code import code_objects
from xtab.format.opcodes import CURRENT
from xtab.model.decode import read_source
from xtab.model.shape import read_body

STDLIB = Path(sysconfig.get_path("stdlib"))


@pytest.mark.parametrize("name", ["contextlib", "asyncio/streams", "copy"])
def test_bytes_and_instructions_have_one_shape(name):
    path = STDLIB / f"{name}.py"
    for code in code_objects(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)):
        from_bytes = read_source(code).shape
        from_instructions = read_body(xtab.decode(code)).shape
        assert (from_bytes.opcodes, from_bytes.targets) == (from_instructions.opcodes, from_instructions.targets)
        # one as stored, or one a run of instructions with one span: the compiler joins neighbours too
        assert from_bytes.entries == from_instructions.entries
        assert from_bytes.args == from_instructions.args
        size = len(from_bytes.opcodes)
        assert all(0 <= jump < size and 0 <= target < size for jump, target in from_bytes.targets.items())
        assert list(from_bytes.targets) == sorted(from_bytes.targets)
        ends = [0]
        for entry in from_bytes.entries:
            assert ends[-1] <= entry.first < entry.end <= size
            assert entry.handler < size
            ends.append(entry.end)
        assert from_bytes.wide or max(from_bytes.args) < 256
        assert CURRENT.extended_arg not in from_bytes.opcodes
