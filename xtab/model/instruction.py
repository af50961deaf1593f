"""`Instruction` and `Span`: what a body is made of.

An instruction that `decode` made is just a place in its `Source` until somebody sets something of it; then, like one
that was made by hand, it has `Fields` of its own.
"""

from __future__ import annotations

import difflib
from copy import copy as copy_of
from typing import TYPE_CHECKING, Any, Final

from xtab.errors import XtabError
from xtab.format.locations import Location
from xtab.format.opcodes import CURRENT, OperandKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xtab.model.source import Source

__all__ = ["Instruction", "Span"]


class _Mark:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


RAW: Final = _Mark("RAW")
"""In `Fields.operand`: the number in `arg` says it."""
AS_DECODED: Final = _Mark("AS_DECODED")
"""In `Fields.location`: what the source says of the place."""
NOT_GIVEN: Final = _Mark("NOT_GIVEN")


class Fields:
    """What an instruction holds by itself once it was touched, or when it was made and not decoded."""

    __slots__ = ("arg", "location", "opcode", "operand", "place")

    def __init__(self, opcode: int, arg: int, operand: Any, location: Any, place: int) -> None:
        self.opcode = opcode
        #: with `operand` RAW: the operand as a number, an index in the lists of the source. Otherwise: the flags; for
        #: a jump that was decoded, the distance it had then, so that it keeps its size
        self.arg = arg
        self.operand = operand  #: RAW, or what was given; for jumps, the target; RAW where there is no operand
        self.location = location  #: AS_DECODED, a Location or None
        self.place = place  #: in the source, or -1


class Stencil:
    """What all copies of some instructions say, once: see `copies`. Copies know by themselves beside what they stand.

    As the `location` of fields it says that an instruction stands where its `_where` does: in the source `source`
    when that is a place, so that nobody has to read a location before somebody asks for it.
    """

    __slots__ = ("args", "fields", "opcodes", "source", "touched")

    def __init__(self, source: Source, instructions: Sequence[Instruction]) -> None:
        self.source = source
        self.fields: list[Fields] = []  #: shared by all copies; one that is touched gets its own
        for each in instructions:
            own: Any = each._at if each._source is None else copy_of(each)._at
            self.fields.append(Fields(own.opcode, own.arg, own.operand, self, -1))
        self.opcodes = bytes([fields.opcode for fields in self.fields])
        self.args = [fields.arg for fields in self.fields]  #: as far as they are numbers
        self.touched = False  #: whether a copy was given something of its own, or another span

    def run_at(self, instructions: Sequence[Instruction], place: int) -> Sequence[Instruction] | None:
        """The copies from a place on, if they stand there, all of them and beside the same instruction."""
        run = instructions[place : place + len(self.fields)]
        try:
            if [each._at for each in run] == self.fields and len({each._where for each in run}) == 1:
                return run
        except AttributeError:  # no Instruction
            pass
        return None


