"""Code objects as trees of plain values: what is mutated, verified, sent to a child and written to files.

In a tree a nested code object is a tree as well. A real code object is made of it only after the verifier has accepted
it, since that is all that makes one safe to look at.
"""

from __future__ import annotations

import marshal
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeAlias

from xtab.analysis.verify.parts import CodeParts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from xtab.analysis.verify.problem import Problem

Tree: TypeAlias = CodeParts  #: parts whose constants may be trees

FILENAME = "<fuzz>"  #: never a file that exists: tracebacks look for one


def tree_of(code: CodeType) -> Tree:
    """The tree of an honest code object."""
    consts = tuple(tree_of(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    return CodeParts.of(code)._replace(consts=consts, filename=FILENAME)


def nested(tree: Tree) -> Iterator[Tree]:
    """A tree and all that are below it, the innermost first."""
    for each in tree.consts:
        if isinstance(each, CodeParts):
            yield from nested(each)
    yield tree


def with_nested(tree: Tree, old: Tree, new: Tree) -> Tree:
    """The tree with one of those in it (or itself) exchanged."""
    if tree is old:
        return new
    consts = tuple(with_nested(each, old, new) if isinstance(each, CodeParts) else each for each in tree.consts)
    return tree._replace(consts=consts)


class Verifier:
    """Verifies trees from the innermost code object outwards, and keeps what it found of trees that are used again."""

    def __init__(self, verify_parts: Callable[[CodeParts], Sequence[Problem]]) -> None:
        self.verify_parts = verify_parts
        self._made: dict[int, tuple[Tree, CodeType]] = {}

    def keep(self, tree: Tree) -> None:
        """Remember the code objects of an honest tree: its nested ones are taken over by most mutants unchanged."""
        for each in nested(tree):
            if not self.errors(each, keep=True):
                self._made[id(each)] = each, self._parts(each).to_code()

    def errors(self, tree: Tree, *, keep: bool = False) -> list[Problem]:
        """The errors of the first code object in the tree that has any; none: the tree is accepted."""
        for each in tree.consts:
            if isinstance(each, CodeParts) and id(each) not in self._made:
                errors = self.errors(each, keep=keep)
                if errors:
                    return errors
        return [problem for problem in self.verify_parts(self._parts(tree)) if problem.severity == "error"]

    def _parts(self, tree: Tree) -> CodeParts:
        """The parts, with real code objects among the constants; these have been accepted before."""
        return tree._replace(consts=tuple(self._constant(each) for each in tree.consts))

    def _constant(self, constant: Any) -> Any:
        if not isinstance(constant, CodeParts):
            return constant
        kept = self._made.get(id(constant))
        return kept[1] if kept else self._parts(constant).to_code()


def pack(tree: Tree) -> list[Any]:
    """The tree as what `marshal` can write: constants become pairs, of whether it is a tree, and the value."""
    fields: list[Any] = list(tree)
    fields[7] = [
        (isinstance(each, CodeParts), pack(each) if isinstance(each, CodeParts) else each) for each in tree.consts
    ]
    return fields


def unpack(fields: Sequence[Any]) -> Tree:
    """The inverse of `pack`."""
    tree = CodeParts(*fields)
    return tree._replace(consts=tuple(unpack(value) if is_tree else value for is_tree, value in tree.consts))


def dumps(value: Any) -> bytes:
    """What `marshal` makes of a packed tree, or of a list of these."""
    return marshal.dumps(value)
