"""`show`: what there is to show of a code object, once; the other modules of this room only arrange it.

A `Listing` has the instructions as `Row` values with the chain of regions around each, the regions, the entries of the
table as stored, and what the verifier says. Nothing in it knows of columns, colours or HTML. Operands are named as
``Lib/dis.py`` (`ArgResolver`) names them, where it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from xtab.analysis.code_map import CodeMap
from xtab.analysis.verify import CodeParts, Problem, verify_parts
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.report.operands import operand_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xtab.analysis.regions import Region
    from xtab.format.code import HasCode
    from xtab.format.exception_table import ExceptionTableEntry
    from xtab.format.locations import Location

__all__ = ["Listing", "Row", "show"]


class Row(NamedTuple):
    """One instruction, prefixes and caches included. Offsets are in bytes."""

    offset: int  #: of its first unit
    end: int  #: behind its last cache
    location: Location | None  #: in the source
    depth: int | None  #: values on the stack before it; None: unknown, or it can't be reached
    opname: str
    arg: int | None  #: the operand as a number; None for opcodes without one
    operand: str  #: what the operand stands for; of a jump ``to L3``
    label: str | None  #: ``L3``, where a jump leads here
    target: int | None  #: offset that a jump leads to
    chain: tuple[Region, ...]  #: the regions around it, outermost first
    handles: tuple[Region, ...]  #: the regions whose handler begins here
    code: CodeType | None  #: the code object that it loads, if it does

    @property
    def line(self) -> int | None:
        """The source line, or None."""
        return None if self.location is None else self.location.line


@dataclass(eq=False, repr=False)
class Listing:
    """What there is to show of one code object; ``str()`` is the text that ``xtab dis`` prints, without colour.

    >>> import xtab
    >>> listing = xtab.show(compile("with a: b", "example", "exec"))
    >>> print(listing.regions[0].letter, listing.regions[0].label)
    A with
    >>> "◀ A with" in str(listing)
    True
    """

    code: CodeType
    python: str  #: version of CPython that it is of, such as ``3.13``
    rows: tuple[Row, ...]
    regions: tuple[Region, ...]
    entries: tuple[ExceptionTableEntry, ...]  #: of the table, as stored
    code_map: CodeMap  #: what leads where in it

    @property
    def stack_needed(self) -> int:
        """Slots that the instructions which can be reached need."""
        return self.code_map.stack_needed

    @property
    def name(self) -> str:
        """The qualified name."""
        return self.code.co_qualname

    @property
    def version(self) -> str:
        """What it is of, in words: ``CPython 3.13``."""
        return f"CPython {self.python}"

    @cached_property
    def shown(self) -> tuple[Region, ...]:
        """The regions that somebody wrote: those that the compiler made for itself are left out."""
        return tuple(region for region in self.regions if not region.bookkeeping)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """What `verify` finds."""
        return verify_parts(CodeParts.of(self.code))

    @cached_property
    def nested(self) -> tuple[Listing, ...]:
        """The code objects that are constants of this one, in order."""
        return tuple(show(each) for each in self.code.co_consts if isinstance(each, CodeType))

    def text(
        self,
        *,
        all_regions: bool = False,
        flat: bool = False,
        source: bool = False,
        ascii: bool = False,  # noqa: A002 (as the option of the command is called)
        color: bool = False,
    ) -> str:
        """The instructions with the regions beside them, the regions, and the same of the code objects inside.

        Args:
            all_regions: show those too that the compiler made for itself.
            flat: show the entries of the table as they are stored, instead of regions.
            source: show each line of the source above its instructions, where it can be found.
            ascii: use ASCII alone.
            color: add control sequences for a terminal.
        """
        from xtab.report.text import View, text_of  # noqa: PLC0415 (it draws what this module collects)

        return text_of(self, View(all_regions, flat, source, ascii, color))

    def to_json(self) -> dict[str, Any]:
        """All of it as values that `json` can write: what ``xtab dis --json`` prints of a code object.

        The form is described by ``schemas/dis.json`` in `xtab.cli`.
        """
        from xtab.report.json import listing_json  # noqa: PLC0415 (likewise)

        return listing_json(self)

    def __str__(self) -> str:
        return self.text()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 (as IPython calls it)
        """What IPython shows in a terminal."""
        printer.text(str(self))

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the page of it; None, and so the text, where the extra ``cli`` is not installed."""
        from xtab.report.html import fragment  # noqa: PLC0415 (likewise)

        return fragment(self)

    def __repr__(self) -> str:
        return f"<Listing of {self.name}: {len(self.rows)} instructions, {len(self.regions)} regions>"


def show(code: HasCode) -> Listing:
    """What there is to show of a code object: its instructions, and the regions that protect them.

    Args:
        code: a code object, or anything that has one.

    Raises:
        DecodeError, TableFormatError: the code or its exception table can't be read.

    >>> import xtab
    >>> listing = xtab.show(lambda: None)
    >>> listing.rows[0].opname, listing.regions
    ('RESUME', ())
    """
    found = CodeMap.of(code)
    source = found.source
    return Listing(source.code, CURRENT.python, tuple(_rows(found)), found.regions, tuple(source.entries), found)


def _rows(found: CodeMap) -> Iterator[Row]:
    source, code, depths = found.source, found.source.code, found.depths
    parts = CodeParts.of(code)
    chains: dict[Region | None, tuple[Region, ...]] = {region: region.chain for region in found.regions}
    chains[None] = ()
    handlers: dict[int, list[Region]] = {}
    for region in found.regions:
        handlers.setdefault(region.handler, []).append(region)
    labels = {place: f"L{number}" for number, place in enumerate(sorted(set(found.jumps.values())), 1)}
    for place, (opcode, arg) in enumerate(zip(found.opcodes, found.args, strict=True)):
        offset, target = found.offset(place), source.targets.get(place)
        leads_to = None if target is None else found.offset(target)
        kind = CURRENT.kind[opcode]
        loaded = code.co_consts[arg] if kind == OperandKind.CONST and arg < len(code.co_consts) else None
        yield Row(
            offset, found.offset(place + 1), source.location(place), depths[place],
            str(CURRENT.name[opcode]), None if kind == OperandKind.NONE else arg,
            operand_text(parts, opcode, arg) if target is None else f"to {labels.get(target, leads_to)}",
            labels.get(place), leads_to, chains[found.innermost[place]],
            tuple(handlers.get(offset, ())), loaded if isinstance(loaded, CodeType) else None,
        )  # fmt: skip
