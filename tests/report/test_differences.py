"""What became of instructions and regions."""

from __future__ import annotations

import pytest

import xtab
from xtab.format.code import code_objects
from xtab.report.differences import Mark, compare, pair_up
from xtab.report.listing import show


def sample(box):
    for item in box:
        try:
            box.add(item)
        except KeyError:
            box.clear()
    return box


def changed(transform):
    return compare(show(sample), show(xtab.rewrite(sample, transform)))


def marks(difference):
    return "".join(pair.mark for pair in difference.rows)


def put_before(opname, *, count=1, jumps="new"):
    def transform(body):
        anchor = next(each for each in body.instructions if each.opname == opname)
        body.insert_before(anchor, [body.instruction("NOP") for _ in range(count)], jumps=jumps)

    return transform


def test_nothing_changed():
    difference = changed(lambda body: None)
    assert difference.same
    assert set(marks(difference)) == {"="}
    assert [pair.left.label for pair in difference.regions] == [pair.right.label for pair in difference.regions]


def test_what_was_put_in_is_added_and_nothing_else():
    difference = changed(put_before("RETURN_VALUE", count=3))
    assert not difference.same
    assert marks(difference).count("+") == 3
    assert set(marks(difference)) == {"=", "+"}
    assert {pair.mark for pair in difference.regions} == {Mark.SAME}


@pytest.mark.parametrize("jumps", ["new", "stay"])
def test_jumps_that_lead_to_what_was_put_in_front_are_the_same(jumps):
    difference = changed(put_before("FOR_ITER", jumps=jumps))
    assert set(marks(difference)) == {"=", "+"}


def test_a_region_is_known_by_its_handler_though_code_stands_before_it():
    difference = changed(put_before("PUSH_EXC_INFO"))
    assert all(pair.left is not None and pair.right is not None for pair in difference.regions)
    assert marks(difference).count("+") == 1


def test_what_lost_its_protection_has_changed():
    def transform(body):
        body.unprotect(next(each.exn_tab_entry for each in body.instructions if each.exn_tab_entry is not None))

    difference = changed(transform)
    gone = [pair for pair in difference.regions if pair.mark == Mark.REMOVED]
    assert len(gone) == 1
    assert gone[0].left.label == "except KeyError"
    assert any(pair.changes == ("regions",) and gone[0].left in pair.left.chain for pair in difference.rows)


def test_what_was_taken_out():
    def transform(body):
        body.remove(next(each for each in body.instructions if each.opname == "NOP"))

    difference = changed(transform)
    assert marks(difference).count("-") == 1


def test_one_side_only():
    listing = show(sample)
    assert set(marks(compare(None, listing))) == {"+"}
    assert set(marks(compare(listing, None))) == {"-"}
    assert compare(listing, None).name == listing.name
    assert {pair.mark for pair in compare(None, listing).regions} == {Mark.ADDED}


def test_code_objects_belong_together_by_name():
    def listings(text):
        return [show(each) for each in code_objects(compile(text, "example", "exec"))]

    left = listings("def f(): pass\ndef f(): 1\ndef g(): pass")
    right = listings("def f(): pass\ndef h(): pass\ndef g(): pass")
    names = [(a and a.name, b and b.name) for a, b in pair_up(left, right)]
    assert sorted(names, key=str) == sorted(
        [("<module>", "<module>"), ("f", "f"), ("f", None), (None, "h"), ("g", "g")], key=str
    )


def test_the_first_ones_belong_together_whatever_they_are_called():
    left = [show(each) for each in code_objects(sample.__code__)]
    right = [show(each) for each in code_objects((lambda box: box).__code__)]
    assert [(a.name, b.name.rpartition(".")[2]) for a, b in pair_up(left, right)] == [("sample", "<lambda>")]
