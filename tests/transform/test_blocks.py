"""`blocks`: each block is compared with what the compiler makes of the same statement, in many surroundings.

The checks run in a process of their own, since a wrong one may crash it.
"""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import textwrap

import pytest

import xtab
from xtab.errors import EditError
from xtab.transform import emit
from xtab.transform.blocks import try_except, try_finally, with_block

#: what stands in the run; `c` chooses what happens
SECTIONS = {
    "call": 'log("b", g(c))',
    "store": "x = g(c)\nlog(x)",
    "return": 'if c == 1:\n    return g(c)\nlog("b")',
    "ends": 'if c == 1:\n    raise KeyError(c)\nif c == 2:\n    return "r"\nlog("b")',
    "loop": 'for i in range(3):\n    if c == i:\n        break\n    log(g(i))\nelse:\n    log("else")',
    "loop with return": "for i in range(3):\n    if c == i:\n        return g(i)\n    log(i)",
    "try": (
        "try:\n    g(c)\nexcept KeyError as e:\n    log(repr(e))\n    if c == 1:\n        return 5\nelse:\n"
        '    log("ok")\nfinally:\n    log("inner")'
    ),
    "try that goes on": 'try:\n    g(c)\nexcept KeyError as e:\n    log(repr(e))\nlog("behind")\ng(c + 1)',
    "bare": "try:\n    return g(c)\nexcept KeyError:\n    pass",
    "handler": (
        "try:\n    g(c)\nexcept KeyError:\n    try:\n        g(1)\n    except KeyError as e:\n"
        "        raise ValueError(2) from e"
    ),
    "with": "with manager(c) as m:\n    g(c)\n    if c == 3:\n        return m",
    "comprehension": "log([g(i) for i in range(c)])",
    "closure": "h = lambda: c\nlog(h())\ng(h())",
    "while": "while True:\n    c += 1\n    if c > 3:\n        return g(c)\n    log(c)",
    "raise": "raise ValueError(c)",
    "conditional": 'log("x" if c == 1 else g(c))',
    "group": "try:\n    g(c)\nexcept* KeyError as e:\n    log(repr(e))",
}
IN_LOOPS = {
    "jumps": 'if c == 1:\n    continue\nif c == 2:\n    break\nlog("b")',
    "with and jumps": "with manager(c):\n    if c == 3:\n        continue\n    if c == 2:\n        break\n    g(c)",
    "finally and jumps": (
        'try:\n    if c == 3:\n        continue\n    if c == 2:\n        break\n    g(c)\nfinally:\n    log("inner")'
    ),
    "handler and jumps": "try:\n    g(c)\nexcept KeyError:\n    continue\nexcept ValueError:\n    break",
    "jump out of two": (
        "for i in range(2):\n    for j in range(2):\n        if c == j:\n            break\n    else:\n"
        "        continue\n    break\nif c == 2:\n    break"
    ),
}
IN_GENERATORS = {
    "yield": 'log((yield c))\nif c == 1:\n    return\nyield from range(2)\nlog("b")',
    "yield in try": "try:\n    log((yield c))\n    g(c)\nexcept KeyError:\n    yield 7",
    "yield in loop": "for i in range(3):\n    if c == i:\n        break\n    yield g(i)",
}
IN_COROUTINES = {
    "await": 'log(await h(c))\nif c == 1:\n    return\nlog("b")',
    "async with": "async with amanager(c) as m:\n    log(await h(c))\n    if c == 3:\n        return m",
    "async for": "async for i in ai(c):\n    log(i)\n    if c == i:\n        break",
}
#: what is around the run
SURROUNDINGS = {
    "plain": 'log("a")\n@\nlog("z")\nreturn "end"',
    "with": 'with manager(0):\n    log("w")\n    @\n    log("z")',
    "try": 'try:\n    log("t")\n    @\n    log("z")\nexcept KeyError as e:\n    log("outer", repr(e))',
    "finally": 'try:\n    log("t")\n    @\n    log("z")\nfinally:\n    log("outer final")',
    "handler": 'try:\n    raise IndexError\nexcept IndexError as q:\n    log(1)\n    @\n    log("z", repr(q))',
    "last": 'log("a")\n@',
}
LOOPS = {
    "for": 'for n in range(2):\n    log("n", n)\n    @\n    log("z")\nreturn "end"',
    "while": 'n = 0\nwhile n < 2:\n    n += 1\n    @\n    log("z")\nreturn "end"',
    "for and with": (
        'for n in range(2):\n    with manager(0):\n        log("w")\n        @\n        log("z")\n    log("y")'
    ),
    "for in for": 'for n in range(2):\n    for m in range(2):\n        log("m")\n        @\n        log("z")',
    "tail": "for n in range(2):\n    log(n)\n    @",
}
#: the statement, and the edit that makes it
BLOCKS = {
    "finally": ("try:\n    @\nfinally:\n    log('F')", "make_finally"),
    "except": ("try:\n    @\nexcept KeyError:\n    log('E')", "make_except"),
    "except as": ("try:\n    @\nexcept Exception as err:\n    log('E', repr(err), exc_info())", "make_except_as"),
    "with": ("with manager('W', c == 2) as w:\n    @", "make_with"),
    "except that returns": (
        "try:\n    @\nexcept KeyError as err:\n    return log(repr(err))",
        "make_except_that_returns",
    ),
}
STEP = [1]  # every how many of the combinations are tried
#: for runs that control never falls out of
ENDING = ("finally", "except that returns")


