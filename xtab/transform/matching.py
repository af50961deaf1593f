"""Which node of a generated tree is which of the original one.

1. The two trees are walked together. Nodes that are the same are pairs, with all that is in them; so are nodes of the
   same head. If only something inside a generated node is like the original one, the generated one is wrapped around
   it: both belong to the original one. The other way round likewise.
2. Lists, such as the statements of a block, are aligned (`xtab.transform.alignment`). What is left over may stand in a
   block that was put around it, or was removed, so it is compared with what is in those: whichever side is more alike
   when its blocks are opened, since the one that was put around has the others' blocks in it, closed.
3. What has no pair that is the same, but stands exactly once in the original, was moved or copied (`_moved`). A
   statement that had taken the place of a moved one has it no longer (`_give_way`).

Something that merely looks the same is not the same: for step 3, a node must hold more than names and constants, or be
a statement such as ``x = y`` that left its place. Of expressions, only a call counts as a copy while the original one
is still in its place; others must have left it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from xtab.transform.alignment import align
from xtab.transform.syntax import is_statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xtab.transform.syntax import Tree

    Nodes = Sequence[ast.AST]

__all__ = ["paired"]

_MANY = 3  # nodes of a statement that may have been moved though it holds nothing but names: ``x = y``


def paired(old: Tree, new: Tree) -> dict[ast.AST, ast.AST]:
    r"""Nodes of the generated tree, and the original ones that they are, or take the place of.

    >>> from xtab.transform.syntax import Tree
    >>> numbers = {}
    >>> old, new = [Tree(ast.parse(text), numbers) for text in ("a()\nb()", "b()\na()")]
    >>> [old.root.body.index(pair) for node, pair in paired(old, new).items() if is_statement(node)]
    [0, 1]
    """
    return _Matcher(old, new).pairs


class _Matcher:
    def __init__(self, old: Tree, new: Tree) -> None:
        self._old, self._new = old, new
        self._telling = _telling(new)
        self.pairs: dict[ast.AST, ast.AST] = {}
        waiting: list[tuple[ast.AST, ast.AST]] = [(new.root, old.root)]
        while waiting:
            now, before = waiting.pop()
            waiting += self._pair(now, before)
        moved, gone = self._moved()
        self._give_way(gone)
        for now, before in moved:
            self.pairs.update(zip(new.inside(now), old.inside(before), strict=True))

    def _pair(self, now: ast.AST, before: ast.AST) -> Iterable[tuple[ast.AST, ast.AST]]:
        """Note a pair, and give what is to be compared next."""
        old, new = self._old, self._new
        if self._same(now, before):
            self.pairs.update(zip(new.inside(now), old.inside(before), strict=True))
            return ()
        self.pairs[now] = before
        if new.head[now] != old.head[before]:
            within = new.find(now, old.whole[before], old.head[before])
            if within is not None:
                if is_statement(now) and is_statement(within):
                    del self.pairs[now]  # a block that was put around a statement is none itself
                return [(within, before)]
            within = old.find(before, new.whole[now], new.head[now])
            if within is not None:
                return [(now, within)]
        if type(now) is type(before):
            pairs = zip(new.fields(now), old.fields(before), strict=True)
            return [pair for ours, theirs in pairs for pair in self._aligned(ours, theirs)]
        return self._aligned(
            [each for field in new.fields(now) for each in field],
            [each for field in old.fields(before) for each in field],
        )

    def _aligned(self, now: Nodes, before: Nodes) -> list[tuple[ast.AST, ast.AST]]:
        """Step 2, for two lists."""
        if len(now) == len(before) == 1 and not is_statement(now[0]):
            return [(now[0], before[0])]
        found: list[tuple[ast.AST, ast.AST]] = []
        rounds = [(now, before)]
        while rounds:
            ours, theirs = rounds.pop()
            for kind, left, right in align(ours, theirs, self._new, self._old):
                if kind:
                    found += zip(left, right, strict=True)
                elif left and right:
                    rounds += self._opened(left, right)
        return found

    def _opened(self, left: Nodes, right: Nodes) -> list[tuple[Nodes, Nodes]]:
        """Two lists without pairs, with the blocks opened in one of them, or both: as they are most alike then."""
        inner_left, inner_right = self._new.opened(left), self._old.opened(right)
        choices: list[tuple[Nodes, Nodes]] = []
        if inner_left != left:
            choices.append((inner_left, right))
        if inner_right != right:
            choices.append((left, inner_right))
        if len(choices) > 1:
            choices.append((inner_left, inner_right))
            return [max(choices, key=self._alike)]
        return choices

    def _alike(self, lists: tuple[Nodes, Nodes]) -> tuple[int, int]:
        """How much two lists have in common: statements or what they are known by, and kinds."""
        left, right = lists
        return len(_numbers(self._new, left) & _numbers(self._old, right)), len(
            {*map(type, left)} & {*map(type, right)}
        )

    def _moved(self) -> tuple[list[tuple[ast.AST, ast.AST]], dict[ast.AST, ast.AST]]:
        """Step 3: further pairs, outermost first; and of each original node that left its place, the first new one."""
        old, new = self._old, self._new
        settled = {now for now, before in self.pairs.items() if self._same(now, before)}
        in_place = {self.pairs[now] for now in settled}
        moved: list[tuple[ast.AST, ast.AST]] = []
        gone: dict[ast.AST, ast.AST] = {}
        for now in new.nodes:
            before = None if now in settled else old.only(new.whole[now])
            if before is None or not isinstance(now, ast.stmt | ast.expr):
                continue
            if before in in_place:
                if now not in self._telling or not isinstance(now, ast.stmt | ast.Call):
                    continue
            elif now not in self._telling and (not is_statement(now) or len(new.inside(now)) < _MANY):
                continue
            moved.append((now, before))
            settled.update(new.inside(now))
            if before not in in_place:
                for there, here in zip(old.inside(before), new.inside(now), strict=True):
                    gone.setdefault(there, here)
        return moved, gone

    def _give_way(self, gone: dict[ast.AST, ast.AST]) -> None:
        """Take their pairs from statements that were paired with something that is elsewhere, or in a block of them."""
        for now in self._new.nodes:
            before = self.pairs.get(now)
            if before not in gone or not is_statement(now) or self._same(now, before):
                continue
            if is_statement(before) or not self._new.holds(now, gone[before]):
                for each in self._new.inside(now):
                    pair = self.pairs.get(each)
                    if pair in gone and not (each in self._telling and self._same(each, pair)):
                        del self.pairs[each]

    def _same(self, now: ast.AST, before: ast.AST) -> bool:
        return self._new.whole[now] == self._old.whole[before]


def _numbers(tree: Tree, nodes: Nodes) -> set[int]:
    return {tree.whole[node] for node in nodes} | {tree.head[tree.key_of(node)] for node in nodes}


def _telling(tree: Tree) -> set[ast.AST]:
    """The nodes that hold more than names and constants: an operation, an import or an exception that is raised."""
    found: set[ast.AST] = set()
    for node in reversed(tree.nodes):
        children = [each for field in tree.fields(node) for each in field]
        operation = isinstance(node, ast.expr) and bool(children)
        if operation or isinstance(node, ast.Import | ast.ImportFrom | ast.Raise) or not found.isdisjoint(children):
            found.add(node)
    return found
