"""`read`: text becomes a body.

1. The lines are dealt out to the code objects: a line that begins with a kind begins one (`_split`).
2. They are read from the last to the first, so that what a code object holds is known when it is read (`_Unit`).
   Labels and spans are linked at its end.
3. The lists of names and variables are begun as the header says, and grow from use, as those of any body do.
4. The instructions are laid out and written as a code object, and each becomes what decoding that would have made of
   it (`_settle`). So nothing is mended, and surplus EXTENDED_ARG stays.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, Final, NoReturn

from xtab.errors import AssembleError, StackError, TextError, XtabError
from xtab.format.locations import encode_location
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.model.assemble import assemble, code_bytes, exception_table, tables_to_write
from xtab.model.body import Body
from xtab.model.decode import read_source
from xtab.model.depths import measure_size
from xtab.model.instruction import RAW, Fields, Instruction, Span
from xtab.model.layout import lay_out
from xtab.model.shape import read_body
from xtab.model.tables import Cell, Free
from xtab.model.text_header import DIRECTIVES, KIND, read_directive, read_first_line
from xtab.model.text_operands import Item, read_location, read_operand, read_suffixes
from xtab.model.text_tokens import Scanner, read_constant
from xtab.model.text_writer import DEFAULT_FILENAME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType

    from xtab.format.locations import Location
    from xtab.model.layout import LaidOut
    from xtab.model.source import Source

__all__ = ["read"]

_LABEL = re.compile(r"([A-Za-z_]\w*):(?=[ \t\r#;]|\Z)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_TO, _DEPTH, _LASTI, _SPAN_NAME = (
    re.compile(rf"{word}\b") for word in ("to", "depth", "lasti", r"(?!to\b)[A-Za-z_]\w*")
)
_MAKE_CELL: Final = CURRENT.number["MAKE_CELL"]


def read(text: str, objects: Mapping[str, Any]) -> Body:
    """The body of the first code object of a text; the others are constants in it, or in each other.

    Raises:
        TextError: the text can't be read.
    """
    sections = _split(text)
    filename = _filename(sections[0]) if sections else DEFAULT_FILENAME
    codes: dict[str, Any] = {}
    for section in reversed(sections):
        unit = _Unit(section, codes, objects)
        unit.read()
        body = unit.body(filename)
        if section is sections[0]:
            return body
        label = unit.header.label
        if label in codes:
            unit.fail(f"expected one code object called {label!r}, but found another one below; put 'as NAME' here")
        codes[label] = unit.code(body)
    raise TextError(
        "expected a line such as 'function f(a, b)', but found the end of the text", line=text.count("\n") + 1
    )


def _split(text: str) -> list[list[Scanner]]:
    """The lines of each code object, empty ones and those that are only comments left out."""
    sections: list[list[Scanner]] = []
    for number, line in enumerate(text.split("\n"), 1):
        scan = Scanner(line, number)
        if scan.at_end():
            continue
        begins = KIND.match(scan.text, scan.at) is not None
        if begins:
            sections.append([])
        elif not sections:
            scan.fail("a line such as 'function f(a, b)' first")
        sections[-1].append(scan)
    return sections


def _filename(lines: list[Scanner]) -> str:
    """The file that a code object says it is from."""
    filename = DEFAULT_FILENAME
    for scan in lines:
        word = scan.take(_NAME)
        if word is not None and word[0] == "file":
            filename = scan.string("the name of a file between quotes")
        scan.at = 0
    return filename


class _Unit:
    """One code object of a text."""

    def __init__(self, lines: list[Scanner], codes: Mapping[str, Any], objects: Mapping[str, Any]) -> None:
        self._lines = lines
        kind = lines[0].expect(KIND, "a code object")
        self.header = read_first_line(lines[0], kind[1])
        self._codes = codes
        self._objects = objects
        self._instructions: list[Instruction] = []
        self._line_of: list[int] = []  # of each instruction
        self._wide: dict[int, int] = {}
        self._items: list[tuple[int, Item, int]] = []  # index, operand, flags
        self._cells: dict[str, None] = {}
        self._free: dict[str, bool] = {}  # what is used like a cell -> whether it is said to be free
        self._location: Location | None = None
        self._seams: set[int] = set()  # indices of instructions whose location is said though it is the same
        self._labels: dict[str, tuple[int, int]] = {}  # label -> index, line
        self._targets: list[tuple[Instruction | Span, str, int]] = []  # who leads there, label, line
        self._constants: dict[str, Any] = {}  # text -> value: the same text means the same object
        self._spans: dict[str, Span] = {}
        self._open: list[tuple[Span, str | None, int]] = []  # span, name, line

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        """Raise the error for a line; for the first one of this code object where none is given."""
        raise TextError(message, line=line or self._lines[0].line)

    def read(self) -> None:
        """Read all lines but the first."""
        for scan in self._lines[1:]:
            self._read_line(scan)
        if self._open:
            self.fail("expected 'end', but found the end of the code object", self._open[-1][2])
        for who, label, line in self._targets:
            who.target = self._instruction_at(label, line)

    def _instruction_at(self, label: str, line: int) -> Instruction:
        place, _ = self._labels.get(label, (-1, 0))
        if place < 0:
            known = difflib.get_close_matches(label, self._labels, n=3) or list(self._labels)[:10]
            self.fail(
                f"expected a label of this code object ({', '.join(known) or 'it has none'}), but found {label!r}", line
            )
        if place == len(self._instructions):
            self.fail(f"expected an instruction behind the label {label!r}, but found none", self._labels[label][1])
        return self._instructions[place]

    def _read_line(self, scan: Scanner) -> None:
        while (label := scan.take(_LABEL)) is not None:
            if label[1] in self._labels:
                at = self._labels[label[1]][1]
                scan.fail("a new label", f"{label[1]!r}, which stands at line {at} too", label.start())
            self._labels[label[1]] = len(self._instructions), scan.line
        if scan.at_end():
            return
        word = scan.expect(_NAME, "an instruction")
        if word[0] == "try":
            self._begin_span(scan)
        elif word[0] == "end":
            self._end_span(scan)
        elif word[0] in DIRECTIVES:
            read_directive(scan, word[0], self.header, self._constant)
        else:
            self._read_instruction(scan, word)

    def _constant(self, scan: Scanner) -> Any:
        scan.skip()
        start = scan.at
        value = read_constant(scan, self._find)
        return self._constants.setdefault(scan.text[start : scan.at], value)

    def _find(self, kind: str, name: str, scan: Scanner) -> Any:
        """What a reference means."""
        known = self._codes if kind == "code" else self._objects
        if name in known:
            return known[name]
        names = ", ".join(difflib.get_close_matches(name, known, n=3) or list(known)[:10]) or "none"
        if kind == "code":
            return scan.fail(f"the name of a code object that stands below this one ({names})", repr(name))
        return scan.fail(f"an object that was given to from_text in `objects` ({names})", repr(name))

    def _read_instruction(self, scan: Scanner, word: Any) -> None:
        name = word[0]
        opcode = CURRENT.number.get(name, 0)
        if name not in CURRENT.number or not CURRENT.legal[opcode]:
            close = difflib.get_close_matches(name, [*CURRENT.number, *DIRECTIVES, "try", "end"], n=3)
            hint = f"; close to it: {', '.join(close)}" if close else ""
            scan.fail(f"an instruction of CPython {CURRENT.python}", f"{name[:60]!r}{hint}", word.start())
        kind = CURRENT.kind[opcode]
        operand: Any = None
        if kind == OperandKind.TARGET:
            operand = scan.expect(_NAME, f"the label that {name} leads to")[0]
        elif kind != OperandKind.NONE:
            operand = read_operand(scan, opcode, self._constant)
        elif scan.take(_BRACKET):
            operand = Item(scan.number("a number"))
            scan.expect(_CLOSE, "']'")
        suffixes = read_suffixes(scan, opcode, operand)
        said = read_location(scan)
        if said is not None:
            if said[0] == self._location:
                self._seams.add(len(self._instructions))
            self._location = said[0]
        scan.expect_end(f"the end of the line behind {name}" + " and its operand" * (kind != OperandKind.NONE))
        self._add(opcode, operand, suffixes.flags, scan.line)
        if suffixes.wide:
            self._wide[len(self._instructions) - 1] = suffixes.wide

    def _add(self, opcode: int, operand: Any, flags: int | None, line: int) -> None:
        """Make the instruction."""
        kind = CURRENT.kind[opcode]
        span = self._open[-1][0] if self._open else None
        if isinstance(operand, Item) or kind in (OperandKind.NONE, OperandKind.TARGET):
            made = Instruction.__new__(Instruction)
            made._source = None
            made._at = Fields(opcode, 0, RAW if kind != OperandKind.TARGET else None, self._location, -1)
            made.exn_tab_entry = span
        else:
            made = Instruction(opcode, operand, flags=flags, location=self._location, exn_tab_entry=span)
        if isinstance(operand, Item):
            self._items.append((len(self._instructions), operand, flags or 0))
        elif kind == OperandKind.TARGET:
            self._targets.append((made, operand, line))
        elif kind in (OperandKind.CELL, OperandKind.LOCAL, OperandKind.LOCAL_PAIR):
            for name in (operand,) if isinstance(operand, str) else operand:
                self._note_variable(opcode, name)
        self._instructions.append(made)
        self._line_of.append(line)

    def _note_variable(self, opcode: int, name: str) -> None:
        """Remember a cell or free variable that nobody has listed."""
        said = isinstance(name, Free)
        if opcode == _MAKE_CELL and not said:
            self._cells.setdefault(str(name))
        elif said or (CURRENT.kind[opcode] == OperandKind.CELL and not isinstance(name, Cell)):
            self._free[str(name)] = said or self._free.get(name, False)

    def _begin_span(self, scan: Scanner) -> None:
        found = scan.take(_SPAN_NAME)
        name = None if found is None else found[0]
        around = self._open[-1][0] if self._open else None
        known = None if name is None else self._spans.get(name)
        if known is not None:
            scan.expect_end(f"the end of the line, since {name} was begun before")
            if known.outer is not around:
                scan.fail(f"{name} opened again inside the same span as the first time", "another one", 0)
            self._open.append((known, name, scan.line))
            return
        scan.expect(_TO, "'to' and the label of the handler")
        label = scan.expect(_NAME, "the label of the handler")[0]
        depth = scan.number("a number of values") if scan.take(_DEPTH) else None
        lasti = scan.take(_LASTI) is not None
        scan.expect_end("'depth NUMBER', 'lasti' or the end of the line" if not lasti else "the end of the line")
        span = Span(None, depth, lasti, around)  # type: ignore[arg-type]  # the target is linked at the end
        self._targets.append((span, label, scan.line))
        if name is not None:
            self._spans[name] = span
        self._open.append((span, name, scan.line))

    def _end_span(self, scan: Scanner) -> None:
        found = scan.take(_NAME)
        if not self._open:
            scan.fail("an instruction, since no span is open", "'end'", 0)
        _, name, line = self._open.pop()
        if found is not None and found[0] != name:
            what = f"'end' of the span begun at line {line}" + f", {name}" * (name is not None)
            scan.fail(what, f"'end {found[0]}'", found.start())
        scan.expect_end()

    # from what was read to a body

    def body(self, filename: str) -> Body:
        """The body, in a file of that name unless it says otherwise."""
        header = self.header
        if not self._instructions:
            self.fail("expected at least one instruction, but found none")
        try:
            code = self._template(filename)
            source = read_source(code)
            for index, item, flags in self._items:
                self._number(index, item, flags, source)
            body = Body(code, [], source)
            body.instructions = self._instructions
            body = _settle(body, self._wide, self._seams)
            body.stacksize = self._stack_size(body) if header.stacksize is None else header.stacksize
        except (XtabError, ValueError, OverflowError) as error:
            self._fail_at(error)
        return body

    def code(self, body: Body) -> CodeType:
        """The code object of a body that was read."""
        try:
            return assemble(body)
        except (XtabError, ValueError, OverflowError) as error:
            self._fail_at(error)

    def _fail_at(self, error: Exception) -> NoReturn:
        """Raise an error about one of the instructions again, with its line."""
        if isinstance(error, TextError):
            raise error
        index = getattr(error, "index", None)
        line = self._line_of[index] if index is not None and index < len(self._line_of) else None
        message = str(error)
        if isinstance(error, AssembleError | StackError):
            message = message.partition(": ")[2] or message
        raise TextError(message, line=line or self._lines[0].line) from error

    @staticmethod
    def _stack_size(body: Body) -> int:
        """What the instructions need; 0 where that can't be said, which is for assembly to find out."""
        try:
            return measure_size(body._source.shape)[0]
        except StackError:
            return 0

    def _template(self, filename: str) -> CodeType:
        """A code object with all but the instructions."""
        header = self.header
        cells = list(self._cells) if header.cells is None else header.cells
        free = header.free
        if free is None:
            free = [name for name, said in self._free.items() if said or name not in cells]
        variables = [*header.arguments, *header.locals]
        return _EMPTY.replace(
            co_name=header.name,
            co_qualname=header.name if header.qualname is None else header.qualname,
            co_filename=filename if header.filename is None else header.filename,
            co_firstlineno=header.first_line,
            co_flags=header.flags,
            co_argcount=header.argcount,
            co_posonlyargcount=header.posonlyargcount,
            co_kwonlyargcount=header.kwonlyargcount,
            co_consts=tuple(header.first_consts()),
            co_names=tuple(header.names),
            co_varnames=tuple(variables),
            co_nlocals=len(variables),
            co_cellvars=tuple(cells),
            co_freevars=tuple(free),
        )

    def _number(self, index: int, item: Item, flags: int, source: Source) -> None:
        """Give an instruction the operand with a number."""
        instruction = self._instructions[index]
        fields = instruction._at
        assert isinstance(fields, Fields)
        fields.arg = item.number << CURRENT.flag_bits[fields.opcode] | flags
        instruction._source = source
        try:
            source.tables.operand(fields.opcode, fields.arg)
        except XtabError:
            name = CURRENT.name[fields.opcode]
            self.fail(
                f"expected an item that the header lists for {name}, but found [{item.number}]", self._line_of[index]
            )


