"""The hooks: all three places, in all threads, put back as they were."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import threading
import traceback

import pytest

import xtab
from xtab.runtime.excepthooks import install_excepthook
from xtab.runtime.tracebacks import filter_traceback

PLACES = [(sys, "excepthook"), (threading, "excepthook"), (sys, "unraisablehook")]


def hooks():
    return [getattr(owner, name) for owner, name in PLACES]


@pytest.fixture(autouse=True)
def seen(monkeypatch):
    """The hooks under ours note what they are called with."""
    seen = []
    monkeypatch.setattr(sys, "excepthook", lambda *args: seen.append(args))
    monkeypatch.setattr(threading, "excepthook", seen.append)
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    return seen


def fail():
    raise KeyError("here")


def error_of(function=fail):
    with pytest.raises(KeyError) as caught:
        function()
    return caught.value


def other(exc):
    return LookupError("instead of", exc).with_traceback(exc.__traceback__.tb_next)


def uncaught(error):
    sys.excepthook(type(error), error, error.__traceback__)


class Unraisable:
    def __del__(self):
        fail()


def test_the_main_thread(seen):
    error = error_of()
    with install_excepthook(other):
        uncaught(error)
    (kind, shown, trace), *_ = seen
    assert kind is LookupError
    assert shown.args == ("instead of", error)
    assert trace is shown.__traceback__ is error.__traceback__.tb_next


def test_a_worker_thread(seen):
    thread = threading.Thread(target=fail)
    with install_excepthook(other):
        thread.start()
        thread.join()
    (args,) = seen
    assert (args.exc_type, args.exc_value.args[0], args.thread) == (LookupError, "instead of", thread)
    assert args.exc_traceback is args.exc_value.__traceback__
    seen.clear()


def test_what_can_not_be_raised(seen):
    with install_excepthook(other):
        Unraisable()
    (args,) = seen
    assert (args.exc_type, args.exc_value.args[0]) == (LookupError, "instead of")
    assert "Unraisable.__del__" in f"{args.err_msg}{args.object}"
    seen.clear()


def test_steps_in_order(seen):
    notes = []
    with install_excepthook(lambda exc: notes.append(1) or exc, lambda exc: notes.append(2) or exc):
        uncaught(error_of())
    assert notes == [1, 2]


def test_frames_of_xtab_are_hidden_if_nothing_else_is_asked(monkeypatch, seen):
    error = error_of(lambda: xtab.rewrite(fail, lambda body: {}["bad"]))
    with install_excepthook():
        uncaught(error)
    assert seen[0][1] is error
    names, entry = [], error.__traceback__
    while entry:
        names.append(entry.tb_frame.f_code.co_name)
        entry = entry.tb_next
    assert names == ["error_of", "<lambda>", "<lambda>"]
    assert filter_traceback(error) is error


def test_uninstalling_gives_the_old_ones_back():
    before = hooks()
    installed = install_excepthook()
    assert not set(map(id, before)) & set(map(id, hooks()))
    installed.uninstall()
    assert hooks() == before
    installed.uninstall()
    assert hooks() == before


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_nested(order, seen):
    before = hooks()
    calls = []
    installed = [install_excepthook(lambda exc, n=n: calls.append(n) or exc) for n in range(3)]
    uncaught(error_of())
    assert calls == [2, 1, 0]
    for place, number in enumerate(order):
        installed[number].uninstall()
        calls.clear()
        uncaught(error_of())
        assert calls == sorted(set(range(3)) - set(order[: place + 1]), reverse=True)
    assert hooks() == before
    assert len(seen) == 4


def test_hooks_of_others_stay(seen):
    calls = []
    installed = install_excepthook(lambda exc: calls.append("step") or exc)
    ours = sys.excepthook

    def theirs(*args):
        calls.append("theirs")
        ours(*args)

    sys.excepthook = theirs
    uncaught(error_of())
    installed.uninstall()
    assert sys.excepthook is theirs
    uncaught(error_of())
    assert calls == ["theirs", "step", "theirs"]
    assert len(seen) == 2


def broken(exc):
    raise RuntimeError("a fault of the step")


@pytest.mark.parametrize("step", [broken, lambda exc: None])
def test_a_step_that_fails_hides_nothing(step, seen):
    error = error_of()
    with install_excepthook(step):
        uncaught(error)
    assert seen[0][1] is error
    assert "failed on this error" in error.__notes__[0]


class Mute(Exception):
    def __str__(self):
        raise TypeError

    __repr__ = __str__


class MuteStep:
    def __call__(self, exc):
        raise Mute

    def __repr__(self):
        raise Mute


@pytest.mark.parametrize("step", [broken, MuteStep(), lambda exc: Mute])
@pytest.mark.parametrize("notes", [None, "not a list"])
def test_neither_a_step_nor_an_error_that_can_not_be_shown_hides_anything(step, notes, seen):
    error = error_of()
    if notes is not None:
        error.__notes__ = notes
    with install_excepthook(step):
        uncaught(error)
    assert seen[0][1] is error


def test_steps_must_be_callable():
    before = hooks()
    with pytest.raises(TypeError, match="expected functions that take an exception, but found 3"):
        install_excepthook(filter_traceback, 3)
    assert hooks() == before


def test_without_stderr(monkeypatch, capsys):
    """Then nothing is shown, on stdout neither."""
    for owner, name in PLACES:
        monkeypatch.setattr(owner, name, getattr(owner, f"__{name}__"))
    monkeypatch.setattr(sys, "stderr", None)
    error = error_of()
    with install_excepthook():
        uncaught(error)
        if hasattr(traceback, "_print_exception_bltin"):  # else threading writes to the stderr of its start
            return
        threading.excepthook(threading.ExceptHookArgs((KeyError, error, error.__traceback__, None)))
    assert capsys.readouterr().out == ""


def test_a_strict_stderr(monkeypatch):
    """Nothing of an error is lost if it has a character that the stream can't have; nothing is shown without one."""
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    monkeypatch.setattr("xtab.runtime.excepthooks._HOOKS_READ_LINECACHE", False)
    error = KeyError("\N{SNOWMAN}")
    args = threading.ExceptHookArgs((KeyError, error, None, threading.Thread(name="worker")))
    with install_excepthook(lambda exc: exc):
        stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
        monkeypatch.setattr(sys, "stderr", stream)
        threading.excepthook(args)
        stream.flush()
        assert stream.buffer.getvalue().split(b"\n")[:2] == [b"Exception in thread worker:", b"KeyError: '\\u2603'"]
        monkeypatch.delattr(sys, "stderr")
        threading.excepthook(args)


