"""Holes as files: the parts, so that they can be run again, and a text that a person can read."""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any, NamedTuple

from trees import Tree, nested, pack, unpack
from units import listing

if TYPE_CHECKING:
    from pathlib import Path

    from runner import Outcome


class Finding(NamedTuple):
    """One mutant that was accepted and should not have been."""

    tree: Tree
    run_seed: int  #: what the arguments were drawn with
    python: str  #: the interpreter that it crashed
    kind: str  #: the mutations that made it
    outcome: str
    stderr: str


def save(folder: Path, finding: Finding, name: str) -> Path:
    """Write a finding; gives the path of its text, beside which the marshalled parts lie."""
    folder.mkdir(parents=True, exist_ok=True)
    fields: list[Any] = [pack(finding.tree), *finding[1:]]
    (folder / f"{name}.marshal").write_bytes(marshal.dumps(fields))
    path = folder / f"{name}.txt"
    path.write_text(text_of(finding), encoding="utf-8")
    return path


def load(path: Path) -> Finding:
    """Read a finding from the file of its parts."""
    fields = marshal.loads(path.read_bytes())
    return Finding(unpack(fields[0]), *fields[1:])


def text_of(finding: Finding) -> str:
    """All about a finding. The code is shown from its bytes: a hostile code object is never looked at."""
    head = f"{finding.python}: {finding.outcome}\nmade by {finding.kind}, run with {finding.run_seed}\n"
    many = list(nested(finding.tree))[::-1]
    codes = "\n\n".join(f"{each.qualname}\n{listing(each)}" for each in many)
    return f"{head}\n{codes}\n\n{signature(finding.outcome, finding.stderr)}\n\n{finding.stderr[-2000:]}\n"


def signature(word: str, stderr: str) -> str:
    """One line that the same crash always has: the assertion that failed, or the signal alone."""
    for line in stderr.splitlines():
        if "Assertion" in line:
            return line.partition(": ")[2][:200]
        if "Fatal Python error" in line or line.startswith(("SystemError", "left behind", "Stack ")):
            return line[:120].split("(")[0]
    return word


def of(tree: Tree, run_seed: int, python: str, kind: str, outcome: Outcome) -> Finding:
    """The finding that an outcome is."""
    return Finding(tree, run_seed, python, kind, outcome.word, outcome.stderr)
