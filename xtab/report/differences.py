"""`compare`: two listings side by side: which instructions belong together, and what became of the regions.

1. Instructions are aligned by name and operand (`xtab.report.align`); of a jump the name only, since labels are
   numbered anew; a load that borrows is the same as one that doesn't.
2. Two regions belong together if their handlers begin at instructions that do; what is on one side only is passed over,
   so that code put before a handler makes no other region of it. The same goes for where jumps lead.
3. A pair of instructions has changed if it lies in other regions on the right, leads to another place, or has another
   name or depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from xtab.format.opcodes import CURRENT
from xtab.report.align import align
from xtab.report.fields import changed_fields

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from xtab.analysis.regions import Region
    from xtab.report.fields import FieldChange
    from xtab.report.listing import Listing, Row

__all__ = ["Difference", "Mark", "RegionPair", "RowPair", "compare", "pair_up"]


class Mark(StrEnum):
    """What became of something."""

    SAME = "="
    REMOVED = "-"
    ADDED = "+"
    CHANGED = "~"


class RowPair(NamedTuple):
    """An instruction on each side, or on one only."""

    mark: Mark
    left: Row | None
    right: Row | None
    changes: tuple[str, ...]  #: what is not the same: ``regions``, ``target``, ``opcode``, ``depth``


class RegionPair(NamedTuple):
    """A region on each side, or on one only.

    Of two, `mark` tells whether kind, depth, lasti, the region around it and the number of pieces are the same.
    """

    mark: Mark
    left: Region | None
    right: Region | None


@dataclass(frozen=True, eq=False)
class Difference:
    """Two listings of one code object, or one listing where the other side has none."""

    left: Listing | None
    right: Listing | None
    rows: tuple[RowPair, ...]
    regions: tuple[RegionPair, ...]
    fields: tuple[FieldChange, ...]  #: what else differs, of two

    @property
    def same(self) -> bool:
        """Whether nothing changed that is compared."""
        if self.left is not None and self.right is not None:
            if self.fields or self.left.code.co_stacksize != self.right.code.co_stacksize:
                return False
        elif self.left is not self.right:
            return False
        marks = [pair.mark for pair in self.rows] + [pair.mark for pair in self.regions]
        return set(marks) <= {Mark.SAME}

    @property
    def name(self) -> str:
        """The qualified name."""
        listing = self.left or self.right
        assert listing is not None
        return listing.name


def compare(left: Listing | None, right: Listing | None) -> Difference:
    """What is the same in two listings, and what is not; where one is None, all of the other is new, or gone."""
    rows, rows_right = () if left is None else left.rows, () if right is None else right.rows
    pairs = align([_key(row) for row in rows], [_key(row) for row in rows_right])
    places = _Places(pairs, rows, rows_right)
    regions = _pair_regions(() if left is None else left.regions, () if right is None else right.regions, places)
    same_region = {id(pair.left): pair.right for pair in regions if pair.left is not None}
    compared = []
    for a, b in pairs:
        if a is None or b is None:
            mark = Mark.ADDED if a is None else Mark.REMOVED
            compared.append(RowPair(mark, None if a is None else rows[a], None if b is None else rows_right[b], ()))
        else:
            changes = _changes(rows[a], rows_right[b], same_region, places)
            compared.append(RowPair(Mark.CHANGED if changes else Mark.SAME, rows[a], rows_right[b], changes))
    fields = () if left is None or right is None else changed_fields(left, right)
    return Difference(left, right, tuple(compared), regions, fields)


def _key(row: Row) -> Hashable:
    name = _PLAIN.get(row.opname, row.opname)
    return (name, None) if row.target is not None else (name, row.operand)


_PLAIN = {str(CURRENT.name[borrowing]): str(CURRENT.name[plain]) for borrowing, plain in CURRENT.borrows.items()}
# the direction of a jump is part of its name
_PLAIN |= {str(CURRENT.name[back]): str(CURRENT.name[forward]) for back, forward in CURRENT.forward_form.items()}


class _Places:
    """For each offset of either side the number of the next pair of instructions, which is the same for both sides."""

    def __init__(
        self, pairs: Sequence[tuple[int | None, int | None]], rows: Sequence[Row], rows_right: Sequence[Row]
    ) -> None:
        self.left: dict[int, int] = {}
        self.right: dict[int, int] = {}
        number = len(pairs)
        for place in range(len(pairs) - 1, -1, -1):
            a, b = pairs[place]
            if a is not None and b is not None:
                number = place
            if a is not None:
                self.left[rows[a].offset] = number
            if b is not None:
                self.right[rows_right[b].offset] = number


def _pair_regions(left: Sequence[Region], right: Sequence[Region], places: _Places) -> tuple[RegionPair, ...]:
    """Regions whose handlers belong together, in order of the left side, then those of the right side alone."""
    at: dict[int, list[Region]] = {}
    for region in right:
        at.setdefault(places.right[region.handler], []).append(region)
    partner: dict[int, Region] = {}
    for region in left:
        choice = at.get(places.left[region.handler], [])
        if choice:
            best = min(choice, key=partial(_unlike, region))
            choice.remove(best)
            partner[id(region)] = best
    pairs = []
    for region in left:
        found = partner.get(id(region))
        if found is None:
            pairs.append(RegionPair(Mark.REMOVED, region, None))
            continue
        around = None if region.parent is None else partner.get(id(region.parent))
        same = region.kind == found.kind and region.depth == found.depth and region.lasti == found.lasti
        same = same and found.parent is around and len(region.pieces) == len(found.pieces)
        pairs.append(RegionPair(Mark.SAME if same else Mark.CHANGED, region, found))
    taken = {id(region) for region in partner.values()}
    pairs += (RegionPair(Mark.ADDED, None, region) for region in right if id(region) not in taken)
    return tuple(pairs)


def _unlike(one: Region, other: Region) -> tuple[bool, bool, int]:
    return one.kind != other.kind, one.lasti != other.lasti, abs(one.depth - other.depth)


def _changes(left: Row, right: Row, same_region: dict[int, Region | None], places: _Places) -> tuple[str, ...]:
    changes = []
    if [same_region[id(region)] for region in left.chain] != list(right.chain):
        changes.append("regions")
    both = left.target is not None and right.target is not None  # never one alone: its key would be another
    if both and places.left[left.target or 0] != places.right[right.target or 0]:
        changes.append("target")
    if left.opname != right.opname:
        changes.append("opcode")
    if left.depth != right.depth:
        changes.append("depth")
    return tuple(changes)


def pair_up(left: Sequence[Listing], right: Sequence[Listing]) -> list[tuple[Listing | None, Listing | None]]:
    """The first listings of both sides, and those of the same qualified name within them, in order.

    Of several with one name, the first belongs to the first and so on.
    """
    pairs: list[tuple[Listing | None, Listing | None]] = []
    for a, b in align(_names(left), _names(right)):
        pairs.append((None if a is None else left[a], None if b is None else right[b]))
    return pairs


def _names(listings: Sequence[Listing]) -> list[str]:
    first = listings[0].name if listings else ""
    return [each.name.removeprefix(first) for each in listings]
