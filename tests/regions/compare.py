"""Compare the regions of code objects with what the syntax tree foretells of them.

1. Each code object is given its scope: by its name and first line, or by the position at which it is loaded.
2. The chain of regions around each instruction is painted from the regions' own entries. Its last must be what
   `find_handler` says, and the pieces of each region must be the runs of instructions that have it in their chain.
3. An instruction that can raise, at the position of an expression or simple statement, must have around it, one by one,
   the blocks that the syntax tree foretells there, bookkeeping included; by which rule is counted.
4. A region is one block wherever it is around something.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from functools import cached_property
from itertools import pairwise
from types import CodeType

from foretold import AS_WRITTEN, INLINES, LEFT, Foretold

from xtab.analysis.regions import read_regions
from xtab.format.code import code_objects
from xtab.format.exception_table import find_handler
from xtab.format.opcodes import CURRENT
from xtab.model.decode import read_source

WRAPPER = "StopIteration wrapper"
NOT_COVERED = "a branch at which only the handler of a signal could raise, in no range at all"
UNBOUND = "the name of an except … as, unbound behind it, at the position of what was last in it"
UNBOUND_FROM = (["handler clean-up", "name clean-up"], ["name clean-up"])
COLLECTED = "what except* collects, at the position of what was last in one of its handlers"
COLLECTS = {"LIST_APPEND", "PREP_RERAISE_STAR", "CALL_INTRINSIC_2"}
CANNOT_RAISE = "an instruction that can't raise, the only ones in a region"
EMPTY = "the wrapper of a generator or coroutine that does nothing"
ENDED = "the end of a handler, at the position of what was last in it"
PROLOGUE = "what a generator expression goes through, before the generator is made"
CLASS_END = "what the compiler adds to the end of a class, at the position of what was last in it"
OF_CLASSES = {"__static_attributes__", "__classcell__", "__classdictcell__"}
UNWRITTEN = "at a position of its own: made by the compiler for a clause or a whole statement"
JUMPS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "RESUME"}
PASSED_OVER = bytes(bool(CURRENT.cannot_raise[op]) or CURRENT.name[op] in JUMPS for op in range(256))
GENERATED = "<generic parameters of "


class Tally:
    """What was counted, and what did not agree."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()  #: files, code objects, instructions …
        self.rules: Counter[str] = Counter()  #: rule -> instructions that agree by it
        self.kinds: Counter[str] = Counter()  #: kind -> regions
        self.blocks: Counter[str] = Counter()  #: kind -> blocks in the syntax tree
        self.seen_blocks: Counter[str] = Counter()  #: kind -> blocks of the syntax tree that a region was found for
        self.ambiguous_regions: Counter[str] = Counter()  #: kind -> regions that may be one of two blocks
        self.mismatches: list[str] = []

    def add(self, other: Tally) -> None:
        for name in ("counts", "rules", "kinds", "blocks", "seen_blocks", "ambiguous_regions"):
            getattr(self, name).update(getattr(other, name))
        self.mismatches += other.mismatches


def compare_file(source: bytes, filename: str) -> Tally:
    """All code objects of a file. What can't be compiled is counted as that."""
    tally = Tally()
    try:
        code = compile(source, filename, "exec", dont_inherit=True)
        foretold = Foretold(source, filename)
    except (SyntaxError, ValueError):
        tally.counts["files that can't be compiled"] += 1
        return tally
    tally.counts["files"] += 1
    tally.blocks.update(foretold.blocks)
    scopes = Scopes(code, foretold)
    found: set = set()
    statements: set[int] = set()
    for each in code_objects(code):
        scope = scopes.of(each)
        if scope is None:
            tally.mismatches.append(f"{filename}:{each.co_firstlineno}: {each.co_qualname}: no scope has this code")
            continue
        _Comparison(each, scope, tally, filename, found, statements).run()
    tally.counts["statements compared"] += len(statements)
    tally.seen_blocks.update(kind for kind, _, _ in found)
    return tally


class Scopes:
    """Which scope a code object is of."""

    def __init__(self, code: CodeType, foretold: Foretold) -> None:
        self.foretold = foretold
        self.module = code

    @cached_property
    def loaded(self) -> dict[int, set]:
        """For each code object, by identity, the positions at which it is loaded."""
        found: dict[int, set] = {}
        for each in code_objects(self.module):
            nested = {number: const for number, const in enumerate(each.co_consts) if isinstance(const, CodeType)}
            if nested:
                source = read_source(each)
                positions = list(each.co_positions())
                for place, opcode in enumerate(source.opcodes):
                    if CURRENT.name[opcode] == "LOAD_CONST" and source.args[place] in nested:
                        line, end_line, column, end_column = positions[source.starts[place]]
                        where = line, column, end_line, end_column
                        found.setdefault(id(nested[source.args[place]]), set()).add(where)
        return found

    def of(self, code: CodeType):
        if code is self.module:
            return self.foretold.module
        name = code.co_name
        known = self.foretold.scopes.get((name, code.co_firstlineno), [])
        if len(known) == 1:
            return known[0]
        for where in self.loaded.get(id(code), ()):
            exact = self.foretold.scopes.get((name, where), [])
            if len(exact) == 1:
                return exact[0]
        return None if known else self.foretold.lazy


