"""What the page says of each code object."""

from __future__ import annotations

import pytest

import xtab
from xtab.report.sections import LONG, sections


def module(source):
    return xtab.show(compile(source, "example.py", "exec", dont_inherit=True))


def rows(section):
    return [each for stretch in section.stretches for each in stretch.rows]


def test_inner_code_has_its_section_and_links():
    made = sections([module("def f():\n    return lambda: 0\ndef f(): pass\n")])
    assert [(each.name, each.anchor) for each in made] == [
        ("<module>", "module"), ("f", "f"), ("f.<locals>.<lambda>", "f.lambda"), ("f", "f~2"),
    ]  # fmt: skip
    assert [each.inside for each in made] == [None, ("<module>", "module"), ("f", "f"), ("<module>", "module")]
    assert [each.link for each in rows(made[0]) if each.row.code] == ["f", "f~2"]


def test_nothing_twice():
    listing = module("def f(): pass")
    assert len(sections([listing, *listing.nested])) == 2


def test_no_two_anchors_are_equal():
    source = "try:\n    x\nexcept A:\n    y\ndef A():\n    try: x\n    except B: y\ndef a(): pass\n"
    made = sections([module(source)])
    anchors = [each.anchor for each in made]
    anchors += [view.anchor for each in made for view in each.regions]
    anchors += [row.anchor for each in made for row in rows(each) if row.anchor]
    assert len(anchors) == len(set(anchors))
    assert made[0].regions[0].anchor == "A"
    assert [each.anchor for each in made[1:]] == ["A~2", "a~2"]
    assert made[1].regions[0].anchor == "A~2:A"


def test_hostile_names_make_harmless_anchors():
    code = compile("", "x", "exec").replace(co_qualname="a\"b' <c>&\u202e#")
    assert sections([xtab.show(code)])[0].anchor == "abc"
    assert "\u202e" not in sections([xtab.show(code)])[0].name


def test_a_region_in_words():
    (made,) = sections([module("try:\n    with a:\n        b\nexcept OSError:\n    c\n")])
    outer, inner = (view for view in made.regions if not view.region.bookkeeping)
    assert inner.words.startswith("B with: lines 2-3, handler at ")
    assert inner.words.endswith(", in A except OSError")
    assert inner.inside is inner.inside_written is outer
    assert outer.words.startswith("A except OSError: lines 2")
    assert made.written == 2


def test_cells():
    listing = module("try:\n    while a:\n        b\nfinally:\n    c\n")
    (made,) = sections([listing])
    found = rows(made)
    assert [each.row for each in found] == list(listing.rows)
    handler = next(each for each in found if each.handles and not each.handles[0].region.bookkeeping)
    assert (handler.kept, handler.pushed, handler.depth) == (0, 1, "1")
    assert handler.why == "0 kept, the exception pushed"
    assert handler.anchor == f"@{handler.row.offset}" == made.row_anchor(handler.row.offset)
    assert all(each.link == f"@{each.row.target}" for each in found if each.row.target is not None)
    targets = {each.anchor for each in found}
    assert all(each.link in targets for each in found if each.link)
    load = next(each for each in found if each.row.opname == "LOAD_NAME" and each.row.operand == "a")
    assert (load.line, load.position, load.chain.split()[0]) == ("2", "2:10-11", "A")
    assert any(each.quiet for each in found)


def test_lines_are_told_once_and_never_made_up():
    found = rows(sections([module("try:\n    a(b)\nfinally:\n    c\n")])[0])
    shown = [each.line for each in found]
    assert shown.count("2") < sum(each.row.line == 2 for each in found)
    assert "--" in shown


def test_problems_stand_at_their_row():
    code = compile("a(b)", "x", "exec")
    (made,) = sections([xtab.show(code.replace(co_stacksize=1))])
    assert [problem.code for each in rows(made) for problem in each.problems] == ["XT403"]


@pytest.mark.parametrize("calls, folds", [(LONG // 20, False), (LONG, True)])
def test_long_runs_can_be_folded(calls, folds):
    (made,) = sections([module("f()\n" * calls + "try:\n" + "    f()\n" * calls + "finally:\n    g()\n")])
    assert any(stretch.folds for stretch in made.stretches) == folds
    assert [each.row for each in rows(made)] == list(made.listing.rows)
    for stretch in made.stretches:
        if stretch.folds:
            assert len({each.chain for each in stretch.rows}) == 1
            assert not any(each.anchor or each.handles for each in stretch.rows)
