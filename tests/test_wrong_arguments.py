"""Wrong arguments of what edits and makes instructions: an error that says what was expected, and no other."""

from __future__ import annotations

import inspect

import pytest

import xtab
from xtab import Instruction, Span
from xtab.model.arguments import instructions_given
from xtab.transform import blocks, emit, hook, template

WRONG = {
    "string": lambda: "hi",
    "number": lambda: 7,
    "negative": lambda: -3,
    "bool": lambda: True,
    "none": lambda: None,
    "float": lambda: 1.5,
    "bytes": lambda: b"ab",
    "instruction": lambda: Instruction("NOP"),
    "span": lambda: Span(Instruction("NOP")),
    "strings": lambda: ["a", "b"],
    "numbers": lambda: (1, 2),
    "nested": lambda: [[Instruction("NOP")]],
    "generator": lambda: (each for each in "ab"),
    "empty": list,
    "mapping": lambda: {"a": 1},
    "object": object,
    "class": lambda: dict,
    "body": lambda: xtab.decode(lambda: None),
    "code": lambda: (lambda: None).__code__,
}


def sample(x):
    try:
        return len(x)
    except TypeError:
        return None


def operand():
    return emit.load_const(1)


def call_of(body):
    return next(each for each in body.instructions if each.opname == "CALL")


def block(function):
    """Arguments for a block around the first statement of the sample."""
    body = xtab.decode(sample)
    return [body, body.start, body.instructions[-1]]


# name -> a function, and one that makes right arguments for it
BLOCKS = {
    "try_except": (blocks.try_except, lambda: [*block(0), emit.raise_()], {"catch": operand, "name": lambda: "error"}),
    "try_finally": (blocks.try_finally, lambda: [*block(0), emit.load_const(1) + emit.pop()], {}),
    "with_block": (blocks.with_block, lambda: [*block(0), operand()], {"target": lambda: "entered"}),
}


def hooked(name):
    def make():
        body = xtab.decode(sample)
        return [body, call_of(body), print] if name == "hook_call" else [body, print]

    return getattr(hook, name), make, {}


def in_body(name, *arguments, **keywords):
    """A method of a body that is made anew; arguments are functions of it."""

    def make():
        body = xtab.decode(sample)
        return [body, *(argument(body) for argument in arguments)]

    return getattr(xtab.Body, name), make, keywords


START, NOPS = (lambda body: body.start), (lambda body: [Instruction("NOP")])
PROTECT, JUMPS = {"protect": lambda: None}, {"jumps": lambda: "stay"}
BODY = {
    "insert_before": in_body("insert_before", START, NOPS, **PROTECT, **JUMPS),
    "insert_before_each": in_body(
        "insert_before_each", lambda body: {body.start: [Instruction("NOP")]}, **PROTECT, **JUMPS
    ),
    "insert_copies_before": in_body("insert_copies_before", lambda body: [body.start], NOPS, **PROTECT, **JUMPS),
    "insert_after": in_body("insert_after", START, NOPS, **PROTECT),
    "insertion_points": in_body("insertion_points", **JUMPS),
    "why_not_before": in_body("why_not_before", START, **JUMPS),
    "replace": in_body("replace", START, NOPS, last=lambda: None, **PROTECT),
    "remove": in_body("remove", START, START),
    "move": in_body("move", call_of, lambda body: None, before=lambda: None),
    "copy": in_body("copy", START, START),
    "protect": in_body("protect", START, START, START, lambda body: 0, lambda body: False),
    "unprotect": in_body("unprotect", lambda body: next(filter(None, (e.exn_tab_entry for e in body.instructions)))),
    "pieces_of": in_body("pieces_of", lambda body: next(filter(None, (e.exn_tab_entry for e in body.instructions)))),
    "instruction": in_body("instruction", lambda body: "LOAD_CONST", lambda body: 1, flags=lambda: 0,
                           location=lambda: None),
    "fresh_local": in_body("fresh_local", lambda body: "x"),
}  # fmt: skip
EMIT = {
    "call": (emit.call, lambda: [operand(), operand()],
             {"keywords": lambda: {"a": operand()}, "star": operand, "double_star": operand}),
    "call_method": (emit.call_method, lambda: [operand(), "name", operand()],
                    {"keywords": lambda: {"a": operand()}, "star": operand, "double_star": operand}),
    "call_on_stack": (emit.call_on_stack, lambda: [2, ("a",)], {}),
    "call_instructions": (emit.call_instructions, lambda: [2, ("a",)], {}),
    "jump_if": (emit.jump_if, lambda: [True, Instruction("NOP")], {"exact": lambda: True}),
    "load_import": (emit.load_import, lambda: ["os", "path"], {}),
    "load_const": (emit.load_const, lambda: [1], {}),
    "return_": (emit.return_, lambda: [operand()], {}),
    "raise_": (emit.raise_, lambda: [operand()], {}),
    "pop": (emit.pop, lambda: [1], {}),
    "build_tuple": (emit.build_tuple, lambda: [1], {}),
    "duplicate": (emit.duplicate, list, {}),
    "tuple_from_list": (emit.tuple_from_list, list, {}),
    "tuple_from_iterable": (emit.tuple_from_iterable, list, {}),
    **{name: (getattr(emit, name), lambda: [operand(), "name"], {}) for name in emit.__all__ if name.endswith("_attr")},
}  # fmt: skip
for each in emit.__all__:
    EMIT.setdefault(each, (getattr(emit, each), lambda: ["name"], {}))


