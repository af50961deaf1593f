"""Filtering and splicing: only what is the library's goes, wherever it hangs, and everything else stays as it was."""

from __future__ import annotations

import dataclasses
import importlib
import os
import py_compile
import sys
import traceback
import types

import pytest

import xtab
from xtab.runtime import tracebacks
from xtab.runtime.tracebacks import filter_traceback, frames_outside, rebuild, related, splice_context


def helper(function, *args):
    return function(*args)


def other_helper(function, *args):
    return (lambda: function(*args))()  # noqa: PLC3002 (a nested frame)


def fail():
    raise KeyError("here")


def caught(function, *args):
    try:
        function(*args)
    except BaseException as error:
        return error
    raise AssertionError("no error")


def names(error):
    return [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]


KEEP = frames_outside(helper, other_helper.__code__)


def test_frames_go_wherever_they_stand():
    error = caught(helper, other_helper, helper, fail)
    assert names(error) == ["caught", "helper", "other_helper", "<lambda>", "helper", "fail"]
    assert filter_traceback(error, KEEP) is error
    assert names(error) == ["caught", "fail"]
    lines = [entry.lineno for entry in traceback.extract_tb(error.__traceback__)]
    assert lines == [caught.__code__.co_firstlineno + 2, fail.__code__.co_firstlineno + 1]


def test_the_carets_stay():
    error = caught(helper, other_helper, fail)
    before = {text for text in traceback.format_tb(error.__traceback__) if "other_helper" not in text}
    after = traceback.format_tb(filter_traceback(error, KEEP).__traceback__)
    assert set(after) < before


def test_nothing_to_hide_changes_nothing():
    error = caught(fail)
    before = error.__traceback__
    assert filter_traceback(error, KEEP).__traceback__ is before
    assert filter_traceback(error).__traceback__ is before
    assert filter_traceback(ValueError(), KEEP).__traceback__ is None


def test_what_others_hold_is_not_edited():
    error = caught(helper, fail)
    before = error.__traceback__
    filter_traceback(error, KEEP)
    assert [frame.f_code.co_name for frame, _ in traceback.walk_tb(before)] == ["caught", "helper", "fail"]


def test_the_tail_is_taken_over():
    error = caught(helper, fail)
    tail = error.__traceback__.tb_next.tb_next
    assert filter_traceback(error, KEEP).__traceback__.tb_next is tail


def test_an_error_is_never_left_without_frames():
    error = caught(helper, fail)
    before = error.__traceback__
    assert filter_traceback(error, lambda frame: False).__traceback__ is before


@pytest.mark.parametrize("value", ["1", "yes"])
def test_debugging_hides_nothing(monkeypatch, value):
    monkeypatch.setenv("XTAB_DEBUG", value)
    error = caught(helper, fail)
    assert len(names(filter_traceback(error, KEEP))) == 3
    monkeypatch.setenv("XTAB_DEBUG", "0")
    assert len(names(filter_traceback(error, KEEP))) == 2


def chained():
    try:
        try:
            helper(fail)
        except KeyError as error:
            raise ValueError("caused") from error
    except ValueError:
        try:
            helper(int, "x")
        except ValueError as error:
            raise ExceptionGroup("group", [error, caught(helper, helper, fail)])


def test_all_that_hangs_on_it():
    error = caught(helper, chained)
    filter_traceback(error, KEEP)
    assert len(list(related(error))) == 5
    assert not [each for each in related(error) if "helper" in names(each)]
    assert all(map(names, related(error)))


def test_without_the_chain():
    error = caught(helper, chained)
    filter_traceback(error, KEEP, chain=False)
    assert names(error) == ["caught", "chained"]
    assert names(error.exceptions[1]) == ["caught", "fail"], "a member is part of it"
    assert names(error.__context__.__context__.__cause__) == ["chained", "helper", "fail"]


def test_circles_end():
    one, two = caught(helper, fail), caught(helper, fail)
    one.__context__, two.__context__ = two, one
    one.__cause__ = one
    assert list(related(one)) == [one, two]
    filter_traceback(one, KEEP)
    assert names(one) == names(two) == ["caught", "fail"]


def test_long_chains():
    error = first = caught(fail)
    for _ in range(50_000):
        error.__context__ = ValueError()
        error = error.__context__
    assert sum(1 for _ in related(first)) == 50_001
    filter_traceback(first)
    splice_context(first, KeyError)
    while first.__context__ is not None:  # from its end, or else CPython recurses when it frees the chain
        first.__context__ = first.__context__.__context__


