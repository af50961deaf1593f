"""Sequences of new instructions that are right on the Python that runs: loads, stores, calls, raises and returns.

Each function gives a list of new `Instruction`s, to put into a body with :meth:`xtab.Body.insert_before` and its kin,
or to hand to another of these functions: an *operand* is a list of instructions that leaves one value on the stack. An
instruction may stand in a body only once, so make a new list for each place.

What the versions differ in is data of `xtab.format.opcodes`; the shapes are those that the compiler emits
(Python/codegen.c, 3.11 to 3.13: Python/compile.c).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xtab.errors import XtabError
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.model.arguments import instructions_given, require
from xtab.model.instruction import Instruction
from xtab.model.tables import Cell, Free

__all__ = [
    "build_tuple",
    "call",
    "call_instructions",
    "call_method",
    "call_on_stack",
    "delete_attr",
    "delete_cell",
    "delete_free",
    "delete_global",
    "delete_local",
    "delete_name",
    "duplicate",
    "jump_if",
    "load_attr",
    "load_cell",
    "load_const",
    "load_free",
    "load_global",
    "load_import",
    "load_local",
    "load_name",
    "pop",
    "raise_",
    "return_",
    "store_attr",
    "store_cell",
    "store_free",
    "store_global",
    "store_local",
    "store_name",
    "tuple_from_iterable",
    "tuple_from_list",
]

_HAS = CURRENT.number
_CHECKED_LOAD = "LOAD_FAST_CHECK" if "LOAD_FAST_CHECK" in _HAS else "LOAD_FAST"


def load_const(value: Any) -> list[Instruction]:
    """Push a constant, any object at all; the code can only be cached on disk if `marshal` can write the object.

    >>> load_const(None)
    [Instruction('LOAD_CONST', None)]
    """
    return [Instruction("LOAD_CONST", value)]


def load_name(name: str) -> list[Instruction]:
    """Push a name's value as code of modules and classes does: from locals, else globals, else builtins.

    >>> load_name("x")
    [Instruction('LOAD_NAME', 'x')]
    """
    return [Instruction("LOAD_NAME", _name(name))]


def store_name(name: str) -> list[Instruction]:
    """Bind a name of a module or class body to the value on the stack."""
    return [Instruction("STORE_NAME", _name(name))]


def delete_name(name: str) -> list[Instruction]:
    """Unbind a name of a module or class body; NameError if it isn't bound."""
    return [Instruction("DELETE_NAME", _name(name))]


def load_global(name: str) -> list[Instruction]:
    """Push a global or builtin of the module that the code runs in.

    >>> load_global("print")
    [Instruction('LOAD_GLOBAL', 'print')]
    """
    return [Instruction("LOAD_GLOBAL", _name(name))]


def store_global(name: str) -> list[Instruction]:
    """Bind a global to the value on the stack."""
    return [Instruction("STORE_GLOBAL", _name(name))]


def delete_global(name: str) -> list[Instruction]:
    """Unbind a global; NameError if it isn't bound."""
    return [Instruction("DELETE_GLOBAL", _name(name))]


def load_local(name: str, *, check: bool = False) -> list[Instruction]:
    """Push a local variable of a function.

    Args:
        name: the variable; one that inner functions see is a cell: :func:`load_cell`.
        check: the local may be unbound: raise UnboundLocalError then. Without it, an unbound local crashes CPython 3.12
            and later.

    >>> load_local("x")
    [Instruction('LOAD_FAST', 'x')]
    """
    return [Instruction(_CHECKED_LOAD if check else "LOAD_FAST", _name(name))]


def store_local(name: str) -> list[Instruction]:
    """Bind a local variable to the value on the stack."""
    return [Instruction("STORE_FAST", _name(name))]


def delete_local(name: str) -> list[Instruction]:
    """Unbind a local variable; UnboundLocalError if it isn't bound."""
    return [Instruction("DELETE_FAST", _name(name))]


def load_cell(name: str) -> list[Instruction]:
    """Push the value of a local variable that inner functions see.

    >>> load_cell("x")
    [Instruction('LOAD_DEREF', Cell('x'))]
    """
    return [Instruction("LOAD_DEREF", Cell(_name(name)))]


