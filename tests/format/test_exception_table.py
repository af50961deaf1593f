"""Exception tables: bytes to entries and back, refusals, and lookups."""

from __future__ import annotations

import contextlib
import dis
import random
import runpy
import sysconfig
import types
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xtab.errors import TableFormatError, XtabError
from xtab.format.exception_table import (
    ExceptionTableEntry,
    _read_canonical,
    assemble_exception_table,
    find_handler,
    parse_exception_table,
)

HOSTILE = runpy.run_path(str(Path(__file__).parents[1] / "cases" / "hostile_tables.py"))["TABLES"]
STDLIB = Path(sysconfig.get_path("stdlib"))
SAMPLE = [
    *("_pydecimal", "asyncio/tasks", "asyncio/base_events", "contextlib", "email/message", "http/client", "shutil"),
    *("socket", "subprocess", "tarfile", "tempfile", "threading", "typing", "unittest/mock", "xmlrpc/client"),
]
#: the first and last values with one, two, three, four and five groups
BOUNDARIES = [0, 1, 63, 64, 4095, 4096, 2**18 - 1, 2**18, 2**24 - 1, 2**24, 2**30 - 1]


def entry_at(start, end, target=100, depth=0, lasti=False):
    return ExceptionTableEntry(start, end, target, depth, lasti)


def code_objects():
    """All code objects of the sample."""
    waiting = [
        compile((STDLIB / f"{name}.py").read_bytes(), name, "exec", dont_inherit=True)
        for name in SAMPLE
        if (STDLIB / f"{name}.py").exists()
    ]
    assert len(waiting) > 10
    found = []
    while waiting:
        found.append(code := waiting.pop())
        waiting += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return found


values = st.one_of(st.sampled_from(BOUNDARIES), st.integers(0, 200), st.integers(0, 2**30 - 1))


@st.composite
def canonical_entries(draw, value=values):
    """Entries as a compiler might write them, of any size, sorted, apart, and not to be merged."""
    entries = []
    end = 0
    for _ in range(draw(st.integers(0, 12))):
        start = end + draw(st.one_of(st.just(0), value))
        length = max(1, draw(value))
        target, depth, lasti = draw(value), draw(value) >> 1, draw(st.booleans())
        if start >= 2**30:
            break
        if entries and entries[-1][1:] == (start * 2, target * 2, depth, lasti):
            target = 0 if target else 1
        entries.append(entry_at(start * 2, (start + length) * 2, target * 2, depth, lasti))
        end = start + length
    return entries