def calling(name, *arguments):
    return emit.call(emit.load_local(name), *arguments) + emit.pop()


def make_finally(body, first, last):
    return try_finally(body, first, last, lambda: calling("log", emit.load_const("F")))


def make_except(body, first, last):
    return try_except(body, first, last, calling("log", emit.load_const("E")), catch=emit.load_global("KeyError"))


def make_except_as(body, first, last):
    shown = emit.call(emit.load_global("repr"), emit.load_local("err"))
    handler = calling("log", emit.load_const("E"), shown, emit.call(emit.load_global("exc_info")))
    return try_except(body, first, last, handler, catch=emit.load_global("Exception"), name="err")


def make_except_that_returns(body, first, last):
    shown = emit.call(emit.load_global("repr"), emit.load_local("err"))
    handler = emit.return_(emit.call(emit.load_local("log"), shown))
    if body.flags & 0x200:  # an async generator
        handler = handler[:-1] + emit.pop() + emit.return_(emit.load_const(None))
    return try_except(body, first, last, handler, catch=emit.load_global("KeyError"), name="err")


def make_with(body, first, last):
    c = emit.load_cell("c") if "c" in body.cellvars else emit.load_local("c")
    suppress = [*c, *emit.load_const(2), xtab.Instruction("COMPARE_OP", "==")]
    manager = emit.call(emit.load_local("manager"), emit.load_const("W"), suppress)
    return with_block(body, first, last, manager, target="w")


def exc_info():
    return type(sys.exc_info()[1]).__name__


def put(section, where):
    """The text with a section in the place of the @, indented as that is."""
    [line] = [line for line in where.splitlines() if line.strip() == "@"]
    return where.replace(line, textwrap.indent(section, line[: line.index("@")]))


def function_of(text, kind="def"):
    source = f"{kind} f(c, log, g, manager, h=None, amanager=None, ai=None):\n" + textwrap.indent(text, "    ")
    names = {"exc_info": exc_info}
    exec(compile(source, "made", "exec", dont_inherit=True), names)
    return names["f"], source


def lines_of_run(section, surroundings):
    before = put(section, surroundings).splitlines()
    start = next(number for number, line in enumerate(surroundings.splitlines()) if line.strip() == "@")
    assert before[start].strip() == section.splitlines()[0]
    return range(start + 2, start + 2 + len(section.splitlines()))


