"""`regions`: the tree of what protects the instructions of a code object, in the reader's words.

1. A region is all entries of the table with one handler: the same target, depth and lasti.
2. Which region lies around which is found from the handlers (`xtab.model.nesting.region_parents`), and with it where a
   region begins and ends, all that is inside it included: its pieces (`nest`). Between two pieces is a hole.
3. What the region was in the source is told by the first instructions of its handler (`xtab.analysis.region_kinds`).
4. Letters go by first offset, outer before inner: capitals to what a person wrote, small ones to the bookkeeping that
   the compiler added.

CPython sources followed: ``InternalDocs/exception_handling.md`` and ``Python/assemble.c`` (`assemble_exception_table`).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING, NamedTuple

from xtab.analysis.region_kinds import BOOKKEEPING, Kind, kind_of
from xtab.format.code import code_of
from xtab.format.locations import Location
from xtab.format.opcodes import CURRENT
from xtab.format.printable import one_line
from xtab.model.decode import read_source
from xtab.model.nesting import nest, region_parents

if TYPE_CHECKING:
    from xtab.format.code import HasCode
    from xtab.format.exception_table import ExceptionTableEntry
    from xtab.model.nesting import RegionKey
    from xtab.model.source import Source

__all__ = ["Hole", "Region", "read_regions", "regions"]


class Hole(NamedTuple):
    """A gap between two pieces of a region: offsets in bytes, half-open."""

    start: int
    end: int
    quiet: bool  #: whether nothing in it can raise


@dataclass(eq=False, repr=False)
class Region:
    """All that one handler protects. Offsets are in bytes, ranges half-open; compared by identity.

    >>> import xtab
    >>> def add(box, item):
    ...     try:
    ...         box.add(item)
    ...     except (KeyError, box.Full):
    ...         return False
    >>> region = xtab.regions(add)[0]
    >>> region.letter, region.label, region.parent
    ('A', 'except KeyError, box.Full', None)
    """

    handler: int  #: offset of the handler's first instruction
    depth: int  #: values left on the stack when the handler is entered, before lasti and the exception
    lasti: bool  #: whether the place of the instruction that raised is pushed too
    kind: Kind  #: what it was in the source
    classes: tuple[str, ...]  #: of an ``except``: the classes that it names, as far as the bytecode tells
    letter: str  #: what it is called on screens: A, B …, AA; a, b … for bookkeeping
    entries: tuple[ExceptionTableEntry, ...]  #: its own lines of the table, without those of regions inside it
    pieces: tuple[tuple[int, int], ...]  #: where it holds, what is inside it included
    holes: tuple[Hole, ...]  #: between its pieces
    location: Location | None  #: from the first to the last source position of what it protects
    parent: Region | None = None  #: the region around it: who gets the exception if this handler raises it again
    children: list[Region] = field(default_factory=list)  #: the regions directly inside it, by first offset

    @property
    def key(self) -> RegionKey:
        """What its entries, and no others, have in common: handler, depth and lasti."""
        return self.handler, self.depth, self.lasti

    @property
    def bookkeeping(self) -> bool:
        """Whether the compiler made it for itself: nobody wrote it."""
        return self.kind in BOOKKEEPING

    @property
    def label(self) -> str:
        """The kind, and the classes where there are any: ``except KeyError, OSError``. Safe to print."""
        return one_line(f"{self.kind} {', '.join(self.classes)}") if self.classes else str(self.kind)

    @property
    def chain(self) -> tuple[Region, ...]:
        """The regions around it, and itself: outermost first."""
        found = [self]
        while found[-1].parent is not None:
            found.append(found[-1].parent)
        return tuple(reversed(found))

    def covers(self, offset: int) -> bool:
        """Whether the instruction at `offset`, in bytes, lies in one of the pieces."""
        return any(start <= offset < end for start, end in self.pieces)

    def __str__(self) -> str:
        """What it is called on screens: ``B except OSError``."""
        return f"{self.letter} {self.label}"

    def __repr__(self) -> str:
        return f"<Region {self}, handler {self.handler}, depth {self.depth}>"


def regions(code: HasCode) -> tuple[Region, ...]:
    """The regions of a code object by first offset, outer before inner, linked by ``parent`` and ``children``.

    Args:
        code: a code object, or anything that has one.

    Raises:
        DecodeError, TableFormatError: the code or its exception table can't be read.

    >>> import xtab
    >>> def ask(d):
    ...     try:
    ...         return d["k"]
    ...     except KeyError:
    ...         return None
    >>> [region.label for region in xtab.regions(ask) if not region.bookkeeping]
    ['except KeyError']
    """
    return read_regions(read_source(code_of(code)))


def read_regions(source: Source) -> tuple[Region, ...]:
    """The regions of code that was read already."""
    entries = source.entries
    if not entries:
        return ()
    parents = region_parents(entries)
    own: dict[RegionKey, list[ExceptionTableEntry]] = {key: [] for key in parents}
    for entry in entries:
        own[entry[2:]].append(entry)
    pieces: dict[RegionKey, list[tuple[int, int]]] = {key: [] for key in parents}
    for piece in nest(entries):
        pieces[piece[2:]].append((piece.start, piece.end))
    extents = _extents(source, parents)
    found: dict[RegionKey, Region] = {}
    letters = _Letters()
    for key in _in_order(pieces, parents):
        kind, classes = kind_of(source, *key)
        found[key] = Region(
            *key, kind, classes, letters.next(bookkeeping=kind in BOOKKEEPING), tuple(own[key]), tuple(pieces[key]),
            _holes(source, pieces[key]), extents[key],
        )  # fmt: skip
    for key, region in found.items():
        around = parents[key]
        if around is not None:
            region.parent = found[around]
            found[around].children.append(region)
    return tuple(found.values())


def _in_order(
    pieces: dict[RegionKey, list[tuple[int, int]]], parents: dict[RegionKey, RegionKey | None]
) -> list[RegionKey]:
    """Regions by first offset; of those that begin together, the outer one first."""
    levels: dict[RegionKey, int] = {}
    for start in parents:
        path: list[RegionKey] = []
        key: RegionKey | None = start
        while key is not None and key not in levels:
            path.append(key)
            key = parents[key]
        level = -1 if key is None else levels[key]
        for inner in reversed(path):
            level += 1
            levels[inner] = level
    return sorted(parents, key=lambda key: (pieces[key][0][0], levels[key]))


def _holes(source: Source, pieces: list[tuple[int, int]]) -> tuple[Hole, ...]:
    holes = []
    for (_, start), (end, _) in pairwise(pieces):
        first, last = bisect_left(source.starts, start >> 1), bisect_left(source.starts, end >> 1)
        quiet = all(CURRENT.quiet[opcode] for opcode in source.opcodes[first:last])
        holes.append(Hole(start, end, quiet))
    return tuple(holes)


def _extents(source: Source, parents: dict[RegionKey, RegionKey | None]) -> dict[RegionKey, Location | None]:
    """From the first to the last source position that each region covers, those of the regions inside it included."""
    spots: dict[RegionKey, list[Location]] = {key: [] for key in parents}
    for (first, end, *_), entry in zip(source.shape.entries, source.entries, strict=True):
        known = spots[entry[2:]]
        for place in range(first, end):
            location = source.location(place)
            if location is not None and location.line is not None:
                known.append(location)
    extents = {key: _united(known) for key, known in spots.items()}
    for key in _inner_first(parents):
        around = parents[key]
        if around is not None:
            both = [extent for extent in (extents[key], extents[around]) if extent is not None]
            extents[around] = _united(both)
    return extents


def _inner_first(parents: dict[RegionKey, RegionKey | None]) -> list[RegionKey]:
    """Every region before the one around it."""
    waiting = dict.fromkeys(parents, 0)
    for around in parents.values():
        if around is not None:
            waiting[around] += 1
    order = [key for key, count in waiting.items() if not count]
    for key in order:  # grows as it goes
        around = parents[key]
        if around is not None:
            waiting[around] -= 1
            if not waiting[around]:
                order.append(around)
    return order


def _united(locations: list[Location]) -> Location | None:
    """From the first to the last of some positions; those that are only a line count where there are no others."""
    if not locations:
        return None
    locations = [each for each in locations if each.column is not None] or locations
    first = min((each.line or 0, each.column if each.column is not None else -1) for each in locations)
    last = max((each.end_line or each.line or 0, each.end_column or -1) for each in locations)
    columns = (column if column >= 0 else None for column in (first[1], last[1]))
    return Location(first[0], last[0], *columns)


class _Letters:
    """A, B … Z, AA, AB … for what was written, a, b … for bookkeeping."""

    def __init__(self) -> None:
        self._given = [0, 0]

    def next(self, *, bookkeeping: bool) -> str:
        number = self._given[bookkeeping]
        self._given[bookkeeping] += 1
        alphabet = ascii_lowercase if bookkeeping else ascii_uppercase
        letters = ""
        while number >= 0:
            letters = alphabet[number % 26] + letters
            number = number // 26 - 1
        return letters
