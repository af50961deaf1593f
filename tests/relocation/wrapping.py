"""What an interpretability library does with a method: each call of a method goes through a function of its own."""

from __future__ import annotations

import ast
import inspect
import textwrap

import xtab


class Wrapper(ast.NodeTransformer):
    """`self.name(...)` becomes `wrap(self.name(...), "name")`."""

    def visit_Call(self, node):
        self.generic_visit(node)
        func = node.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self":
            return ast.Call(ast.Name("wrap", ast.Load()), [node, ast.Constant(func.attr)], [])
        return node


def wrapped(function, wrap):
    """A function that does the same, with `wrap` around its calls, and stands where the function stands."""
    original = inspect.getsource(function)
    generated = ast.unparse(Wrapper().visit(ast.parse(textwrap.dedent(original))))
    names = {**function.__globals__, "wrap": wrap}
    exec(compile(generated, "<generated>", "exec", dont_inherit=True), names)
    return xtab.relocate(
        names[function.__name__],
        filename=function.__code__.co_filename,
        lines=function.__code__.co_firstlineno - 1,
        qualname=function.__qualname__,
        positions=xtab.source_map(original, generated),
    )
