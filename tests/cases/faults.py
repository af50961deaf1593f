"""Faults that xtab itself had, each as small as it gets. Plain functions for tests.

`FAULTS` maps a name to a function of no arguments that gives what was found and what is right. A wrong depth may crash the
interpreter and a circle may never end, so each is to be run in a process of its own.
"""

import faulthandler
import math
import sys
import types

import xtab
from xtab import Instruction, Span
from xtab.transform import emit

FAULTS = {}


def fault(name):
    return lambda function: FAULTS.setdefault(name, function)


def behind_prologue(body):
    return next(place for place, each in enumerate(body.instructions) if each.opname == "RESUME") + 1


def function_of(body, **names):
    return types.FunctionType(xtab.assemble(body), {"__builtins__": __builtins__, **names})


def returning(value):
    """The instructions of a handler that returns a constant."""
    return [
        Instruction("PUSH_EXC_INFO"),
        Instruction("POP_TOP"),
        Instruction("POP_EXCEPT"),
        Instruction("LOAD_CONST", value),
        Instruction("RETURN_VALUE"),
    ]


def error_of(function, *arguments):
    """Type and text of the error, or what was returned."""
    try:
        return "returned", function(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)


# The name was appended to the locals, where the cell of that name shadowed it: the cell was overwritten with the value.
@fault("a local with the name of a cell")
def _():
    def f():
        x = 1
        return lambda: x

    body = xtab.decode(f)
    place = behind_prologue(body)
    body.instructions[place:place] = [Instruction("LOAD_CONST", 99), Instruction("STORE_FAST", "x")]
    kind, text = error_of(xtab.assemble, body)
    return (kind, "STORE_FAST, but found 'x'" in text), ("AssembleError", True)


# It was written as a location with the line None, and the lines of all that follows were counted from there.
@fault("a location of four Nones")
def _():
    namespace = {}
    exec(compile("def f(a):\n    a.b\n\n\n    a.c\n\n    return a.d\n", "example", "exec"), namespace)
    body = xtab.decode(namespace["f"])
    place = behind_prologue(body)
    right = [each.location for each in body.instructions]
    body.instructions.insert(place, Instruction("NOP", location=(None, None, None, None)))
    found = [each.location for each in xtab.decode(xtab.assemble(body)).instructions]
    return found, [*right[:place], None, *right[place:]]


# Only the bits that name the operator were set, not those that the specialised forms go by: `<` stayed true for small numbers.
@fault("the operator of a comparison")
def _():
    body = xtab.decode(lambda a, b: a < b)
    next(each for each in body.instructions if each.opname == "COMPARE_OP").operand = ">"
    function = function_of(body)
    return [function(1, 2) for _ in range(100)] + [function(2, 1)], [False] * 100 + [True]


# The depth of the new span was that before its first instruction, which then takes values away that lie deeper.
@fault("a new span in an expression")
def _():
    body = xtab.decode(lambda a, g: a + g(3))
    names = [each.opname for each in body.instructions]
    call = names.index("CALL")
    first = call - ("PRECALL" in names)
    add = next(each for each in body.instructions if each.opname == "BINARY_OP")
    handler = [*returning(100)[:-1], Instruction("JUMP_FORWARD", add)]
    span = Span(handler[0])
    for each in body.instructions[first : call + 1]:
        each.exn_tab_entry = span
    body.instructions += handler
    function = function_of(body)
    return [function(1, int), function(1, None)], [4, 101]


# Names that measuring the stack had added were taken off the list again, but not out of the index: whatever was appended next
# got to be meant.
@fault("a stale name index")
def _():
    body = xtab.decode(lambda p: p)
    place = behind_prologue(body)
    body.instructions[place:place] = [
        Instruction("LOAD_GLOBAL", "wanted"),
        Instruction("POP_TOP"),
        Instruction("LOAD_CONST", "wanted"),
        Instruction("STORE_FAST", "wanted"),
    ]
    xtab.stack_depths(body)
    for items in (body.names, body.varnames, body.consts):
        items.append("other")
    found = [each.operand for each in xtab.decode(xtab.assemble(body)).instructions[place : place + 4]]
    return found, ["wanted", None, "wanted", "wanted"]


# A name that had been appended to a list by hand between two assemblies was appended once more.
@fault("a name appended by hand")
def _():
    body = xtab.decode(lambda p: p)
    place = behind_prologue(body)
    body.instructions[place:place] = [Instruction("LOAD_GLOBAL", "x"), Instruction("POP_TOP")]
    xtab.assemble(body)
    body.names.append("y")
    body.instructions[place:place] = [Instruction("LOAD_GLOBAL", "y"), Instruction("POP_TOP")]
    return xtab.assemble(body).co_names, ("x", "y")