@st.composite
def damaged_tables(draw):
    """Tables of a compiler in which a few bytes were changed, dropped or added: nearer to the edge than any bytes."""
    table = bytearray(assemble_exception_table(draw(canonical_entries(st.integers(0, 70)))))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(table)))
        table[place : place + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(table)


any_bytes = st.one_of(st.binary(max_size=80), damaged_tables())


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_tables_are_refused(number):
    """Each hostile table is refused for its fault, with a byte and an entry; lenient reading lists that fault first."""
    table, code_size, fault = HOSTILE[number]
    with pytest.raises(TableFormatError) as caught:
        parse_exception_table(table, code_size=code_size)
    error = caught.value
    assert error.fault == fault
    assert error.table == "exception table"
    assert 0 <= error.offset <= len(table)
    assert 0 <= error.entry <= table.count(0x80) + len(table) // 4
    _, faults = parse_exception_table(table, strict=False, code_size=code_size)
    assert str(faults[0]) == str(error)


FAULTS = [
    ("81 01 02 00 83", "entry 1, byte 5: truncated", "the length", "the end of the table"),
    ("81 01 02 00 03 01", "entry 1, byte 4: missing start bit", "a byte with bit 7 set, where an entry begins", "0x03"),
    ("81 01 82 00", "entry 0, byte 2: stray start bit", "the target", "0x82, whose bit 7 begins an entry"),
    ("81 01 40 02 00", "entry 0, byte 2: overlong varint", "the target in its shortest form", "a first group of zero"),
    ("81 01 02 41 40 40 40 40 00", "entry 0, byte 3: value too large", "a depth and lasti below 2**30", "1073741824"),
    ("81 00 02 00", "entry 0, byte 0: empty range", "a range of at least two bytes", "[2,2)"),
    (
        "81 04 09 00 83 04 08 00",
        "entry 1, byte 4: overlap",
        "a start of at least 10",
        "[6,14), which overlaps an entry before it",
    ),
    (
        "85 02 09 00 81 02 09 00",
        "entry 1, byte 4: unsorted",
        "a start of at least 14",
        "[2,6), which begins before that",
    ),
    ("81 02 09 00 83 02 09 00", "entry 1, byte 4: not canonical", "one entry [2,10)", "two that meet at 6"),
]


@pytest.mark.parametrize("table,where,expected,found", FAULTS)
def test_errors_say_where_and_what(table, where, expected, found):
    """An error names the entry, the byte, what was expected there and what was found."""
    with pytest.raises(TableFormatError) as caught:
        parse_exception_table(bytes.fromhex(table))
    assert str(caught.value) == f"exception table, {where}: expected {expected}, but found {found}"


@given(any_bytes, st.one_of(st.none(), st.integers(0, 200)))
@example(b"\x81\x01\x0a\x00", 21)
@settings(deadline=None, max_examples=250)
def test_any_bytes(table, code_size):
    """Any bytes are read or refused; strict and lenient reading agree; what is read is written the same again."""
    entries, faults = parse_exception_table(table, strict=False, code_size=code_size)
    assert all(type(each) is TableFormatError for each in faults)
    refused = None
    try:
        strict = parse_exception_table(table, code_size=code_size)
    except TableFormatError as error:
        refused = error
    assert str(refused) == str(faults[0] if faults else None)
    if refused is None:
        assert strict == entries
        assert assemble_exception_table(strict) == table
        assert all(type(entry.lasti) is bool and type(entry) is ExceptionTableEntry for entry in strict)


@pytest.mark.parametrize("byte", ["41", "c1", "81", "01", "ff"])
def test_long_nonsense_is_read_in_linear_time(byte):
    """A varint that never ends doesn't make ever larger numbers, nor is it read again and again."""
    table = b"\x81" + bytes.fromhex(byte) * 30_000
    with pytest.raises(TableFormatError):
        parse_exception_table(table)
    for offset in (0, 10):
        with contextlib.suppress(TableFormatError):
            find_handler(table, offset)


@given(canonical_entries())
@settings(deadline=None, max_examples=100)
def test_round_trip(entries):
    """Entries of all sizes are written and read again, and as `dis` reads them."""
    table = assemble_exception_table(entries)
    assert parse_exception_table(table) == entries
    assert _read_canonical(table, 2**32) == entries, "a valid table was left to the slow reader"
    assert parse_exception_table(table, strict=False) == (entries, [])
    holder = types.SimpleNamespace(co_exceptiontable=table)
    assert [tuple(entry) for entry in dis._parse_exception_table(holder)] == [tuple(entry) for entry in entries]


@pytest.mark.parametrize(
    "value,varint",
    [
        (63, "3f"),
        (64, "41 00"),
        (4095, "7f 3f"),
        (4096, "41 40 00"),
        (2**18 - 1, "7f 7f 3f"),
        (2**18, "41 40 40 00"),
        (2**24 - 1, "7f 7f 7f 3f"),
        (2**24, "41 40 40 40 00"),
        (2**30 - 1, "7f 7f 7f 7f 3f"),
    ],
)
def test_varints(value, varint):
    """Every field grows by a byte at 2**6, 2**12, 2**18 and 2**24, and none is 2**30 or more."""
    varint = bytes.fromhex(varint)
    start = bytes((varint[0] | 128,)) + varint[1:]
    for entry, table in [
        (entry_at(value * 2, value * 2 + 2, 6), start + b"\x01\x03\x00"),
        (entry_at(2, 2 + value * 2, 6), b"\x81" + varint + b"\x03\x00"),
        (entry_at(2, 4, value * 2), b"\x81\x01" + varint + b"\x00"),
        (entry_at(2, 4, 6, value >> 1, bool(value & 1)), b"\x81\x01\x03" + varint),
    ]:
        assert assemble_exception_table([entry]) == table
        assert parse_exception_table(table) == [entry]


def test_the_standard_library():
    """Tables of the compiler are read as `dis` reads them, refused for nothing, and written again byte for byte."""
    entries = 0
    for code in code_objects():
        parsed = parse_exception_table(code)
        assert [tuple(entry) for entry in parsed] == [tuple(entry) for entry in dis._parse_exception_table(code)]
        assert assemble_exception_table(parsed) == code.co_exceptiontable
        random.Random(0).shuffle(parsed)
        assert assemble_exception_table(parsed) == code.co_exceptiontable
        entries += len(parsed)
    assert entries > 1000


def risky():
    try:
        return int("x")
    except ValueError:
        return None


def test_anything_with_code_is_a_source():
    """A function, its code and the bytes of its table give the same entries."""
    expected = parse_exception_table(risky.__code__.co_exceptiontable)
    assert expected
    assert parse_exception_table(risky) == parse_exception_table(risky.__code__) == expected
    with pytest.raises(TypeError, match="one of its methods"):
        parse_exception_table(types.SimpleNamespace)


def test_the_length_of_the_code_is_known_from_the_source():
    """Ends and targets outside the code are refused when the source is code or its size is given, and only then."""
    size = len(risky.__code__.co_code)
    for entry, fault in [
        (entry_at(0, size + 2, 0), "range outside the code"),
        (entry_at(0, size, size), "target outside the code"),
    ]:
        table = assemble_exception_table([entry])
        code = risky.__code__.replace(co_exceptiontable=table)
        assert parse_exception_table(table) == [entry]
        assert parse_exception_table(table, code_size=size + 2) == [entry]
        assert parse_exception_table(code, code_size=size + 2) == [entry]
        for source, code_size in [(code, None), (table, size)]:
            with pytest.raises(TableFormatError) as caught:
                parse_exception_table(source, code_size=code_size)
            assert caught.value.fault == fault
            assert [one.fault for one in parse_exception_table(source, strict=False, code_size=code_size)[1]] == [fault]
    table = assemble_exception_table([entry_at(0, size, size - 2)])
    assert parse_exception_table(risky.__code__.replace(co_exceptiontable=table))


def test_neighbours_with_one_handler_are_merged():
    """Entries are sorted, and neighbours with the same target, depth and lasti become one, however many they are."""
    entries = [
        entry_at(8, 10, 40, 1, True),
        entry_at(4, 8, 40, 1, True),
        entry_at(10, 12, 40, 1, True),
        entry_at(14, 16, 40, 1, True),
    ]
    merged = [entry_at(4, 12, 40, 1, True), entry_at(14, 16, 40, 1, True)]
    assert parse_exception_table(assemble_exception_table(entries)) == merged


@pytest.mark.parametrize(
    "other", [entry_at(8, 12, 42, 1, True), entry_at(8, 12, 40, 2, True), entry_at(8, 12, 40, 1, False)]
)
def test_neighbours_with_another_handler_stay_apart(other):
    """Neighbours that differ in target, depth or lasti alone are two entries."""
    entries = [entry_at(4, 8, 40, 1, True), other]
    assert parse_exception_table(assemble_exception_table(entries)) == entries
    assert _read_canonical(assemble_exception_table(entries), 100) == entries


@given(canonical_entries(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_order_and_cuts_of_the_entries_do_not_matter(entries, rng):
    """Entries cut in two and shuffled give the same bytes."""
    pieces = []
    for entry in entries:
        middle = rng.randrange(entry.start, entry.end, 2)
        pieces += [entry] if middle == entry.start else [entry._replace(end=middle), entry._replace(start=middle)]
    rng.shuffle(pieces)
    assert assemble_exception_table(iter(pieces)) == assemble_exception_table(entries)


@pytest.mark.parametrize(
    "entry,fault",
    [
        (entry_at(-2, 4), "negative value"),
        (entry_at(-4, -2), "negative value"),
        (entry_at(2, 4, -2), "negative value"),
        (entry_at(2, 4, 6, -1), "negative value"),
        (entry_at(1, 4), "odd offset"),
        (entry_at(2, 5), "odd offset"),
        (entry_at(2, 4, 7), "odd offset"),
        (entry_at(4, 4), "empty range"),
        (entry_at(6, 4), "empty range"),
        (entry_at(2**31, 2**31 + 2), "value too large"),
        (entry_at(0, 2**31), "value too large"),
        (entry_at(2, 4, 2**31), "value too large"),
        (entry_at(2, 4, 6, 2**29), "value too large"),
    ],
)
def test_impossible_entries_are_refused(entry, fault):
    """An entry that can't be written is refused with its place among those given and its values."""
    others = [entry_at(300, 302), entry_at(200, 202)]
    for place in range(3):
        with pytest.raises(TableFormatError) as caught:
            assemble_exception_table([*others[:place], entry, *others[place:]])
        assert caught.value.fault == fault
        assert caught.value.entry == place
        assert caught.value.offset is None
        assert str(tuple(entry)) in str(caught.value)


def test_the_largest_entries_are_written():
    """What lies just below the limits is written, and read again."""
    entries = [entry_at(0, 2**31 - 2, 2**31 - 2, 2**29 - 1, True), entry_at(2**31 - 2, 2**32 - 4, 0)]
    assert parse_exception_table(assemble_exception_table(entries)) == entries


def test_overlaps_are_refused():
    """Two entries that overlap are refused, and both are named, whatever their order and handlers."""
    for entries, place in [
        ([entry_at(2, 8), entry_at(20, 24), entry_at(6, 10)], 2),
        ([entry_at(6, 10), entry_at(20, 24), entry_at(2, 8)], 0),
        ([entry_at(2, 8), entry_at(4, 6, 40)], 1),
        ([entry_at(2, 8), entry_at(2, 8)], 1),
    ]:
        with pytest.raises(TableFormatError) as caught:
            assemble_exception_table(entries)
        assert (caught.value.fault, caught.value.entry) == ("overlap", place)
        other = next(one for number, one in enumerate(entries) if number != place and one.start < 20)
        assert str(tuple(other)) in str(caught.value)


def test_a_merged_range_that_is_too_large_is_refused():
    """Two ranges of which each could be written, but not the one that they make."""
    half = 2**30
    for excess in (0, 2):
        with pytest.raises(TableFormatError) as caught:
            assemble_exception_table([entry_at(half, 2 * half + excess), entry_at(0, half)])
        assert (caught.value.fault, caught.value.entry) == ("value too large", 0)
    largest = [entry_at(half, 2 * half - 2), entry_at(0, half)]
    assert parse_exception_table(assemble_exception_table(largest)) == [entry_at(0, 2 * half - 2)]


def linear(entries, offset):
    return next((entry for entry in entries if entry.start <= offset < entry.end), None)


@given(canonical_entries(st.integers(0, 70)), st.data())
@settings(deadline=None, max_examples=100)
def test_lookup_is_linear_search(entries, data):
    """In the bytes and in the list the entry found is the one whose range contains the offset, at every border."""
    table = assemble_exception_table(entries)
    borders = [offset + step for entry in entries for offset in entry[:2] for step in (-2, 0, 2) if offset + step >= 0]
    for offset in [0, *borders, data.draw(st.integers(0, 2000)) * 2]:
        expected = linear(entries, offset)
        assert find_handler(table, offset) == expected
        assert find_handler(entries, offset) == expected
        assert find_handler(tuple(entries), offset) == expected


def test_lookup_in_long_tables():
    """A table of a thousand entries, over many bisections, with and without holes."""
    rng = random.Random(1)
    for length in (20, 14):
        entries = [
            entry_at(start, start + length, rng.randrange(0, 20000, 2), rng.randrange(40), lasti=start % 40 > 0)
            for start in range(0, 20000, 20)
        ]
        table = assemble_exception_table(entries)
        assert parse_exception_table(table) == entries
        for offset in range(0, 20100, 2):
            expected = linear(entries[offset // 20 :][:1], offset)
            assert find_handler(table, offset) == find_handler(entries, offset) == expected


@pytest.mark.parametrize("offset", [-2, 1, 7])
def test_lookup_takes_offsets_of_code_units(offset):
    """An odd or negative offset is refused by name."""
    for table in (b"", []):
        with pytest.raises(XtabError, match=f"but found {offset}$"):
            find_handler(table, offset)


def test_lookup_takes_whatever_has_code():
    def function():
        with open("x"):
            pass

    (first, *_) = entries = parse_exception_table(function)
    assert find_handler(function, first.start) == find_handler(function.__code__, first.start) == first
    assert find_handler(tuple(entries), first.start) == first
    for wrong in (3, "text", bytearray(b""), None):
        with pytest.raises(TypeError, match="but found"):
            find_handler(wrong, 0)