def store_cell(name: str) -> list[Instruction]:
    """Bind a local variable that inner functions see to the value on the stack."""
    return [Instruction("STORE_DEREF", Cell(_name(name)))]


def delete_cell(name: str) -> list[Instruction]:
    """Unbind a local variable that inner functions see."""
    return [Instruction("DELETE_DEREF", Cell(_name(name)))]


def load_free(name: str) -> list[Instruction]:
    """Push the value of an outer function's variable.

    >>> load_free("x")
    [Instruction('LOAD_DEREF', Free('x'))]
    """
    return [Instruction("LOAD_DEREF", Free(_name(name)))]


def store_free(name: str) -> list[Instruction]:
    """Bind an outer function's variable to the value on the stack."""
    return [Instruction("STORE_DEREF", Free(_name(name)))]


def delete_free(name: str) -> list[Instruction]:
    """Unbind an outer function's variable."""
    return [Instruction("DELETE_DEREF", Free(_name(name)))]


def load_attr(owner: Iterable[Instruction], name: str) -> list[Instruction]:
    """Push an attribute.

    Args:
        owner: an operand; ``()`` for the value on the stack.
        name: of the attribute.

    >>> load_attr(load_local("x"), "y")
    [Instruction('LOAD_FAST', 'x'), Instruction('LOAD_ATTR', 'y')]
    """
    return [*_operand(owner, "the owner"), Instruction("LOAD_ATTR", _name(name))]


def store_attr(owner: Iterable[Instruction], name: str) -> list[Instruction]:
    """Set an attribute to the value on the stack; `owner` is an operand, or ``()`` for what stands above that value."""
    return [*_operand(owner, "the owner"), Instruction("STORE_ATTR", _name(name))]


def delete_attr(owner: Iterable[Instruction], name: str) -> list[Instruction]:
    """Delete an attribute; `owner` is an operand, or ``()`` for the value on the stack."""
    return [*_operand(owner, "the owner"), Instruction("DELETE_ATTR", _name(name))]


def load_import(module: str, name: str) -> list[Instruction]:
    """Push what ``from module import name`` binds: the way to an object that keeps code fit to be cached on disk.

    >>> [each.opname for each in load_import("os.path", "join")][2:4]
    ['IMPORT_NAME', 'IMPORT_FROM']
    """
    return [
        *load_const(0),  # not relative
        *load_const((_name(name),)),
        Instruction("IMPORT_NAME", _name(module), flags=CURRENT.eager_import),
        Instruction("IMPORT_FROM", name),
        Instruction("SWAP", 2),
        Instruction("POP_TOP"),
    ]


def pop(count: int = 1) -> list[Instruction]:
    """Drop values from the stack."""
    return [Instruction("POP_TOP") for _ in range(_count(count))]


def duplicate() -> list[Instruction]:
    """Push the value on the stack once more."""
    return [Instruction("COPY", 1)]


def return_(value: Iterable[Instruction] = ()) -> list[Instruction]:
    """Return an operand, or the value on the stack; nothing may lie below it.

    >>> return_(load_const(1))
    [Instruction('LOAD_CONST', 1), Instruction('RETURN_VALUE')]
    """
    return [*_operand(value, "the value"), Instruction("RETURN_VALUE")]


def raise_(value: Iterable[Instruction] | None = None) -> list[Instruction]:
    """Raise an operand, an exception or a class of them; ``()``: the value on the stack.

    Without an operand, the exception that is being handled is raised again.

    >>> raise_(load_global("KeyError"))
    [Instruction('LOAD_GLOBAL', 'KeyError'), Instruction('RAISE_VARARGS', 1)]
    >>> raise_()
    [Instruction('RAISE_VARARGS', 0)]
    """
    if value is None:
        return [Instruction("RAISE_VARARGS", 0)]
    return [*_operand(value, "the exception"), Instruction("RAISE_VARARGS", 1)]


