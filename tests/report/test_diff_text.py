"""A difference as text."""

from __future__ import annotations

import xtab
from xtab.report.diff_text import diff_lines
from xtab.report.differences import Mark, compare
from xtab.report.listing import show


def sample(box):
    try:
        box.add(1)
    except KeyError:
        pass
    return box, 1, 2, 3, 4, 5


def guarded(body):
    body.insert_before(body.instructions[-1], [body.instruction("NOP")])


def lines(*, whole=False, right=None):
    return list(diff_lines(compare(show(sample), show(right or xtab.rewrite(sample, guarded))), whole=whole))


def test_the_header_counts():
    count = len(show(sample).rows)
    header = lines()[0][1]
    assert header.startswith(f"sample  {__file__}:11 | {__file__}:11   instructions {count} -> {count + 1}, regions 2")


def test_rows_far_from_a_change_are_counted():
    found = lines()
    assert any(line.endswith("rows the same") for _, line in found)
    assert sum(mark is Mark.ADDED for mark, _ in found) == 1
    whole = lines(whole=True)
    assert not any(line.endswith("rows the same") for _, line in whole)
    assert sum(mark is not None for mark, _ in whole) == len(show(sample).rows) + 1 + len(xtab.regions(sample))


def test_regions_are_listed_with_what_they_cover():
    text = "\n".join(line for _, line in lines())
    region = next(each for each in xtab.regions(sample) if not each.bookkeeping)
    assert f"A except KeyError  handler {region.handler} depth 0 covers [{region.pieces[0][0]}," in text


def test_code_on_one_side_only():
    found = list(diff_lines(compare(show(sample), None)))
    assert "only on the left" in found[0][1]
    assert all(mark in {None, Mark.REMOVED} for mark, _ in found)


def test_long_operands_are_cut_on_the_left():
    def long():
        return "a" * 5, ("x" * 30, "y" * 30, "z" * 30)

    shown = list(diff_lines(compare(show(long), show(long)), whole=True, dots="..."))
    assert all(len(line.split("  =  ")[0]) <= 52 for mark, line in shown if mark is Mark.SAME)
