"""`Body`: the instructions of a code object and all else it holds, ready to edit."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from xtab.format.opcodes import CURRENT, OperandKind
from xtab.model import copies, editing
from xtab.model.arguments import require
from xtab.model.instruction import NOT_GIVEN, Instruction, Span
from xtab.model.offsets import Layout
from xtab.model.parts import unwoven
from xtab.model.protect import protect_run, unprotect
from xtab.model.seams import Seams
from xtab.model.spans import lies_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import CodeType

    from xtab.format.locations import Location
    from xtab.model.editing import Jumps
    from xtab.model.protectors import Protect
    from xtab.model.source import Source

__all__ = ["Body"]


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

    def __init__(
        self, code: CodeType, instructions: list[Instruction], source: Source, spans: list[Span] | None = None
    ) -> None:
        self.instructions = instructions  #: what runs, in order
        self.name: str = code.co_name
        self.qualname: str = code.co_qualname
        self.filename: str = code.co_filename
        self.first_line: int = code.co_firstlineno  #: number of the ``def`` line, or of the first decorator
        self.flags: int = code.co_flags  #: CO_* bits, as in the inspect module
        self.argcount: int = code.co_argcount  #: positional arguments, those that are only positional included
        self.posonlyargcount: int = code.co_posonlyargcount
        self.kwonlyargcount: int = code.co_kwonlyargcount
        #: as recorded; assembly keeps it while code that can't be reached remains
        self.stacksize: int = code.co_stacksize
        self._code = code
        self._source = source
        self._original = instructions.copy()  # by place in the source
        self._woven = unwoven(self._original)  # what of it stands as it was put together last
        self._near = self._fresh = 0  # where what was looked for last was; how many names `fresh_local` has given
        self._spans = spans or []  # of each entry of the source
        if spans is None:
            source.respanned = True  # the instructions tell
        self.layout = Layout(self._original, source.starts)  #: where instructions lay when last decoded or assembled

    @property
    def consts(self) -> list[Any]:
        """The constants, as in co_consts. Assembly appends what new instructions need; keep the order of the rest."""
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
        """Names of the outer functions' variables that this one sees; append only, and lengthen the closure too."""
        return self._source.tables.freevars

    @property
    def start(self) -> Instruction:
        """The first instruction before which something may be put: the one behind the first RESUME.

        Raises:
            XtabError: there is none.

        >>> import xtab
        >>> body = xtab.decode(each for each in "ab")
        >>> body.start is body.insertion_points()[0]
        True
        """
        return editing.start_of(self)

    def pieces_of(self, span: Span) -> list[tuple[Instruction, Instruction]]:
        """The runs of instructions that a span protects, itself or by spans inside it: pairs of first and last."""
        inside: dict[Span | None, bool] = {None: False}
        require(span, Span, "a Span")
        pieces = []
        for covered, run in groupby(
            self.instructions, lambda instruction: lies_in(instruction.exn_tab_entry, span, inside)
        ):
            if covered:
                members = list(run)
                pieces.append((members[0], members[-1]))
        return pieces

    # editing: the work is done in `editing` and `protect`

    def insert_before(
        self,
        anchor: Instruction,
        instructions: Iterable[Instruction],
        *,
        protect: Protect = "anchor",
        jumps: Jumps = "new",
    ) -> None:
        """Put instructions before another.

        Args:
            anchor: an instruction of this body.
            instructions: what to put there. Those without a location get the anchor's.
            protect: who handles an exception of the new instructions: ``"anchor"``, the span that protects the anchor;
                ``"before"``, the one of the instruction in front of the new ones; ``"after"``, of the one behind them;
                a `Span`; or None: nothing does. Where the handler of the instruction itself could not cope, it's the
                one that can: before PUSH_EXC_INFO the exception is not saved yet, before POP_EXCEPT it still is, and
                what can't raise, such as the NOP of a ``try:`` line, may have been left out of the spans around it.
                Instructions that have spans of their own keep them, inside that one.
            jumps: ``"new"``: jumps and handlers that lead to the anchor now lead to the first new instruction;
                ``"stay"``: they lead to the anchor still, so that only what falls through runs the new ones.

        Raises:
            EditError: the place is inside of what must stay together; it names the next good place.
            XtabError: the anchor isn't in this body.

        >>> import xtab
        >>> body = xtab.decode(lambda x: x + 1)
        >>> body.insert_before(body.instructions[1], [xtab.Instruction("NOP")])
        >>> body.instructions[1]
        Instruction('NOP')
        """
        editing.insert_beside(self, anchor, instructions, behind=False, protect=protect, jumps=jumps)

    def insert_before_each(
        self,
        new: Mapping[Instruction, Iterable[Instruction]],
        *,
        protect: Protect = "anchor",
        jumps: Jumps = "new",
    ) -> None:
        """Put instructions before many others at once: :meth:`insert_before` for each anchor in one pass over the body.

        >>> import xtab
        >>> body = xtab.decode(lambda x: x + 1)
        >>> body.insert_before_each({anchor: [xtab.Instruction("NOP")] for anchor in body.insertion_points()})
        >>> [each.opname for each in body.instructions].count("NOP") == len(body.instructions) // 2
        True
        """
        editing.insert(self, new, behind=False, protect=protect, jumps=jumps)

    def insert_copies_before(
        self,
        anchors: Iterable[Instruction],
        instructions: Iterable[Instruction],
        *,
        protect: Protect = "anchor",
        jumps: Jumps = "new",
    ) -> None:
        """Put new copies of the same instructions before each of many others: several times as fast as one by one.

        Arguments and errors are those of :meth:`insert_before`; the instructions given are not put in themselves.

        >>> import xtab
        >>> body = xtab.decode(lambda x: x + 1)
        >>> body.insert_copies_before(body.insertion_points(), [xtab.Instruction("NOP")])
        >>> [each.opname for each in body.instructions].count("NOP") == len(body.instructions) // 2
        True
        """
        copies.insert_copies(self, anchors, instructions, protect=protect, jumps=jumps)

    def insert_after(
        self, anchor: Instruction, instructions: Iterable[Instruction], *, protect: Protect = "anchor"
    ) -> None:
        """Put instructions behind another, for what falls through it; jumps to the next one pass them by.

        Arguments and errors are those of :meth:`insert_before`. Behind a RESUME, which belongs to no line that runs,
        they get the location of what comes next.

        >>> import xtab
        >>> body = xtab.decode(lambda x: x + 1)
        >>> body.insert_after(body.instructions[0], [xtab.Instruction("NOP")])
        >>> body.instructions[1]
        Instruction('NOP')
        """
        editing.insert_beside(self, anchor, instructions, behind=True, protect=protect, jumps="stay")

    def insertion_points(self, *, jumps: Jumps = "new") -> list[Instruction]:
        """The instructions before which something may be put; the others are tied to what stands before them.

        >>> import xtab
        >>> body = xtab.decode(lambda: None)
        >>> body.insertion_points() == body.instructions[1:]
        True
        """
        return editing.insertion_points(self, jumps=jumps)

    def line_starts(self) -> list[tuple[Instruction, int]]:
        """The instructions with which another line begins, in order, and the number of that line.

        These are the ones whose line is not that of the instruction before; those without a line are left out.

        >>> import xtab
        >>> body = xtab.decode(compile("x = 1" + chr(10) + "y = 2", "example", "exec"))
        >>> [line for _, line in body.line_starts()][-2:]
        [1, 2]
        """
        return editing.line_starts(self)

    def why_not_before(self, anchor: Instruction, *, jumps: Jumps = "new") -> str | None:
        """Why nothing may be put before an instruction, in words, or None.

        >>> import xtab
        >>> body = xtab.decode(lambda: None)
        >>> body.why_not_before(body.instructions[0])
        'what stands before the first RESUME, and the RESUME itself, must stay the first of all'
        """
        place = editing.place_of(self, anchor)
        return Seams(self.instructions).why_not(place, led_to=editing.leads_to_new(jumps))

    def replace(
        self,
        first: Instruction,
        instructions: Iterable[Instruction],
        *,
        last: Instruction | None = None,
        protect: Protect = "anchor",
    ) -> None:
        """Put instructions in the place of one, or of a run; what led there leads to the first of them.

        Args:
            first: the instruction that goes, or the first of the run.
            instructions: what comes instead. Those without a location get that of `first`.
            last: the last of the run.
            protect: as in :meth:`insert_before`; ``"anchor"`` is `first`.

        Raises:
            EditError: only half of what must stay together would go.

        >>> import xtab
        >>> body = xtab.decode(lambda x: x + 1)
        >>> load = next(each for each in body.instructions if each.operand == 1)
        >>> body.replace(load, [xtab.Instruction("LOAD_CONST", 41)])
        >>> load in body.instructions
        False
        """
        editing.replace_run(self, first, last, instructions, protect)

    def remove(self, first: Instruction, last: Instruction | None = None) -> None:
        """Take an instruction out, or a run. What led there leads to the instruction behind.

        Raises:
            EditError: only half of what must stay together would go, or nothing comes behind and something led there.

        >>> import xtab
        >>> body = xtab.decode(lambda: print() or print())
        >>> nop = xtab.Instruction("NOP")
        >>> body.insert_after(body.instructions[0], [nop])
        >>> body.remove(nop)
        """
        editing.replace_run(self, first, last, (), "anchor")

    def move(self, first: Instruction, last: Instruction | None = None, *, before: Instruction) -> None:
        """Take a run out and put it before another instruction; its spans, and what leads to it, move with it.

        Raises:
            EditError: what must stay together would be parted.

        >>> import xtab
        >>> body = xtab.decode(lambda: None)
        >>> nops = [xtab.Instruction("NOP"), xtab.Instruction("NOP")]
        >>> body.insert_after(body.instructions[0], nops)
        >>> body.move(nops[0], before=body.instructions[3])
        >>> body.instructions[1:3] == [nops[1], nops[0]]
        True
        """
        editing.move_run(self, first, last, before)

    def copy(self, first: Instruction, last: Instruction | None = None) -> list[Instruction]:
        """New instructions like those of a run, not yet in the body.

        Jumps inside the run lead to the copies, others where they led; so do spans whose handler is in the run.

        >>> import xtab
        >>> body = xtab.decode(lambda x: x)
        >>> body.copy(body.instructions[-1])[0] is body.instructions[-1]
        False
        """
        return editing.copy_run(self, first, last)

    def protect(
        self,
        first: Instruction,
        last: Instruction,
        target: Instruction,
        depth: int | None = None,
        lasti: bool = False,
    ) -> Span:
        """Send the exceptions of a run of instructions to a handler; holes in the run are covered too.

        The new span lies inside of those that contain the run, and around those that it contains. A span that lies
        only partly in the run is cloned for that part if its handler lies in the run as well. What stands before the
        first RESUME is left out.

        Args:
            first: the first instruction of the run.
            last: the last one, included.
            target: the handler, an instruction that is put into this body before it is assembled.
            depth: values left on the stack when the handler is entered, in slots. None: assembly computes the least
                number that any instruction of the span leaves there when it raises.
            lasti: whether the offset of the instruction that raised is pushed below the exception, for RERAISE.

        Returns:
            The new span; where the run lies in different spans at different places, the first of those made.

        Raises:
            EditError: a span protects a part of the run and of what is outside, and its handler is outside.

        >>> import xtab
        >>> body = xtab.decode(lambda x: x.y)
        >>> handler = [xtab.Instruction("PUSH_EXC_INFO"), xtab.Instruction("RERAISE", 0)]
        >>> body.protect(body.start, body.instructions[-1], handler[0])
        Span(PUSH_EXC_INFO, depth=None, lasti=False)
        >>> body.instructions += handler
        >>> [entry.depth for entry in xtab.parse_exception_table(xtab.assemble(body))]
        [0]
        """
        return protect_run(self, first, last, target, depth, lasti=lasti)

    def unprotect(self, span: Span) -> None:
        """Take a span away: what it protected is left to the span around it.

        >>> import xtab
        >>> body = xtab.decode(lambda x: x.y)
        >>> first, last = body.start, body.instructions[-1]
        >>> body.unprotect(body.protect(first, last, last))
        >>> first.exn_tab_entry is None
        True
        """
        unprotect(self, span)

    def instruction(
        self,
        opname: str,
        operand: Any = NOT_GIVEN,
        *,
        flags: int | None = None,
        location: Location | None = None,
    ) -> Instruction:
        """A new instruction for this body, whose variable is checked against those that there are.

        Raises:
            XtabError: as for `Instruction`; or the variable is a cell where a local is wanted, or the other way round.

        >>> import xtab
        >>> xtab.decode(lambda x: x).instruction("LOAD_FAST", "x")
        Instruction('LOAD_FAST', 'x')
        """
        new = Instruction(opname, operand, flags=flags, location=location)
        kind = CURRENT.kind[new.opcode]
        if kind in (OperandKind.LOCAL, OperandKind.LOCAL_PAIR, OperandKind.CELL):
            self._source.tables.check(new.opcode, operand)
        return new

    def fresh_local(self, stem: str = "tmp") -> str:
        """The name of a local variable that nothing in this body uses, for STORE_FAST and the like.

        It holds a dot, so that no source text can mean it.

        >>> import xtab
        >>> xtab.decode(lambda x: x).fresh_local()
        '.tmp1'
        """
        taken = {*self.varnames, *self.cellvars, *self.freevars}
        require(stem, str, "a part of the name as a string")
        while True:
            self._fresh += 1
            name = f".{stem}{self._fresh}"
            if name not in taken:
                return name

    def to_text(self) -> str:
        r"""The body as text that a person can read and edit; :meth:`from_text` gives the same body back.

        >>> import xtab
        >>> print(xtab.Body.from_text("function one()\n RESUME 0\n LOAD_CONST 1\n RETURN_VALUE").to_text())
        function one()
                RESUME 0
                LOAD_CONST 1
                RETURN_VALUE
        <BLANKLINE>
        """
        from xtab.model.text import to_text  # noqa: PLC0415  # only who uses text pays for it

        return to_text(self)

    @staticmethod
    def from_text(text: str, *, objects: Mapping[str, Any] | None = None) -> Body:
        r"""The body that a text describes, as :meth:`to_text` writes it, or written by hand.

        Args:
            text: the text; the page "Bodies as text" of the documentation tells what may be in it.
            objects: what ``<object NAME>`` means in it, by name.

        Raises:
            TextError: the text can't be read; it says where and what was expected there.

        >>> import xtab
        >>> xtab.Body.from_text("function one()\n RESUME 0\n LOAD_CONST 1\n RETURN_VALUE")
        <Body of one, 3 instructions>
        """
        from xtab.model.text import from_text  # noqa: PLC0415  # likewise

        return from_text(text, objects=objects)

    def text_objects(self) -> dict[str, Any]:
        """The constants that have no literal, by the names that :meth:`to_text` gives them: for :meth:`from_text`.

        >>> import xtab
        >>> body = xtab.decode(lambda: 0)
        >>> body.insert_before(body.instructions[-1], [xtab.Instruction("LOAD_CONST", print)])
        >>> body.text_objects()
        {'builtin_function_or_method': <built-in function print>}
        """
        from xtab.model.text import objects_in  # noqa: PLC0415  # likewise

        return objects_in(self)

    def __repr__(self) -> str:
        return f"<Body of {self.qualname}, {len(self.instructions)} instructions>"
