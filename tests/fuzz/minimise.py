"""Shrink a finding as long as the verifier accepts it and it ends in the same way; or only run it again.

What is tried: one code object alone, instructions turned into NOPs, runs of NOPs taken out, entries left out or made
narrower, constants and location tables emptied.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import findings
from runner import Runner
from trees import Tree, Verifier, nested
from units import Unit, entries_of, read_units, write_entries, write_unit

import xtab
from xtab.analysis.verify import CodeParts, verify_parts
from xtab.format.opcodes import CURRENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from xtab.analysis.verify import Problem

PIECE = 16  #: instructions that are tried at once at first


class Minimiser:
    """Holds what a smaller tree has to do still."""

    def __init__(
        self, finding: findings.Finding, runner: Runner, tries: int, verify: Callable[[CodeParts], Sequence[Problem]]
    ) -> None:
        self.finding = finding
        self.runner = runner
        self.verify = verify
        self.tries = tries  #: runs with different arguments before a tree is given up
        self.signature = findings.signature(finding.outcome, finding.stderr)
        self.runs = 0

    def crashes(self, tree: Tree) -> bool:
        """Whether a tree is accepted, and ends as the finding did."""
        if Verifier(self.verify).errors(tree):
            return False
        for number in range(self.tries):
            self.runs += 1
            outcome = self.runner.run(tree, self.finding.run_seed + number)
            if findings.signature(outcome.word, outcome.stderr) == self.signature:
                return True
        return False

    def smallest(self, limit: float) -> Tree:
        """Take the first smaller tree that does it, until there is none or time is up."""
        tree, end = self.finding.tree, time.monotonic() + limit
        again = True
        while again and time.monotonic() < end:
            again = False
            for smaller in candidates(tree):
                if time.monotonic() > end:
                    break
                if smaller != tree and self.crashes(smaller):
                    tree, again = smaller, True
                    break
        return tree


def candidates(tree: Tree) -> Iterator[Tree]:
    """Smaller trees, the boldest steps first."""
    yield from (each for each in nested(tree) if each is not tree)
    consts = tuple(None if isinstance(each, CodeParts) else each for each in tree.consts)
    yield tree._replace(consts=consts)
    yield from without_nops(tree)
    units = read_units(tree.code)
    size = PIECE
    while size:
        for first in range(0, len(units), size):
            run = units[first : first + size]
            yield tree._replace(code=as_nops(tree.code, run))
            if size <= 4 and run[0].name != "NOP":
                yield tree._replace(code=ended(tree.code, run[0]))
        size //= 2
    entries = entries_of(tree)
    for place, entry in enumerate(entries):
        for less in ([], [entry._replace(start=entry.start + 2)], [entry._replace(end=entry.end - 2)]):
            table = write_entries([*entries[:place], *less, *entries[place + 1 :]])
            if table is not None:
                yield tree._replace(exceptiontable=table)
    yield tree._replace(linetable=b"")
    yield tree._replace(flags=tree.flags & 0x2AF)


def as_nops(code: bytes, units: list[Unit]) -> bytes:
    """The code with some instructions overwritten."""
    begin, end = units[0].begin, min(units[-1].end, len(code))
    kept = [unit for unit in units if unit.name in ("RESUME", "NOP")]
    nops = bytearray(write_unit(CURRENT.nop, 0) * ((end - begin) // 2))
    for unit in kept:
        nops[unit.begin - begin : unit.end - begin] = code[unit.begin : unit.end]
    return code[:begin] + bytes(nops) + code[end:]


def ended(code: bytes, unit: Unit) -> bytes:
    """The code with a raise in the place of an instruction: what came behind it may then be left out."""
    end = bytes([CURRENT.number["RAISE_VARARGS"], 0])
    nops = write_unit(CURRENT.nop, 0) * ((unit.end - unit.begin) // 2 - 1)
    return code[: unit.begin] + end + nops + code[unit.end :]


def without_nops(tree: Tree) -> Iterator[Tree]:
    """The NOPs taken out, through the model: all, then one by one. The code is accepted, so it may be looked at."""
    if any(isinstance(each, CodeParts) for each in tree.consts):
        return
    try:
        places = [
            number for number, each in enumerate(xtab.decode(tree.to_code()).instructions) if each.opname == "NOP"
        ]
        for chosen in ([places] if len(places) > 1 else []) + [[place] for place in places]:
            body = xtab.decode(tree.to_code())
            nops = [body.instructions[place] for place in chosen]
            for nop in nops:
                body.remove(nop)
            yield CodeParts.of(xtab.assemble(body))
    except xtab.XtabError:
        return


def main() -> int:
    """Read a finding, run it again, and shrink it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("finding", type=Path, nargs="+", help="the .marshal file")
    parser.add_argument("--run-with", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--replay", action="store_true", help="run it again, no more")
    parser.add_argument("--tries", type=int, default=3, help="runs for each smaller tree")
    parser.add_argument("--seconds", type=float, default=60, help="time for each finding")
    options = parser.parse_args()
    for path in options.finding:
        finding = findings.load(path)
        errors = Verifier(verify_parts).errors(finding.tree)
        sys.stdout.writelines([f"== {path.name}\n", *(f"rejected now: {error}\n" for error in errors)])
        with Runner(options.run_with) as runner:
            if options.replay:
                outcome = runner.run(finding.tree, finding.run_seed)
                sys.stdout.write(f"{outcome.word} {outcome.seconds:.2f} s\n{outcome.stderr}\n")
                continue
            if errors:
                continue
            made = Minimiser(finding, runner, options.tries, verify_parts)
            small = finding._replace(tree=made.smallest(options.seconds))
            sys.stdout.write(f"{made.runs} runs\n{findings.text_of(small)}\n")
            findings.save(path.parent / "small", small, path.stem)
    return 0


if __name__ == "__main__":
    sys.exit(main())