_BRACKET, _CLOSE = re.compile(r"\["), re.compile(r"\]")
_EMPTY = compile("", DEFAULT_FILENAME, "exec").replace(
    co_code=bytes((CURRENT.nop, 0)), co_consts=(), co_names=(), co_linetable=b"", co_exceptiontable=b""
)


def _settle(made: Body, wide: Mapping[int, int], seams: set[int]) -> Body:
    """The body that decoding would give for the code of a body whose instructions were made; they stay these objects.

    Args:
        made: the body.
        wide: index of an instruction -> how many EXTENDED_ARG it has at least.
        seams: indices of the instructions that begin an entry of the location table in any case.
    """
    found = read_body(made)
    shape = found.shape._replace(wide=True)  # operands that are given by their number may be large
    laid = lay_out(found._replace(shape=shape, prefixes=dict(wide), plain=False))
    code = made._code.replace(
        co_code=code_bytes(laid, made._source),
        co_linetable=_location_table(laid, {id(made.instructions[index]) for index in seams}, made.first_line),
        co_exceptiontable=exception_table(laid.shape.entries, laid.starts),
        **tables_to_write(made._source),
    )
    source = read_source(code)
    before: Instruction | None = None
    known = set(map(id, made.instructions))
    for place, instruction in enumerate(laid.instructions):
        if id(instruction) not in known and before is not None:  # belongs to the branch in front of it
            instruction.exn_tab_entry = before.exn_tab_entry
        instruction._at, instruction._source = place, source
        if place in source.targets:
            instruction._target = laid.instructions[source.targets[place]]
        before = instruction
    return Body(code, laid.instructions, source)


def _location_table(laid: LaidOut, seams: set[int], first_line: int) -> bytes:
    """The location table; `seams`: ids of instructions that don't share an entry with those before them."""
    runs: list[tuple[Location | None, int]] = []
    for instruction, units in zip(laid.instructions, laid.sizes, strict=True):
        here = instruction.location
        if CURRENT.merges_locations and runs and runs[-1][0] == here and id(instruction) not in seams:
            units += runs.pop()[1]  # noqa: PLW2901
        runs.append((here, units))
    table = bytearray()
    line = first_line
    for location, units in runs:
        table += encode_location(units, location, line)
        if location is not None and location.line is not None:
            line = location.line
    return bytes(table)
