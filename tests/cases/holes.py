"""Code that the verifier once accepted and that crashed, each as small as it gets. Plain data for tests.

`HOLES` has for each: a name, the rule that refuses it now, the first and the last version that it applies to, a function
that gives the parts. Instructions are names or (name, operand) pairs; a pair with the name ":" is a label, which jumps and
entries of the exception table are given by. Never run what these make.
"""

from typing import NamedTuple

from xtab import CodeParts
from xtab.format.exception_table import ExceptionTableEntry, assemble_exception_table
from xtab.format.locations import assemble_location_table
from xtab.format.opcodes import CURRENT, OperandKind

HOLES = []
FUNCTION, GENERATOR, RESUME = 3, 0x23, ["RESUME"]
START_GENERATOR = ["RETURN_GENERATOR", "POP_TOP", "RESUME"]
RETURN = [("LOAD_CONST", 0), "RETURN_VALUE"]
RAISE = [(":", "start"), ("LOAD_FAST", 0), ("RAISE_VARARGS", 1), (":", "end"), (":", "handler")]
INNER = (lambda x: x).__code__


class Hole(NamedTuple):
    name: str
    rule: str
    first: tuple
    last: tuple
    parts: object


def hole(name, rule, first=(3, 11), last=(3, 99)):
    return lambda function: HOLES.append(Hole(name, rule, first, last, function))


def unit(name, arg):
    number = CURRENT.number[name]
    high = [(CURRENT.extended_arg, arg >> shift & 255) for shift in (24, 16, 8) if arg >> shift]
    return bytes(byte for pair in [*high, (number, arg & 255)] for byte in pair) + bytes(2 * CURRENT.caches[number])


def assembled(items):
    items = [(item, 0) if isinstance(item, str) else item for item in items]
    labels, distances = {}, {}
    for _ in range(4):  # until jumps are as long as they must be
        code, ends = b"", []
        for place, (name, arg) in enumerate(items):
            if name == ":":
                labels[arg] = len(code)
            else:
                code += unit(name, distances.get(place, 0) if isinstance(arg, str) else arg)
            ends.append(len(code))
        for place, (name, arg) in enumerate(items):
            if name != ":" and isinstance(arg, str):
                distances[place] = abs(labels[arg] - ends[place]) // 2
    return code, labels


def made(items, *, flags=FUNCTION, consts=(None,), names=(), varnames=("a", "b"), depth=None, lasti=False, **more):
    """The parts; with a `depth`, an entry leads from between the labels start and end to the label handler."""
    code, labels = assembled(items)
    entries = (
        [] if depth is None else [ExceptionTableEntry(*map(labels.get, ("start", "end", "handler")), depth, lasti)]
    )
    table, lines = assemble_exception_table(entries), assemble_location_table([(0, len(code), (1, 1, 0, 0))], 1)
    cellvars, freevars = more.get("cellvars", ()), more.get("freevars", ())
    return CodeParts(
        1, 0, 0, len(varnames), 20, flags, code, consts, names, varnames, "<hole>", "f", "f", 1, lines, table,
        freevars, cellvars,
    )  # fmt: skip


def called(function, *arguments):
    null_first, precall = CURRENT.null_first, "PRECALL" in CURRENT.number
    count = len(arguments)
    callee = ["PUSH_NULL", function] if null_first else [function, "PUSH_NULL"]
    return [*callee, *arguments, *([("PRECALL", count)] if precall else []), ("CALL", count)]


def given():
    return [("LOAD_CONST", 3), ("SWAP", 2), ("SET_FUNCTION_ATTRIBUTE", 1), ("SWAP", 2)]


@hole("a type alias whose value is computed by no function", "XT602", (3, 12))
def _():
    alias = [("LOAD_CONST", 1), ("LOAD_CONST", 0), ("LOAD_FAST", 0), ("BUILD_TUPLE", 3), ("CALL_INTRINSIC_1", 11)]
    return made([*RESUME, *alias, "RETURN_VALUE"], consts=(None, "x"))


# What matches becomes the exception that is handled, which was the caller's.
@hole("except* where no exception is handled", "XT614")
def _():
    body = [("LOAD_GLOBAL", 0), "CHECK_EG_MATCH", "POP_TOP", "POP_TOP", *RETURN]
    return made([*RESUME, *RAISE, *body], names=("ValueError",), depth=0)


# Of one exception that is no group, there can be but one left to raise: debug builds assert it.
@hole("a list of exceptions that except* did not fill", "XT602")
def _():
    prepare = ("CALL_INTRINSIC_2", 1) if "CALL_INTRINSIC_2" in CURRENT.number else "PREP_RERAISE_STAR"
    body = [("COPY", 1), ("COPY", 1), ("BUILD_LIST", 2), prepare, "POP_TOP", *RETURN]
    return made([*RESUME, *RAISE, *body], depth=0)


