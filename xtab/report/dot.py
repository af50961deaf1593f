"""`dot`: a control flow graph as text for Graphviz, which draws it: ``dot -Tsvg``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.control_flow import ControlFlow, EdgeKind, control_flow
from xtab.format.printable import one_line
from xtab.report.listing import Listing, show
from xtab.report.words import line_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xtab.analysis.control_flow import BasicBlock, Edge
    from xtab.format.code import HasCode
    from xtab.report.listing import Row

__all__ = ["dot"]

_HEAD = """\
  node [shape=box fontname=monospace fontsize=10];
  edge [fontname=monospace fontsize=9];
"""


def dot(code: HasCode) -> str:
    """The control flow of a code object, as text for Graphviz.

    A box is a basic block, with its lines and a row an instruction; an arrow with a dashed line leads to the handler
    that gets what the block raises, and has the letter and the kind of the region; grey boxes can't be reached.

    Args:
        code: a code object, or anything that has one.

    Raises:
        DecodeError, TableFormatError: the code or its exception table can't be read.

    >>> print(dot(lambda: None).splitlines()[0])
    digraph "<lambda>" {
    """
    listing, flow = show(code), control_flow(code)
    lines = [f'digraph "{_escaped(listing.name)}" {{\n{_HEAD}']
    lines += [f"  {line}\n" for line in _statements(listing, flow)]
    return "".join([*lines, "}\n"])


def _statements(listing: Listing, flow: ControlFlow) -> Iterable[str]:
    rows = iter(listing.rows)
    row = next(rows, None)
    for block in flow.blocks:
        inside = []
        while row is not None and row.offset < block.end:
            inside.append(row)
            row = next(rows, None)
        style = "" if block.reached else ' color=gray fontcolor=gray tooltip="unreachable"'
        yield f'b{block.number} [label="{_label(block, inside)}"{style}];'
    for block in flow.blocks:
        for edge in block.edges:
            yield f"b{block.number} -> b{edge.target}{_edge_style(edge)};"


def _label(block: BasicBlock, rows: list[Row]) -> str:
    """The text of a box: what Graphviz calls an escString, each line flush left."""
    lines = "" if block.lines is None else f", {line_words(*block.lines)}"
    texts = [f"[{block.start},{block.end}){lines}", *(_row(row) for row in rows)]
    return "".join(f"{_escaped(text)}\\l" for text in texts)


def _row(row: Row) -> str:
    handles = "".join(f"  < {region}" for region in row.handles)
    label = "" if row.label is None else f"{row.label}:"
    return f"{label:<4} {row.offset:>4}  {row.opname} {row.operand}".rstrip() + handles


def _edge_style(edge: Edge) -> str:
    if edge.kind is EdgeKind.RAISES and edge.region is not None:
        return f' [style=dashed label="{_escaped(str(edge.region))}"]'
    return ' [label="jumps"]' if edge.kind is EdgeKind.JUMPS else ""


def _escaped(text: str) -> str:
    """Text between double quotes: Graphviz gives a meaning to backslashes as well, and knows no other escapes."""
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')
