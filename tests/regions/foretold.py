"""What the syntax tree says of a file's regions: for each scope, which blocks stand around which source positions.

It knows the language and how the compiler lays blocks out, and nothing of tables, of handlers or of xtab. A block is a
triple: kind, classes, and a number of its own, so that two blocks of one kind can be told apart.

1. All nodes are visited with the blocks that stand around them. The code of some is compiled more than once, or stands
   in one place here and in another there; so there may be several chains, each with the rule by which it may be.
2. Expressions, patterns and simple statements are noted by scope and exact position, which instructions have too.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from functools import cache
from itertools import count

VERSION = sys.version_info[:2]
INLINES = VERSION >= (3, 12)  # comprehensions; and generators have a wrapper that turns StopIteration into an error
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = {
    ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>", ast.GeneratorExp: "<genexpr>",
}  # fmt: skip
SIMPLE = (
    ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Assert, ast.Delete, ast.Import, ast.ImportFrom,
    ast.Pass, ast.Global, ast.Nonlocal, *FUNCTIONS, ast.ClassDef,
)  # fmt: skip
PLAIN = {"ctx", "op", "ops", "kind", "type_comment", "type_ignores", "level"}  # fields without a position
LEAVING = (ast.Return, ast.Break, ast.Continue)
AS_WRITTEN = "as written"
FINALLY_COPY = "the body of a finally, in its handler"
WITH_EXIT = "the exit of a with, at its position"
WITH_HANDLER = "the exit of a with, in its handler"
ASYNC_STEP = "a step of an async for, at the position of what it goes through"
LEFT = "on the way out of blocks, at the position of the statement that leaves"


@dataclass(eq=False)
class Scope:
    """A module, class, function, lambda or comprehension that has code of its own."""

    name: str  #: as ``co_name`` says it
    node: ast.AST | None
    nodes: dict = field(default_factory=dict)  #: position -> the `Spot`s there
    quiet: dict = field(default_factory=dict)  #: the same of instructions that can't raise
    blocks: bool = False  #: whether any of them has a block around it
    generator: bool = False  #: whether its code is wrapped against StopIteration
    number: int = 0  #: of that wrapper


@dataclass(slots=True)
class Spot:
    """What stands at a position: the chains of blocks that may be around it, each with its rule."""

    chains: tuple
    call: bool  #: a call
    statement: int  #: number of the simple statement or of the compound statement's header that it is in
    waits: int = 0  #: number of the wait of an ``await`` or ``yield from``
    leaving: bool = False
    steps: int = 0  #: number of the ``async for`` that goes through this


@dataclass(frozen=True, slots=True)
class Around:
    """Where the walk is."""

    scope: Scope
    chains: tuple  #: of (blocks, rule)
    mangle: str = ""  #: name of the class around, for private names
    statement: int = 0

    def inside(self, kind, number, classes=()):
        block = (kind, classes, number)
        return self.but(tuple(((*blocks, block), rule) for blocks, rule in self.chains))

    def but(self, chains):
        return Around(self.scope, chains, self.mangle, self.statement)

    def of(self, statement):
        return Around(self.scope, self.chains, self.mangle, statement)

    def ruled(self, rule):
        return self.but(tuple((blocks, rule) for blocks, _ in self.chains))


@cache
def fields_of(kind):
    """The fields of a kind of node that may hold nodes with a position."""
    return tuple(name for name in kind._fields if name not in PLAIN)


def children(node):
    found = []
    for name in fields_of(type(node)):
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += value
        elif value is not None:
            found.append(value)
    return [each for each in found if isinstance(each, ast.AST)]


def position(node):
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


class Foretold:
    """The scopes of a file, and what stands where in them."""

    def __init__(self, source: bytes, filename: str) -> None:
        self.tree = ast.parse(source, filename)
        self.numbers = count(1)
        self.scopes: dict[tuple, list[Scope]] = {}  #: (co_name, position of the node) or (co_name, first line)
        self.module = Scope("<module>", None)
        self.lazy = Scope("<annotations>", None)  #: all that is evaluated later, in scopes that nobody wrote
        self.inlined: dict[int, int] = {}  #: comprehension, by identity -> number of its block
        self.blocks: dict[str, int] = {}  #: how many of each kind there are
        self.statements = 0
        self.waiting: list = [(node, Around(self.module, (((), AS_WRITTEN),))) for node in self.tree.body]
        while self.waiting:
            node, around = self.waiting.pop()
            self.visit(node, around)

    def next(self, kind=None):
        if kind is not None:
            self.blocks[kind] = self.blocks.get(kind, 0) + 1
        return next(self.numbers)

    def later(self, nodes, around):
        self.waiting += [(node, around) for node in nodes if node is not None]

    def note(self, where, around, node=None, **more):
        if len(around.chains) > 1 or around.chains[0][0]:
            around.scope.blocks = True
        spot = Spot(around.chains, isinstance(node, ast.Call), around.statement, **more)
        around.scope.nodes.setdefault(where, []).append(spot)

    def note_quiet(self, where, around):
        around.scope.quiet.setdefault(where, []).append(Spot(around.chains, False, around.statement))

    def visit(self, node, around):
        counted, method, noted, leaving, leaf = plan(type(node))
        if counted:
            self.statements += 1
            around = around.of(self.statements)
        if method is not None:
            method(self, node, around)
            return
        if noted:
            self.note(position(node), around, node, leaving=leaving)
        if not leaf:
            self.later(children(node), around)

    # blocks

    def visit_Try(self, node, around, kind="except"):
        if node.finalbody:
            number, cleanup = self.next("finally"), self.next("handler clean-up")
            copies = []
            for blocks, rule in around.chains:
                copies += [(blocks, rule), ((*blocks, ("handler clean-up", (), cleanup)), FINALLY_COPY)]
            self.later(node.finalbody, around.but(tuple(copies)))
            around = around.inside("finally", number)
        self.later(node.orelse, around)
        if not node.handlers:
            self.later(node.body, around)
            return
        if len(node.handlers) == 1 and node.handlers[0].type is None:
            kind, classes = "bare except", ()
        else:
            classes = tuple(name for handler in node.handlers for name in class_names(handler.type, around.mangle))
        self.later(node.body, around.inside(kind, self.next(kind), classes))
        handling = around.inside("handler clean-up", self.next("handler clean-up"))
        for handler in node.handlers:
            self.note_quiet(position(handler), handling)  # the exception is dropped or bound there
            self.later([handler.type], handling)
            body = handling
            if handler.name is not None:
                body = body.inside("name clean-up", self.next("name clean-up"))
            elif kind == "except*":
                body = body.inside("except* item", self.next("except* item"))
            self.later(handler.body, body)

    def visit_TryStar(self, node, around):
        self.visit_Try(node, around, "except*")

    def visit_With(self, node, around, kind="with"):
        for item in node.items:
            exits = around.ruled(WITH_EXIT)
            handler = around.inside("handler clean-up", self.next("handler clean-up")).ruled(WITH_HANDLER)
            both = around.but(exits.chains + handler.chains)
            waits = self.next("throw clean-up") if kind == "async with" else 0
            self.note(position(item.context_expr), both, waits=waits)
            self.note(position(node), both, waits=waits)
            self.later([item.context_expr], around)
            around = around.inside(kind, self.next(kind))
            for each in (item.context_expr, node):
                self.note_quiet(position(each), around)  # what __enter__ returned is dropped there
            self.later([item.optional_vars], around)
        self.later(node.body, around)

    def visit_AsyncWith(self, node, around):
        self.visit_With(node, around, "async with")

    def visit_AsyncFor(self, node, around):
        self.steps((node.iter, node), around)
        self.later([node.iter, node.target, *node.body, *node.orelse], around)

    def steps(self, spanned, around):
        """An ``async for``: its steps are at the position of what it goes through, or at that of the whole."""
        number = self.next("async for end")
        stepping = around.inside("async for end", number).ruled(ASYNC_STEP)
        waits = self.next("throw clean-up")
        both = around.but(around.ruled(ASYNC_STEP).chains + stepping.chains)
        for node in spanned:
            self.note(position(node), both, steps=number, waits=waits)

    def visit_Await(self, node, around):
        self.note(position(node), around, node, waits=self.next("throw clean-up"))
        self.later(children(node), around)

    def visit_YieldFrom(self, node, around):
        around.scope.generator = around.scope.name != "<lambda>"  # the compiler leaves those without a wrapper
        self.visit_Await(node, around)

    def visit_Yield(self, node, around):
        around.scope.generator = around.scope.name != "<lambda>"  # the compiler leaves those without a wrapper
        self.note(position(node), around, node)
        self.later(children(node), around)

    # scopes

    def scope(self, name, node, first_line):
        """The scope of a node, and whether it is new."""
        key = name, position(node)
        known = [scope for scope in self.scopes.get(key, ()) if scope.node is node]
        if known:
            return known[0], False
        found = Scope(name, node, number=self.next())
        for each in (key, (name, first_line)):
            self.scopes.setdefault(each, []).append(found)
        return found, True

    def enter(self, name, node, around, first_line=None, *, mangle=None):
        """What is around the body of a scope; None if it was visited already."""
        found, new = self.scope(name, node, first_line or node.lineno)
        mangle = around.mangle if mangle is None else mangle
        return Around(found, (((), AS_WRITTEN),), mangle, around.statement) if new else None

    def evaluated_later(self, nodes, around):
        """What is evaluated here in some versions, and in a scope of its own in others."""
        self.later(nodes, around)
        self.later(nodes, Around(self.lazy, (((), AS_WRITTEN),), around.mangle, around.statement))

    def visit_FunctionDef(self, node, around):
        lazy = Around(self.lazy, (((), AS_WRITTEN),), around.mangle, around.statement)
        self.note(position(node), around)
        self.note(position(node), lazy)
        args = node.args
        self.later([*node.decorator_list, *args.defaults, *args.kw_defaults], around)
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        notes = [arg.annotation for arg in every if arg is not None]
        self.evaluated_later([*notes, node.returns, *getattr(node, "type_params", ())], around)
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        body = self.enter(mangled(node.name, ""), node, around, first)
        if body is not None:
            body.scope.generator = isinstance(node, ast.AsyncFunctionDef)
            self.later(node.body, body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node, around):
        lazy = Around(self.lazy, (((), AS_WRITTEN),), around.mangle, around.statement)
        self.note(position(node), around)
        self.note(position(node), lazy)
        self.later(node.decorator_list, around)
        self.evaluated_later([*node.bases, *node.keywords, *getattr(node, "type_params", ())], around)
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        body = self.enter(node.name, node, around, first, mangle=node.name)
        if body is not None:
            self.later(node.body, body)

    def visit_AnnAssign(self, node, around):
        self.note(position(node), around)
        self.later([node.target, node.value], around)
        self.evaluated_later([node.annotation], around)

    def visit_TypeAlias(self, node, around):
        self.note(position(node), around)
        self.later([node.name], around)
        self.evaluated_later([node.value, *node.type_params], around)

    def visit_Lambda(self, node, around):
        self.note(position(node), around)
        self.later([*node.args.defaults, *node.args.kw_defaults], around)
        body = self.enter("<lambda>", node, around)
        if body is not None:
            self.later([node.body], body)

    def visit_comprehension_like(self, node, around):
        name = COMPREHENSIONS[type(node)]
        self.note(position(node), around)
        first = node.generators[0]
        self.later([first.iter], around)
        if name != "<genexpr>" and INLINES:
            inside = around
            if binds_names(node):
                inside = around.inside("comprehension restore", self.block_of(node))
            self.inside_comprehension(node, inside)
        body = self.enter(name, node, around)
        if body is not None:
            body.scope.generator = name == "<genexpr>"
            self.inside_comprehension(node, body)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_like

    def block_of(self, node):
        if id(node) not in self.inlined:
            self.inlined[id(node)] = self.next("comprehension restore")
        return self.inlined[id(node)]

    def inside_comprehension(self, node, around):
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self.note(position(node), around)  # LIST_APPEND and its kin
        for number, each in enumerate(node.generators):
            if each.is_async:
                before = [part for earlier in node.generators[:number] for part in earlier.ifs]  # where 3.11 puts them
                self.steps((each.iter, node, *before), around)
            else:
                self.note(position(each.iter), around)
            self.later([each.target, *each.ifs, *([each.iter] if number else [])], around)
        if isinstance(node, ast.GeneratorExp):
            self.note(position(node.elt), around)  # it is yielded there
        self.later(parts, around)


@cache
def plan(kind):
    """What to do with a kind of node: count it, call what, note it, as what leaves blocks; has it no children."""
    return (
        issubclass(kind, (ast.stmt, ast.ExceptHandler, ast.match_case)),
        getattr(Foretold, "visit_" + kind.__name__, None),
        issubclass(kind, (ast.expr, ast.pattern, *SIMPLE, *LEAVING)),
        issubclass(kind, LEAVING),
        issubclass(kind, (ast.Name, ast.Constant)),
    )


def binds_names(node):
    """Whether a comprehension has variables of its own, which are then given back."""
    targets = [each.target for each in node.generators]
    return any(isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
               for target in targets for part in ast.walk(target))  # fmt: skip


def mangled(name, owner):
    """A private name as it is in the code of a class."""
    owner = owner.lstrip("_")
    private = owner and name.startswith("__") and not name.endswith("__") and "." not in name
    return f"_{owner}{name}" if private else name


BRANCHES = (ast.IfExp, ast.BoolOp, ast.Await, ast.YieldFrom, *((ast.ListComp, ast.SetComp, ast.DictComp) * INLINES))


def class_names(node, owner):
    """The classes that a clause names, as a reader of the bytecode can know them."""
    if node is None:
        return ("bare except",)
    branches = any(isinstance(each, BRANCHES) or (isinstance(each, ast.Compare) and len(each.ops) > 1)
                   for each in ast.walk(node))  # fmt: skip
    if branches:
        return ("...",)
    if isinstance(node, ast.Tuple):
        if any(isinstance(each, ast.Starred) for each in node.elts):
            return ("...",)
        return tuple(name for each in node.elts for name in parts(each, owner)) or ("()",)
    return parts(node, owner) or ("()",)


def parts(node, owner):
    if isinstance(node, ast.Tuple) and not any(isinstance(each, ast.Starred) for each in node.elts):
        return tuple(name for each in node.elts for name in parts(each, owner))
    if isinstance(node, ast.NamedExpr):
        return parts(node.value, owner)
    if isinstance(node, ast.Name):
        return (mangled(node.id, owner),)
    if isinstance(node, ast.Attribute):
        (base,) = parts(node.value, owner) if not isinstance(node.value, ast.Tuple) else ("...",)
        return ("...",) if base == "..." else (f"{base}.{mangled(node.attr, owner)}",)
    return ("...",)