class _Comparison:
    """One code object."""

    def __init__(self, code, scope, tally, filename, found, statements) -> None:
        self.code, self.scope, self.tally, self.filename = code, scope, tally, filename
        self.found, self.statements = found, statements
        self.block_of: dict = {}  # region -> the block that it is
        self.ambiguous: set = set()  # regions around what two blocks could be around

    def run(self) -> None:
        tally = self.tally
        tally.counts["code objects"] += 1
        if not self.code.co_exceptiontable and not self.scope.blocks and not (self.scope.generator and INLINES):
            tally.counts["code objects without a table, of scopes without blocks"] += 1
            return
        source = self.source = read_source(self.code)
        self.tree = read_regions(source)
        tally.counts["code objects with a table"] += bool(source.entries)
        tally.counts["instructions, of the other code objects"] += len(source.opcodes)
        tally.kinds.update(str(region.kind) for region in self.tree)
        for region in self.tree:
            if region.kind == "unknown":
                self.wrong(region.handler, None, f"unknown region {region!r}")
        chains = self.chains()
        self.check_innermost(chains)
        self.check_pieces(chains)
        wrapped = self.scope.generator and INLINES
        self.outermost = ((WRAPPER, (), self.scope.number),) if wrapped else ()
        names = [CURRENT.name[opcode] for opcode in source.opcodes]
        self.begins = names.index("RETURN_GENERATOR") if "RETURN_GENERATOR" in names else 0
        self.compare(chains)
        for region in self.tree:
            if region not in self.block_of and not self.told_by_others(region, chains):
                if region in self.ambiguous:
                    tally.ambiguous_regions[str(region.kind)] += 1
                else:
                    self.wrong(region.handler, None, f"{region!r} is around nothing that stands in the source")

    def wrong(self, offset, line, what) -> None:
        where = f"{self.filename}:{line or self.code.co_firstlineno}: {self.code.co_qualname}, offset {offset}"
        self.tally.mismatches.append(f"{where}: {what}")

    def chains(self):
        """The regions around each instruction, from the entries of each."""
        starts = self.source.starts
        chains = [()] * len(self.source.opcodes)
        for region in self.tree:
            for entry in region.entries:
                first, last = bisect_left(starts, entry.start >> 1), bisect_left(starts, entry.end >> 1)
                chains[first:last] = [region.chain] * (last - first)
        return chains

    def check_innermost(self, chains) -> None:
        entries = self.source.entries
        for place, chain in enumerate(chains if entries else ()):
            offset = 2 * self.source.starts[place]
            entry = find_handler(entries, offset)
            got = (chain[-1].handler, chain[-1].depth, chain[-1].lasti) if chain else None
            self.tally.counts["innermost regions compared with find_handler"] += 1
            if got != (None if entry is None else tuple(entry[2:])):
                self.wrong(offset, None, f"the innermost region is {got}, and find_handler says {entry}")

    def check_pieces(self, chains) -> None:
        """Pieces are the runs of instructions with the region in their chain, holes are between, entries are inside."""
        starts = self.source.starts
        pieces = {region: [] for region in self.tree}
        before = ()
        for place, chain in enumerate(chains):
            for region in chain:
                if region in before:
                    pieces[region][-1][1] = 2 * starts[place + 1]
                else:
                    pieces[region].append([2 * starts[place], 2 * starts[place + 1]])
            before = chain
        entries = []
        for region in self.tree:
            runs = [tuple(piece) for piece in pieces[region]]
            gaps = [(first[1], second[0]) for first, second in pairwise(runs)]
            if list(region.pieces) != runs or [hole[:2] for hole in region.holes] != gaps:
                self.wrong(region.handler, None, f"{region!r}: pieces {region.pieces}, but it is around {runs}")
            entries += region.entries
        if sorted(entries) != self.source.entries:
            self.wrong(0, None, "the entries of the regions are not those of the table")

    def compare(self, chains) -> None:
        tally, source, nodes = self.tally, self.source, self.scope.nodes
        positions = self.positions = list(self.code.co_positions())
        for place, opcode in enumerate(source.opcodes):
            if PASSED_OVER[opcode]:
                continue
            line, end_line, column, end_column = positions[source.starts[place]]
            spots = nodes.get((line, column, end_line, end_column))
            if spots is None:
                tally.counts[UNWRITTEN] += 1
                continue
            self.statements.update(spot.statement for spot in spots)
            name = CURRENT.name[opcode]
            tally.counts["instructions compared"] += 1
            tally.counts["calls compared"] += name.startswith("CALL") and any(spot.call for spot in spots)
            got = tuple((str(region.kind), region.classes) for region in chains[place])
            if place < self.begins and not got:
                tally.rules[PROLOGUE] += 1
                continue
            if not got and not self.outermost and any(blocks == () for spot in spots for blocks, _ in spot.chains):
                tally.rules[AS_WRITTEN] += 1
                continue
            ways = [way for spot in spots for way in self.ways(spot, name)]
            fitting = [way for way in ways if tuple(block[:2] for block in way[0]) == got]
            rule = None if fitting else self.rule_for(place, name, got, ways)
            if rule is not None:
                tally.rules[rule] += 1
                continue
            if not fitting:
                said = " or ".join(sorted({self.words(blocks) for blocks, _ in ways}))
                self.wrong(2 * source.starts[place], line, f"{name} is in {self.words(got)}, expected {said}")
                continue
            tally.rules[fitting[0][1]] += 1
            if len({blocks for blocks, _ in fitting}) == 1:
                self.identify(place, line, chains[place], fitting[0][0])
            else:
                self.ambiguous.update(chains[place])

    def told_by_others(self, region, chains) -> bool:
        """Whether an instruction that can't raise says which block a region is that has no other in it."""
        starts = self.source.starts
        if self.outermost and [region] == list(self.tree) and region.kind == WRAPPER:
            self.block_of[region] = self.outermost[0]
            self.tally.rules[EMPTY] += 1
            return True
        for entry in region.entries:
            for place in range(bisect_left(starts, entry.start >> 1), bisect_left(starts, entry.end >> 1)):
                line, end_line, column, end_column = self.positions[starts[place]]
                got = tuple((str(each.kind), each.classes) for each in chains[place])
                where = line, column, end_line, end_column
                spots = [*self.scope.nodes.get(where, ()), *self.scope.quiet.get(where, ())]
                ways = {blocks for spot in spots for blocks, _ in self.ways(spot, "")}
                if CURRENT.quiet[self.source.opcodes[place]]:  # a pass may be left out of inner ranges
                    ways = {blocks[: len(got)] for blocks in ways}
                fitting = [blocks for blocks in ways if tuple(block[:2] for block in blocks) == got]
                if len(fitting) > 1:
                    self.ambiguous.update(chains[place])
                if len(fitting) == 1:
                    self.identify(place, line, chains[place], fitting[0])
                    self.tally.rules[CANNOT_RAISE] += 1
                    return True
        return False

    def rule_for(self, place, name, got, ways):
        """The rule by which an instruction may have fewer blocks around it than what stands at its position."""
        opcode = self.source.opcodes[place]
        if CURRENT.raises_on_signal[opcode] and not got:
            return NOT_COVERED
        if name == "STORE_NAME" and self.source.operand(place) in OF_CLASSES and not got:
            return CLASS_END
        for blocks, _ in ways:
            if tuple(block[:2] for block in blocks[: len(got)]) == got:
                left = [block[0] for block in blocks[len(got) :]]
                if name.startswith(("STORE_", "DELETE_")) and left[:2] in UNBOUND_FROM:
                    return UNBOUND
                if name in COLLECTS and left and left[0] in {"except* item", "name clean-up"}:
                    return COLLECTED
        return None

    def ways(self, spot, name):
        """The chains of blocks that an instruction of this name may have around it at a spot, and the rules."""
        chains = [((*self.outermost, *blocks), rule) for blocks, rule in spot.chains]
        if spot.leaving:
            chains = [(blocks[:length], rule if length == len(blocks) else LEFT)
                      for blocks, rule in chains for length in range(len(blocks), -1, -1)]  # fmt: skip
        if name == "RERAISE":
            chains += [(blocks[:length], ENDED) for blocks, _ in chains for length in range(1, len(blocks))
                       if blocks[length - 1][0] == "handler clean-up"]  # fmt: skip
        if spot.steps and name == "GET_ANEXT":
            chains = [(blocks, rule) for blocks, rule in chains if blocks and blocks[-1][2] == spot.steps]
        if spot.waits and name == "YIELD_VALUE" and INLINES:
            chains = [((*blocks, ("throw clean-up", (), spot.waits)), rule) for blocks, rule in chains]
        return chains

    def identify(self, place, line, chain, blocks) -> None:
        self.found.update(blocks)
        for region, block in zip(chain, blocks, strict=True):
            known = self.block_of.setdefault(region, block)
            if known != block:
                self.wrong(2 * self.source.starts[place], line, f"{region!r} is {known} elsewhere, but {block} here")

    @staticmethod
    def words(blocks) -> str:
        return " > ".join(f"{block[0]} {', '.join(block[1])}".strip() for block in blocks) or "nothing"
