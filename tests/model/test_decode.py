"""`decode`: what it takes, what it refuses, what it gives back."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

import xtab
from xtab import ExceptionTableEntry, Instruction, assemble_exception_table, decode
from xtab.format.opcodes import CURRENT
from xtab.model.decode import read_source

EXTENDED_ARG = CURRENT.extended_arg


def nowhere(units):
    """Return a location table that says nothing about so many code units."""
    sizes = [8] * (units // 8) + [units % 8] * (units % 8 > 0)
    return bytes(0x80 | 15 << 3 | size - 1 for size in sizes)


def with_code(code, code_bytes, **changes):
    return code.replace(co_code=code_bytes, co_linetable=nowhere(len(code_bytes) // 2), **changes)


# prefixes


@pytest.mark.parametrize("count", [1, 2, 3])
def test_redundant_prefixes_come_back(count):
    """A prefix that adds nothing stays, byte for byte, and belongs to the instruction."""
    code = compile("x.y", "example", "eval")
    for place, plain in enumerate(decode(code).instructions):
        start = 2 * sum(CURRENT.units[each.opcode] for each in decode(code).instructions[:place])
        prefixed = with_code(code, code.co_code[:start] + bytes([EXTENDED_ARG, 0]) * count + code.co_code[start:])
        body = decode(prefixed)
        assert repr(body.instructions[place]) == repr(plain)
        assert body.layout.offset_of(body.instructions[place]) == start
        assert body.layout.end_of(body.instructions[place]) == start + 2 * (count + CURRENT.units[plain.opcode])
        assert xtab.assemble(body) == prefixed
        assert xtab.assemble(body).co_code == prefixed.co_code
        # also where others were put in or changed
        body.instructions.insert(1, Instruction("NOP"))
        edited = xtab.assemble(body).co_code
        assert edited.count(bytes([EXTENDED_ARG, 0])) == count
        assert len(edited) == len(prefixed.co_code) + 2


def test_a_redundant_prefix_of_a_jump_comes_back():
    """So it does where the distance would not need it, and a jump to it leads to the prefix."""
    opcodes = CURRENT.number
    units = CURRENT.units[opcodes["JUMP_BACKWARD"]]
    code = compile("x", "example", "eval")
    jump = bytes([EXTENDED_ARG, 0, opcodes["JUMP_FORWARD"], 0])
    back = bytes([EXTENDED_ARG, 0, opcodes["JUMP_BACKWARD"], units + 3]) + bytes(2 * units - 2)
    prefixed = with_code(code, jump + back + code.co_code)
    body = decode(prefixed)
    forward, backward = body.instructions[:2]
    assert (forward.target, backward.target) == (backward, forward)
    assert xtab.assemble(body).co_code == prefixed.co_code


def test_needed_prefixes_are_folded():
    """EXTENDED_ARG is no instruction: large operands are just numbers."""
    source = "".join(f"x{n} = {n}.5\n" for n in range(700)) + "y = x699"
    body = decode(compile(source, "example", "exec"))
    assert not any(each.opcode == EXTENDED_ARG for each in body.instructions)
    operands = [each.operand for each in body.instructions]
    assert [name for name in operands if name in ("x300", "x699", "y")] == ["x300", "x699", "x699", "y"]


# what is refused; each in a process of its own, since the interpreter itself may write or read beyond such code

PROGRAM = """
import sys, xtab
from xtab.format.opcodes import CURRENT
code = compile("x.y", "example", "eval")
number = CURRENT.number
prefix, forward, back = CURRENT.extended_arg, number["JUMP_FORWARD"], number["JUMP_BACKWARD"]
units = code.co_code[::2]
start = 2 * units.index(number["LOAD_ATTR"])
first = 2 * units.index(number["LOAD_NAME"])
size = len(code.co_code)
made = code.replace(co_code={0})
try:
    xtab.decode(made)
except xtab.DecodeError as error:
    sys.stdout.write(f"{{error.offset}} {{eval({1!r})}} {{error}}")
