"""Control flow as text for Graphviz."""

from __future__ import annotations

import re

import xtab
from xtab.report.dot import dot


def guarded(d):
    try:
        return d['a "quoted" \\ name']
    except KeyError:
        return {"}": "\n"}


def test_every_block_is_a_box_and_every_edge_an_arrow():
    text, flow = dot(guarded), xtab.control_flow(guarded)
    assert text.startswith('digraph "guarded" {\n')
    assert text.endswith("}\n")
    assert re.findall(r"^  b(\d+) \[label", text, re.MULTILINE) == [str(block.number) for block in flow.blocks]
    arrows = re.findall(r"^  b(\d+) -> b(\d+)", text, re.MULTILINE)
    assert arrows == [(str(block.number), str(edge.target)) for block in flow.blocks for edge in block.edges]


def test_exceptions_are_dashed_with_the_letter_and_the_kind():
    assert '[style=dashed label="A except KeyError"]' in dot(guarded)
    assert "PUSH_EXC_INFO  < A except KeyError\\l" in dot(guarded)


def test_rows_have_offsets_labels_and_lines():
    def loop(n):
        while n():
            pass

    text = dot(loop)
    row = next(row for row in xtab.show(loop).rows if row.label)
    assert f"{row.label}:  {row.offset:>4}  {row.opname}" in text
    assert f", line {loop.__code__.co_firstlineno + 1}" in text


def test_text_is_escaped_as_graphviz_wants_it():
    text = dot(guarded)
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', text)
    assert text.count('"') - text.count('\\"') == 2 * len(strings)
    assert re.sub(r'"((?:[^"\\]|\\.)*)"', "", text).count('"') == 0
    assert all(re.fullmatch(r'(?:[^"\\\n]|\\[\\"l])*', string) for string in strings)
    assert 'a \\"quoted\\"' in text


def test_a_name_with_control_characters():
    code = guarded.__code__.replace(co_qualname='a"b\n\x1b')
    assert dot(code).startswith('digraph "a\\"b\\\\n\\\\x1b" {\n')


def test_unreachable_blocks_are_grey():
    body = xtab.decode(lambda: 0)
    body.instructions += [xtab.Instruction("LOAD_CONST", 5), xtab.Instruction("RETURN_VALUE")]
    grey = [line for line in dot(xtab.assemble(body)).splitlines() if "color=gray" in line]
    assert len(grey) == 1
    assert 'tooltip="unreachable"' in grey[0]