def run_of(body, lines):
    """The run: from the first instruction of the lines to what stands before the first of the line behind them."""
    instructions = body.instructions
    line = [each.location.line if each.location else None for each in instructions]
    first = line.index(lines[0])
    if instructions[first].opname == "RESUME":
        first += 1
    behind = [place for place in range(first, len(line)) if line[place] == lines[-1] + 1]
    end = behind[0] if behind else 1 + max(place for place in range(len(line)) if line[place] in lines)
    return first, instructions[end] if end < len(instructions) else None


def last_before(body, behind):
    return body.instructions[body.instructions.index(behind) - 1 if behind is not None else -1]


class Recorder:
    def __init__(self):
        self.seen = []

    def log(self, *what):
        self.seen.append(what)

    def g(self, value):
        self.log("g", value)
        if value == 1:
            raise KeyError(value)
        return value

    def manager(self, name, suppress=False):
        recorder = self

        class Manager:
            def __enter__(self):
                recorder.log("enter", name)
                return name

            def __exit__(self, kind, error, traceback):
                recorder.log("exit", name, kind, repr(error), traceback is None)
                return suppress or name == 1

            async def __aenter__(self):
                return self.__enter__()

            async def __aexit__(self, *exc):
                return self.__exit__(*exc)

        return Manager()

    async def h(self, value):
        return self.g(value)

    async def ai(self, count):
        for number in range(count):
            yield number


def story(error):
    """An exception with all that came before it."""
    found = []
    while error is not None:
        found.append((type(error), error.args, error.__suppress_context__, type(error.__cause__)))
        error = error.__context__
    return found


def outcome(function, c, drive=None):
    recorder = Recorder()
    try:
        result = function(c, recorder.log, recorder.g, recorder.manager, recorder.h, recorder.manager, recorder.ai)
        if drive is not None:
            result = drive(result)
    except Exception as error:
        result = story(error)
    assert sys.exc_info() == (None, None, None)
    return result, recorder.seen


def send_all(generator):
    got = [next(generator)]
    for value in range(10):
        try:
            got.append(generator.send(value))
        except StopIteration as stop:
            return got, stop.value
    return got


def throw_in(generator):
    got = [next(generator), generator.throw(KeyError(5))]
    generator.close()
    return got


def close_it(generator):
    got = [next(generator)]
    generator.close()
    return got


