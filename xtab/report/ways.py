"""`ways`: what protects a line of source, and where an exception goes that is raised there, in the words of the source.

1. The code objects that hold the line are found from the module inwards, with the instruction that runs them on the
   spot, where one does: the body of a class, and comprehensions that are functions on some versions (`_frames`).
2. The instructions of the line that can raise; where none begins in it, the narrowest of what spans it, as far as they
   are part of the same statement, and the line holds more than a comment.
3. Each is asked where an exception goes (`xtab.analysis.unwind`), and so is what runs its code object, until one is
   called from elsewhere. Those of which the same is to be told are told of once: compilers make copies of ``finally``.
4. A step of the way is told in the words of the source, with the lines of the handler, and with what ends it there.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from xtab.analysis.block_stack import Blocks
from xtab.analysis.code_map import CodeMap
from xtab.analysis.unwind import way_from
from xtab.format.code import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_OPTIMIZED
from xtab.format.opcodes import CURRENT
from xtab.report.listing import show
from xtab.report.source_text import holds_line
from xtab.report.source_words import SourceWords

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType

    from xtab.analysis.regions import Region
    from xtab.report.listing import Row
    from xtab.report.source_tree import Extent, SourceTree

__all__ = ["Inside", "Stop", "Way", "ways"]

_OF_DEFINITIONS = {"MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE"}
"""Instructions whose lines are those of a whole function, which they don't run."""
_NOTHING_OF_ITS_OWN = {"LIST_APPEND", "RETURN_GENERATOR", "COPY_FREE_VARS", "RERAISE"}
"""Instructions that raise only when there is no memory left, or what was raised before."""
_COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>"}
_TYPE_PARAMETERS = "<generic parameters of "
_ENDS_OF_CLASSES = {"__static_attributes__", "__classcell__", "__classdictcell__"}
"""Names that compilers store behind the body of a class, with the position of what stands last in it."""
_MAKING = {"MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "BUILD_TUPLE"}
_LAZY = {
    "INTRINSIC_TYPEALIAS": "the value",
    "INTRINSIC_TYPEVAR_WITH_BOUND": "the bound",
    "INTRINSIC_TYPEVAR_WITH_CONSTRAINTS": "the constraints",
    "INTRINSIC_SET_TYPEPARAM_DEFAULT": "the default",
}
"""What takes functions that Python calls when somebody asks for something, and for what."""
_ANNOTATE = "__annotate__"
_ANNOTATES = {_ANNOTATE, "__annotate_func__"}
_SEGMENTS = 3
"""Parts of the line that are named of each way, where there are several."""


class Stop(NamedTuple):
    """A handler on the way of an exception, or who gets it from a code object."""

    region: Region | None  #: None: whoever runs the code
    line: int | None  #: the first line of the handler
    words: str  #: what happens there
    label: str  #: what it is in the source, such as ``with open(path)``; "" without a region
    lines: str  #: of the handler, in words; "" where they aren't known
    letters: str  #: of the region, and of the compiler's copies of it
    qualname: str  #: of the code object


class Inside(NamedTuple):
    """A region around some instructions."""

    region: Region
    label: str  #: what it is in the source
    lines: str  #: of what it protects: ``3-7``
    letters: str  #: of the region, and of the compiler's copies of it
    qualname: str  #: of the code object


class Way(NamedTuple):
    """Where an exception goes that some instructions raise."""

    rows: tuple[Row, ...]  #: the instructions
    stops: tuple[Stop, ...]  #: in the order in which the exception gets there
    raises: bool  #: whether any of the instructions can raise
    inside: tuple[Inside, ...]  #: what they are in: that of the innermost code first, and there the outermost first
    qualnames: tuple[str, ...]  #: of their code object, of the one that runs that on the spot, and so on
    which: str  #: the part of the line that is meant, where there are several ways in a code object
    when: str  #: in which case, where the same part has several ways

    @property
    def around(self) -> tuple[Region, ...]:
        """The regions around the instructions in their own code object, outermost first, without bookkeeping."""
        return tuple(each.region for each in self.inside if each.qualname == self.qualnames[0])


class _Frame:
    """A code object that holds the line, and the place that runs it, if that is known."""

    def __init__(
        self, code: CodeType, outer: _Frame | None, caller: Row | None, tree: SourceTree | None, asked_for: str = ""
    ) -> None:
        self.listing = show(code)
        self.map = CodeMap.of(code)
        self.blocks = Blocks(self.map)
        self.outer, self.caller = outer, caller
        self.asked_for = asked_for  #: what it gives to whoever asks for it, if it is no function that somebody wrote
        self.words = SourceWords(self.listing, tree)
        name = code.co_name
        #: whether it is no code of its own for a reader
        self.hidden = outer is not None and (name in _COMPREHENSIONS or name.startswith(_TYPE_PARAMETERS))
        #: the offset of what stores the docstring of a class or a module, if there is one
        self.docstring = {row.offset for before, row in pairwise(self.listing.rows) if _stores_docstring(before, row)}
        self._stops: dict[Region | None, list[Stop]] = {}

    def stops(self, row: Row) -> list[Stop]:
        """Where an exception of an instruction goes, up to whoever runs the code."""
        place = self.map.place_at(row.offset)
        key = self.map.innermost[place]
        if key not in self._stops:
            self._stops[key] = list(self._stops_from(place))
        return self._stops[key]

    def _stops_from(self, place: int) -> Iterator[Stop]:
        steps = way_from(self.map, place)
        own = {region.key: region for region in self.listing.regions}
        for number, step in enumerate(steps, 1):
            last = number == len(steps)
            if step.region is None:
                yield Stop(None, None, _caller(self), "", "", "", self.listing.name)
            elif not step.region.bookkeeping or last:
                region = own[step.region.key]
                told = self.words.handler(region, last=last)
                yield Stop(
                    region, told.line, told.words, self.words.label(region), told.lines, region.letter,
                    self.listing.name,
                )  # fmt: skip

    def handles(self, row: Row) -> bool:
        """Whether an exception is being handled at an instruction."""
        return bool(self.blocks.at(self.map.place_at(row.offset)).handled)

    def inside(self, row: Row) -> list[Inside]:
        """The regions around an instruction, outermost first."""
        return [
            Inside(each, self.words.label(each), self.words.lines(each), each.letter, self.listing.name)
            for each in row.chain
            if not each.bookkeeping
        ]


class _Told(NamedTuple):
    """An instruction, and what is to be told of it."""

    frame: _Frame
    row: Row
    inside: list[Inside]
    stops: list[Stop]


def ways(root: CodeType, line: int, tree: SourceTree | None = None) -> list[Way]:
    r"""The ways of exceptions that a line may raise; empty if no instruction is of that line. Outer code comes first.

    Args:
        root: the code object of the module, or any that is asked about with all in it.
        line: its number, from 1.
        tree: of its source. Without it, only what begins in the line is found, and regions have the words that the
            bytecode has for them.

    >>> code = compile("try: a()\nexcept OSError: b()\n", "example", "exec")
    >>> [way] = ways(code, 1)
    >>> [stop.words for stop in way.stops]
    ['runs if the class matches', 'the code that imports or executes the module']
    """
    frames = list(_frames(root, line, tree))
    of_line = [(frame, row) for frame in frames for row in frame.listing.rows if frame.words.line(row) == line]
    of_line = [(frame, row) for frame, row in of_line if not _made_up(row)] or of_line
    if not of_line and tree is not None and tree.holds_code(line):
        of_line = _spanning(frames, line, tree)
    raising = [(frame, row) for frame, row in of_line if _can_raise(row) and row.offset not in frame.docstring]
    found: dict[tuple[tuple[str, ...], object], list[_Told]] = {}
    for frame, row in raising or of_line:
        inside, stops, names = _from(frame, row)
        told = (tuple(each[1:3] for each in inside), tuple((each.label, each.lines, each.words) for each in stops))
        found.setdefault((names, told), []).append(_Told(frame, row, inside, stops))
    made = [_way(names, same, bool(raising)) for (names, _), same in found.items()]
    return _told_apart(made, list(found.values()), tree)


def _way(names: tuple[str, ...], same: list[_Told], raises: bool) -> Way:
    _, _, inside, stops = same[0]
    merged_inside = tuple(
        each._replace(letters=_letters(other[at].letters for _, _, other, _ in same)) for at, each in enumerate(inside)
    )
    merged = tuple(
        each._replace(letters=_letters(other[at].letters for _, _, _, other in same)) for at, each in enumerate(stops)
    )
    return Way(tuple(row for _, row, _, _ in same), merged, raises, merged_inside, names, "", "")


def _letters(letters: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(letters))


def _frames(root: CodeType, line: int, tree: SourceTree | None) -> Iterator[_Frame]:
    """The code objects that hold a line, outer before inner."""
    waiting: list[tuple[CodeType, _Frame | None, Row | None, str]] = [(root, None, None, "")]
    seen: set[tuple[int, int | None]] = set()
    while waiting:
        code, outer, caller, asked_for = waiting.pop()
        key = id(code), None if caller is None else caller.offset
        if key in seen or not holds_line(code, line):
            continue
        seen.add(key)
        frame = _Frame(code, outer, caller, tree, asked_for)
        yield frame
        rows = frame.listing.rows
        for at, row in reversed(list(enumerate(rows))):
            if row.code is not None:
                if _runs_on_the_spot(row.code):
                    waiting.append((row.code, frame, _call(rows, at), ""))
                else:
                    waiting.append((row.code, None, None, _asked_for(rows, at, frame.listing.code)))


def _runs_on_the_spot(code: CodeType) -> bool:
    is_class = not code.co_flags & CO_OPTIMIZED and code.co_name != "<module>"
    return is_class or code.co_name in _COMPREHENSIONS or code.co_name.startswith(_TYPE_PARAMETERS)


def _asked_for(rows: tuple[Row, ...], at: int, maker: CodeType) -> str:
    """What a code object gives that runs when somebody asks for it, going by what takes the function made of it."""
    code = rows[at].code
    number = next((n for n in range(at + 1, len(rows)) if rows[n].opname not in _MAKING), None)
    if code is None or number is None:
        return ""
    taken = rows[number]
    if taken.opname.startswith("CALL_INTRINSIC") and taken.operand in _LAZY:
        name = code.co_qualname if taken.operand == "INTRINSIC_TYPEALIAS" else code.co_name
        return f"{_LAZY[taken.operand]} of {name}"
    if code.co_name != _ANNOTATE or code.co_posonlyargcount != 1:  # of that name, but not what a compiler makes
        return ""
    if taken.opname == "STORE_NAME" and taken.operand in _ANNOTATES:
        return f"the annotations of {'the module' if maker.co_name == '<module>' else maker.co_qualname}"
    owner = _annotated(rows[number:])
    return f"the annotations of {owner.co_qualname}" if owner else ""


def _annotated(rows: tuple[Row, ...]) -> CodeType | None:
    """The function that gets another one, made in front of these instructions, to give its annotations."""
    owner: CodeType | None = None
    for row in rows:
        if (row.opname, row.operand) == ("SET_FUNCTION_ATTRIBUTE", "annotate"):
            return owner
        if row.opname.startswith(("STORE_", "CALL", "RETURN")):
            break
        owner = row.code or owner
    return None


def _call(rows: tuple[Row, ...], at: int) -> Row:
    """The instruction that calls what is made of a code object that is loaded: the first call that takes it away."""
    before = rows[at].depth
    for row, after in zip(rows[at:], rows[at + 1 :], strict=False):
        known = before is not None and after.depth is not None
        if known and row.opname.startswith("CALL") and (after.depth or 0) <= (before or 0) + 1:
            return row
    return rows[at]


def _made_up(row: Row) -> bool:
    """Whether nobody wrote it: what begins a code object has a place of no width, what ends a class stores names."""
    if row.opname == "STORE_NAME" and row.operand in _ENDS_OF_CLASSES:
        return True
    return row.location is not None and row.location[:2] == (row.line,) * 2 and row.location[2:] == (0, 0)


def _stores_docstring(before: Row, row: Row) -> bool:
    """Whether an instruction stores a docstring: unlike with an assignment, name and value stand in the same place."""
    return (row.opname, row.operand) == ("STORE_NAME", "__doc__") and row.location == before.location


def _can_raise(row: Row) -> bool:
    return row.opname not in _NOTHING_OF_ITS_OWN and not CURRENT.raises_on_signal[CURRENT.number[row.opname]]


def _spanning(frames: list[_Frame], line: int, tree: SourceTree) -> list[tuple[_Frame, Row]]:
    """The instructions of what spans a line that none begins in, the narrowest of it, within the same statement."""
    first, last = tree.logical_line(line) or (line, line)
    extents: dict[int, list[tuple[_Frame, Row]]] = {}
    for frame in frames:
        for row in frame.listing.rows:
            extent = frame.words.extent(row)
            if extent is None or row.code is not None or row.opname in _OF_DEFINITIONS or _made_up(row):
                continue
            if first <= extent[0] <= line <= extent[2] <= last:
                extents.setdefault(extent[2] - extent[0], []).append((frame, row))
    return extents[min(extents)] if extents else []


def _from(frame: _Frame, row: Row) -> tuple[list[Inside], list[Stop], tuple[str, ...]]:
    """What is around an instruction, where its exceptions go, and the names of the code objects on the way."""
    inside: list[Inside] = []
    stops: list[Stop] = []
    names: list[str] = []
    here: _Frame | None = frame
    at: Row | None = row
    while here is not None and at is not None:
        inside += here.inside(at)
        if not here.hidden:
            names.append(here.listing.name)
        stops += here.stops(at)
        if stops[-1].region is not None:
            break
        if here.hidden:
            stops.pop()
        at, here = here.caller, here.outer
    return inside, stops, tuple(names)


def _told_apart(made: list[Way], groups: list[list[_Told]], tree: SourceTree | None) -> list[Way]:
    """The ways, those of one code object with what tells them apart."""
    texts = [_segments(group, tree) for group in groups]
    result = []
    for number, way in enumerate(made):
        beside = [other for other, each in enumerate(made) if each.qualnames == way.qualnames and other != number]
        which, when = texts[number] if beside else "", ""
        if any(texts[other] == texts[number] for other in beside):
            handled = {frame.handles(row) for frame, row, *_ in groups[number]}
            if len(handled) == 1:
                when = "after an exception" if handled == {True} else "when nothing was raised before"
        result.append(way._replace(which=which, when=when))
    return result


def _segments(group: list[_Told], tree: SourceTree | None) -> str:
    """The parts of the source that some instructions are of, without those that are part of another."""
    extents = {extent for frame, row, *_ in group if (extent := frame.words.extent(row)) is not None}
    if tree is None or not extents:
        return ", ".join(dict.fromkeys(f"{row.opname} ({row.offset})" for _, row, *_ in group[:_SEGMENTS]))
    whole: list[Extent] = []
    for extent in sorted(extents, key=lambda each: (each[:2], (-each[2], -each[3]))):
        if not whole or not extent[2:] <= whole[-1][2:]:
            whole.append(extent)
    texts = list(dict.fromkeys(tree.text(extent) for extent in whole))
    more = f" and {len(texts) - _SEGMENTS} more" if len(texts) > _SEGMENTS else ""
    return ", ".join(texts[:_SEGMENTS]) + more


def _caller(frame: _Frame) -> str:
    code, outer = frame.listing.code, frame.outer
    if frame.asked_for:
        return f"the code that asks for {frame.asked_for}"
    if code.co_name == "<module>":
        return "the code that imports or executes the module"
    if not code.co_flags & CO_OPTIMIZED:
        while outer is not None and outer.hidden:
            outer = outer.outer
        return f"the code that makes the class {code.co_qualname}" + (f", in {outer.listing.name}" if outer else "")
    if code.co_flags & (CO_GENERATOR | CO_ASYNC_GENERATOR):
        return f"the code that asks {code.co_qualname} for its next value"
    if code.co_flags & CO_COROUTINE:
        return f"the code that awaits {code.co_qualname}"
    return f"the caller of {code.co_qualname}"
