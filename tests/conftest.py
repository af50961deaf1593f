"""What all tests share: which have nothing to ask of a debug build, the tools that lie beside some, code as stored."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

import xtab
from xtab.format.marshalled import MarshalledCode
from xtab.format.opcodes import CURRENT

HERE = Path(__file__).parent
PURE = (
    *("analysis", "cli", "format", "packages", "proof", "regions", "report", "testing", "ways"),
    *("test_benchmarks.py", "test_corpus.py", "test_docs.py", "test_errors.py", "test_house_rules.py"),
    "test_verified.py",
    *(f"model/test_{name}.py" for name in ("depths", "editing", "flow", "layout", "nesting", "positions", "slices")),
    *(f"model/test_{name}.py" for name in ("stack", "text_header", "text_operands", "text_reader", "text_tokens")),
    *(f"transform/test_{name}.py" for name in ("alignment", "reduce", "shrinking", "source_map", "syntax")),
)
"""Tests that run no code which xtab has made or judged: a debug build could say no more of them than a release does."""


def pytest_collection_modifyitems(items):
    """Mark them, so that ``-m "not pure"`` leaves them out."""
    pure = [HERE / name for name in PURE]
    for item in items:
        if any(item.path.is_relative_to(path) for path in pure):
            item.add_marker(pytest.mark.pure)


@pytest.fixture
def tools(request, monkeypatch):
    """Import a tool that lies beside the test by its name, as the tools import each other, and forget it afterwards.

    Tools of other folders have the same names; what is left of those is forgotten before.
    """
    here = request.path.parent
    for name in {path.stem for path in here.glob("*.py")} - {request.module.__name__, "conftest"}:
        monkeypatch.delitem(sys.modules, name, raising=False)
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(here))
    yield __import__
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == here:
            del sys.modules[name]


@pytest.fixture
def steps():
    """Count the lines of xtab that run in a call: unlike its time, the same whatever else the machine does."""
    xtab_itself = str(Path(xtab.__file__).parent)

    def count(function, *arguments):
        lines = 0

        def trace(frame, event, _):
            nonlocal lines
            if not frame.f_code.co_filename.startswith(xtab_itself):
                return None
            lines += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            function(*arguments)
        finally:
            sys.settrace(before)
        return lines

    return count


@pytest.fixture
def golden():
    """Compare a text with a golden file; with XTAB_BLESS=1, write that file."""

    def compare(name, text, **masks):
        for word, pattern in masks.items():
            text = re.sub(pattern, lambda match, word=word: match[0].replace(match[1], f" <{word}>"), text)
        path = HERE / "golden" / name
        if os.environ.get("XTAB_BLESS"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"run with XTAB_BLESS=1 to accept what is in {name} now"

    return compare


def _code_bytes(*instructions):
    """The code of instructions that all versions have, given as name or (name, operand); with caches."""
    parts = []
    for each in instructions:
        name, arg = (each, 0) if isinstance(each, str) else each
        opcode = CURRENT.number[name]
        parts.append(bytes([opcode, arg]) + bytes(2 * CURRENT.caches[opcode]))
    return b"".join(parts)


def _stored(*instructions, **parts):
    """A code object as it is stored, whether or not it could be made."""
    code = _code_bytes(*(instructions or ("RESUME", "LOAD_CONST", "RETURN_VALUE")))
    fields = {
        **dict.fromkeys(("argcount", "posonlyargcount", "kwonlyargcount", "flags"), 0),
        "stacksize": 1,
        "code": code,
        "consts": (None,),
        "names": (),
        "localsplusnames": (),
        "localspluskinds": b"",
        "filename": "made.py",
        "name": "f",
        "qualname": "f",
        "firstlineno": 1,
        "exceptiontable": b"",
        **parts,
    }
    units = len(fields["code"]) // 2
    lines = b"".join(bytes([0xF8 | min(8, units - at) - 1]) for at in range(0, units, 8))
    return MarshalledCode(**{"linetable": lines, **fields})


@pytest.fixture
def code_bytes():
    """Code from the names of instructions."""
    return _code_bytes


@pytest.fixture
def stored():
    """A code object as it is stored, from the names of instructions and from parts."""
    return _stored
