"""Location tables: bytes to locations and back, compared with `co_positions()` and with the compiler's own bytes."""

from __future__ import annotations

import contextlib
import sysconfig
import types
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xtab.errors import TableFormatError
from xtab.format.locations import (
    Location,
    LocationEntry,
    assemble_location_table,
    decode_entry,
    encode_location,
    entry_units,
    line_delta,
    parse_location_table,
    split_entries,
)

STDLIB = Path(sysconfig.get_path("stdlib"))
SAMPLE = [
    *("_pydecimal", "asyncio/tasks", "ast", "contextlib", "email/message", "http/client", "inspect", "opcode"),
    *("shutil", "socket", "subprocess", "tarfile", "this", "typing", "unittest/mock", "xmlrpc/client"),
]
MAX = 2**31 - 1


#: for columns and lines that a library rarely has: at the borders of all forms, and far apart
EDGES = [70, 78, 79, 80, 81, 120, 126, 127, 128, 129, 254, 255, 256, 4096, 9000]


def edge_cases():
    """Source whose expressions begin and end at such columns, and lie on lines far apart."""
    lines = ["def f(a):"]
    for column in EDGES:
        lines += [" if a:" + " " * (column - 6) + "a.b(a)", " a.c(" + "a, " * (column // 3) + "a)"]
    lines += ["\n" * 5000 + " a(", " a,", "\n" * 300 + "   a[1:a])"]
    lines += [" x = {", *[f"  'k{i}': {{'z': a}}," for i in range(50)], " }"]
    lines += [" with a as b, b as c:", "  for d in c: yield d", " try: a()", " except* a: pass", " finally: a.d()"]
    return "\n".join(lines)


def code_objects():
    """All code objects of a sample of the standard library and of the source above."""
    files = [STDLIB / f"{name}.py" for name in SAMPLE]
    waiting = [compile(file.read_bytes(), file.name, "exec", dont_inherit=True) for file in files if file.exists()]
    assert len(waiting) > 10
    waiting.append(compile(edge_cases(), "edges", "exec"))
    found = []
    while waiting:
        found.append(code := waiting.pop())
        waiting += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return found


CODE = code_objects()
#: a code object of some thirty code units
SHORT = next(code for code in CODE if 60 <= len(code.co_code) < 80)


def positions(entries):
    """What `co_positions()` would give: a tuple for each code unit."""
    found = []
    for start, end, location in entries:
        found += [(None,) * 4 if location is None else tuple(location)] * ((end - start) // 2)
    return found


lines = st.one_of(st.integers(0, 70), st.integers(0, MAX))
columns = st.one_of(
    st.none(), st.sampled_from([0, 62, 63, 79, 80, 127, 128, 255, 256, 4095, 2**18, MAX - 1]), st.integers(0, 200)
)


@st.composite
def locations(draw):
    """Any location that can be stored."""
    line = draw(lines)
    end_line = draw(st.one_of(st.just(line), st.integers(line, MAX)))
    return draw(st.one_of(st.none(), st.just(Location(line, end_line, draw(columns), draw(columns)))))


@st.composite
def location_entries(draw):
    """A table with entries of any length."""
    lengths = draw(st.lists(st.integers(1, 20), max_size=10))
    borders = [2 * units for units in accumulate(lengths, initial=0)]
    return [LocationEntry(start, end, draw(locations())) for start, end in pairwise(borders)]


def test_the_compilers_tables_are_read_as_co_positions():
    """Every entry of the compiler gives the positions that CPython reports, and the entries cover exactly the code."""
    forms = set()
    for code in CODE:
        entries = parse_location_table(code.co_linetable, code.co_firstlineno, code_size=len(code.co_code))
        assert positions(entries) == list(code.co_positions())
        forms.update(entry[0] >> 3 & 15 for entry in split_entries(code.co_linetable))
    assert forms == set(range(16)), "the sample is meant to show all forms"


def test_the_compilers_tables_are_written_byte_for_byte():
    """Each form is chosen as the compiler chose it, and long runs are split as it splits them."""
    longest = 0
    for code in CODE:
        entries = parse_location_table(code.co_linetable, code.co_firstlineno)
        assert assemble_location_table(entries, code.co_firstlineno) == code.co_linetable
        joined = []
        for entry in entries:  # the same when what the compiler split is one entry again
            if joined and joined[-1].location == entry.location and not (joined[-1].end - joined[-1].start) % 16:
                joined[-1] = joined[-1]._replace(end=entry.end)
            else:
                joined.append(entry)
        longest = max(longest, *[entry.end - entry.start for entry in joined])
        assert assemble_location_table(joined, code.co_firstlineno) == code.co_linetable
    assert longest > 16, "the sample is meant to have long runs"


def test_pieces_of_tables():
    """Tables are cut without loss; the length, the delta and the location of an entry are those that parsing finds."""
    for code in CODE[::5]:
        pieces = split_entries(code.co_linetable)
        assert b"".join(pieces) == code.co_linetable
        line = code.co_firstlineno
        for piece, entry in zip(pieces, parse_location_table(code.co_linetable, line), strict=True):
            assert entry_units(piece) * 2 == entry.end - entry.start
            assert decode_entry(piece, line) == entry.location
            line += line_delta(piece)
            assert entry.location is None or entry.location.line == line
            assert encode_location(entry_units(piece), entry.location, line - line_delta(piece)) == piece


@pytest.mark.parametrize(
    "entry,location,delta",
    [
        ("80 00", Location(9, 9, 0, 0), 0),
        ("c8 7f", Location(9, 9, 79, 94), 0),
        ("d0 50 00", Location(9, 9, 80, 0), 0),
        ("d0 7f 7f", Location(9, 9, 127, 127), 0),
        ("d8 00 10", Location(10, 10, 0, 16), 1),
        ("e0 05 04", Location(11, 11, 5, 4), 2),
        ("d0 05 04", Location(9, 9, 5, 4), 0),
        ("f0 00 00 41 02 02", Location(9, 9, 128, 1), 0),
        ("f0 00 00 01 41 02", Location(9, 9, 0, 128), 0),
        ("f0 00 00 40 04 41 04", Location(9, 9, 255, 256), 0),
        ("f0 06 00 01 02", Location(12, 12, 0, 1), 3),
        ("f0 03 00 01 02", Location(8, 8, 0, 1), -1),
        ("f0 00 01 01 02", Location(9, 10, 0, 1), 0),
        ("f0 00 01 00 00", Location(9, 10, None, None), 0),
        ("f0 00 00 05 00", Location(9, 9, 4, None), 0),
        ("f0 00 00 00 05", Location(9, 9, None, 4), 0),
        ("e8 00", Location(9, 9, None, None), 0),
        ("e8 3e", Location(40, 40, None, None), 31),
        ("e8 40 01", Location(41, 41, None, None), 32),
        ("e8 13", Location(0, 0, None, None), -9),
        ("e8 6c 7f 7f 7f 7f 03", Location(MAX, MAX, None, None), MAX - 9),
        ("f8", None, 0),
    ],
)
def test_forms(entry, location, delta):
    """Each form in both directions, at the borders where the next one takes over, in all lengths."""
    data = bytes.fromhex(entry)
    assert decode_entry(data, 9) == location
    assert encode_location(1, location, 9) == data
    assert line_delta(data) == delta
    for units in range(1, 9):
        resized = bytes((data[0] + units - 1,)) + data[1:]
        assert encode_location(units, location, 9) == resized
        assert entry_units(resized) == units


@pytest.mark.parametrize(
    "units,expected",
    [
        (8, "df 01 06"),
        (9, "df 01 06 80 15"),
        (16, "df 01 06 87 15"),
        (17, "df 01 06 87 15 80 15"),
        (27, "df 01 06 87 15 87 15 82 15"),
    ],
)
def test_long_runs_are_split(units, expected):
    """More than eight units take several entries; the delta is in the first alone."""
    assert encode_location(units, Location(8, 8, 1, 6), 7) == bytes.fromhex(expected)


@given(st.integers(1, 40), locations(), lines)
@settings(deadline=None)
def test_round_trip_of_a_location(units, location, line_before):
    """What is written for a location is read as that location, over exactly its units."""
    pieces = split_entries(encode_location(units, location, line_before))
    assert sum(map(entry_units, pieces)) == units
    assert [entry_units(piece) for piece in pieces[:-1]] == [8] * (len(pieces) - 1)
    line = line_before
    for piece in pieces:
        assert decode_entry(piece, line) == location
        line += line_delta(piece)
    assert line == (line_before if location is None else location.line)


@given(location_entries(), lines)
@settings(deadline=None)
def test_round_trip_of_a_table(entries, first_line):
    """What is written for entries is read as their positions, and written the same again."""
    table = assemble_location_table(iter(entries), first_line)
    parsed = parse_location_table(table, first_line, code_size=entries[-1].end if entries else 0)
    assert positions(parsed) == positions(entries)
    assert assemble_location_table(parsed, first_line) == table


@given(st.lists(locations(), min_size=1, max_size=8), st.integers(0, MAX))
@settings(deadline=None)
def test_cpython_reads_what_is_written(places, first_line):
    """`co_positions()` of the running interpreter reports the locations that were written."""
    size = len(SHORT.co_code)
    borders = [2 * number for number in range(len(places))] + [size]
    entries = [LocationEntry(*borders[i : i + 2], location) for i, location in enumerate(places)]
    table = assemble_location_table(entries, first_line)
    replaced = SHORT.replace(co_linetable=table, co_firstlineno=first_line)
    assert list(replaced.co_positions()) == positions(entries)
    assert parse_location_table(table, first_line, code_size=size)


#: entries with varints, mostly whole
long_forms = st.lists(st.integers(112, 127).map(lambda i: bytes((i * 2, 0)) + b"\x01" * (i % 5))).map(b"".join)


@given(st.one_of(st.binary(max_size=40), long_forms), st.integers(-5, 2**31), st.one_of(st.none(), st.integers(0, 60)))
@settings(deadline=None, max_examples=200)
def test_any_bytes(table, first_line, code_size):
    """Any bytes are read or refused; what is read can be written, and then reads the same."""
    error = None
    try:
        entries = parse_location_table(table, first_line, code_size=code_size)
    except TableFormatError as refused:
        error = refused
    if error is None:
        written = assemble_location_table(entries, first_line)
        assert parse_location_table(written, first_line) == entries
        assert len(written) <= len(table)
    else:
        assert error.table == "location table"
        assert 0 <= error.offset <= len(table)


@given(st.binary(max_size=12), st.integers(-5, 2**31))
@settings(deadline=None, max_examples=200)
def test_any_bytes_as_an_entry(entry, line):
    """The functions for one entry refuse nonsense with the same error and no other; what is accepted can be written."""
    found = []
    for function, *arguments in [(decode_entry, line), (line_delta,), (entry_units,)]:
        with contextlib.suppress(TableFormatError):
            found.append((function, function(entry, *arguments)))
    answers = dict(found)
    if entry_units in answers:
        assert 1 <= answers[entry_units] <= 8
    location = answers.get(decode_entry)
    if location is not None and location.line is not None and 0 <= location.line < 2**31:
        with contextlib.suppress(TableFormatError):  # no entry can say it, whatever this one says
            written = encode_location(answers[entry_units], location, line)
            assert decode_entry(written, line) == location


@pytest.mark.parametrize(
    "table,fault,entry,offset",
    [
        ("15", "missing start bit", None, 0),
        ("7f 80 15", "missing start bit", None, 0),
        ("80", "truncated", 0, 1),
        ("80 15 d0 05", "truncated", 1, 4),
        ("80 15 e8", "truncated", 1, 3),
        ("e8 40", "truncated", 0, 2),
        ("f0 00 00 00", "truncated", 0, 4),
        ("f0 00 00 00 7f 7f", "truncated", 0, 6),
        ("80 15 16", "stray byte", 0, 2),
        ("f8 00", "stray byte", 0, 1),
        ("80 15 e8 02 02", "stray byte", 1, 4),
        ("f0 40 00 00 00 00 00", "stray byte", 0, 6),
        ("e8 40 40 40 40 40 40 01", "value too large", 0, 1),
        ("e8 40 40 40 40 40 04", "value too large", 0, 1),
        ("f0 00 00 7f 7f 7f 7f 7f 03 00", "value too large", 0, 1),
        ("f0 00 00 40 40 40 40 40 02 00", "value too large", 0, 1),
        ("80 15 e8 11", "line out of range", 1, 2),
        ("e8 7e 7f 7f 7f 7f 03", "line out of range", 0, 0),
    ],
)
def test_malformed_tables_are_refused(table, fault, entry, offset):
    """A malformed table is refused with the fault, the number of the entry and the byte."""
    with pytest.raises(TableFormatError) as caught:
        parse_location_table(bytes.fromhex(table), 7)
    error = caught.value
    assert (error.fault, error.entry, error.offset, error.table) == (fault, entry, offset, "location table")
    assert str(error).startswith("location table")
    assert "expected" in error.detail
    assert "but found" in error.detail


@pytest.mark.parametrize("code_size", [0, 4, 8])
def test_tables_cover_the_code(code_size):
    """A table for more or less than the code is refused when the size of the code is given."""
    table = bytes.fromhex("82 15")
    assert parse_location_table(table, 1, code_size=6) == parse_location_table(table, 1)
    with pytest.raises(TableFormatError, match=f"entries for {code_size} bytes of code, but found"):
        parse_location_table(table, 1, code_size=code_size)


@pytest.mark.parametrize(
    "location,fault",
    [
        (Location(-1, 2, 3, 4), "negative value"),
        (Location(-1, -1, None, None), "negative value"),
        (Location(-1, -1, 3, 4), "negative value"),
        (Location(2, 2, -1, 4), "negative value"),
        (Location(2, 2, 3, -1), "negative value"),
        (Location(3, 2, 3, 4), "end before start"),
        (Location(3, 2, None, None), "end before start"),
        (Location(None, 2, 3, 4), "missing line"),
        (Location(None, None, None, 4), "missing line"),
        (Location(2, None, 3, 4), "missing line"),
        (Location(2, None, None, 4), "missing line"),
        (Location(MAX + 1, MAX + 1, 3, 4), "value too large"),
        (Location(2, MAX + 1, 3, 4), "value too large"),
        (Location(2, 2, MAX, 4), "value too large"),
        (Location(2, 2, 3, MAX), "value too large"),
    ],
)
def test_impossible_locations_are_refused(location, fault):
    """A location that no form can hold is refused, and named."""
    with pytest.raises(TableFormatError) as caught:
        encode_location(1, location, location.line or 7)
    assert caught.value.fault == fault
    assert str(tuple(location)) in str(caught.value)
    with pytest.raises(TableFormatError) as caught:
        assemble_location_table([LocationEntry(0, 2, None), LocationEntry(2, 4, location)], 7)
    assert (caught.value.fault, caught.value.entry, caught.value.offset) == (fault, 1, None)


def test_no_location_has_two_spellings():
    """A location of four Nones is no location; an end line may be left out where there are no columns."""
    assert encode_location(9, Location(None, None, None, None), 7) == encode_location(9, None, 7)
    assert encode_location(9, Location(8, None, None, None), 7) == encode_location(9, Location(8, 8, None, None), 7)
    assert assemble_location_table(
        [LocationEntry(0, 2, Location(None, None, None, None)), LocationEntry(2, 4, Location(8, 8, 1, 2))], 7
    ) == bytes.fromhex("f8 d8 01 02")


def test_far_lines_are_refused():
    """A delta that a C int can't hold is refused; the largest ones are written."""
    assert decode_entry(encode_location(1, Location(0, 0, 1, 2), MAX), MAX) == Location(0, 0, 1, 2)
    with pytest.raises(TableFormatError, match="lines away"):
        encode_location(1, Location(MAX, MAX, 1, 2), -1)


@pytest.mark.parametrize("units", [0, -1])
def test_units_are_checked(units):
    """A location covers at least one unit."""
    with pytest.raises(TableFormatError, match=f"but found {units}$"):
        encode_location(units, None, 7)


@pytest.mark.parametrize("second", [(4, 6), (0, 2), (2, 2), (2, 5), (2, 0)])
def test_entries_follow_one_another(second):
    """A gap, an overlap, an empty or an odd range is refused with the number of the entry."""
    with pytest.raises(TableFormatError) as caught:
        assemble_location_table([LocationEntry(0, 2, None), LocationEntry(*second, None)], 7)
    assert (caught.value.fault, caught.value.entry) == ("not contiguous", 1)
