"""`Tree`: a syntax tree with what is asked of it when two are compared, made in one walk.

1. A tree that was edited may hold a node in two places; then it is copied, so that each has one (`_unshared`).
2. The nodes are put into an order in which each stands before what it holds, so that all inside a node follow it.
   Operators and contexts, which have no places, are left out: the parser takes one object for all of a kind.
3. Backwards, each gets two numbers. Two nodes of one `whole` are the same in every field; two of one `head` are the
   same but for their operands. Contexts, which follow from the place, and comments don't count.
"""

from __future__ import annotations

import ast
import copy
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from xtab.format.locations import Location

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Tree", "first_line", "is_statement", "location_of", "locations_of"]

_NOT_COMPARED = ("ctx", "type_comment", "type_ignores", "kind", "str")
_BY_OPERAND = {
    **dict.fromkeys(("Expr", "Return", "Await", "Starred", "Subscript"), "value"),
    **dict.fromkeys(("AugAssign", "AnnAssign", "For", "AsyncFor"), "target"),
    "Call": "func",
    "Assign": "targets",
}
"""What a node is known by that has no name of its own."""
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
_PLACELESS = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)
_METHOD_ARGUMENTS = 30
"""With as many arguments as that, a method is called as any other attribute (STACK_USE_GUIDELINE)."""


class Tree:
    """A tree, its nodes in order, and their numbers.

    >>> Tree(ast.parse("x = f(1)"), {}).nodes[2].id
    'x'
    """

    def __init__(self, root: ast.AST, numbers: dict[object, int]) -> None:
        self.root = root = _unshared(root)
        self.nodes: list[ast.AST] = []  #: each before what it holds
        self.parent: dict[ast.AST, ast.AST | None] = {root: None}
        self._fields: dict[ast.AST, list[list[ast.AST]]] = {}
        self._at: dict[ast.AST, int] = {}
        self._end: dict[ast.AST, int] = {}
        self.whole: dict[ast.AST, int] = {}  #: the same number: the same in every field
        self.head: dict[ast.AST, int] = {}  #: the same number: the same but for its operands
        self._places: dict[int, list[int]] = {}
        self._walk(numbers)

    def _walk(self, numbers: dict[object, int]) -> None:
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            self._at[node] = len(self.nodes)
            self.nodes.append(node)
            fields = [_placed(getattr(node, name, None)) for name in _compared(node)]
            self._fields[node] = fields
            children = [each for field in fields for each in field]
            self.parent.update(dict.fromkeys(children, node))
            waiting += reversed(children)
        for node in reversed(self.nodes):
            children = [each for field in self._fields[node] for each in field]
            self._end[node] = self._end[children[-1]] if children else self._at[node] + 1
            whole = (type(node), *(self._key(getattr(node, name, None)) for name in _compared(node)))
            self.whole[node] = numbers.setdefault(whole, len(numbers))
            self.head[node] = numbers.setdefault(self._head(node), len(numbers))
        for at, node in enumerate(self.nodes):
            for number in {self.whole[node], self.head[node]}:
                self._places.setdefault(number, []).append(at)

    def _key(self, value: object) -> object:
        if isinstance(value, _PLACELESS):
            return type(value)
        if isinstance(value, ast.AST):
            return self.whole[value]
        if isinstance(value, list):
            return tuple(map(self._key, value))
        return type(value), value

    def _head(self, node: ast.AST) -> object:
        operand = getattr(node, _BY_OPERAND.get(type(node).__name__, ""), None)
        if isinstance(operand, list):
            operand = operand[0]
        if isinstance(operand, ast.AST):
            return "head", type(node), self.head[operand]
        values = [getattr(node, name, None) for name in _compared(node)]
        if is_statement(node) and not hasattr(node, "name"):
            return "head", self.whole[node]  # nothing to tell one `if` from another, so it is only like itself
        operators = [type(each) for value in values for each in _nodes(value) if isinstance(each, _PLACELESS)]
        plain = [(type(value), value) for value in values if not isinstance(value, ast.AST | list)]
        return "head", type(node), *operators, *plain

    def fields(self, node: ast.AST) -> list[list[ast.AST]]:
        """The nodes in each of its fields."""
        return self._fields[node]

    def inside(self, node: ast.AST) -> Sequence[ast.AST]:
        """The node and all in it."""
        return self.nodes[self._at[node] : self._end[node]]

    def find(self, node: ast.AST, *numbers: int) -> ast.AST | None:
        """The first node in another, that one left out, with the first of the numbers that there is."""
        for number in numbers:
            places = self._places.get(number, [])
            which = bisect_left(places, self._at[node] + 1)
            if which < len(places) and places[which] < self._end[node]:
                return self.nodes[places[which]]
        return None

    def only(self, number: int) -> ast.AST | None:
        """The node with a number, if there is exactly one."""
        places = self._places.get(number, [])
        return self.nodes[places[0]] if len(places) == 1 else None

    def holds(self, node: ast.AST, other: ast.AST) -> bool:
        """Whether a node is another, or has it inside."""
        return self._at[node] <= self._at[other] < self._end[node]

    def key_of(self, node: ast.AST) -> ast.AST:
        """What a statement is known by: its first expression, if it has one that is not a mere name or constant."""
        children = (each for field in self._fields[node] for each in field)
        if is_statement(node):
            return next((each for each in children if isinstance(each, ast.expr) and self._fields[each]), node)
        return node

    def has_blocks(self, node: ast.AST) -> bool:
        """Whether there are statements in a node, in blocks of its own."""
        return next(_in_blocks(node), None) is not None

    def opened(self, nodes: Sequence[ast.AST]) -> list[ast.AST]:
        """The nodes, with what is in the blocks of statements in place of those statements."""
        return [inner for node in nodes for inner in (list(_in_blocks(node)) or [node])]


