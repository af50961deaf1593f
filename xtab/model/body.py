"""`Body`: the instructions of a code object and all else it holds, ready to edit; and `Layout`: where they lie."""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby
from typing import TYPE_CHECKING, Any

from xtab.errors import XtabError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType

    from xtab.model.instruction import Instruction, Span
    from xtab.model.source import Source

__all__ = ["Body", "Layout"]


class Layout:
    """Where each instruction lies in ``co_code``: the map of when the body was last decoded or assembled.

    >>> import xtab
    >>> body = xtab.decode(lambda: None)
    >>> body.layout.offset_of(body.instructions[0])
    0
    """

    __slots__ = ("_index", "_instructions", "_starts")

    def __init__(self, instructions: Sequence[Instruction], starts: Sequence[int]) -> None:
        self._instructions = instructions  # not to be changed
        self._starts = starts  # in code units, one more than there are instructions
        self._index: dict[Instruction, int] | None = None

    def __iter__(self) -> Iterator[tuple[int, Instruction]]:
        """Pairs of offset, in bytes, and instruction, in order."""
        return ((2 * start, instruction) for start, instruction in zip(self._starts, self._instructions, strict=False))

    def __len__(self) -> int:
        """How many instructions there are."""
        return len(self._instructions)

    def offset_of(self, instruction: Instruction) -> int:
        """Offset, in bytes, of the instruction's first unit: its EXTENDED_ARG, where it has one.

        Raises XtabError if the instruction wasn't there.
        """
        return 2 * self._starts[self._place(instruction)]

    def end_of(self, instruction: Instruction) -> int:
        """Offset, in bytes, behind the instruction's last cache."""
        return 2 * self._starts[self._place(instruction) + 1]

    def instruction_at(self, offset: int) -> Instruction:
        """The instruction that the byte at `offset` belongs to, prefixes and caches included.

        Raises XtabError if there is none.
        """
        if not 0 <= offset < 2 * self._starts[-1]:
            msg = f"expected an offset from 0 to {2 * self._starts[-1] - 1}, but found {offset}"
            raise XtabError(msg)
        return self._instructions[bisect_right(self._starts, offset // 2) - 1]

    def _place(self, instruction: Instruction) -> int:
        if self._index is None:
            self._index = {known: place for place, known in enumerate(self._instructions)}
        place = self._index.get(instruction)
        if place is None:
            msg = (
                "expected an instruction that was in the body when it was decoded or assembled, "
                f"but found {instruction!r}"
            )
            raise XtabError(msg)
        return place


class Body:
    """A code object taken apart. Made by :func:`xtab.decode`, turned back by :func:`xtab.assemble`.

    ``instructions`` is a plain list: insert, delete and reorder as you like. What instructions point at moves with
    them.

    >>> import xtab
    >>> body = xtab.decode(lambda x: x + 1)
    >>> body.instructions.insert(1, xtab.Instruction("NOP"))
    >>> type(xtab.assemble(body))
    <class 'code'>
    """

    def __init__(self, code: CodeType, instructions: list[Instruction], source: Source, spans: list[Span]) -> None:
        self.instructions = instructions  #: what runs, in order
        self.name: str = code.co_name
        self.qualname: str = code.co_qualname
        self.filename: str = code.co_filename
        self.first_line: int = code.co_firstlineno  #: number of the ``def`` line, or of the first decorator
        self.flags: int = code.co_flags  #: CO_* bits, as in the inspect module
        self.argcount: int = code.co_argcount  #: positional arguments, those that are only positional included
        self.posonlyargcount: int = code.co_posonlyargcount
        self.kwonlyargcount: int = code.co_kwonlyargcount
        self.stacksize: int = (
            code.co_stacksize
        )  #: as recorded; assembly keeps it while code that can't be reached remains
        self._code = code
        self._source = source
        self._original = instructions.copy()  # by place in the source
        self._spans = spans  # of each region of the source
        #: where the instructions lay when the body was last decoded or assembled
        self.layout = Layout(self._original, source.starts)

    @property
    def consts(self) -> list[Any]:
        """The constants, in the order of co_consts.

        Assembly appends what new instructions need; keep the order of the rest.
        """
        return self._source.tables.consts

    @property
    def names(self) -> list[str]:
        """Names of globals, attributes and imports, in the order of co_names; append only."""
        return self._source.tables.names

    @property
    def varnames(self) -> list[str]:
        """Names of the local variables, arguments first; append only."""
        return self._source.tables.varnames

    @property
    def cellvars(self) -> list[str]:
        """Names of the variables that inner functions see; append only."""
        return self._source.tables.cellvars

    @property
    def freevars(self) -> list[str]:
        """Names of the variables of outer functions that this one sees.

        Append only, and give the function a longer closure.
        """
        return self._source.tables.freevars

    def pieces_of(self, span: Span) -> list[tuple[Instruction, Instruction]]:
        """The runs of instructions that a span protects, itself or by spans inside it: pairs of first and last."""
        inside = {None: False}
        pieces = []
        for covered, run in groupby(
            self.instructions, lambda instruction: _within(instruction.exn_tab_entry, span, inside)
        ):
            if covered:
                members = list(run)
                pieces.append((members[0], members[-1]))
        return pieces

    def __repr__(self) -> str:
        return f"<Body of {self.qualname}, {len(self.instructions)} instructions>"


def _within(span: Span | None, outer: Span, known: dict[Any, bool]) -> bool:
    """Whether `span` is `outer` or lies in it; `known` remembers the answers."""
    path = []
    while span not in known:
        assert span is not None
        path.append(span)
        known[span] = span is outer  # also ends the walk if spans go round in a circle
        if span is outer:
            break
        span = span.outer
    answer = known[span]
    for member in path:
        known[member] = answer
    return answer