def jump_if(condition: bool, target: Instruction, *, exact: bool = False) -> list[Instruction]:
    """Take the value from the stack, and jump where its truth is `condition`.

    Args:
        condition: True or False.
        target: where to go; it must stand behind the jump or before it in the same body.
        exact: the value is True or False for sure: no need to ask for its truth.

    >>> jump_if(True, Instruction("NOP"), exact=True)[0].target
    Instruction('NOP')
    """
    require(target, Instruction, "an instruction to jump to")
    word = "TRUE" if condition else "FALSE"
    plain = f"POP_JUMP_IF_{word}"
    return [
        *([Instruction("TO_BOOL")] if "TO_BOOL" in _HAS and not exact else []),
        Instruction(plain if plain in _HAS else f"POP_JUMP_FORWARD_IF_{word}", target),
        *([Instruction("NOT_TAKEN")] if "NOT_TAKEN" in _HAS else []),
    ]


def call(
    function: Iterable[Instruction],
    *arguments: Iterable[Instruction],
    keywords: Mapping[str, Iterable[Instruction]] | None = None,
    star: Iterable[Instruction] | None = None,
    double_star: Iterable[Instruction] | None = None,
) -> list[Instruction]:
    """Call, and leave the result: ``function(*arguments, *star, **keywords, **double_star)``.

    Args:
        function: an operand, evaluated first.
        arguments: the positional arguments, an operand each, evaluated from left to right.
        keywords: the keyword arguments, an operand each.
        star: an operand, an iterable of further positional arguments; evaluated behind `arguments`.
        double_star: an operand, a mapping of further keyword arguments; evaluated last.

    >>> one, two = load_const(1), load_const(2)
    >>> import xtab
    >>> code = xtab.decode(lambda: None)
    >>> code.replace(code.instructions[1], call(load_const(divmod), two, one))
    >>> code.instructions[1].opname in ("PUSH_NULL", "LOAD_CONST")
    True
    """
    called = _with_null(_operand(function, "the function", "load_global"))
    positional, named = _arguments(arguments, keywords)
    if star is not None or double_star is not None:
        return called + _call_with_collections(positional, named, star, double_star)
    return [*called, *_call_with(positional, named)]


def call_method(
    owner: Iterable[Instruction],
    name: str,
    *arguments: Iterable[Instruction],
    keywords: Mapping[str, Iterable[Instruction]] | None = None,
    star: Iterable[Instruction] | None = None,
    double_star: Iterable[Instruction] | None = None,
) -> list[Instruction]:
    """Call a method, and leave the result: ``owner.name(...)``, with arguments as for :func:`call`.

    >>> [each.opname for each in call_method(load_local("x"), "pop", load_const(0))][-1]
    'CALL'
    """
    if star is not None or double_star is not None:
        function = load_attr(owner, name)
        return call(function, *arguments, keywords=keywords, star=star, double_star=double_star)
    known = "LOAD_METHOD" in _HAS
    method = Instruction("LOAD_METHOD", _name(name)) if known else Instruction("LOAD_ATTR", _name(name), flags=1)
    return [*_operand(owner, "the owner"), method, *_call_with(*_arguments(arguments, keywords))]


def call_on_stack(count: int, keywords: Sequence[str] = ()) -> list[Instruction]:
    """Call what stands on the stack already: the callable, and `count` arguments above it.

    The first argument takes the place of a method's ``self``, as in the calls that the compiler makes for decorators:
    so no NULL has to go below them.

    Args:
        count: how many arguments, those given by keyword included.
        keywords: the names of the last of them.

    >>> [each.opname for each in call_on_stack(2)][-1]
    'CALL'
    """
    names = _names(keywords)
    if not 0 <= len(names) <= _count(count):
        raise XtabError(f"expected at most {count} names for {count} arguments, but found {names!r}")
    if count > len(names):
        return call_instructions(count - 1, names)
    null = [Instruction("PUSH_NULL")]
    # all by keyword: no argument may stand for self, so the NULL goes where it belongs, one swap a value above it
    below = count + CURRENT.null_first
    return [
        *null,
        *(Instruction("SWAP", distance) for distance in range(below + 1, 1, -1)),
        *call_instructions(count, names),
    ]


def build_tuple(count: int) -> list[Instruction]:
    """Make a tuple of the `count` highest values; with BUILD_TUPLE only if there are any, as CPython asserts."""
    return [Instruction("BUILD_TUPLE", count)] if _count(count) else load_const(())


