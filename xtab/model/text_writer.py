"""`write`: a body becomes text.

1. The body is read as assembly would (`_laid_out`), and the names and constants that this adds to its lists are
   forgotten again. So the text shows what assembly would write, with all that it mends; but spans are shown as the
   instructions carry them, so that a depth which is to be computed stays so.
2. Jumps that are longer than they need to be are found by laying out the same instructions with nothing kept.
3. Of each list, the shortest beginning is found from which the instructions, in their order, make the rest (`_said`).
4. The instructions are written one by one; `try` and `end` lines stand where the innermost span changes (`_Spans`).
5. Code objects among the constants are written likewise, each below all that hold it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from types import CodeType
from typing import TYPE_CHECKING, Any

from xtab.errors import StackError, XtabError
from xtab.format.code import argument_count
from xtab.format.opcodes import CURRENT
from xtab.model.assemble import mended
from xtab.model.decode import decode
from xtab.model.depths import measure_size
from xtab.model.layout import lay_out
from xtab.model.positions import location_table
from xtab.model.shape import BodyShape
from xtab.model.slices import LocationSlices
from xtab.model.spans import all_of
from xtab.model.text_header import Header, header_lines, kind_of
from xtab.model.text_operands import Operands, location_text
from xtab.model.text_tokens import constant_text, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xtab.format.locations import Location
    from xtab.model.body import Body
    from xtab.model.instruction import Span
    from xtab.model.layout import LaidOut

__all__ = ["write"]

DEFAULT_FILENAME = "<text>"
_INDENT, _STEP, _DEEPEST = 8, 4, 10
_LOCATION_COLUMN = 56
_FULL_ENTRY = 8  # code units: a location that goes on takes another entry


def write(body: Body) -> tuple[str, dict[str, Any]]:
    """The text of a body and of all code objects in it, and the objects that it names.

    Raises:
        AssembleError: as for :func:`xtab.assemble`; the depth of the stack is not looked at.
        XtabError: spans go round in a circle, or names of arguments are missing.
    """
    tables = body._source.tables
    sizes = tables.sizes()
    try:
        first = _laid_out(body)
        names = _Names(body.name, tables.consts)
        texts = [_unit(body, body.name, DEFAULT_FILENAME, names, first)]
        for unit, label in names.units:
            texts.append(_unit(unit, label, body.filename, names, _laid_out(unit)))
        return "\n".join(texts), names.objects
    finally:
        tables.cut(sizes)


class _Names:
    """Names for the code objects and the other objects that have no literal."""

    def __init__(self, first: str, constants: list[Any]) -> None:
        self.objects: dict[str, Any] = {}
        self._known: dict[int, str] = {}  # id -> reference
        self._kept: list[Any] = []  # so that no id is used twice
        self._taken = {first}
        #: the code objects below the first one as bodies, with their names, in the order of the text
        self.units = [(decode(code), self._name(code, "code", code.co_name)) for code in _below(constants)]

    def reference(self, value: Any) -> str:
        """What stands for an object in the text."""
        known = self._known.get(id(value))
        if known is None:
            name = self._name(value, "object", type(value).__name__.lower())
            self.objects[name] = value
            known = self._known[id(value)]
        return known

    def _name(self, value: Any, kind: str, stem: str) -> str:
        """A name that no other has; the plain one is for the first."""
        stem = re.sub(r"[^\w.<>]+", "_", stem)
        name, count = stem, 1
        while name in self._taken:
            count += 1
            name = f"{stem}.{count}"
        self._taken.add(name)
        self._known[id(value)] = f"<{kind} {name}>"
        self._kept.append(value)
        return name


def _below(constants: list[Any]) -> list[CodeType]:
    """The code objects among constants and in those, each behind all that hold it.

    They are walked depth first, the last one first, and come out in the order in which they are left, turned round.
    """
    left: list[CodeType] = []
    seen: set[int] = set()
    path: list[tuple[CodeType | None, Iterator[CodeType]]] = [(None, _held(constants))]
    while path:
        code, inside = path[-1]
        held = next((held for held in inside if id(held) not in seen), None)
        if held is not None:
            seen.add(id(held))
            path.append((held, _held(held.co_consts)))
        else:
            path.pop()
            if code is not None:
                left.append(code)
    return left[::-1]


def _held(constants: Iterable[Any]) -> Iterator[CodeType]:
    """The code objects among constants, and in tuples among them, the last first."""
    waiting = list(constants)
    while waiting:
        value = waiting.pop()
        if isinstance(value, CodeType):
            yield value
        else:
            waiting += parts_of(value) or ()


def _unit(body: Body, label: str, filename: str, names: _Names, laid_out: tuple[LaidOut, list[Span | None]]) -> str:
    laid, spans = laid_out
    tables = body._source.tables
    operands = Operands(tables, [constant_text(constant, names.reference) for constant in tables.consts])
    rows = _rows(laid, location_table(laid, body._source, body.first_line), spans, operands)
    header = _header(body, label, laid, operands)
    consts = None if header.consts is None else operands.consts[: len(header.consts)]
    return "\n".join([*header_lines(header, consts, filename), *rows, ""])


def _laid_out(body: Body) -> tuple[LaidOut, list[Span | None]]:
    """A body with every number settled, and the innermost span of each instruction."""
    found = mended(body)
    laid = lay_out(found)
    known = set(map(id, found.instructions))
    spans: list[Span | None] = []
    for instruction in laid.instructions:
        made_there = id(instruction) not in known  # with a branch that it belongs to in front
        spans.append(spans[-1] if made_there else instruction.exn_tab_entry)
    return laid, spans


def _kept_wide(laid: LaidOut) -> dict[int, int]:
    """The instructions that have more prefixes than they would have if none were kept -> how many."""
    if not laid.prefixes:
        return {}
    shape = laid.shape
    args = shape.args.copy()
    for jump in shape.targets:
        args[jump] = 0
    least = lay_out(
        BodyShape(
            shape._replace(args=args), laid.instructions, [], {}, [*shape.targets], [], plain=False, spans_kept=False
        )
    ).prefixes
    return {index: count for index, count in laid.prefixes.items() if count > least.get(index, 0)}


def _header(body: Body, label: str, laid: LaidOut, operands: Operands) -> Header:
    tables = body._source.tables
    header = Header(kind_of(body.name, body.flags), body.name, label)
    header.flags = body.flags
    if body.qualname != body.name:
        header.qualname = body.qualname
    header.filename, header.first_line = body.filename, body.first_line
    try:
        needed = measure_size(laid.shape)[0]
    except StackError:  # for assembly to find
        needed = 0
    header.stacksize = None if needed == body.stacksize else body.stacksize
    header.argcount, header.posonlyargcount = body.argcount, body.posonlyargcount
    header.kwonlyargcount = body.kwonlyargcount
    arguments = argument_count(body.argcount, body.kwonlyargcount, body.flags)
    if arguments > len(tables.varnames):
        raise XtabError(f"expected the names of {arguments} arguments in varnames, but found {tables.varnames}")
    header.arguments = tables.varnames[:arguments]
    used = operands.used
    header.names = tables.names[: _said(len(tables.names), used["names"])]
    elsewhere = {*tables.cellvars, *tables.freevars}
    least = max((place + 1 for place, name in enumerate(tables.varnames) if name in elsewhere), default=0)
    least = max(least, arguments, len(tables.varnames) if operands.numbered_variables else 0)
    header.locals = tables.varnames[arguments : max(least, _said(len(tables.varnames), used["varnames"]))]
    if tables.cellvars != list(operands.made_cells):
        header.cells = tables.cellvars
    header.free = tables.freevars or None
    first, said = header.first_consts(), _said(len(tables.consts), used["consts"])
    if said > len(first) or tables.consts[: len(first)] != first:
        header.consts = tables.consts[:said]
    return header


def _said(length: int, used: list[int]) -> int:
    """How many items of a list must be said, so that appending the others as they are used makes the rest."""
    order: dict[int, int] = {}
    for item in used:
        order.setdefault(item, len(order))
    said = length
    while said and said - 1 in order and (said == length or order[said - 1] < order[said]):
        said -= 1
    return said


def _seams(laid: LaidOut, table: bytes) -> set[int]:
    """The instructions at which an entry of the location table begins though the one before could go on."""
    if not CURRENT.merges_locations:
        return set()
    begins = LocationSlices(table, 0).covers
    short = {begin for before, begin in pairwise(begins) if begin - before < _FULL_ENTRY}
    return {place for place, start in enumerate(laid.starts) if start in short}


def _rows(laid: LaidOut, table: bytes, spans: list[Span | None], operands: Operands) -> list[str]:
    """The instructions, and the lines between them."""
    shape, instructions = laid.shape, laid.instructions
    places = {*shape.targets.values(), *(entry.handler for entry in shape.entries)}
    handlers = {id(spans[entry.first]): entry.handler for entry in shape.entries}
    index_of = {id(instruction): place for place, instruction in enumerate(instructions)}
    for span in all_of(spans):
        if id(span) not in handlers:  # nothing carries it but spans inside it
            handler = index_of.get(id(span.target))
            if handler is None:
                raise XtabError(f"expected the handler of {span!r} in this body, but found that it is not in it")
            handlers[id(span)] = handler
            places.add(handler)
    labels = {place: f"L{number}" for number, place in enumerate(sorted(places), 1)}
    wide, seams = _kept_wide(laid), _seams(laid, table)
    writer = _Spans(spans, {span: labels[place] for span, place in handlers.items()})
    location: Location | None = None
    for place, instruction in enumerate(instructions):
        writer.change(spans[place])
        opcode, arg = shape.opcodes[place], shape.args[place]
        words = [CURRENT.name[opcode] or ""]
        if place in shape.targets:
            words.append(labels[shape.targets[place]])
        else:
            words += operands.text(opcode, arg)
        if place in wide:
            words.append(f"+wide={wide[place]}")
        label = f"{labels[place]}:" if place in labels else ""
        row = label.ljust(writer.indent - 1) + " " + " ".join(words)
        here = instruction.location
        if here != location or place in seams:
            row = f"{row:<{_LOCATION_COLUMN}}  {location_text(here)}"
            location = here
        writer.rows.append(row)
    writer.change(None)
    return writer.rows


class _Spans:
    """Writes the lines where spans begin and end."""

    def __init__(self, spans: list[Span | None], labels: dict[int, str]) -> None:
        self.rows: list[str] = []
        self.indent = _INDENT
        self._labels = labels
        self._open: list[Span] = []
        self._names = _names_of_pieces(spans)
        self._begun: set[int] = set()

    def change(self, span: Span | None) -> None:
        """Close and open spans so that `span` is the innermost."""
        if span is (self._open[-1] if self._open else None):
            return
        inside = set(map(id, self._open))
        to_open = []
        while span is not None and id(span) not in inside:
            to_open.append(span)
            span = span.outer
        while self._open and self._open[-1] is not span:
            name = self._names.get(id(self._open.pop()))
            self._row("end", name)
        for new in reversed(to_open):
            self._row("try", self._names.get(id(new)), *self._attributes(new))
            self._open.append(new)
            self.indent = self._indent_now()

    def _attributes(self, span: Span) -> list[str]:
        if id(span) in self._begun:
            return []
        self._begun.add(id(span))
        depth = [] if span.depth is None else ["depth", str(int(span.depth))]
        return ["to", self._labels[id(span)], *depth, *["lasti"] * bool(span.lasti)]

    def _row(self, *words: str | None) -> None:
        self.indent = self._indent_now()
        self.rows.append(" " * self.indent + " ".join(filter(None, words)))

    def _indent_now(self) -> int:
        return _INDENT + _STEP * min(len(self._open), _DEEPEST)


def _names_of_pieces(spans: list[Span | None]) -> dict[int, str]:
    """Names for the spans that have more than one piece: they are opened again by them."""
    times: dict[int, int] = {}  # id -> how often it is opened, in the order of the first time
    opened: list[Span] = []
    for span in spans:
        if span is (opened[-1] if opened else None):
            continue
        inside = set(map(id, opened))
        around = span
        to_open = []
        while around is not None and id(around) not in inside:
            to_open.append(around)
            around = around.outer
        while opened and opened[-1] is not around:
            opened.pop()
        for new in reversed(to_open):
            times[id(new)] = times.get(id(new), 0) + 1
            opened.append(new)
    again = (span for span, count in times.items() if count > 1)
    return {span: f"S{number}" for number, span in enumerate(again, 1)}