# A nan was looked up by its repr, which has no sign.
@fault("nan and -nan")
def _():
    nan = float("nan")
    body = xtab.decode(lambda: None)
    body.instructions[behind_prologue(body) :] = [
        Instruction("LOAD_CONST", nan),
        Instruction("LOAD_CONST", -nan),
        Instruction("BUILD_TUPLE", 2),
        Instruction("RETURN_VALUE"),
    ]
    first, second = function_of(body)()
    return math.copysign(1, first) * math.copysign(1, second), -1.0


# New spans, each around the handler of the one before: only the first could be measured, the others were taken for code that
# nobody reaches.
@fault("handlers in a row")
def _():
    body = xtab.decode(lambda x: x())
    place = behind_prologue(body)
    handlers = [
        [Instruction("PUSH_EXC_INFO"), Instruction("LOAD_GLOBAL", f"missing{n}"), Instruction("RAISE_VARARGS", 1)]
        for n in range(5)
    ]
    last = returning("caught")
    last[3:3] = [Instruction("POP_EXCEPT") for _ in handlers]  # those that the other handlers pushed
    handlers.append(last)
    spans = [Span(handler[0]) for handler in handlers]
    for span, protected in zip(spans, [body.instructions[place:], *handlers[:-1]], strict=True):
        for each in protected:
            each.exn_tab_entry = span
    for handler in handlers:
        body.instructions += handler
    code = xtab.assemble(body)
    depths = [entry.depth for entry in xtab.parse_exception_table(code)]
    return [depths, types.FunctionType(code, {})(None), sys.exc_info()[0]], [[0, 1, 2, 3, 4, 5], "caught", None]


# The span's depth was measured where the code runs straight on, before anyone knew that it also protects a handler, on
# less of a stack.
@fault("a new span around a call and a shallower handler")
def _():
    body = xtab.decode(lambda a, g: a + g(3))
    place = behind_prologue(body)
    names = [each.opname for each in body.instructions]
    last = returning("caught")
    first = [*returning(0)[:3], Instruction("LOAD_GLOBAL", "missing"), Instruction("RETURN_VALUE")]
    outer, inner = Span(last[0]), Span(first[0])
    before = [Instruction("LOAD_GLOBAL", "missing"), Instruction("POP_TOP")]
    for each in before:
        each.exn_tab_entry = inner
    for each in (body.instructions[names.index("CALL")], *first):
        each.exn_tab_entry = outer
    body.instructions[place:place] = before
    body.instructions += first + last
    code = xtab.assemble(body)
    return {entry.depth for entry in xtab.parse_exception_table(code)}, {0}


# Looking for the spans around a new one went on for ever.
@fault("spans in a circle")
def _():
    faulthandler.dump_traceback_later(5, exit=True)
    body = xtab.decode(lambda p: p)
    span = Span(body.instructions[-1])
    span.outer = span
    body.instructions[behind_prologue(body)].exn_tab_entry = span
    return error_of(xtab.assemble, body)[0] in ("returned", "AssembleError", "StackError"), True


# The depth was below zero where a handler is entered, not behind an instruction: looking for the instruction ran off the end.
@fault("a depth below zero")
def _():
    body = xtab.decode(lambda p: p)
    handler = [Instruction("LOAD_CONST", 1), Instruction("LOAD_CONST", 1), Instruction("RETURN_VALUE")]
    body.instructions[behind_prologue(body)].exn_tab_entry = Span(handler[0], depth=-2)
    body.instructions += handler
    return error_of(xtab.assemble, body)[0] in ("AssembleError", "StackError"), True


# What is no span, or a depth that is no number, surfaced as AttributeError and TypeError.
@fault("what is no span")
def _():
    found = []
    for wrong in (3, "span", Span(Instruction("NOP"), depth="1")):
        body = xtab.decode(lambda p: p)
        if isinstance(wrong, Span):
            wrong.target = body.instructions[-1]
        body.instructions[behind_prologue(body)].exn_tab_entry = wrong
        found.append(error_of(xtab.assemble, body)[0])
    return found, ["AssembleError"] * 3


# The text was made by recursion.
@fault("the repr of spans nested deeply")
def _():
    span = None
    for _ in range(5000):
        span = Span(Instruction("NOP"), 0, outer=span)
    return error_of(repr, span)[0], "returned"