sys.stdout.flush()
"""
REFUSED = {
    "no instruction": ("b''", "None", "expected an instruction, but found 0 units of cache"),
    "caches only": ("bytes(4)", "None", "expected an instruction, but found 2 units of cache"),
    "a cache too many": ("code.co_code + bytes(2)", "size", "expected an opcode, but found a cache unit"),
    "a cache in front": ("bytes(2) + code.co_code", "0", "expected an opcode, but found a cache unit"),
    "a cache between": ("code.co_code[:first] + bytes(2) + code.co_code[first:]", "first", "found a cache unit"),
    "no caches": ("code.co_code[:start + 2]", "start + 2", "expected the caches of an instruction, but found the end"),
    "some caches": (
        "code.co_code[:start + 4]",
        "start + 4",
        "expected the caches of an instruction, but found the end",
    ),
    "a prefix at the end": (
        "code.co_code + bytes([prefix, 1])",
        "size + 2",
        "expected an instruction behind EXTENDED_ARG, but found the end",
    ),
    "four prefixes": ("bytes([prefix, 0]) * 4 + code.co_code", "0", "at most three EXTENDED_ARG, but found 4"),
    "a negative operand": ("bytes([prefix, 255]) * 3 + code.co_code", "0", "expected an operand below 2**31"),
    "a jump into caches": (
        "code.co_code[:start] + bytes([forward, 2]) + code.co_code[start:]",
        "start",
        "expected JUMP_FORWARD to lead to an instruction, but found its target at",
    ),
    "a jump behind a prefix": (
        "bytes([forward, 1, prefix, 0]) + code.co_code",
        "0",
        "expected JUMP_FORWARD to lead to an instruction, but found its target at 4",
    ),
    "a jump to the end": ("bytes([forward, size // 2]) + code.co_code", "0", "found its target at"),
    "a jump far behind the end": ("bytes([forward, 200]) + code.co_code", "0", "found its target at 402"),
    "a jump before the start": ("bytes([back, 99]) + bytes(2 * CURRENT.caches[back]) + code.co_code", "0", "at -"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_malformed_code_is_refused(name):
    """The error names the offset, in bytes, of the instruction at fault."""
    expression, offset, words = REFUSED[name]
    program = PROGRAM.format(expression, offset)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    # the interpreter may crash when it ends, if it was it that wrote behind the code's end
    found, wanted, text = done.stdout.split(" ", 2)
    assert found == wanted, done
    assert words in text
    assert text.startswith("expected" if found == "None" else f"at offset {found}: ")


def test_an_odd_number_of_bytes_is_refused_by_the_interpreter():
    code = compile("x.y", "example", "eval")
    with pytest.raises(ValueError, match="co_code"):
        code.replace(co_code=code.co_code[:-1])


@pytest.mark.parametrize("op", [op for op in range(1, 256) if CURRENT.unknown[op]])
def test_unknown_opcodes_are_refused(op):
    """Each number without an opcode, and where it stands. Code with one may crash CPython: a stand-in has it."""
    code = compile("x", "example", "eval").co_code
    start = 2 * CURRENT.units[CURRENT.number["RESUME"]]
    made = SimpleNamespace(co_code=code[:start] + bytes([op, 0]) + code[start:], co_exceptiontable=b"")
    with pytest.raises(xtab.DecodeError, match=f"but found {op}$") as caught:
        read_source(made)
    assert caught.value.offset == start


def covered(a):
    a.b.c
    return a


def test_entries_that_split_an_instruction_are_refused():
    """The message says which end of which entry lies in the middle, and the error has the offset."""
    code = covered.__code__
    layout = decode(code).layout
    offsets = [offset for offset, _ in layout]
    offset, wide = next((offset, each) for offset, each in layout if each.opname == "LOAD_ATTR")
    end = layout.end_of(wide)
    good = (offset, end, offsets[-1])
    entry = ExceptionTableEntry(*good, 0, lasti=False)
    first = ExceptionTableEntry(offsets[0], offsets[1], offsets[-1], 0, lasti=True)
    assert decode(code.replace(co_exceptiontable=assemble_exception_table([first, entry])))
    for what, wrong in (("start", offset + 2), ("end", end - 2), ("target", offset + 4)):
        table = assemble_exception_table([first, entry._replace(**{what: wrong})])
        with pytest.raises(xtab.DecodeError) as caught:
            decode(code.replace(co_exceptiontable=table))
        assert caught.value.offset == wrong
        assert f"at offset {wrong}: expected the {what} of exception table entry 1 at the border" in str(caught.value)


def test_malformed_tables_are_refused():
    """What can't be read as a table at all is an error of the table."""
    with pytest.raises(xtab.TableFormatError, match="exception table"):
        decode(covered.__code__.replace(co_exceptiontable=b"\x80\x01"))
    with pytest.raises(xtab.TableFormatError, match="exception table"):
        decode(covered.__code__.replace(co_exceptiontable=assemble_exception_table([(0, 4000, 0, 0, False)])))


# what is taken


def test_everything_that_has_code_is_taken():
    def function():
        yield sys._getframe()
        raise KeyError

    async def coroutine():
        pass

    async def async_generator():
        yield

    class Class:
        def method(self):
            pass

    running = coroutine()
    generator = function()
    frame = next(generator)
    try:
        next(generator)
    except KeyError as error:
        traceback = error.__traceback__
    for source, code in (
        (function, function.__code__),
        (function.__code__, function.__code__),
        (Class().method, Class.method.__code__),
        (generator, function.__code__),
        (frame, function.__code__),
        (traceback, sys._getframe().f_code),
        (traceback.tb_next, function.__code__),
        (running, coroutine.__code__),
        (async_generator(), async_generator.__code__),
    ):
        body = decode(source)
        assert (body.qualname, body.first_line) == (code.co_qualname, code.co_firstlineno)
        assert xtab.assemble(body) == code
    running.close()