@hole("a copied function that is given defaults twice", "XT602", (3, 13))
def _():
    body = [("LOAD_CONST", 1), "MAKE_FUNCTION", ("COPY", 1), *given(), *given(), "POP_TOP", "RETURN_VALUE"]
    return made([*RESUME, *body], consts=(None, INNER, "x", ()))


# Whoever has the copy may give it other code, which makes no generator.
@hole("a copied generator function", "XT609", (3, 15))
def _():
    generator = (lambda x: (yield x)).__code__
    change = ["MAKE_FUNCTION", ("COPY", 1), ("LOAD_CONST", 2), ("SWAP", 2), ("STORE_ATTR", 0), "PUSH_NULL"]
    loop = [("LOAD_FAST", 0), ("CALL", 1), "PUSH_NULL", ("FOR_ITER", "done"), *["POP_TOP"] * 3, *RETURN]
    end = [(":", "done"), "END_FOR", "POP_ITER", *RETURN]
    return made(
        [*RESUME, ("LOAD_CONST", 1), *change, *loop, *end], consts=(None, generator, INNER), names=("__code__",)
    )


@hole("super() behind a MAKE_CELL of another argument, with a prefix", "XT511")
def _():
    variables = tuple(f"v{number}" for number in range(300))
    body = [("MAKE_CELL", 299), ("MAKE_CELL", 0), *RESUME, *called(("LOAD_GLOBAL", 0)), "POP_TOP", *RETURN]
    return made(body, names=("super",), varnames=variables, cellvars=("v0", "v299"))


@hole("super() when the first argument's cell was overwritten", "XT605")
def _():
    body = [("LOAD_CONST", 0), ("STORE_FAST", 0), *called(("LOAD_GLOBAL", 0)), "POP_TOP", *RETURN]
    return made([("MAKE_CELL", 0), *RESUME, *body], names=("super",), cellvars=("a",))


# Monitoring, and so every trace function, looks at what the iterator is.
@hole("END_FOR over a lasti", "XT307", (3, 14), (3, 14))
def _():
    body = ["POP_TOP", ("LOAD_FAST", 0), "END_FOR", "POP_ITER", *RETURN]
    return made([*RESUME, *RAISE, *body], depth=0, lasti=True)


@hole("END_SEND over a lasti", "XT307", (3, 14))
def _():
    index = ["PUSH_NULL"] if CURRENT.iterator_slots > 1 else []
    body = ["POP_TOP", *index, ("LOAD_FAST", 0), "END_SEND", "RETURN_VALUE"]
    return made([*RESUME, *RAISE, *body], depth=0, lasti=True)


# throw() puts None in the place of what is yielded.
@hole("a yielded list that the handler appends to", "XT602")
def _():
    yields = [("BUILD_LIST", 0), (":", "start"), ("YIELD_VALUE", 0), (":", "end"), ("RESUME", 1), "POP_TOP", *RETURN]
    handler = [(":", "handler"), "POP_TOP", ("LOAD_FAST", 0), ("LIST_APPEND", 1), "RETURN_VALUE"]
    return made([*START_GENERATOR, *yields, *handler], flags=GENERATOR, depth=1)


# frame.f_locals, and `from module import *` in a function, store what they like in it.
@hole("a cell in a plain local", "XT605")
def _():
    load = "LOAD_CLOSURE" if "LOAD_CLOSURE" in CURRENT.number else "LOAD_FAST"
    body = [(load, 2), ("STORE_FAST", 1), ("LOAD_DEREF", 1), "RETURN_VALUE"]
    return made([("MAKE_CELL", 2), *RESUME, *body], cellvars=("z",))


# Up to 3.12 the interpreter looks for MAKE_CELL in what lies before: here it takes the cell for the variable's value.
@hole("a cell made behind where it is used", "XT605")
def _():
    use = [("JUMP_FORWARD", "make"), (":", "use"), ("LOAD_DEREF", 2), "RETURN_VALUE"]
    make = [(":", "make"), ("MAKE_CELL", 2), ("LOAD_FAST", 0), ("STORE_DEREF", 2), ("JUMP_BACKWARD", "use")]
    return made([*RESUME, *use, *make], cellvars=("z",))