# It was first measured as 1, for the call, and then corrected to 0: with the 1 its handler seemed to go on with one value too many.
@fault("a new span around a call and a shallower handler that goes on")
def _():
    body = xtab.decode(lambda a, g: a + g(3))
    place = behind_prologue(body)
    names = [each.opname for each in body.instructions]
    end = [Instruction("LOAD_CONST", "end"), Instruction("RETURN_VALUE")]
    add = next(at for at, each in enumerate(body.instructions) if each.opname == "BINARY_OP")
    call = body.instructions[names.index("CALL")]
    body.instructions[add + 1 :] = [Instruction("POP_TOP"), Instruction("JUMP_FORWARD", end[0])]
    last = [*returning(0)[:3], Instruction("JUMP_FORWARD", end[0])]
    first = [*returning(0)[:3], Instruction("LOAD_GLOBAL", "missing"), Instruction("RETURN_VALUE")]
    outer, inner = Span(last[0]), Span(first[0])
    before = [Instruction("LOAD_GLOBAL", "missing"), Instruction("POP_TOP")]
    for each in before:
        each.exn_tab_entry = inner
    for each in (call, *first):
        each.exn_tab_entry = outer
    body.instructions[place:place] = before
    body.instructions += first + last + end
    return function_of(body)(1, int), "end"


# Edits of bodies.


def dropping(name):
    """Instructions that let a local go, and keep the function running."""
    return [Instruction("LOAD_CONST", None), Instruction("STORE_FAST", name)]


def after(function, opname, instructions):
    """`function` with instructions behind the first of a kind."""
    body = xtab.decode(function)
    anchor = next((each for each in body.instructions if each.opname == opname), None)
    if anchor is not None:  # else this version does it in another way
        body.insert_after(anchor, instructions)
    return function_of(body)


def boom():
    raise ValueError


def raising_before(opname):
    """What comes out, and what is still being handled, when something is raised before an instruction of a handler."""

    def f(d):
        try:
            return d["k"]
        except KeyError:
            pass

    body = xtab.decode(f)
    anchor = next(each for each in body.instructions if each.opname == opname)
    body.insert_before(anchor, emit.call(emit.load_const(boom)) + emit.pop())
    return (error_of(function_of(body), {})[0], sys.exc_info()[0]), ("ValueError", None)


# LOAD_ATTR hands on the self of a method, so the borrowed reference was used after the local was gone: SIGSEGV on 3.14, 3.15.
@fault("the self of a method whose local is let go")
def _():
    class Thing:
        def method(self, x):
            return self.held[x]

    def thing():
        made = Thing()
        made.held = ["alive"]
        return made

    edited = after(lambda a, k: a.method(k), "LOAD_ATTR", dropping("a"))
    return {edited(thing(), 0) for _ in range(300)}, {"alive"}


# FORMAT_SIMPLE lets a str through as it is.
@fault("a str that is its own format, whose local is let go")
def _():
    edited = after(lambda a, k: f"{a}{k}", "FORMAT_SIMPLE", dropping("a"))
    return {edited("x" * n, "y") == "x" * n + "y" for n in range(2, 500)}, {True}


# What a new handler keeps on the stack outlives the block in which the compiler proved it safe to borrow.
@fault("a value that a new handler keeps")
def _():
    body = xtab.decode(lambda a, fail: [a, fail()])
    call = next(each for each in body.instructions if each.opname == "CALL")
    handler = [*returning(0)[:3], *dropping("a"), Instruction("RETURN_VALUE")]
    body.instructions += handler
    body.protect(call, call, handler[0])
    edited = function_of(body)
    return [edited(list("abc"), boom) for _ in range(300)].count(list("abc")), 300


# The span that ends the handling of an exception leaves POP_EXCEPT out, and so it did what was put before that.
@fault("an exception raised before POP_EXCEPT")
def _():
    return raising_before("POP_EXCEPT")


# PUSH_EXC_INFO is protected by a span that counts on what it pushes: another slot was taken for the exception before.
@fault("an exception raised before PUSH_EXC_INFO")
def _():
    return raising_before("PUSH_EXC_INFO")


# Compilers leave the NOP of a `try:` line out of all spans, even of the one that ends the handling of an exception.
@fault("an exception raised before the NOP of a try inside a finally")
def _():
    def f():
        try:
            raise KeyError
        finally:
            try:
                boom()
            except OSError:
                pass

    body = xtab.decode(f)
    nops = [each for each in body.instructions if each.opname == "NOP" and each.exn_tab_entry is None]
    for nop in nops[1:]:  # but for that of the first line
        body.insert_before(nop, emit.call(emit.load_const(boom)) + emit.pop())
    function = function_of(body, boom=int)
    return (error_of(function)[0], sys.exc_info()[0]), ("ValueError", None)


# The operand said that one span is around, as the compiler says of its own, and close() may skip that.
@fault("what a yield without a handler of the compiler's says of a new one")
def _():
    body = xtab.decode(lambda: (yield))
    push = Instruction("PUSH_EXC_INFO")
    first, last = body.instructions[behind_prologue(body)], body.instructions[-1]
    body.instructions += [push, Instruction("RERAISE", 0)]
    body.protect(first, last, push)
    return [each.code for each in xtab.verify(xtab.assemble(body)) if each.code == "XT514"], []


