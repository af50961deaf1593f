"""What has broken other rewriters gives its results after decoding and assembly, with and without NOPs put in.

A wrong depth or stack size may crash the interpreter, so every run is a process of its own: this file is also the
program that runs there.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CASES = HERE / "cases"
#: how the code objects are changed: name -> keyword arguments of `put_nops`, or None for no change
EDITS = {"unedited": None, "a NOP before": {}, "a NOP instead": {"redirect": True}}


def run_in_a_process(what, edit):
    command = [sys.executable, "-X", "faulthandler", __file__, what, edit]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr[-4000:]}"
    return json.loads(done.stdout)


def chosen_edit(name):
    """Return the transformation of whole code objects that the name stands for."""
    tools = runpy.run_path(str(HERE / "insertion.py"))
    options = EDITS[name]
    edit = None if options is None else lambda body: tools["put_nops"](body, **options)
    return lambda code: tools["transformed"](code, edit)


def run_sources(transform):
    """Run `SOURCES`: a list of those that gave something else than they should, and how many ran."""
    sources = runpy.run_path(str(CASES / "bytecode_defects.py"))["SOURCES"]
    wrong, ran = [], 0
    for name, (first_version, source, is_right) in sources.items():
        if sys.version_info < first_version:
            continue
        sys.stderr.write(f"{name}\n")
        namespace = {}
        exec(transform(compile(source, name, "exec", dont_inherit=True)), namespace)
        ran += 1
        if not is_right(namespace):
            wrong.append(name)
    return wrong, ran


def run_calls(transform):
    """Run `RUNS`, everything in the file transformed: a list of what came out wrong, and how many ran."""
    path = CASES / "tracers.py"
    namespace = {"__name__": "tracers"}
    exec(transform(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)), namespace)
    wrong = []
    runs = namespace["RUNS"]
    for _ in range(20):  # often enough for the interpreter to specialise what it runs
        for number, (function, call, result, log) in enumerate(runs):
            sys.stderr.write(f"{number} {function.__name__}\n")
            found_log = []
            found = call(function, found_log)
            if found != result or found_log != log or sys.exc_info() != (None, None, None):
                wrong.append(f"{function.__name__}: {found!r} {found_log} instead of {result!r} {log}")
    return wrong, len(runs)


def test_sources_run_right():
    """Code on which another library goes wrong runs right after decoding and assembly."""
    wrong, ran = run_in_a_process("sources", "unedited")
    assert wrong == []
    assert ran >= 7


def test_sources_run_right_with_nops():
    """And so it does with a NOP before every instruction where one may stand, whichever of the two jumps lead to."""
    for edit in ("a NOP before", "a NOP instead"):
        assert run_in_a_process("sources", edit)[0] == [], edit


def test_calls_give_their_results():
    """Functions that have broken tracers give the same results and logs after decoding and assembly."""
    wrong, ran = run_in_a_process("calls", "unedited")
    assert wrong == []
    assert ran >= 30


def test_calls_give_their_results_with_a_nop_before():
    """Likewise with a NOP before every instruction where one may stand, when jumps still lead to the instruction."""
    assert run_in_a_process("calls", "a NOP before")[0] == []


def test_calls_give_their_results_with_a_nop_instead():
    """Likewise when jumps and spans lead to the NOP."""
    assert run_in_a_process("calls", "a NOP instead")[0] == []


if __name__ == "__main__":
    run = {"sources": run_sources, "calls": run_calls}[sys.argv[1]]
    sys.stdout.write(json.dumps(run(chosen_edit(sys.argv[2]))))
