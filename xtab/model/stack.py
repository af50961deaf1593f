"""What users ask of the value stack: `stack_depths` and `stack_size`. The work is done in `depths`.

Follows Python/flowgraph.c, calculate_stackdepth (3.11: Python/compile.c, stackdepth).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.format.code import code_of
from xtab.format.locations import line_at
from xtab.model.body import Body
from xtab.model.decode import read_source
from xtab.model.depths import measure
from xtab.model.shape import read_body

if TYPE_CHECKING:
    from xtab.format.code import HasCode
    from xtab.model.depths import Stack
    from xtab.model.flow import Shape

__all__ = ["stack_depths", "stack_size"]


def stack_depths(body_or_code: Body | HasCode) -> list[int | None]:
    """The depth of the value stack before each instruction, in slots; None where an instruction can't be reached.

    Args:
        body_or_code: a `Body`, or a code object or anything that has one.

    Returns:
        A list in the order of ``body.instructions`` (of ``decode(code).instructions`` for code).

    Raises:
        StackError: two ways meet with different depths (it names both), or a depth falls below zero.

    >>> import xtab
    >>> depths = xtab.stack_depths(lambda x: x.y)
    >>> depths[0], max(depths)
    (0, 1)
    """
    return _measure(body_or_code).depths


def stack_size(body_or_code: Body | HasCode) -> int:
    """How many slots the value stack needs, handlers and what they push included: what co_stacksize must be at least.

    Only what can be reached counts; the compiler counts handlers that nobody can reach too.

    Args:
        body_or_code: a `Body`, or a code object or anything that has one.

    Raises:
        StackError: as for :func:`stack_depths`.

    >>> import xtab
    >>> xtab.stack_size(lambda a, b: (a, b, a))
    3
    """
    return _measure(body_or_code).size


def _measure(body_or_code: Body | HasCode) -> Stack:
    if isinstance(body_or_code, Body):
        body = body_or_code
        return measure(_shape_only(body), line_of=lambda index: line_at(body.instructions[index].location))
    source = read_source(code_of(body_or_code))
    offsets = [2 * start for start in source.starts]
    return measure(source.shape, offsets, line_of=lambda index: line_at(source.location(index)))


def _shape_only(body: Body) -> Shape:
    """The shape of a body, without the names and constants that reading it adds to its lists."""
    tables = body._source.tables
    sizes = tables.sizes()
    try:
        return read_body(body).shape
    finally:
        tables.cut(sizes)
