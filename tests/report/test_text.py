"""What `xtab dis` prints. The golden files were read, line by line, when they were accepted."""

from __future__ import annotations

import re
import sys

import pytest

import xtab
from xtab import Problem
from xtab.report.text import View, entry_lines, lines_of, paint, problem_lines, region_lines, text_of, walk

VERSION = "{}.{}".format(*sys.version_info)
ESCAPES = re.compile("\x1b\\[[0-9;]*m")


def test_a_dozen_shapes(shapes, golden):
    assert len(shapes) > 12
    golden(f"shapes_{VERSION}.txt", "\n\n\n".join(str(xtab.show(code)) for code in shapes.values()) + "\n")


VIEWS = {
    "all": View(all_regions=True),
    "flat": View(flat=True),
    "source": View(source=True),
    "ascii": View(all_regions=True, ascii=True),
    "colour": View(color=True),
}


def test_the_ways_to_look_at_it(shapes, golden):
    texts = [f"# {name}\n\n{text_of(xtab.show(shapes['except_as']), view)}\n" for name, view in VIEWS.items()]
    assert len({text.partition("\n")[2] for text in texts}) == len(VIEWS), "each shows something that no other does"
    golden(f"views_{VERSION}.txt", "\n".join(texts))


@pytest.mark.parametrize("name", VIEWS)
def test_nothing_is_lost_without_colour(name, shapes):
    view = VIEWS[name]
    for code in shapes.values():
        for line in lines_of(xtab.show(code), view):
            assert ESCAPES.sub("", paint(line, color=True)) == paint(line, color=False)


def test_ascii_is_ascii(shapes):
    for code in shapes.values():
        for view in (View(ascii=True, source=True), View(ascii=True, flat=True)):
            assert text_of(xtab.show(code), view).isascii()


def test_every_region_and_entry_is_in_the_text(shapes):
    for code in shapes.values():
        listing = xtab.show(code)
        text = listing.text(all_regions=True)
        for region in listing.regions:
            assert f"  {region.letter} " in text
            assert f"◀ {region.letter} " in text or f", {region.letter} " in text
        flat = listing.text(flat=True)
        for number in range(len(listing.entries)):
            assert f"#{number} " in flat


def test_red_is_for_problems_only(shapes):
    assert all("\x1b[31" not in xtab.show(code).text(color=True) for code in shapes.values())
    assert all(";31m" not in xtab.show(code).text(color=True) for code in shapes.values())


def test_problems_are_marked_where_they_are():
    code = (lambda: 1 + abs(2)).__code__
    body = xtab.decode(code)
    body.instructions[1:1] = [xtab.Instruction("LOAD_CONST", 5)]
    wrong = xtab.assemble(body)
    listing = xtab.show(wrong)
    [problem] = listing.problems
    text = str(listing)
    assert re.match(r"\S+  .*   1 problem$", text.splitlines()[0])
    assert f"{problem.code} {problem.name}: {problem.place}: {problem.message}" in text
    assert f"hint: {problem.hint}" in text
    assert [line for line in text.splitlines() if line.startswith(">")] == [
        line
        for line in text.splitlines()
        if f" {problem.offset} " in line and problem.opname in line and ":" not in line
    ]
    assert "\x1b[1;31m" in listing.text(color=True)


def test_beyond_six_lanes_the_outermost_fold(shapes):
    text = str(xtab.show(shapes["deep"]))
    assert "+1 " in text
    assert re.search(r"\+1 +│ │ │ │ │ │ +", text) or re.search(r"\+1 +B? ?.*G", text)
    assert "  A  finally" in text, "its line below is there all the same"


def test_two_letters_make_a_lane_two_wide():
    source = "def f(run):\n" + "".join(f"    try: run({n})\n    except OSError: pass\n" for n in range(30))
    listing = xtab.show(compile(source, "sample", "exec").co_consts[0])
    lines = str(listing).splitlines()
    assert any("  AA  " in line for line in lines)
    columns = {line.index(row.opname) for row, line in zip(listing.rows, lines[3:], strict=False)}
    assert len(columns) == 1


def test_nested_code_objects_come_after_each_other():
    code = compile("def f():\n    def g(): pass\n    class C: pass\ndef h(): pass\n", "sample", "exec")
    heads = [line.split()[0] for line in text_of(xtab.show(code)).splitlines() if "CPython" in line]
    assert heads == ["<module>", "f", "f.<locals>.g", "f.<locals>.C", "h"]


def test_lines_come_one_at_a_time(shapes):
    lines = walk(xtab.show(shapes["one_with"]), View())
    assert paint(next(lines), color=False).startswith("one_with  shapes.py:4   CPython")


def test_without_a_table():
    text = str(xtab.show(compile("x", "sample", "eval")))
    assert "no exception table" in text
    assert "regions" not in text


def test_what_is_in_a_name_forges_no_line():
    code = compile("x", "sample", "eval").replace(co_filename="a\nb\x1b[1m", co_qualname="c\nd")
    assert str(xtab.show(code)).splitlines()[0].startswith("c\\nd  a\\nb\\x1b[1m:1 ")


def test_missing_lines_stay_missing(shapes):
    code = shapes["one_with"]
    listing = xtab.show(code)
    unknown = [row for row in listing.rows if row.line is None]
    assert unknown
    assert re.search(rf"^ +-- .* {unknown[0].offset} ", str(listing), re.MULTILINE)


def test_parts_of_the_text(shapes):
    listing = xtab.show(shapes["one_with"])
    entries = [paint(line, color=False) for line in entry_lines(listing.entries, (), ascii=True)]
    assert re.fullmatch(r"  #0  \[\d+,\d+\) +-> \d+ +depth \d  lasti", entries[0])
    assert list(region_lines(())) == []


@pytest.mark.parametrize("code, style", [("XT402", "problem"), ("XT203", "warning")])
def test_a_problem_is_told_with_what_is_around_it(code, style):
    problem = Problem(code, "expected this", hint="do that", qualname="f", line=3)
    lines = list(problem_lines(problem, file="made.pyc", around=["    off", ">     2  NOP"]))
    assert [paint(line, color=False) for line in lines[1:]] == ["      off", "  >     2  NOP", "hint: do that"]
    assert paint(lines[0], color=False).startswith(f"made.pyc:3: {code} ")
    assert lines[0][1][1] == lines[2][0][1] == style