@pytest.mark.parametrize("thing", [1, "x", int, len, sys, None, classmethod(print)])
def test_what_has_no_code_is_refused(thing):
    with pytest.raises(TypeError, match="expected a code object, function"):
        decode(thing)


def test_code_objects_inside_stay_constants():
    body = decode(compile("def f(): pass", "example", "exec"))
    assert [const.co_name for const in body.consts if hasattr(const, "co_name")] == ["f"]


# spans

NESTED = """
def f(a):
    with a(0):
        try:
            try:
                a(1)
            except ValueError:
                a(2)
            a(3)
        finally:
            a(4)
        a(5)
    a(6)
"""


def kind_of(span, body):
    """Name the handler of a span by its first instructions."""
    place = body.instructions.index(span.target)
    following = [each.opname for each in body.instructions[place : place + 4]]
    if following[0] == "COPY" or following[1] == "COPY":
        return "cleanup"
    if following[1] == "WITH_EXCEPT_START":
        return "with"
    if following[0] == "CALL_INTRINSIC_1":
        return "generator"
    return "except" if "CHECK_EXC_MATCH" in following else "finally"


def spans_of(body, number):
    """The spans around the calls with a number, innermost first: for each copy of the call in the code."""
    found = []
    for place, each in enumerate(body.instructions):
        if each.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and each.operand == number and type(each.operand) is int:
            call = next(later for later in body.instructions[place:] if later.opname == "CALL")
            spans, span = [], call.exn_tab_entry
            while span is not None:
                spans.append(span)
                span = span.outer
            found.append(spans)
    return found


IN_NESTED = {
    0: [[]],
    1: [["except", "finally", "with"]],
    2: [["cleanup", "finally", "with"]],
    3: [["finally", "with"]],
    4: [["with"], ["cleanup", "with"]],
    5: [["with"]],
    6: [[]],
}


@pytest.mark.parametrize("generator", [False, True], ids=["function", "generator"])
def test_spans_nest_as_statements_do(generator):
    """A try in a try in a with; from 3.12 on a generator has a span around all of it."""
    namespace = {}
    exec(NESTED + ("    yield\n" if generator else ""), namespace)
    body = decode(namespace["f"])
    last = ["generator"] if generator and CURRENT.version >= (3, 12) else []
    for number, wanted in IN_NESTED.items():
        found = [[kind_of(span, body) for span in spans] for spans in spans_of(body, number)]
        assert found == [kinds + last for kinds in wanted], number
    inner, middle, outer = spans_of(body, 1)[0][:3]
    kept = 2 if CURRENT.version >= (3, 14) else 1  # what `with` keeps on the stack
    assert [(span.depth - outer.depth, span.lasti) for span in (inner, middle, outer)] == [
        *[(outer_depth(kept, outer), False)] * 2,
        (0, True),
    ]
    # all instructions of a region share the one object
    assert spans_of(body, 3)[0] == spans_of(body, 1)[0][1:]
    assert spans_of(body, 5)[0] == spans_of(body, 1)[0][2:]


def outer_depth(kept, outer):
    """How much deeper the stack is within the with: its region begins when what it keeps is there already."""
    return 0 if outer.depth >= kept else kept - outer.depth


def test_a_span_has_one_object_for_all_its_pieces():
    """A region with a hole in it is one span still."""

    def f(a):
        try:
            if a:
                return 1
            a()
        finally:
            a(2)

    body = decode(f)
    handlers = {entry[2:] for entry in xtab.parse_exception_table(f)}
    spans = {each.exn_tab_entry for each in body.instructions} - {None}
    assert len(spans) == len(handlers)
    assert max(len(body.pieces_of(span)) for span in spans) > 1


def test_handlers_that_cover_each_other_in_a_circle():
    """In a table that no compiler made: the circle is cut, and what was decoded comes back."""
    code = covered.__code__
    offsets = [offset for offset, _ in decode(code).layout]
    entries = [
        ExceptionTableEntry(offsets[1], offsets[2], offsets[2], 0, lasti=False),
        ExceptionTableEntry(offsets[2], offsets[3], offsets[1], 0, lasti=True),
    ]
    made = code.replace(co_exceptiontable=assemble_exception_table(entries))
    body = decode(made)
    for each in body.instructions:
        seen, span = set(), each.exn_tab_entry
        while span is not None:
            assert span not in seen
            seen.add(span)
            span = span.outer