# RESUME said that one span is around, and close() took it for the compiler's own, which it may skip.
@fault("close() with a handler in the place of the compiler's")
def _():
    def generator():
        yield 1

    seen = []
    body = xtab.decode(generator)
    span = next((each.exn_tab_entry for each in body.instructions if each.exn_tab_entry), None)
    members = body.instructions[behind_prologue(body) :]
    if span is not None:
        members = [each for each in body.instructions if each.exn_tab_entry is span]
        body.unprotect(span)
    push = Instruction("PUSH_EXC_INFO")
    note = emit.call(emit.load_const(lambda: seen.append("handler"))) + emit.pop()
    body.instructions += [push, *note, Instruction("RERAISE", 0)]
    body.protect(members[0], members[-1], push)
    waiting = function_of(body)()
    next(waiting)
    waiting.close()
    return seen, ["handler"]


# Every load that COPY had doubled was followed to the end of the body.
@fault("many augmented assignments")
def _():
    namespace = {}
    exec("def f(a):\n" + "    a.x += 1\n" * 20_000, namespace)
    body = xtab.decode(namespace["f"])
    body.insert_after(body.instructions[0], [Instruction("LOAD_CONST", None), Instruction("POP_TOP")])
    return error_of(xtab.assemble, body)[0], "returned"


# The walk outwards never ended.
@fault("protecting and copying what lies in a circle of spans")
def _():
    body = xtab.decode(lambda x: x.a + x.b)
    end = body.instructions[-1]
    one, two = Span(end, 0), Span(end, 0)
    one.outer, two.outer = two, one
    run = body.instructions[1], body.instructions[3]
    for each in run:
        each.exn_tab_entry = one
    return [error_of(body.protect, *run, end, 0)[0], error_of(body.copy, *run)[0]], ["XtabError"] * 2


# What led to an instruction passed by what was put before it, where the instruction itself was among what came instead.
@fault("replacing an instruction by another and itself")
def _():
    def f(n):
        while n:
            n -= 1
        return n

    body = xtab.decode(f)
    target = next(each.target for each in body.instructions if each.is_jump)
    nop = Instruction("NOP")
    body.replace(target, [nop, target])
    return any(each.target is nop for each in body.instructions), True


# Instructions behind RESUME got its location, the line of the def, for which no event comes otherwise.
@fault("a line event for the def")
def _():
    def f(x):
        return x

    body = xtab.decode(f)
    body.insert_after(body.instructions[behind_prologue(body) - 1], [Instruction("NOP")])
    edited, seen = function_of(body), []

    def trace(frame, event, _argument):
        if event == "line":
            seen.append(frame.f_lineno - edited.__code__.co_firstlineno)
        return trace

    sys.settrace(trace)
    edited(1)
    sys.settrace(None)
    return seen, [1]


# Copying a loader imports copyreg, whose import copied a loader.
@fault("the import hook before copyreg is loaded")
def _():
    with xtab.rewrite_imports(lambda body: None, include="colorsys"):
        sys.modules.pop("copyreg", None)
        sys.modules.pop("colorsys", None)
        import colorsys
    return colorsys.rgb_to_hsv(0, 0, 0), (0.0, 0.0, 0)


# In `return error` the value lies where the handler of the handler looks for the exception that was handled before.
@fault("code put before the POP_EXCEPT of a return")
def _():
    def f():
        try:
            raise KeyError
        except KeyError as error:
            return error

    def fail():
        raise IndexError

    left_set = []
    for place in range(len(xtab.decode(f).insertion_points())):
        body = xtab.decode(f)
        anchor = body.insertion_points()[place]
        if anchor.opname != "PUSH_EXC_INFO":
            body.insert_before(anchor, [*emit.call(emit.load_const(fail)), *emit.pop()])
            try:
                function_of(body)()
            except (IndexError, KeyError):
                pass
            left_set += [anchor] if sys.exc_info()[1] is not None else []
    return left_set, []


# From 3.12 on such a branch is written as one forward over a jump back: it led to behind the end.
@fault("a branch back as the last instruction")
def _():
    def f(x):
        return 1 if x else 2

    body = xtab.decode(f)
    branch = next(each for each in body.instructions if each.opname.startswith("POP_JUMP"))
    place = body.instructions.index(branch)
    resume, *test = body.instructions[:place]
    leave = [Instruction("LOAD_CONST", None), Instruction("RETURN_VALUE")]
    body.instructions[:] = [resume, *leave, *body.instructions[place + 1 :], *test, branch]
    try:
        xtab.decode(xtab.assemble(body))
    except xtab.AssembleError as error:
        return error.instruction is branch, True
    return True, True  # where a branch can go back by itself