def tuple_from_iterable() -> list[Instruction]:
    """Turn the iterable on the stack into a tuple."""
    return [Instruction("BUILD_LIST", 0), Instruction("SWAP", 2), Instruction("LIST_EXTEND", 1), *tuple_from_list()]


def tuple_from_list() -> list[Instruction]:
    """Turn the list on the stack into a tuple."""
    if "LIST_TO_TUPLE" in _HAS:
        return [Instruction("LIST_TO_TUPLE")]
    return [Instruction("CALL_INTRINSIC_1", "INTRINSIC_LIST_TO_TUPLE")]


def _name(name: str) -> str:
    return require(name, str, "a name as a string")


def _names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise XtabError(f"expected a list of names, but found {names!r:.80}")
    return tuple(map(_name, names))


def _count(count: int) -> int:
    if require(count, int, "how many there are") < 0:
        raise XtabError(f"expected how many there are, 0 or more, but found {count}")
    return count


def _operand(given: Iterable[Instruction], name: str, maker: str = "load_const") -> list[Instruction]:
    return instructions_given(given, f"as {name}", maker=maker)


def _arguments(
    arguments: Sequence[Iterable[Instruction]], keywords: Mapping[str, Iterable[Instruction]] | None
) -> tuple[list[list[Instruction]], dict[str, list[Instruction]]]:
    """The operands of a call: those given by place, and those given by name."""
    named = {} if keywords is None else require(keywords, Mapping, "a mapping of names to operands")  # type: ignore[type-abstract]
    return (
        [_operand(each, f"argument {number}") for number, each in enumerate(arguments, 1)],
        {_name(name): _operand(each, f"argument {name}") for name, each in named.items()},
    )


def _call_with(positional: list[list[Instruction]], named: dict[str, list[Instruction]]) -> list[Instruction]:
    """Push the arguments, and call."""
    values = [each for argument in (*positional, *named.values()) for each in argument]
    return [*values, *call_instructions(len(positional) + len(named), tuple(named))]


def _with_null(function: Iterable[Instruction]) -> list[Instruction]:
    """A callable, and the NULL that says that there is no self."""
    null = Instruction("PUSH_NULL")
    return [null, *function] if CURRENT.null_first else [*function, null]


def call_instructions(count: int, keywords: tuple[str, ...] = ()) -> list[Instruction]:
    """The call itself, for `count` arguments above the two slots of the callable."""
    count, keywords = _count(count), _names(keywords)
    if keywords and "CALL_KW" in _HAS:
        return [*load_const(keywords), Instruction("CALL_KW", count)]
    return [
        *([Instruction("KW_NAMES", keywords)] if keywords else []),
        *([Instruction("PRECALL", count)] if "PRECALL" in _HAS else []),
        Instruction("CALL", count),
    ]


def _call_with_collections(
    arguments: Sequence[Iterable[Instruction]],
    keywords: Mapping[str, Iterable[Instruction]],
    star: Iterable[Instruction] | None,
    double_star: Iterable[Instruction] | None,
) -> list[Instruction]:
    """Put all arguments into a tuple and a dictionary, and call with these."""
    values = [each for argument in arguments for each in argument]
    if star is None:
        positional = [*values, *build_tuple(len(arguments))]
    elif arguments:
        positional = [
            *values,
            Instruction("BUILD_LIST", len(arguments)),
            *_operand(star, "star"),
            Instruction("LIST_EXTEND", 1),
            *tuple_from_list(),
        ]
    else:
        positional = _operand(star, "star")
    named: list[Instruction] = []
    if keywords or double_star is not None:
        for name, value in keywords.items():
            named += [*load_const(name), *value]
        named.append(Instruction("BUILD_MAP", len(keywords)))
        if double_star is not None:
            named += [*_operand(double_star, "double_star"), Instruction("DICT_MERGE", 1)]
    if CURRENT.kind[_HAS["CALL_FUNCTION_EX"]] == OperandKind.NONE:
        return [*positional, *(named or [Instruction("PUSH_NULL")]), Instruction("CALL_FUNCTION_EX")]
    return [*positional, *named, Instruction("CALL_FUNCTION_EX", int(bool(named)))]
