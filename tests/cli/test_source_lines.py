from __future__ import annotations

import pytest

from xtab.cli.source_lines import code_at


@pytest.mark.parametrize(
    "line, names",
    [(1, "<module>"), (3, "f"), (4, "f"), (5, "f"), (6, "g"), (11, "<module>"), (13, "C"), (14, ""), (0, "")],
)
def test_code_at(line, names, layers):
    assert [code.co_name for code in code_at(layers, line)] == names.split()


def test_two_in_one_line():
    root = compile("class A: pass\nf = (lambda: 0), (lambda: 1)\ndef g(): pass; h = 1\n", "sample", "exec")
    assert [code.co_name for code in code_at(root, 2)] == ["<module>"]