def placed(function, **bindings):
    """What the template is used for in the end."""
    body = xtab.decode(sample)
    return template.template(function, **bindings).instructions(body)


TEMPLATE = {
    "template": (placed, lambda: [lambda x: x], {"x": lambda: 1}),
    "instructions": (
        template.Template.instructions,
        lambda: [template.template(lambda x: x, x=1), xtab.decode(sample)],
        {"result": lambda: "drop", "names": lambda: "lookup", "locations": lambda: "template"},
    ),
}
ALL = {**BLOCKS, "hook_call": hooked("hook_call"), "hook_calls": hooked("hook_calls"), **BODY, **EMIT, **TEMPLATE}


def wrongly(name, wrong):
    """Call with each argument replaced; which one, and what came of it."""
    function, make, keywords = ALL[name]
    first = 1 if name in BODY or name == "instructions" else 0  # not `self`
    for place in [*range(first, len(make())), *keywords]:
        arguments, named = make(), {key: value() for key, value in keywords.items()}
        if name == "move":
            named["before"] = arguments[0].instructions[-1]
        where = arguments if isinstance(place, int) else named
        where[place] = WRONG[wrong]()
        try:
            function(*arguments, **named)
        except Exception as error:
            yield place, error


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", ALL)
def test_every_error_is_told_in_words(name, wrong):
    for place, error in wrongly(name, wrong):
        assert isinstance(error, xtab.XtabError), (place, error)
        assert str(error).startswith("expected ") or ": expected " in str(error), (place, error)
        assert "but found" in str(error), (place, error)


@pytest.mark.parametrize("name", ALL)
def test_the_right_arguments_are_right(name):
    function, make, keywords = ALL[name]
    arguments, named = make(), {key: value() for key, value in keywords.items()}
    if name == "move":
        named["before"] = call_of(arguments[0])
        with pytest.raises(xtab.EditError, match="outside of the run"):
            function(*arguments, **named)
        return
    function(*arguments, **named)


@pytest.mark.parametrize("name", sorted({*BLOCKS, "hook_call", "hook_calls"}))
def test_every_public_function_is_here(name):
    assert {*blocks.__all__, *hook.__all__} <= set(ALL)
    assert set(emit.__all__) <= set(ALL)
    methods = {
        each for each, value in vars(xtab.Body).items() if inspect.isfunction(value) and not each.startswith("_")
    }
    assert methods - {"line_starts", "to_text", "from_text", "text_objects"} <= set(BODY)
    assert name in ALL


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: emit.call("print", operand()), r"as the function, such as emit.load_global\('print'\) makes, but f"),
        (lambda: emit.call(emit.load_global("f"), "hi"), r"as argument 1, such as emit.load_const\('hi'\) makes, but"),
        (lambda: emit.call(operand(), operand(), keywords={"x": 5}), r"as argument x, such as emit.load_const\(5\)"),
        (lambda: emit.return_(operand()[0]), r"as the value, but found one instruction, .*: write \[instruction\]"),
        (lambda: instructions_given(["a"], "to put here"), "an Instruction in a list of instructions to put here, but"),
        (lambda: emit.load_global(print), "expected a name as a string, but found <built-in function print> of type"),
    ],
    ids=range(6),
)  # fmt: skip
def test_what_it_advises(make, message):
    with pytest.raises(xtab.XtabError, match=message):
        make()