# A module may have a name that no source can have.
@hole("import * over the iterator of a comprehension", "XT609", (3, 11), (3, 14))
def _():
    star = [("CALL_INTRINSIC_1", 2), "POP_TOP"] if "IMPORT_STAR" not in CURRENT.number else ["IMPORT_STAR"]
    loop = [("LOAD_FAST", 0), (":", "next"), ("FOR_ITER", "done"), "POP_TOP", ("JUMP_BACKWARD", "next"), (":", "done")]
    end = [CURRENT.number["END_FOR"]] if "END_FOR" in CURRENT.number else []
    ends = [
        CURRENT.name[each]
        for each in (*end, *(CURRENT.must_follow[each] for each in end if each in CURRENT.must_follow))
    ]
    return made([*RESUME, ("LOAD_FAST", 0), *star, *loop, *ends, *RETURN], varnames=(".0", "b"))


# While the callee reads the arguments it calls __complex__ and the like, which may empty the dict.
@hole("a call with a dict of keywords that others hold", "XT602")
def _():
    callee = ["PUSH_NULL", ("LOAD_GLOBAL", 0)] if CURRENT.null_first else [("LOAD_GLOBAL", 0), "PUSH_NULL"]
    flag = int(CURRENT.kind[CURRENT.number["CALL_FUNCTION_EX"]] != OperandKind.NONE)
    shared = [("LOAD_CONST", 1), ("BUILD_MAP", 0), ("COPY", 1), ("STORE_GLOBAL", 1)]
    return made(
        [*RESUME, *callee, *shared, ("CALL_FUNCTION_EX", flag), "RETURN_VALUE"], consts=(None, ()), names=("f", "d")
    )


# Where a generator goes on is kept in 16 bits.
@hole("a SEND that jumps too far", "XT503", (3, 12))
def _():
    pair = ["PUSH_NULL"] if CURRENT.iterator_slots > 1 else []
    send = [("LOAD_FAST", 0), *pair, ("LOAD_CONST", 0), ("SEND", "far"), "POP_TOP", *["POP_TOP"] * (1 + len(pair))]
    far = [*["NOP"] * 65_536, (":", "far"), "END_SEND", "RETURN_VALUE"]
    return made([*START_GENERATOR, *send, *RETURN, *far], flags=GENERATOR)


# Holes that mutants of compiled code showed.


# Its reference count is counted down.
@hole("a NULL that is dropped", "XT601", (3, 11), (3, 14))
def _():
    return made([*RESUME, "PUSH_NULL", "POP_TOP", *RETURN])


# 3.11 writes the lines into a buffer that is as long as the code.
@hole("locations for more than the code", "XT106")
def _():
    lines = assemble_location_table([(0, 100, (1, 1, 0, 0))], 1)
    return made([*RESUME, *RETURN])._replace(linetable=lines)


# A tracer of 3.11 takes what comes behind the prefix for the first instruction.
@hole("a RESUME with a prefix", "XT503")
def _():
    return made([("RESUME", 256), *RETURN])


# The frame is not complete yet when the traceback is made.
@hole("a raise before RESUME", "XT511")
def _():
    return made([("LOAD_FAST", 0), ("RAISE_VARARGS", 1), *RESUME, *RETURN])


# A tracer waits for events that never come, in C.
@hole("code that says it has no monitoring events", "XT512")
def _():
    return made([*RESUME, *RETURN], flags=FUNCTION | 0x2000000)


# close() and throw() go by what RESUME says of how the generator waits.
@hole("RESUME of a start behind a yield", "XT514")
def _():
    return made([*START_GENERATOR, ("LOAD_FAST", 0), "YIELD_VALUE", "RESUME", "POP_TOP", *RETURN], flags=GENERATOR)


@hole("RESUME of no kind behind a yield", "XT503", (3, 11), (3, 12))
def _():
    wait = ["YIELD_VALUE", ("RESUME", 5)]
    return made([*START_GENERATOR, ("LOAD_FAST", 0), *wait, "POP_TOP", *RETURN], flags=GENERATOR)


@hole("a yield that says it delegates, and a RESUME that does not", "XT514", (3, 13))
def _():
    wait = [("YIELD_VALUE", 1), ("RESUME", 1)]
    return made([*START_GENERATOR, ("LOAD_FAST", 0), *wait, "POP_TOP", *RETURN], flags=GENERATOR)


@hole("a yield of no kind", "XT503", (3, 13))
def _():
    wait = [("YIELD_VALUE", 2), ("RESUME", 1)]
    return made([*START_GENERATOR, ("LOAD_FAST", 0), *wait, "POP_TOP", *RETURN], flags=GENERATOR)


# Its end is taken for None.
@hole("an asynchronous generator that returns a value", "XT602")
def _():
    return made([*START_GENERATOR, ("LOAD_FAST", 0), "RETURN_VALUE"], flags=0x203)