class Span:
    """The virtual exception table entry that instructions carry: where to go when one of them raises.

    All instructions of a span share the one object; the span's extent *is* the set of instructions that carry it, or
    a span inside it. Compared by identity.

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
        inside = "" if self.outer is None else f", outer=<{self.outer.target.opname}>"
        return f"Span({self.target.opname}, depth={self.depth}, lasti={self.lasti}{inside})"


class Instruction:
    """One instruction: an opcode, an operand, the span that protects it, a location. Compared by identity.

    Inline caches and EXTENDED_ARG don't exist here; `assemble` makes them. The operand is what the number in the
    bytecode stands for: a name, a constant, a local variable's name, the `Instruction` that is jumped to, or a plain
    number for counts and the like.

    Args:
        op: name of the opcode, or its number.
        operand: what the opcode works on; leave it out where there is none. A jump may get its target later.
        flags: the low bits that some operands carry beside the name: 1 for a LOAD_GLOBAL that pushes NULL as well, or
            for a LOAD_ATTR that loads a method. None: 0, or what the comparison needs for COMPARE_OP.
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

    # _source: the Source it was decoded from, or None
    # _at: its place there, as long as nobody touched it; then, and in made ones, Fields
    # _span: the innermost span that protects it
    # _target: what it jumps to; only set for jumps that were decoded, and only right while nobody touched them
    # _where: only set in copies with a Stencil: a place in the stencil's source, a Location or None
    __slots__ = ("_at", "_source", "_span", "_target", "_where")

    _source: Source | None
    _at: int | Fields
    _target: Instruction
    _span: Span | None
    _where: int | Location | None

    def __init__(
        self,
        op: str | int,
        operand: Any = NOT_GIVEN,
        *,
        flags: int | None = None,
        location: Location | None = None,
        exn_tab_entry: Span | None = None,
    ) -> None:
        opcode = opcode_number(op)
        if not CURRENT.legal[opcode]:
            msg = f"expected an opcode that compiled code may hold, but found {CURRENT.name[opcode]}"
            raise XtabError(msg)
        kind = CURRENT.kind[opcode]
        if operand is NOT_GIVEN:
            if kind not in (OperandKind.NONE, OperandKind.TARGET):
                msg = f"expected an operand for {CURRENT.name[opcode]}, but found none"
                raise XtabError(msg)
            operand = RAW if kind == OperandKind.NONE else None
        elif kind == OperandKind.NONE:
            msg = f"expected no operand for {CURRENT.name[opcode]}, but found {operand!r}"
            raise XtabError(msg)
        self._source = None
        self._at = Fields(opcode, 0, operand, _location(location), -1)
        self._span = exn_tab_entry
        if flags is None and opcode == CURRENT.compare_op:
            flags = CURRENT.comparison_flags(operand)
        if flags:
            self.flags = flags

    def _touch(self) -> Fields:
        """The fields of its own, made from the source when it had none."""
        at = self._at
        if isinstance(at, Fields):
            if isinstance(at.location, Stencil):  # these are for all copies
                at.location.touched = True
                self._at = at = Fields(at.opcode, at.arg, at.operand, self.location, -1)
            return at
        source = self._source
        assert source is not None
        operand = self._target if source.is_jump(at) else RAW
        arg = 0 if at in source.led else source.args[at]
        self._at = fields = Fields(source.opcodes[at], arg, operand, AS_DECODED, at)
        source.touched.add(at)
        return fields

    def _lead(self, instead: Mapping[Any, Instruction]) -> None:
        """Lead a jump to what stands instead of its target. That touches no other field: it may stay in a stretch."""
        at = self._at
        if isinstance(at, Fields):
            if CURRENT.kind[at.opcode] == OperandKind.TARGET and at.operand in instead:
                at.operand, at.arg = instead[at.operand], 0
            return
        source = self._source
        assert source is not None
        if source.is_jump(at) and self._target in instead:
            self._target = instead[self._target]
            source.led.add(at)

    def _arg(self) -> int:
        at = self._at
        return at.arg if isinstance(at, Fields) else self._source.args[at]  # type: ignore[union-attr]

    @property
    def opcode(self) -> int:
        """Number of the opcode. Setting it keeps the operand."""
        at = self._at
        return at.opcode if isinstance(at, Fields) else self._source.opcodes[at]  # type: ignore[union-attr]

    @opcode.setter
    def opcode(self, op: str | int) -> None:
        operand, flags = self.operand, self.flags
        fields = self._touch()
        fields.opcode = opcode_number(op)
        fields.operand = RAW if CURRENT.kind[fields.opcode] == OperandKind.NONE else operand
        fields.arg = flags & _flag_mask(fields.opcode)
        if fields.opcode == CURRENT.compare_op:
            fields.arg = CURRENT.comparison_flags(operand)

    @property
    def opname(self) -> str:
        """Name of the opcode. Setting it keeps the operand."""
        return CURRENT.name[self.opcode] or f"<{self.opcode}>"

    @opname.setter
    def opname(self, op: str) -> None:
        self.opcode = op

    @property
    def operand(self) -> Any:
        """What the opcode works on: a name, a constant, an `Instruction`, a number; None where there is none."""
        at, source = self._at, self._source
        if isinstance(at, Fields):
            if at.operand is not RAW:
                return at.operand
            return None if source is None else source.tables.operand(at.opcode, at.arg)
        assert source is not None
        return self._target if source.is_jump(at) else source.operand(at)

    @operand.setter
    def operand(self, operand: Any) -> None:
        kind = CURRENT.kind[self.opcode]
        if kind == OperandKind.NONE:
            msg = f"expected no operand for {self.opname}, but found {operand!r}"
            raise XtabError(msg)
        flags = self.flags
        fields = self._touch()
        fields.arg = 0 if kind == OperandKind.TARGET else flags
        if fields.opcode == CURRENT.compare_op:  # which results make it true belongs to the operator
            fields.arg = flags & ~15 | CURRENT.comparison_flags(operand)
        fields.operand = operand

    @property
    def flags(self) -> int:
        """The low bits of the operand that belong to no name: see the class."""
        return self._arg() & _flag_mask(self.opcode)

    @flags.setter
    def flags(self, flags: int) -> None:
        mask = _flag_mask(self.opcode)
        given: Any = flags
        if not (isinstance(given, int) and 0 <= given <= mask):
            msg = f"expected flags from 0 to {mask} for {self.opname}, but found {flags!r}"
            raise XtabError(msg)
        fields = self._touch()
        fields.arg = fields.arg & ~mask | flags

    @property
    def arg(self) -> int | None:
        """The operand as a number, as it stood in the code object; None where the operand was given or set since."""
        at = self._at
        if isinstance(at, Fields):
            return at.arg if at.operand is RAW or (at.arg and self.is_jump) else None
        source = self._source
        assert source is not None
        return None if at in source.led else source.args[at]

    @property
    def target(self) -> Instruction | None:
        """The instruction that a jump leads to (END_ASYNC_FOR of 3.14 and later points at its END_SEND), else None."""
        return self.operand if self.is_jump else None

    @target.setter
    def target(self, target: Instruction) -> None:
        if not self.is_jump:
            msg = f"expected a jump, but found {self.opname}, which has no target"
            raise XtabError(msg)
        self.operand = target

    @property
    def is_jump(self) -> bool:
        """Whether the operand is another instruction."""
        return CURRENT.kind[self.opcode] == OperandKind.TARGET

    @property
    def location(self) -> Location | None:
        """Where in the source it stands, a `Location`, or None: nowhere."""
        at, source = self._at, self._source
        if isinstance(at, Fields):
            if isinstance(at.location, Stencil):
                where = self._where
                return at.location.source.location(where) if isinstance(where, int) else where
            if at.location is not AS_DECODED:
                return at.location  # type: ignore[no-any-return]
            at = at.place
        assert source is not None
        return source.location(at)

    @location.setter
    def location(self, location: Location | tuple[int | None, int | None, int | None, int | None] | None) -> None:
        self._touch().location = _location(location)

    @property
    def exn_tab_entry(self) -> Span | None:
        """The innermost span that protects it, or None."""
        return self._span

    @exn_tab_entry.setter
    def exn_tab_entry(self, span: Span | None) -> None:
        self._span = span
        if self._source is not None:
            self._source.respanned = True
        elif isinstance(self._at, Fields) and isinstance(self._at.location, Stencil):
            self._at.location.touched = True

    def __copy__(self) -> Instruction:
        """A new instruction with the same opcode, operand, flags, location, span and target."""
        new = Instruction.__new__(Instruction)
        new._source = None
        operand = self.operand if CURRENT.kind[self.opcode] != OperandKind.NONE else RAW
        new._at = Fields(self.opcode, self.flags, operand, self.location, -1)
        new._span = self._span
        return new

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Refused: an instruction hangs on its body, and code objects can't be pickled."""
        raise TypeError(
            "an Instruction can't be pickled or deep-copied: copy.copy makes a new one; decode makes a new body"
        )

    def __repr__(self) -> str:
        kind = CURRENT.kind[self.opcode]
        parts = [repr(self.opname)]
        if kind == OperandKind.TARGET:
            target = self.operand
            parts.append(f"<{target.opname}>" if isinstance(target, Instruction) else repr(target))
        elif kind != OperandKind.NONE:
            parts.append(repr(self.operand))
        if self.flags:
            parts.append(f"flags={self.flags}")
        return f"Instruction({', '.join(parts)})"


def _location(given: Any) -> Location | None:
    """A Location, or None; one of four Nones is "no location" too."""
    if given is None:
        return None
    is_location = isinstance(given, tuple) and len(given) == len(Location._fields)
    if not is_location or not all(each is None or isinstance(each, int) for each in given):
        raise XtabError(f"expected a Location, four numbers in a tuple, or None, but found {given!r:.80}")
    location = Location(*given)
    return None if location == (None, None, None, None) else location


def _flag_mask(opcode: int) -> int:
    return (1 << CURRENT.flag_bits[opcode]) - 1


def opcode_number(op: str | int) -> int:
    """The number of an opcode given by name or number; XtabError if this version has none such."""
    number = CURRENT.number.get(op) if isinstance(op, str) else op
    if isinstance(number, int) and 0 <= number < 256 and CURRENT.name[number] is not None:
        return number
    close = difflib.get_close_matches(op, CURRENT.number, n=3) if isinstance(op, str) else []
    hint = f"; close to it: {', '.join(close)}" if close else ""
    msg = f"expected an opcode of CPython {CURRENT.python}, but found {op!r}{hint}"
    raise XtabError(msg)
