"""Malformed tables are read and searched as the interpreter that runs these tests does it."""

from __future__ import annotations

import dis
import json
import random
import subprocess
import sys

import pytest

from xtab.errors import TableFormatError
from xtab.format.cpython_reading import find_entry, first_fault, read_entries
from xtab.format.exception_table import (
    ExceptionTableEntry,
    assemble_exception_table,
    find_handler,
    parse_exception_table,
)

SITES = 40
#: a function with many places that raise (one code unit each: no caches, no calls) and many handlers
SOURCE = "def f(n):\n    global zz\n" + "".join(
    f"    try:\n        if n == {i}: del zz\n    except: return {i}\n" for i in range(SITES)
)
#: runs in an interpreter of its own: for each table the handlers that the places lead to, None where nothing catches
CHILD = """
import json, sys
source, jobs = json.load(sys.stdin)
scope = {}
exec(source, scope)
f = scope["f"]
code = f.__code__
results = []
for table, sites in jobs:
    f.__code__ = code.replace(co_exceptiontable=bytes.fromhex(table))
    found = []
    for site in sites:
        try:
            found.append(f(site))
        except NameError:
            found.append(None)
    results.append(found)
json.dump(results, sys.stdout)
"""


def places():
    """The function's code, the code unit of each place that raises, and the place of each handler's code unit."""
    scope = {}
    exec(SOURCE, scope)
    code = scope["f"].__code__
    raising = [one.offset // 2 for one in dis.get_instructions(code) if one.opname == "DELETE_GLOBAL"]
    own = {unit: find_handler(code.co_exceptiontable, unit * 2).target // 2 for unit in raising}
    assert len(set(own.values())) == SITES
    return code, raising, {target: place for place, target in enumerate(own.values())}


def run(jobs):
    """What the interpreter makes of tables: jobs are pairs of a table and the places that shall raise."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", CHILD],
        input=json.dumps([SOURCE, [(table.hex(), sites) for table, sites in jobs]]),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def varint(value, rng, sloppy):
    """Six bits a byte; a sloppy one may have needless groups of zero in front."""
    groups = [value & 63]
    while value := value >> 6:
        groups.append(value & 63 | 64)
    if sloppy and rng.random() < 0.1:
        groups += [64] * rng.randrange(1, 5)
    return bytes(reversed(groups))


def random_table(rng, raising, handlers, sloppy):
    """Entries in any order, overlapping, with start bits missing or set where none belongs."""
    units = raising[-1] + 10
    table = bytearray()
    starts = [rng.randrange(units) for _ in range(rng.choice([3, 8, 12, 30]))]
    if rng.random() < 0.7:
        starts.sort()
    for start in starts:
        length = rng.choice([0, 1, 5, 20, 200])
        for field, value in enumerate((start, length, rng.choice(handlers), 0)):
            part = bytearray(varint(value, rng, sloppy))
            if (field == 0) != (sloppy and rng.random() < 0.05):
                part[0] |= 128
            table += part
    return bytes(table[: -rng.choice([0, 0, 1, 3])] if sloppy and rng.random() < 0.2 else table)


def predictable(table, raising, handlers):
    """The places whose lookup an interpreter can do (it neither hangs nor jumps at random), and our answers."""
    sites, answers = [], []
    for site, unit in enumerate(raising):
        try:
            entry = find_entry(table, unit)
        except TableFormatError:
            continue
        if entry is None or (entry[2] in handlers and not entry[3]):
            sites.append(site)
            answers.append(None if entry is None else handlers[entry[2]])
    return sites, answers


@pytest.mark.parametrize("sloppy", [False, True], ids=["wrong order", "wrong bytes"])
def test_lookup_is_the_interpreters(sloppy):
    """Unsorted, overlapping and malformed tables, short and long: the same handler as in the running interpreter."""
    rng = random.Random(sloppy)
    _, raising, handlers = places()
    jobs, expected = [], []
    for _ in range(300):
        table = random_table(rng, raising, list(handlers), sloppy)
        sites, answers = predictable(table, raising, handlers)
        jobs.append((table, sites))
        expected.append(answers)
    assert run(jobs) == expected
    answers = [answer for found in expected for answer in found]
    assert len(answers) > 5000
    assert 0.05 < answers.count(None) / len(answers) < 0.95
    assert any(len(table) > 100 for table, _ in jobs)


def test_lookup_in_a_real_table_is_the_interpreters():
    """In the compiler's own table every place finds its own handler."""
    code, raising, handlers = places()
    assert len(code.co_exceptiontable) > 200
    sites, answers = predictable(code.co_exceptiontable, raising, handlers)
    assert answers == list(range(SITES))
    assert run([(code.co_exceptiontable, sites)]) == [answers]


def test_a_long_table_is_bisected_and_not_searched_from_the_start():
    """Over 40 bytes the outer one of two overlapping entries is missed, as in the interpreter."""
    _, raising, handlers = places()
    targets = list(handlers)
    table = bytearray()
    for values in [(0, 400, targets[1], 0), *((unit, 1, targets[0], 0) for unit in raising)]:
        entry = bytearray(b"".join(varint(value, None, sloppy=False) for value in values))
        entry[0] |= 128
        table += entry
    table = bytes(table)
    sites, answers = predictable(table, raising, handlers)
    assert 0 in answers
    assert run([(table, sites)]) == [answers]


@pytest.mark.parametrize(
    "table,fault,offset",
    [
        (b"\x81" + b"\x01" * 47, "missing start bit", 1),
        (b"\x01" * 48, "missing start bit", 0),
        (b"\x81\x01\x02\x00" * 8 + b"\x81" + b"\x01" * 60, "missing start bit", 33),
        (b"\x81" + b"\x41" * 44 + b"\x01\x02\x00", "missing start bit", 1),
        (b"\xc0", "truncated", 1),
        (b"\x80\x7f", "truncated", 2),
        (b"\x81\x7f\x7f", "truncated", 3),
        (b"\x80\x7f\x7f\x7f\x7f\x7f\x7f\x00\x00\x00", "value too large", 1),
        (b"\x80\x41\x7f\x7f\x7f\x7f\x3f\x40\x7f\x7f\x7f\x7f\x7f\x00\x00", "value too large", 7),
        (b"\x8a\x41\x7f\x7f\x7f\x7f\x3f\x00\x00", "value too large", 0),
    ],
)
def test_where_the_interpreter_would_hang_or_leave_the_table(table, fault, offset):
    """A lookup that would never end, or read behind the table or overflow, is refused with the byte."""
    with pytest.raises(TableFormatError) as caught:
        find_entry(table, 30)
    assert (caught.value.fault, caught.value.offset) == (fault, offset)


def test_a_table_may_end_one_byte_early():
    """A bytes object ends in a NUL, so that a missing last number is read as 0: depth 0, no lasti."""
    assert find_handler(b"\x81\x05\x0a", 4) == ExceptionTableEntry(2, 12, 20, 0, False)
    entries, faults = parse_exception_table(b"\x81\x05\x0a", strict=False)
    assert entries == [ExceptionTableEntry(2, 12, 20, 0, False)]
    assert [(one.fault, one.offset) for one in faults] == [("truncated", 3)]
    assert parse_exception_table(b"\x81\x05", strict=False)[0] == []


NESTED = [(1, 10, 3, 0), (2, 3, 3, 0), (4, 5, 3, 0)]
TWO_OVERLONG = [("overlong varint", 0), ("overlong varint", 7), ("empty range", 5)]


@pytest.mark.parametrize(
    "table,entries,expected",
    [
        ("81 01 03 00 05 01 02 85 01 02 00", [(1, 2, 3, 0), (5, 6, 2, 0)], [("missing start bit", 4)]),
        ("01 01 02 00", [(1, 2, 2, 0)], [("missing start bit", 0)]),
        ("81 81 82 80", [(1, 2, 2, 0)], [*(("stray start bit", at) for at in (1, 2, 3, 3)), ("truncated", 4)]),
        ("85 02 09 00 81 09 08 00", [(5, 7, 9, 0), (1, 10, 8, 0)], [("unsorted", 4)]),
        ("81 09 03 00 82 01 03 00 84 01 03 00", NESTED, [("overlap", 4), ("overlap", 8)]),
        ("81 00 02 00", [(1, 1, 2, 0)], [("empty range", 0)]),
        ("81 41 40 40 40 40 40 00 02 00 85 01 02 00", [(5, 6, 2, 0)], [("value too large", 1)]),
        ("81 01 41 40 40 40 40 00 00", [(1, 2, 2**30, 0)], [("value too large", 2)]),
        ("c0 01 01 02 00 85 00 40 02 00", [(1, 2, 2, 0), (5, 5, 2, 0)], TWO_OVERLONG),
    ],
)
def test_lenient_reading_goes_on_where_the_interpreter_does(table, entries, expected):
    """Behind a fault the next entry is the one that the linear search finds; what C can't hold is left out."""
    read, faults = read_entries(bytes.fromhex(table), 1 << 31)
    assert read == entries
    assert [(one.fault, one.offset) for one in faults] == expected
    assert str(first_fault(bytes.fromhex(table), 1 << 31)) == str(faults[0])


def test_reading_and_searching_agree():
    """In a short table the search finds the first entry read that ends behind the unit, unless it begins there."""
    rng = random.Random(5)
    tried = 0
    for _ in range(2000):
        table = bytes(rng.choice([0, 0, 128]) | rng.randrange(68) for _ in range(rng.randrange(30)))
        entries, faults = read_entries(table, 1 << 30)
        if any(one.fault in {"truncated", "value too large"} for one in faults):
            continue
        tried += 1
        for unit in range(0, 70, 7):
            expected = None
            for entry in entries:
                if entry[0] > unit or entry[1] > unit:
                    expected = entry if entry[0] <= unit else None
                    break
            assert find_entry(table, unit) == expected
    assert tried > 100


def test_valid_tables_have_no_faults():
    """The lenient reader finds nothing in what the assembler writes."""
    table = assemble_exception_table([ExceptionTableEntry(0, 4, 8, 0, False), ExceptionTableEntry(4, 8, 8, 1, True)])
    assert read_entries(table, 5) == ([(0, 2, 4, 0), (2, 4, 4, 3)], [])