def _compared(node: ast.AST) -> Iterator[str]:
    return (name for name in node._fields if name not in _NOT_COMPARED)


def _nodes(value: object) -> Iterator[ast.AST]:
    """The nodes in a field, one after the other: whoever asks for the first doesn't go through a long block."""
    return (each for each in (value if isinstance(value, list) else (value,)) if isinstance(each, ast.AST))


def _placed(value: object) -> list[ast.AST]:
    """The nodes in a field, but for operators."""
    return [each for each in _nodes(value) if not isinstance(each, _PLACELESS)]


def _unshared(root: ast.AST) -> ast.AST:
    """The tree, or a copy of it if it holds a node more than once."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            return _copied(root)
        seen.add(id(node))
        for name in _compared(node):
            waiting += _placed(getattr(node, name, None))
    return root


def _copied(root: ast.AST) -> ast.AST:
    """A copy in which each node stands once."""
    result = copy.copy(root)
    waiting = [result]
    while waiting:
        node = waiting.pop()
        for name in _compared(node):
            value = getattr(node, name, None)
            if isinstance(value, list):
                value = [copy.copy(each) for each in value]
            elif isinstance(value, ast.AST):
                value = copy.copy(value)
            else:
                continue
            setattr(node, name, value)
            waiting += _placed(value)
    return result


def _in_blocks(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
        for name in _BLOCKS:
            yield from _nodes(getattr(node, name, None))


def is_statement(node: ast.AST) -> bool:
    """Whether a node is a statement.

    >>> is_statement(ast.parse("x = 1").body[0])
    True
    """
    return isinstance(node, ast.stmt)


def first_line(node: ast.AST) -> int:
    r"""The first line of a node, decorators included; 0 for one without a place.

    >>> first_line(ast.parse("@a\ndef f(): pass").body[0])
    1
    """
    decorators = getattr(node, "decorator_list", ())
    return min((each.lineno for each in (*decorators, node) if hasattr(each, "lineno")), default=0)


def location_of(node: ast.AST) -> Location | None:
    r"""Where a node stands, as the compiler tells it of the instructions that it makes of it; None if nowhere.

    >>> location_of(ast.parse("a\\\n.b").body[0].value)
    Location(line=2, end_line=2, column=1, end_column=2)
    """
    found = locations_of(node)
    return None if not found else found[0] if isinstance(node, ast.DictComp) else found[-1]


def locations_of(node: ast.AST) -> list[Location]:
    """Where a node stands, and other places that the compiler has for some of its instructions.

    An attribute, and the call of a method, are where the attribute's name is if that is on another line than their
    start. An item of a dictionary comprehension is its key and its value. There are as many for each node of a type.
    """
    own = _extent(node, node)
    if own is None:
        return []
    if isinstance(node, ast.DictComp):
        value = getattr(node, "value", None) or node.key  # none behind ``**``, which 3.15 allows there
        return [own, _extent(node.key, value) or own]
    attribute = node.func if isinstance(node, ast.Call) and _is_method_call(node) else node
    if isinstance(attribute, ast.Attribute):
        return [own, _at_name(own, attribute)]
    return [own, own] if isinstance(node, ast.Call) else [own]


def _extent(first: ast.AST, last: ast.AST) -> Location | None:
    """From the start of a node to the end of one."""
    if not hasattr(first, "lineno") or not hasattr(last, "lineno"):
        return None
    end: Any = last
    start: Any = first
    return Location(start.lineno, end.end_lineno, start.col_offset, end.end_col_offset)


def _at_name(own: Location, attribute: ast.Attribute) -> Location:
    """The location of an attribute, or of a call of it, moved to where its name is if that is on another line."""
    line, end = attribute.end_lineno, attribute.end_col_offset
    if line is None or end is None or line == own.line:
        return own
    start = end - len(attribute.attr)
    columns = (start, own.end_column) if start >= 0 else (None, None)
    return Location(line, own.end_line, *columns)


def _is_method_call(call: ast.Call) -> bool:
    """Whether the compiler calls it as a method."""
    plain = not any(isinstance(each, ast.Starred) for each in call.args)
    named = all(keyword.arg for keyword in call.keywords)
    count = len(call.args) + len(call.keywords) + bool(call.keywords)
    return isinstance(call.func, ast.Attribute) and plain and named and count < _METHOD_ARGUMENTS
