"""`Instruction` and `Span`: what a body is made of.

An instruction that `decode` made keeps its operand as the number it found, and its location as a reference into the location
table it came from, until somebody asks; so reading a code object costs little. Both are resolved on access.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Final

from xtab.errors import XtabError
from xtab.format.locations import Location
from xtab.format.opcodes import CURRENT, Kind

if TYPE_CHECKING:
    from xtab.model.tables import Tables

__all__ = ["Instruction", "Span"]


class _Raw:
    """Stands in `Instruction._operand` for "the number in `_arg` says it"."""

    def __repr__(self) -> str:
        return "RAW"


RAW: Final = _Raw()
_NOT_GIVEN: Final = _Raw()


class Span:
    """The virtual exception table entry that instructions carry: where to go when one of them raises.

    All instructions of a span share the one object; the span's extent *is* the set of instructions that carry it, or a span
    inside it. Compared by identity.

    >>> import xtab
    >>> handler = xtab.Instruction("PUSH_EXC_INFO")
    >>> xtab.Span(handler, depth=2, lasti=True)
    Span(PUSH_EXC_INFO, depth=2, lasti=True)
    """

    __slots__ = ("depth", "lasti", "outer", "target")

    def __init__(
        self, target: Instruction, depth: int | None = None, lasti: bool = False, outer: Span | None = None
    ) -> None:
        self.target = target  #: the handler: the first instruction that runs after the exception was pushed
        #: values left on the stack when the handler is entered, in slots; None: assembly computes it
        self.depth = depth
        #: whether the offset of the instruction that raised is pushed below the exception, for RERAISE to read
        self.lasti = lasti
        #: the span around this one, or None: who gets the exception if the handler raises again
        self.outer = outer

    def __repr__(self) -> str:
        inside = "" if self.outer is None else f", outer={self.outer!r}"
        return f"Span({self.target.opname}, depth={self.depth}, lasti={self.lasti}{inside})"


class Instruction:
    """One instruction: an opcode, an operand, the span that protects it, a location. Compared by identity.

    Inline caches and EXTENDED_ARG don't exist here; `assemble` makes them. The operand is what the number in the bytecode
    stands for: a name, a constant, a local variable's name, the `Instruction` that is jumped to, or a plain
    number for counts and the like.

    Args:
        op: name of the opcode, or its number.
        operand: what the opcode works on; leave it out where there is none. A jump may get its target later.
        flags: the low bits that some operands carry beside the name: 1 for a LOAD_GLOBAL that pushes NULL as well, or for a
            LOAD_ATTR that loads a method. None: 0, or what the comparison needs for COMPARE_OP.
        location: where in the source it stands, or None.
        exn_tab_entry: the innermost span that protects it, or None.

    Raises:
        XtabError: the opcode is unknown to this Python, or the operand is missing or too much.

    >>> import xtab
    >>> xtab.Instruction("LOAD_FAST", "x")
    Instruction('LOAD_FAST', 'x')
    >>> xtab.Instruction("LOAD_GLOBAL", "print", flags=1)
    Instruction('LOAD_GLOBAL', 'print', flags=1)
    """

    # _opcode: number of the opcode
    # _arg: with _operand RAW: the operand as a number, an index in the lists of _source.
    #       Otherwise: the flags; for a jump, the distance it once had, whose size it keeps.
    # _operand: RAW, or what was given; always the target for jumps, always RAW where there is no operand
    # _location: None, a Location, or an int: the number of an entry in _source.locations
    # _source: the Tables of the body it was decoded from, or None
    # _place: where it stood when it was decoded, or -1: a hint where to look for it
    __slots__ = ("_arg", "_location", "_opcode", "_operand", "_place", "_source", "exn_tab_entry")

    _opcode: int
    _arg: int
    _operand: Any
    _location: int | Location | None
    _source: Tables | None
    _place: int
    exn_tab_entry: Span | None

    def __init__(
        self,
        op: str | int,
        operand: Any = _NOT_GIVEN,
        *,
        flags: int | None = None,
        location: Location | None = None,
        exn_tab_entry: Span | None = None,
    ) -> None:
        opcode = opcode_number(op)
        kind = CURRENT.kind[opcode]
        if operand is _NOT_GIVEN:
            if kind not in (Kind.NONE, Kind.TARGET):
                msg = f"expected an operand for {CURRENT.name[opcode]}, but found none"
                raise XtabError(msg)
            operand = RAW if kind == Kind.NONE else None
        elif kind == Kind.NONE:
            msg = f"expected no operand for {CURRENT.name[opcode]}, but found {operand!r}"
            raise XtabError(msg)
        self._opcode = opcode
        self._operand = operand
        self._arg = 0
        self._source = None
        self._place = -1
        self._location = None if location is None else Location(*location)
        self.exn_tab_entry = exn_tab_entry
        if flags is None and opcode == CURRENT.compare_op:
            flags = CURRENT.comparison_flags(operand)
        if flags:
            self.flags = flags

    @property
    def opcode(self) -> int:
        """Number of the opcode. Setting it keeps the operand."""
        return self._opcode

    @opcode.setter
    def opcode(self, op: str | int) -> None:
        operand, flags = self.operand, self.flags
        self._opcode = opcode_number(op)
        kind = CURRENT.kind[self._opcode]
        self._operand = RAW if kind == Kind.NONE else operand
        self._arg = flags & self._flag_mask

    @property
    def opname(self) -> str:
        """Name of the opcode. Setting it keeps the operand."""
        return CURRENT.name[self._opcode] or f"<{self._opcode}>"

    @opname.setter
    def opname(self, op: str) -> None:
        self.opcode = op  # type: ignore[assignment]  # the setter takes names too

    @property
    def operand(self) -> Any:
        """What the opcode works on: a name, a constant, an `Instruction`, a number; None where there is none."""
        if self._operand is RAW:
            return None if self._source is None else self._source.operand(self._opcode, self._arg)
        return self._operand

    @operand.setter
    def operand(self, operand: Any) -> None:
        kind = CURRENT.kind[self._opcode]
        if kind == Kind.NONE:
            msg = f"expected no operand for {self.opname}, but found {operand!r}"
            raise XtabError(msg)
        self._arg = 0 if kind == Kind.TARGET else self.flags
        self._operand = operand

    @property
    def flags(self) -> int:
        """The low bits of the operand that belong to no name: see the class."""
        return self._arg & self._flag_mask

    @flags.setter
    def flags(self, flags: int) -> None:
        mask = self._flag_mask
        if not 0 <= flags <= mask:
            msg = f"expected flags from 0 to {mask} for {self.opname}, but found {flags!r}"
            raise XtabError(msg)
        self._arg = self._arg & ~mask | flags

    @property
    def _flag_mask(self) -> int:
        return (1 << CURRENT.flag_bits[self._opcode]) - 1

    @property
    def arg(self) -> int | None:
        """The operand as a number, as it stood in the code object; None where the operand was given or set since."""
        return self._arg if self._operand is RAW or (self._source and self.is_jump and self._arg) else None

    @property
    def target(self) -> Instruction | None:
        """The instruction that a jump leads to (END_ASYNC_FOR of 3.14 and later points at its END_SEND), else None."""
        return self._operand if CURRENT.kind[self._opcode] == Kind.TARGET else None

    @target.setter
    def target(self, target: Instruction) -> None:
        if CURRENT.kind[self._opcode] != Kind.TARGET:
            msg = f"expected a jump, but found {self.opname}, which has no target"
            raise XtabError(msg)
        self.operand = target

    @property
    def is_jump(self) -> bool:
        """Whether the operand is another instruction."""
        return CURRENT.kind[self._opcode] == Kind.TARGET

    @property
    def location(self) -> Location | None:
        """Where in the source it stands, a `Location`, or None: nowhere."""
        location = self._location
        if isinstance(location, int):
            assert self._source is not None
            return self._source.locations.location(location)
        return location

    @location.setter
    def location(self, location: Location | tuple[int | None, int | None, int | None, int | None] | None) -> None:
        self._location = None if location is None else Location(*location)

    def __repr__(self) -> str:
        kind = CURRENT.kind[self._opcode]
        parts = [repr(self.opname)]
        if kind == Kind.TARGET:
            target = self._operand
            parts.append(f"<{target.opname}>" if isinstance(target, Instruction) else repr(target))
        elif kind != Kind.NONE:
            parts.append(repr(self.operand))
        if self.flags:
            parts.append(f"flags={self.flags}")
        return f"Instruction({', '.join(parts)})"


def opcode_number(op: str | int) -> int:
    """The number of an opcode given by name or number; XtabError if this version has none such."""
    number = CURRENT.number.get(op) if isinstance(op, str) else op
    if isinstance(number, int) and 0 <= number < 256 and CURRENT.name[number] is not None:
        return number
    version = ".".join(map(str, CURRENT.version))
    close = difflib.get_close_matches(op, CURRENT.number, n=3) if isinstance(op, str) else []
    hint = f"; close to it: {', '.join(close)}" if close else ""
    msg = f"expected an opcode of CPython {version}, but found {op!r}{hint}"
    raise XtabError(msg)
