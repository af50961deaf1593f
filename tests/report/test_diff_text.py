"""A difference as text."""

from __future__ import annotations

import xtab
from xtab.report.diff_text import diff_lines
from xtab.report.differences import compare
from xtab.report.listing import show


def sample(box):
    try:
        box.add(1)
    except KeyError:
        pass
    return box, 1, 2, 3, 4, 5


def guarded(body):
    body.insert_before(body.instructions[-1], [body.instruction("NOP")])


def drawn(difference, **options):
    """The style and the text of each line."""
    return [(line[0][1], line[0][0]) if line else ("", "") for line in diff_lines(difference, **options)]


def lines(*, whole=False):
    return drawn(compare(show(sample), show(xtab.rewrite(sample, guarded))), whole=whole)


def test_the_header_counts():
    count = len(show(sample).rows)
    header = lines()[0][1]
    assert header.startswith(f"sample  {__file__}:11 | {__file__}:11   instructions {count} -> {count + 1}, regions 2")


def unsafe(body):
    new = body.instruction("PUSH_NULL"), body.instruction("LOAD_ATTR", "x"), body.instruction("POP_TOP")
    body.insert_before(body.start, new)


def test_the_header_ends_with_what_the_verifier_says_of_both_sides():
    texts = ["".join(text for text, _ in line) for line in diff_lines(compare(show(sample), show(sample)))]
    assert texts[0].endswith("   ok")
    assert "->" not in texts[0]
    wrong = show(xtab.rewrite(sample, unsafe))
    found = list(diff_lines(compare(show(sample), wrong)))
    assert found[0][-3:] == [("ok", ""), (" -> ", ""), ("1 problem", "problem")]
    assert found[1][1] == ("XT601 null-used", "problem")
    back = list(diff_lines(compare(wrong, show(sample))))
    assert back[0][-1] == ("ok", "")
    assert back[1] == []
    gone = list(diff_lines(compare(wrong, None)))
    assert gone[0][-1] == ("1 problem", "problem")


def test_rows_far_from_a_change_are_counted():
    found = lines()
    assert any(line.endswith("rows the same") for _, line in found)
    assert sum(style == "added" for style, _ in found) == 1
    whole = lines(whole=True)
    assert not any(line.endswith("rows the same") for _, line in whole)
    assert sum(style != "" for style, _ in whole) == len(show(sample).rows) + 1 + len(xtab.regions(sample))


def test_regions_are_listed_with_what_they_cover():
    text = "\n".join(line for _, line in lines())
    region = next(each for each in xtab.regions(sample) if not each.bookkeeping)
    assert f"A except KeyError  handler {region.handler} depth 0 covers [{region.pieces[0][0]}," in text


def test_code_on_one_side_only():
    found = drawn(compare(show(sample), None))
    assert "only on the left" in found[0][1]
    assert {style for style, _ in found} == {"", "removed"}


def test_long_operands_are_cut_on_the_left():
    def long():
        return "a" * 5, ("x" * 30, "y" * 30, "z" * 30)

    cut = [line.split("  =  ")[0] for style, line in drawn(compare(show(long), show(long)), whole=True, dots="...")
           if style == "dim"]  # fmt: skip
    assert all(len(left) <= 52 for left in cut)
    assert any(left.endswith("...") for left in cut)