def finish(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


def compare(section, surroundings, names, kind="def", drives=(None,)):
    """Compare what nested statements do with what blocks do that were put in one by one, inner ones first."""
    text = section
    for name in names:
        text = put(text, BLOCKS[name][0])
    expected, _ = function_of(put(text, surroundings), kind)
    made, source = function_of(put(section, surroundings), kind)
    body = xtab.decode(made)
    place, behind = run_of(body, lines_of_run(section, surroundings))
    for name in names:
        globals()[BLOCKS[name][1]](body, body.instructions[place], last_before(body, behind))
    made.__code__ = xtab.assemble(body)
    for c, drive in itertools.product(range(4), drives):
        want, found = outcome(expected, c, drive), outcome(made, c, drive)
        assert found == want, f"{names} around\n{source}\nc={c}, {drive}\nexpected {want}\nbut found {found}"


def fits(section, around, name):
    """Whether the block can be put there: code that is never left by falling through has nothing behind it."""
    if (section in ("while", "raise") or around in ("last", "tail")) and name not in ENDING:
        return False
    return name != "except that returns" or around in ("plain", "last", "try", "while")


def compare_all(sections, surroundings, kind="def", drives=(None,)):
    """Compare single blocks; of all that fit, every so many."""
    all_of_them = itertools.product(sections, surroundings, BLOCKS)
    fitting = [which for which in all_of_them if fits(*which)]
    for section, around, name in fitting[:: STEP[0]]:
        compare(sections[section], surroundings[around], [name], kind, drives)


def check_functions():
    compare_all(SECTIONS, SURROUNDINGS | LOOPS)


def check_loops():
    compare_all(IN_LOOPS, LOOPS)


def check_generators():
    compare_all(IN_GENERATORS, SURROUNDINGS | LOOPS, drives=(send_all, throw_in, close_it))


def check_coroutines():
    compare_all(IN_COROUTINES, SURROUNDINGS | LOOPS, "async def", (finish,))


def check_nested_thrice():
    names = ["finally", "except", "except as", "with"]
    where = [(SECTIONS[name], SURROUNDINGS["plain"]) for name in ("return", "loop", "try", "with")]
    where += [(SECTIONS["try"], LOOPS["for and with"]), (IN_LOOPS["with and jumps"], LOOPS["for"])]
    drives = (send_all, throw_in, close_it)
    for three in list(itertools.permutations(names, 3))[:: STEP[0]]:
        for section, around in where:
            compare(section, around, three)
        compare(IN_GENERATORS["yield in try"], SURROUNDINGS["plain"], three, drives=drives)


def simple(x, g):
    return [1, g(x), 2]


def find(body, opname, number=0):
    return [each for each in body.instructions if each.opname.startswith(opname)][number]


def run_of_call(body):
    """The run that computes g(x), with a list begun below it."""
    instructions = body.instructions
    place = next(place for place, each in enumerate(instructions) if "x" in str(each.operand))
    while xtab.stack_depths(body)[place] > 1:
        place -= 1
    return instructions[place], find(body, "CALL")


def check_values_on_the_stack():
    """The handler leaves what the run would have left; what lies below stays."""
    body = xtab.decode(simple)
    first, last = run_of_call(body)
    try_except(body, first, last, emit.load_const("none"), catch=emit.load_global("KeyError"))
    made = type(simple)(xtab.assemble(body), {"KeyError": KeyError})
    assert made(0, Recorder().g) == [1, 0, 2]
    assert made(1, Recorder().g) == [1, "none", 2]
    assert sys.exc_info() == (None, None, None)

    body = xtab.decode(simple)
    first, last = run_of_call(body)
    try_finally(body, first, last, emit.call(emit.load_const(print_nothing)) + emit.pop())
    made = type(simple)(xtab.assemble(body), {})
    assert made(0, Recorder().g) == [1, 0, 2]
    with pytest.raises(KeyError):
        made(1, Recorder().g)


def print_nothing():
    pass


def check_only_the_call_is_protected():
    """A run that takes its operands from below: they are its own, and gone when the handler begins."""
    body = xtab.decode(simple)
    call = find(body, "CALL")
    first = find(body, "PRECALL") if "PRECALL" in {each.opname for each in body.instructions} else call
    try_except(body, first, call, emit.load_const("none"))
    made = type(simple)(xtab.assemble(body), {})
    for value, want in ((0, [1, 0, 2]), (1, [1, "none", 2])):
        for _ in range(20):
            assert made(value, Recorder().g) == want


def check_references():
    """Nothing is kept alive, and nothing freed too early, whatever way the block is left."""
    recorder = Recorder()
    recorder.log = print_all_the_same
    functions = []
    for section in ("return", "loop", "try", "with"):
        for name in BLOCKS:
            if fits(section, "plain", name):
                made, _ = function_of(put(SECTIONS[section], SURROUNDINGS["plain"]))
                body = xtab.decode(made)
                place, behind = run_of(body, lines_of_run(SECTIONS[section], SURROUNDINGS["plain"]))
                globals()[BLOCKS[name][1]](body, body.instructions[place], last_before(body, behind))
                made.__code__ = xtab.assemble(body)
                functions.append(made)

    def run_all():
        for each in functions:
            for c in range(3):
                try:
                    each(c, recorder.log, recorder.g, recorder.manager)
                except Exception:
                    pass

    run_all()
    gc.collect()
    watched = [recorder, recorder.log, *(each.__code__ for each in functions)]
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(1000 // STEP[0]):
        run_all()
    gc.collect()
    assert [sys.getrefcount(each) for each in watched] == before


def print_all_the_same(*what):
    pass


def refusal(edit):
    """The words of the EditError that an edit ends with."""
    with pytest.raises(EditError) as caught:
        edit()
    return str(caught.value)


def looping(xs):
    for x in xs:
        x()
    return 1


def protecting(x):
    x()
    try:
        x()
        x()
    except KeyError:
        x()
    return x


async def awaiting(x):
    await x
    return 1


def test_what_would_cut_a_loop_in_two_is_refused():
    body = xtab.decode(looping)
    last = find(body, "JUMP_BACKWARD")
    for block in (make_finally, make_except):
        if "END_FOR" in {each.opname for each in body.instructions}:
            assert "END_FOR" in refusal(lambda: block(body, find(body, "FOR_ITER"), last))
        assert "reached from its beginning" in refusal(
            lambda: block(body, find(body, "STORE_FAST"), find(body, "RETURN"))
        )


def test_what_would_cut_an_await_in_two_is_refused():
    body = xtab.decode(awaiting)
    for block in (make_finally, make_except):
        assert "expected a run" in refusal(lambda: block(body, find(body, "GET_AWAITABLE"), find(body, "YIELD_VALUE")))
        assert "expected a run" in refusal(lambda: block(body, find(body, "RESUME", 1), find(body, "POP_TOP", 1)))
        assert "expected a run" in refusal(lambda: block(body, body.instructions[0], find(body, "POP_TOP", 1)))


def test_a_run_across_a_span_is_refused():
    body = xtab.decode(protecting)
    calls = [each for each in body.instructions if each.opname == "CALL"]
    assert "lies in each span" in refusal(lambda: make_finally(body, body.instructions[1], calls[1]))


def test_handlers_that_cannot_go_on_are_refused():
    body = xtab.decode(looping)
    pop = find(body, "POP_TOP")
    begin = body.instructions[body.instructions.index(find(body, "STORE_FAST")) + 1]
    assert "doesn't return" in refusal(lambda: try_except(body, begin, pop, emit.return_(emit.load_const(1))))
    body = xtab.decode(looping)
    first = body.instructions[1]
    assert "returns, raises or jumps" in refusal(
        lambda: try_except(body, first, body.instructions[-1], emit.load_const(1) + emit.pop())
    )


def test_finally_bodies_that_leave_are_refused():
    body = xtab.decode(looping)
    for final in (emit.return_(emit.load_const(1)), [xtab.Instruction("JUMP_FORWARD", body.instructions[1])]):
        assert "neither returns nor jumps" in refusal(
            lambda: try_finally(body, body.instructions[1], body.instructions[-1], final)
        )


def test_a_with_block_leaves_values_alone():
    body = xtab.decode(simple)
    call = find(body, "CALL")
    first = find(body, "PRECALL") if "PRECALL" in {each.opname for each in body.instructions} else call
    assert "leaves the values below it alone" in refusal(lambda: with_block(body, first, call, emit.load_const(None)))
    assert "leaves no value" in refusal(lambda: with_block(body, *run_of_call(body), emit.load_const(None)))


def test_what_is_no_run_is_refused():
    body = xtab.decode(looping)
    for first, last in ((body.instructions[3], body.instructions[2]), (xtab.Instruction("NOP"), body.instructions[2])):
        with pytest.raises(xtab.XtabError, match="expected a run of this body"):
            make_finally(body, first, last)


def run_checks(step):
    command = [sys.executable, "-Xfaulthandler", __file__, str(step)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_some_checks_in_a_process_of_their_own():
    run_checks(8)


@pytest.mark.slow
def test_all_checks_in_a_process_of_their_own():
    run_checks(1)


if __name__ == "__main__":
    STEP[0] = int(sys.argv[1])
    sys.unraisablehook = lambda _: None  # a with block that suppresses GeneratorExit says so, the compiler's too
    for name in sys.argv[2:] or [name for name in dir() if name.startswith("check_")]:
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        globals()[name]()