def test_frames_of_xtab_go():
    def bad(body):
        raise LookupError("of the transform")

    error = caught(xtab.rewrite, fail, bad)
    assert "_rewritten" in names(error)
    filter_traceback(error)
    assert names(error) == ["caught", "bad"]


def module(name, text, file):
    made = types.ModuleType(name)
    made.__file__ = file
    exec(compile(text, file, "exec"), vars(made))
    return made


def test_whose_a_frame_is(monkeypatch):
    text = "import sys\ndef frame():\n    return sys._getframe()\n"
    library = module("xt_library", text, "library.py")
    inner = module("xt_library.inner", text, "inner.py")
    namesake = module("xt_library_2", text, "library.py")
    for each in (library, inner, namesake):
        monkeypatch.setitem(sys.modules, each.__name__, each)
    exec(compile("def users():\n    return sys._getframe()\n", "user.py", "exec"), vars(library))
    outside = frames_outside(library)
    assert not outside(library.frame())
    assert not outside(inner.frame())
    assert outside(namesake.frame())
    assert outside(library.users()), "it runs in the library's namespace, but its file is the user's"
    assert outside(sys._getframe())
    monkeypatch.delitem(sys.modules, "xt_library")
    assert outside(library.frame()), "nothing is known of it"


def test_equal_code_of_another_file_is_not_taken_for_it():
    text = "import sys\ndef frame():\n    return sys._getframe()\n"
    one, two = module("m", text, "one.py"), module("m", text, "two.py")
    assert one.frame.__code__ == two.frame.__code__
    outside = frames_outside(one.frame)
    assert (outside(one.frame()), outside(two.frame())) == (False, True)


class Path:
    def __fspath__(self):
        return fail()


def test_frozen_modules():
    """They are compiled under a name that is no file's, unless Python was started without them."""
    error = caught(os.path.join, Path(), "b")
    assert "join" in names(error)
    assert names(filter_traceback(error, frames_outside(os.path))) == ["caught", "__fspath__", "fail"]


def test_modules_without_source(tmp_path, monkeypatch):
    source = tmp_path / "xt_no_source.py"
    source.write_text("def call(function):\n    return function()\n")
    py_compile.compile(str(source), cfile=str(tmp_path / "xt_no_source.pyc"), dfile="elsewhere/xt_no_source.py")
    source.unlink()
    monkeypatch.syspath_prepend(str(tmp_path))
    library = importlib.import_module("xt_no_source")
    try:
        error = caught(library.call, fail)
        assert names(filter_traceback(error, frames_outside(library))) == ["caught", "fail"]
        exec(compile("def users(function):\n    return function()\n", "user.py", "exec"), vars(library))
        error = caught(library.users, fail)
        assert "users" in names(filter_traceback(error, frames_outside(library)))
        library.__spec__ = None
        library.__file__ = "another.pyc"
        assert "call" in names(filter_traceback(caught(library.call, fail), frames_outside(library)))
    finally:
        sys.modules.pop("xt_no_source")


def test_odd_namespaces_and_arguments():
    code = compile("import sys\nframe = sys._getframe()", "odd.py", "exec")
    for name in ({}, {"__name__": 3}, {"__name__": "sys"}, {"__name__": "xtab", "__file__": "odd.py"}):
        exec(code, name)
        assert frames_outside(xtab)(name["frame"])
    with pytest.raises(TypeError, match="expected a code object"):
        frames_outside(len)


# splicing


class Skip(BaseException):
    """Only leads control flow."""


def users_and_ours():
    try:
        raise KeyError("the user's")
    except KeyError:
        try:
            raise Skip
        except Skip:
            raise ValueError("next")


def test_only_ours_goes():
    error = splice_context(caught(users_and_ours), Skip)
    assert repr(error.__context__) == 'KeyError("the user\'s")'
    assert error.__context__.__context__ is None
    assert not error.__suppress_context__


def test_one_given_exception():
    error = caught(users_and_ours)
    assert isinstance(splice_context(error, Skip()).__context__, Skip), "another one"
    assert isinstance(splice_context(error, error.__context__).__context__, KeyError)
    assert splice_context(error, error) is error


def test_several_in_a_row_and_further_down():
    error, last = ValueError(), KeyError()
    error.__context__ = TypeError()
    error.__context__.__context__ = Skip()
    error.__context__.__context__.__context__ = GeneratorExit()
    error.__context__.__context__.__context__.__context__ = last
    splice_context(error, (Skip, GeneratorExit))
    assert error.__context__.__context__ is last


