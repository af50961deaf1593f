"""What is shown of an error: the frames of its user."""

from __future__ import annotations

import pytest

import xtab
from xtab.cli.failures import show_failure


def error_of(call):
    try:
        call()
    except Exception as error:
        return error
    return None


def users():
    return xtab.decode(lambda: None).remove(5)


def inside():
    """An error that has frames of xtab alone."""
    error = error_of(lambda: xtab.Instruction("NO_SUCH"))
    while error.__traceback__.tb_frame.f_globals["__name__"] == __name__:
        error = error.with_traceback(error.__traceback__.tb_next)
    return error


def test_frames_of_xtab_are_hidden(capsys):
    show_failure(error_of(users))
    text = capsys.readouterr().err
    assert "in users" in text
    assert "editing.py" not in text
    assert text.endswith("XtabError: expected an Instruction of this body, but found 5 of type int\n")


def test_an_error_without_a_users_frame_is_one_line(capsys, monkeypatch):
    show_failure(inside())
    assert capsys.readouterr().err.startswith("xtab.errors.XtabError: expected an opcode of CPython ")
    monkeypatch.setenv("XTAB_DEBUG", "1")
    show_failure(inside())
    assert "instruction.py" in capsys.readouterr().err


@pytest.mark.parametrize("debug, shown", [("", False), ("0", False), ("1", True)])
def test_what_the_environment_asks_for(capsys, monkeypatch, debug, shown):
    monkeypatch.setenv("XTAB_DEBUG", debug)
    show_failure(error_of(users))
    assert ("editing.py" in capsys.readouterr().err) is shown


def test_a_fault_of_our_own_keeps_its_frames(capsys):
    error = inside()
    fault = IndexError("ours").with_traceback(error.__traceback__)
    show_failure(fault)
    assert "instruction.py" in capsys.readouterr().err
