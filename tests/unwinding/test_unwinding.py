"""Exceptions raised at every instruction go where `unwind` and `block_stack` foretell: the short form of `run`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent / "run.py"


def run(*options):
    done = subprocess.run(
        [sys.executable, str(RUN), "--json", *options], capture_output=True, text=True, check=False, timeout=600
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("options, least", [(("--count", "4"), 200), (("--cases",), 300)], ids=["generated", "cases"])
def test_exceptions_go_where_they_are_foretold_to(options, least):
    found = run(*options)
    assert not found["differences"]
    counts = found["counts"]
    assert counts["got out to the caller"] > least
    assert counts["arrived"] > least
    assert counts["depths at handlers"] > counts["arrived"] / 2


def test_what_is_foretold_wrongly_is_found(tools, monkeypatch):
    """Otherwise the comparison would prove nothing."""
    tracer, programs, tool = tools("tracer"), tools("programs"), tools("run")

    def target(w):
        try:
            w.step(1)
        finally:
            w.step(2)

    def differences():
        found, counts = tool.check(target, lambda function, _: function(programs.World(0)), range(1))
        assert counts["raised"]
        return {each.what for each in found}

    assert not differences()
    real = tracer.way_from
    monkeypatch.setattr(tracer, "way_from", lambda *given: [step._replace(handler=0) for step in real(*given)])
    assert "step" in differences()
    monkeypatch.setattr(tracer, "way_from", lambda *given: [step._replace(depth=7) for step in real(*given)])
    assert "depth at the handler" in differences()
    monkeypatch.setattr(tracer, "way_from", lambda *given: [step._replace(raised_at=-1) for step in real(*given)])
    assert differences()
    monkeypatch.setattr(tracer, "way_from", real)
    nothing = tracer.Blocks.at(tracer.Blocks(tracer.CodeMap.of(lambda: None)), 0)
    monkeypatch.setattr(tracer.Blocks, "at", lambda *_: nothing)
    assert "handled" in differences()


def test_generated_functions_are_of_all_kinds(tools):
    programs = tools("programs")
    texts = [programs.Writer(seed).text() for seed in range(60)]
    assert texts == [programs.Writer(seed).text() for seed in range(60)]
    words = ("except*", "finally:", "async with", "async for", "yield from", "await", " as e:", "for i in", "raise\n")
    for word in words:
        assert any(word in text for text in texts), word