def test_a_cause():
    def both():
        try:
            raise KeyError("the user's")
        except KeyError:
            try:
                raise Skip
            except Skip as error:
                raise ValueError("next") from error

    error = splice_context(caught(both), Skip)
    assert error.__cause__ is None
    assert not error.__suppress_context__, "the `from` is gone, so the user's context is shown"
    assert isinstance(error.__context__, KeyError)


def test_chains_that_cross():
    """What ours was raised in, where it is a cause itself; and what it was raised from, where it is a context."""
    users, skip, error = KeyError("the user's"), Skip(), ValueError()
    skip.__context__, error.__cause__ = users, skip
    splice_context(error, Skip)
    assert (error.__cause__, error.__context__, error.__suppress_context__) == (None, users, False)
    skip, error = Skip(), ValueError()
    skip.__context__, skip.__suppress_context__, error.__cause__ = users, True, skip
    splice_context(error, Skip)
    assert (error.__cause__, error.__context__) == (None, None), "it was not shown before"
    skip, error = Skip(), ValueError()
    skip.__cause__, error.__context__ = users, skip
    assert splice_context(error, Skip).__context__ is users


def test_a_suppressed_context_stays_suppressed():
    def hidden():
        try:
            raise Skip
        except Skip:
            raise ValueError("next") from None

    error = splice_context(caught(hidden), Skip)
    assert (error.__cause__, error.__context__, error.__suppress_context__) == (None, None, True)


def test_members_of_groups_and_circles():
    member = caught(users_and_ours)
    group = ExceptionGroup("g", [member])
    group.__context__ = Skip()
    group.__context__.__context__ = group
    splice_context(group, Skip)
    assert isinstance(member.__context__, KeyError)
    assert group.__context__ is None
    ours = Skip()
    ours.__context__ = ours
    error = ValueError()
    error.__context__ = ours
    assert splice_context(error, Skip).__context__ is None


def test_nothing_of_ours_changes_nothing():
    error = caught(chained)
    before = [(each.__context__, each.__cause__, each.__suppress_context__) for each in related(error)]
    splice_context(error, Skip)
    assert [(each.__context__, each.__cause__, each.__suppress_context__) for each in related(error)] == before


# rebuilding


def test_an_entry_without_a_line_stays_without():
    code = compile("1/0", "f", "eval").replace(co_linetable=b"")
    error = caught(helper, eval, code)
    before = [line for _, line in traceback.walk_tb(error.__traceback__)]
    filter_traceback(error, KEEP)
    assert [line for _, line in traceback.walk_tb(error.__traceback__)] == [before[0], before[2]]
    assert before[2] in (None, -1)


def test_an_exchanged_entry():
    error, other = caught(helper, fail), caught(fail).__traceback__
    new = rebuild(error.__traceback__, lambda entry: other if entry.tb_frame.f_code is helper.__code__ else entry)
    assert [entry.tb_frame for entry in (new.tb_next, other)] == [other.tb_frame] * 2
    assert new.tb_next.tb_next is error.__traceback__.tb_next.tb_next


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    value: int


def test_exceptions_that_refuse_to_be_set():
    def users():
        try:
            raise Skip
        except Skip as skip:
            raise Frozen(3) from skip

    error = caught(helper, users)
    assert splice_context(filter_traceback(error, KEEP), Skip) is error
    assert names(error) == ["caught", "users"]
    assert (error.__cause__, error.__context__, error.__suppress_context__) == (None, None, False)


@pytest.mark.parametrize("members", [1, 300])
def test_long_chains_of_ours(members):
    """Each of ours is passed once, however many chains lead to it."""
    passed = []

    class Noted(Skip):
        def __getattribute__(self, name):
            passed.append(name)
            return super().__getattribute__(name)

    last = KeyError("the user's")
    ours = last
    for _ in range(300):
        other = Noted()
        other.__context__ = ours
        ours = other
    errors = [ValueError() for _ in range(members)]
    for error in errors:
        error.__context__ = ours
    splice_context(ExceptionGroup("all", errors), Skip)
    assert all(error.__context__ is last for error in errors)
    assert passed.count("__context__") == 300


@pytest.mark.parametrize("function", [filter_traceback, lambda exc: splice_context(exc, Skip)])
@pytest.mark.parametrize("what", [None, 3, ValueError])
def test_what_is_no_exception(function, what):
    with pytest.raises(TypeError, match="expected an exception, but found"):
        function(what)


def test_public_names():
    assert sorted(set(tracebacks.__all__) - {"is_debugging", "put", "rebuild", "related"}) == sorted(
        set(tracebacks.__all__) & set(xtab.__all__)
    )
