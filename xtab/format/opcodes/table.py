"""`Opcodes`: the facts of one CPython version, laid out by opcode number so that the loops of xtab only ever index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from xtab.format.opcodes import shared, signatures

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Opcodes", "OperandKind"]


class OperandKind:
    """What the operand of an opcode is."""

    NONE: Final = 0  #: there is none
    RAW: Final = 1  #: a number that stands for itself: a count, a depth, a set of flags
    CONST: Final = 2  #: a constant
    NAME: Final = 3  #: a name in co_names
    LOCAL: Final = 4  #: a local variable, or a cell that is passed on
    LOCAL_PAIR: Final = 5  #: two of them
    CELL: Final = 6  #: a cell or a free variable
    TARGET: Final = 7  #: another instruction
    WORD: Final = 8  #: one of a few fixed words, such as the operator of a BINARY_OP


class Opcodes:
    """One version's opcodes. Everything indexed by opcode has 256 places; what is no opcode is None or 0 there.

    What a constant of a version's file means stands here, at the attribute that it becomes, unless `shared` or
    `signatures` has one of that name.
    """

    def __init__(self, facts: Any) -> None:
        self.version: tuple[int, int] = facts.VERSION
        self.python = f"{self.version[0]}.{self.version[1]}"  #: the same as text, such as ``3.13``
        self.magic: int = facts.MAGIC  #: the number in the .pyc files of this version's releases
        self.number: dict[str, int] = facts.OPCODES  #: name -> opcode
        self.name: list[str | None] = [None] * 256  #: opcode -> name
        for name, number in self.number.items():
            self.name[number] = name
        self.least_stack_size: int = facts.LEAST_STACK_SIZE  #: co_stacksize of code that puts nothing on the stack
        #: whether neighbours with the same location share an entry of the location table
        self.merges_locations: bool = facts.MERGES_LOCATIONS
        #: whether an exception out of a Python callee is looked up in the unit before the instruction that called
        self.looks_up_unit_before: bool = facts.LOOKS_UP_UNIT_BEFORE
        #: whether the NULL that stands for "no self" in a call goes before the callable; else it goes behind
        self.null_first: bool = facts.NULL_FIRST
        #: flags of an IMPORT_NAME that imports right there, wherever it stands
        self.eager_import: int = facts.EAGER_IMPORT
        #: opcodes for which ``dis.stack_effect`` says something else than `effect`, and why ours is right
        self.stack_effect_differs: dict[str, str] = facts.STACK_EFFECT_DIFFERS
        self.extended_arg: int = self.number["EXTENDED_ARG"]
        self.nop: int = self.number["NOP"]
        self._lay_out_sizes(facts)
        self._lay_out_operands(facts)
        self._lay_out_flow(facts)
        self._lay_out_effects(facts)
        self._lay_out_signatures(facts)
        self._lay_out_waits(facts)

    def numbers(self, *names: str) -> frozenset[int]:
        """The numbers of those of the names that this version has."""
        return frozenset(self.number[name] for name in names if name in self.number)

    def _by_number(self, names: Any) -> frozenset[int]:
        """The same, of names in a collection."""
        return self.numbers(*names)

    def _lay_out_sizes(self, facts: Any) -> None:
        caches = [0] * 256
        for name, count in facts.CACHES.items():
            caches[self.number[name]] = count
        self.caches = tuple(caches)  #: code units of cache behind the opcode's own
        self.units = bytes(1 + count for count in caches)  #: code units of the instruction without prefixes
        not_compiled = self._by_number(shared.GENERATED_AT_RUN_TIME | {"EXTENDED_ARG"})
        self.unknown = bytes(name is None for name in self.name)  #: 1 where there is no opcode
        #: 1 for the opcodes that an instruction may have: prefixes and caches are no instructions
        self.legal = bytes(name is not None and op not in not_compiled for op, name in enumerate(self.name))

    def _lay_out_operands(self, facts: Any) -> None:
        #: what the operands stand for, by number, where they are words
        self.words: dict[int, tuple[str, ...]] = {self.number[name]: words for name, words in facts.OPERANDS.items()}
        kinds = bytearray(256)
        for op in self.number.values():  # from FIRST_WITH_OPERAND on they have one
            kinds[op] = OperandKind.RAW if op >= facts.FIRST_WITH_OPERAND else OperandKind.NONE
        for kind, ops in (
            (OperandKind.CONST, self._by_number(shared.CONST)),
            (OperandKind.NAME, self._by_number(shared.NAME)),
            (OperandKind.LOCAL, self._by_number(shared.LOCAL)),
            (OperandKind.LOCAL_PAIR, self._by_number(shared.LOCAL_PAIR)),
            (OperandKind.CELL, self._by_number(shared.CELL)),
            (OperandKind.TARGET, self._by_number(shared.JUMPS_FORWARD | shared.JUMPS_BACKWARD | facts.MARKS)),
            (OperandKind.WORD, frozenset(self.words)),
        ):
            for op in ops:
                kinds[op] = kind
        self.kind = bytes(kinds)  #: what the operand is, an `OperandKind`
        self.compare_op: int = self.number["COMPARE_OP"]
        #: opcodes whose operand may be a cell or a free variable; CELLS_AS_LOCALS: LOAD_FAST and its kin among them,
        #: which pass the cell itself on
        self.takes_cells = frozenset(
            self._by_number(shared.CELL | shared.LOCAL if facts.CELLS_AS_LOCALS else shared.CELL)
        )
        flag_bits = [0] * 256
        for name, bits in facts.FLAG_BITS.items():
            flag_bits[self.number[name]] = bits
        self.flag_bits = tuple(flag_bits)  #: low bits of the operand that don't belong to the index

    def _lay_out_flow(self, facts: Any) -> None:
        forward, backward = self._by_number(shared.JUMPS_FORWARD), self._by_number(shared.JUMPS_BACKWARD)
        marks, stops = self._by_number(facts.MARKS), self._by_number(shared.TERMINATORS)
        #: 1 where the operand is a distance forward, 2 where it is a distance backward (marks included), else 0
        self.distance = bytes(1 if op in forward else 2 if op in backward | marks else 0 for op in range(256))
        self.stops = bytes(op in stops for op in range(256))  #: 1 where control never falls through
        #: opcodes whose operand is a distance back to an instruction that control doesn't go to
        self.marks = frozenset(marks)
        #: opcode -> those that must stay right behind it if they stand there
        self.adjacent: dict[int, frozenset[int]] = {
            self.number[first]: frozenset(self._by_number(seconds)) for first, seconds in facts.ADJACENT.items()
        }
        loose = self._by_number(shared.OTHERS_MAY_FOLLOW)
        #: opcode -> the one that the interpreter takes for granted right behind it
        self.must_follow = {first: second for first, (second,) in self.adjacent.items() if first not in loose}
        self.keep_before = frozenset(self._by_number(shared.KEEP_BEFORE))
        #: the jump that leads back to these must go on doing so: throw() finds the opcode at its end
        self.keep_as_target = frozenset(self._by_number(facts.KEEP_AS_TARGET))
        runs_python = self._by_number(shared.RUNS_PYTHON)
        self.runs_python = bytes(op in runs_python for op in range(256))
        #: loads that borrow -> the same loads with a reference of their own
        self.borrows = {self.number[a]: self.number[b] for a, b in shared.BORROWS.items() if a in self.number}
        hands_on, method = self._by_number(facts.HANDS_ON), self._by_number(shared.HANDS_ON_METHOD)
        #: 1 where a value taken may be on the stack still when the instruction is done; 2 where it is if a method is loaded
        self.hands_on = bytes(1 if op in hands_on else 2 if op in method else 0 for op in range(256))
        self.prologue = tuple(self.number[name] for name in shared.PROLOGUE)
        there = [(a, b) for a, b in shared.DIRECTIONS.items() if b in self.number]
        #: the opcode that makes the same jump forward (backward), for those that have one
        self.forward_form = {self.number[b]: self.number[a] for a, b in [*there, *_swapped(shared.ONLY_BACKWARD)]}
        self.backward_form = {self.number[a]: self.number[b] for a, b in there}
        self.reversed = {self.number[a]: self.number[b] for a, b in shared.REVERSED.items() if a in self.number}

    def _lay_out_effects(self, facts: Any) -> None:
        self._effects: dict[int, int | Callable[[int], int]] = {
            op: facts.EFFECTS[name] for name, op in self.number.items()
        }
        raises_again = self._by_number(shared.RAISES_AGAIN)
        self.raises_again = bytes(op in raises_again for op in range(256))  #: 1 where what is on the stack is raised
        self._taken_when_raising = {self.number[name]: count for name, count in shared.TAKEN_WHEN_RAISING.items()}
        signals = self._by_number(shared.CANNOT_RAISE | shared.RAISES_ON_SIGNAL)
        self.raises_on_signal = bytes(op in signals for op in range(256))  #: 1 where nothing but a signal raises
        cannot_raise = self._by_number(shared.CANNOT_RAISE)
        self.cannot_raise = bytes(op in cannot_raise for op in range(256))
        quiet = self._by_number(shared.QUIET)
        self.quiet = bytes(op in quiet for op in range(256))  #: 1 where a hole in a region means nothing
        fillers = self._by_number(shared.FILLERS)
        self.fills = bytes(op in fillers for op in range(256))  #: 1 where the compiler may have made one
        self._pushes: dict[int, int | Callable[[int], int]] = {
            self.number[name]: pushes for name, pushes in facts.PUSHES.items() if name in self.number
        }
        none = (0,) * 256
        rows: list[tuple[int, ...]] = [none] * 256
        for op, effect in self._effects.items():
            rows[op] = (effect,) * 256 if isinstance(effect, int) else tuple(map(effect, range(256)))
        self.effect_rows = tuple(rows)  #: [opcode][operand below 256] -> change of the depth when it doesn't jump
        #: the change as a signed byte, for opcodes where it doesn't hang on the operand; and 1 for those where it does
        self.fixed_effect = bytes(row[0] & 0xFF for row in rows)
        self.varying = bytes(not isinstance(self._effects.get(op, 0), int) for op in range(256))
        #: the change on the way to the target, where it is not the same
        self.jump_effect: dict[int, int] = {self.number[name]: effect for name, effect in facts.JUMP_EFFECTS.items()}

    def _lay_out_signatures(self, facts: Any) -> None:
        self.signatures: dict[int, str] = {
            self.number[name]: words for name, words in facts.SIGNATURES.items() if name in self.number
        }  #: what the instruction takes and leaves, in the words of `signatures`
        self.intrinsics: dict[str, str] = signatures.INTRINSICS
        self.adds_to = {self.number[name]: what for name, what in signatures.ADDS_TO.items() if name in self.number}
        self.limits = {self.number[name]: least for name, least in facts.LIMITS.items() if name in self.number}
        self.leads_to = {self.number[name]: self.number[there] for name, there in facts.LEADS_TO.items()}
        self.iterator_slots: int = facts.ITERATOR_SLOTS  #: how many values an iterator is on the stack
        #: whether the offset pushed with an exception is an int object, so that it may be used as one
        self.lasti_is_object: bool = facts.LASTI_IS_OBJECT
        self.locals_are_checked: bool = facts.LOCALS_ARE_CHECKED  #: whether LOAD_FAST raises for an unbound local
        #: bit of COMPARE_OP's operand that makes the result True or False; 0: there is none
        self.comparison_is_bool: int = facts.COMPARISON_IS_BOOL

    def _lay_out_waits(self, facts: Any) -> None:
        self.resume_at_start: tuple[int, ...] = facts.RESUME_AT_START  #: operands of a RESUME not behind a YIELD_VALUE
        #: bit of RESUME's operand: only the generator's own StopIteration handler is around it, so close() may skip all
        #: of them; 0: there is none
        self.resume_one_span: int = facts.RESUME_ONE_SPAN
        #: whether the operand of YIELD_VALUE is how many spans are around it
        self.yield_counts_spans: bool = facts.YIELD_COUNTS_SPANS
        #: whether the operand of YIELD_VALUE says that the value comes from another generator
        self.yield_tells_delegation: bool = facts.YIELD_TELLS_DELEGATION

    def comparison_flags(self, operand: object) -> int:
        """The flags that the compiler gives the COMPARE_OP of an operator, such as ``"<"`` or its number; 0 if it is none."""
        words = self.words[self.compare_op]
        if not self.flag_bits[self.compare_op]:
            return 0
        if isinstance(operand, int) and 0 <= operand < len(words):
            return shared.COMPARISON_MASKS[operand]
        return shared.COMPARISON_MASKS[words.index(str(operand))] if operand in words else 0

    def effect(self, opcode: int, arg: int, *, jump: bool = False) -> int:
        """Change of the stack depth, in slots, when the instruction falls through, or (`jump`) goes to its target.

        FOR_ITER and SEND of 3.12 and later skip what stands at their target; the depth there is counted as if they
        didn't, as the compiler does (Python/flowgraph.c, calculate_stackdepth).
        """
        if jump and opcode in self.jump_effect:
            return self.jump_effect[opcode]
        if opcode not in self._effects:
            msg = f"{self.python} has no opcode {opcode}"
            raise ValueError(msg)
        effect = self._effects[opcode]
        return effect if isinstance(effect, int) else effect(arg)

    def pops(self, opcode: int, arg: int) -> int:
        """How many values the instruction takes off the stack before it may raise; 0 where it never does."""
        if self.cannot_raise[opcode]:
            return 0
        pushes = self._pushes.get(opcode, 1)
        return (pushes if isinstance(pushes, int) else pushes(arg)) - self.effect(opcode, arg)

    def gone_when_raising(self, opcode: int, arg: int) -> int:
        """How many values are off the stack, at most, when the instruction raises."""
        known = self._taken_when_raising.get(opcode)
        return self.pops(opcode, arg) if known is None else known

    def taken(self, opcode: int, arg: int) -> int:
        """How many values the instruction takes off the stack when it falls through."""
        return max(self.pops(opcode, arg), -self.effect(opcode, arg), 0)


def _swapped(pairs: dict[str, str]) -> list[tuple[str, str]]:
    return [(b, a) for a, b in pairs.items()]
