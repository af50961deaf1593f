from __future__ import annotations

import io
import json
import sys

import pytest

import xtab as library
from xtab.cli.output import Bar, console_for, document, running_python, wants_ascii, writing


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    "color, environment, terminal, wanted",
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("always", {"NO_COLOR": "1", "TERM": "dumb"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour(color, environment, terminal, wanted, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = Terminal() if terminal else io.StringIO()
    console_for(stream, color).print("text", style="bold red")
    assert (stream.getvalue() != "text\n") == wanted


def test_nothing_is_wrapped_or_marked_up():
    stream = io.StringIO()
    text = "[bold]" + "word 12 :smile: " * 50 + "[/]"
    console_for(stream, "never").print(text)
    assert stream.getvalue() == text + "\n"


def test_document():
    assert json.loads(document([1], more=2)) == {
        "schema": 1,
        "xtab": library.__version__,
        "python": running_python(),
        "results": [1],
        "more": 2,
    }


def test_running_python():
    assert sys.version.startswith(running_python())


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def shown(stderr, clock, monkeypatch, times, **options):
    monkeypatch.setattr(sys, "stderr", stderr)
    with Bar(len(times), clock=clock, **options) as bar:
        for clock.now in times:
            bar.advance("a/file.py")
    return stderr.getvalue()


def test_the_bar_comes_after_a_second(clock, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert shown(Terminal(), clock, monkeypatch, [0.2, 0.5, 0.9]) == ""
    clock.now = 0
    assert "a/file.py" in shown(Terminal(), clock, monkeypatch, [0.2, 0.9, 1.1])


def test_the_bar_is_only_for_terminals(clock, monkeypatch):
    assert shown(io.StringIO(), clock, monkeypatch, [1, 2, 3]) == ""


def test_the_bar_can_be_turned_off(clock, monkeypatch):
    assert shown(Terminal(), clock, monkeypatch, [1, 2, 3], wanted=False) == ""


@pytest.mark.parametrize(
    "encoding, wanted", [("utf-8", True), ("ascii", False), ("cp1252", False), ("nonsense", False)]
)
def test_ascii_where_a_stream_carries_no_more(encoding, wanted):
    class Stream(io.StringIO):
        pass

    Stream.encoding = encoding
    assert wants_ascii(Stream(), "│◀") != wanted
    assert wants_ascii(Stream(), "│◀", use_ascii=True)


def test_a_file_that_can_not_be_written(tmp_path):
    with pytest.raises(library.TargetError, match=r"expected .* to be a file that can be written, but found: "):
        with writing(tmp_path / "no folder" / "file") as path:
            path.write_text("")