def test_without_a_value(seen):
    with install_excepthook(other):
        sys.excepthook(KeyError, None, None)
        threading.excepthook(threading.ExceptHookArgs((KeyError, None, None, None)))
    assert seen[0] == (KeyError, None, None)
    assert seen[1].exc_value is None


def test_what_a_caller_wants_to_have_shown(seen):
    """A traceback that is not the exception's own is handed on, and so is what is no exception at all."""
    error = error_of()
    trimmed = error.__traceback__.tb_next
    with install_excepthook(lambda exc: exc):
        sys.excepthook(KeyError, error, trimmed)
        sys.excepthook(KeyError, "text", None)
    assert seen[0] == (KeyError, error, trimmed)
    assert seen[1] == (KeyError, "text", None)


PROGRAM = """
import sys, threading
{install}
def fail():
    try:
        {{}}["key"]["deeper"]
    except KeyError as error:
        raise ValueError("bad") from error
class Unraisable:
    def __del__(self): fail()
Unraisable()
for target in (fail, sys.exit):
    thread = threading.Thread(target=target, name="worker"); thread.start(); thread.join()
fail()
"""


def test_python_shows_the_same_as_without(tmp_path):
    """Where nothing is hidden, Python's own hooks, or what stands for them, print what they always do."""
    shown = []
    for install in ("pass", "import xtab; xtab.install_excepthook()"):
        path = tmp_path / "program.py"
        path.write_text(PROGRAM.format(install=install))
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        shown.append(done.stderr.replace("\r", ""))
    plain, ours = (re.sub("0x[0-9a-f]+", "N", each) for each in shown)
    assert "Exception in thread worker:" in plain
    assert plain.count("ValueError: bad") == 3
    assert ours == plain