@hole("a value wrapped as that of an asynchronous generator, in a function", "XT512", (3, 11), (3, 11))
def _():
    return made([*RESUME, ("LOAD_FAST", 0), "ASYNC_GEN_WRAP", "RETURN_VALUE"])


# Reading __annotations__ takes names and values two by two.
@hole("an odd number of names and annotations", "XT602")
def _():
    make = ["MAKE_FUNCTION", ("SET_FUNCTION_ATTRIBUTE", 4)]
    if "SET_FUNCTION_ATTRIBUTE" not in CURRENT.number:
        make = [("MAKE_FUNCTION", 4)]
    return made([*RESUME, ("LOAD_CONST", 1), ("LOAD_CONST", 2), *make, "RETURN_VALUE"], consts=(None, (1,), INNER))


# Adding it to itself, or asking for its values, reads what isn't there.
@hole("a template with nothing in it", "XT602", (3, 14))
def _():
    return made([*RESUME, ("LOAD_CONST", 1), ("LOAD_CONST", 1), "BUILD_TEMPLATE", "RETURN_VALUE"], consts=(None, ()))


# 3.13 reads as many keys as there are values.
@hole("fewer keys than values", "XT602", (3, 11), (3, 13))
def _():
    values = [("LOAD_FAST", 0)] * 3
    return made(
        [*RESUME, *values, ("LOAD_CONST", 1), ("BUILD_CONST_KEY_MAP", 3), "RETURN_VALUE"], consts=(None, ("k",))
    )


# The comprehension asks what it gets for the next value, without looking.
@hole("a comprehension called with something else than an iterator", "XT609", (3, 11), (3, 14))
def _():
    code = next(each for each in (lambda x: (y for y in x)).__code__.co_consts if hasattr(each, "co_code"))
    make = [("LOAD_CONST", 1), "MAKE_FUNCTION"]
    tail = [("LOAD_FAST", 0), *([("PRECALL", 0)] if "PRECALL" in CURRENT.number else []), ("CALL", 0)]
    return made([*RESUME, *make, *tail, "RETURN_VALUE"], consts=(None, code))


# A signal that arrives while a trace function runs raises there as well.
@hole("a handler that returns over a lasti, and that only trace functions enter", "XT404")
def _():
    body = [(":", "start"), ("LOAD_CONST", 0), (":", "end"), "RETURN_VALUE"]
    handler = [(":", "handler"), "PUSH_EXC_INFO", "POP_TOP", "POP_EXCEPT", *RETURN]
    return made([*RESUME, *body, *handler], depth=0, lasti=True)


# The function trusts what it finds in the cell to be a tuple.
@hole("a cell under another name than the compiler's own", "XT611", (3, 12))
def _():
    inner = INNER.replace(co_freevars=(".type_params",))
    load = ("LOAD_CLOSURE" if "LOAD_CLOSURE" in CURRENT.number else "LOAD_FAST", 0)
    make = ["MAKE_FUNCTION", ("SET_FUNCTION_ATTRIBUTE", 8)]
    if "SET_FUNCTION_ATTRIBUTE" not in CURRENT.number:
        make = [("MAKE_FUNCTION", 8)]
    closure = [load, ("BUILD_TUPLE", 1), ("LOAD_CONST", 1)]
    return made([("MAKE_CELL", 0), *RESUME, *closure, *make, "RETURN_VALUE"], consts=(None, inner), cellvars=("a",))


# A function with type parameters is made by a function that gets the defaults, and gives them on.
def with_defaults(value, *, keywords=False):
    give = [("LOAD_FAST", 0), ("LOAD_CONST", 1), "MAKE_FUNCTION"]
    give += [("SWAP", 2), ("SET_FUNCTION_ATTRIBUTE", 1)] if "SET_FUNCTION_ATTRIBUTE" in CURRENT.number else []
    inner = made([*RESUME, *give, "RETURN_VALUE"], consts=(None, INNER), varnames=(".defaults", "b")).to_code()
    call = called("function", value)
    if keywords:
        call[-1:] = [("LOAD_CONST", 2), ("CALL_KW", 1)]
    place = call.index("function")
    call[place : place + 1] = [("LOAD_CONST", 1), "MAKE_FUNCTION"]
    return made([*RESUME, *call, "RETURN_VALUE"], consts=(None, inner, (".defaults",), ()))


@hole("defaults that are no tuple, handed to what makes a generic function", "XT602", (3, 12))
def _():
    return with_defaults(("LOAD_CONST", 0))


@hole("defaults handed on by name", "XT602", (3, 13))
def _():
    return with_defaults(("LOAD_CONST", 3), keywords=True)
