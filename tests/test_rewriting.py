"""What has broken other rewriters gives its results after every transform of the proof, and after any single insertion.

A fault may crash the interpreter, so every run is a process of its own: this file is also the program that runs there.
"""

from __future__ import annotations

import faulthandler
import io
import json
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from pathlib import Path

import pytest

import xtab

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # as a program, this file has no package around it

from tests.proof.transforms import TRANSFORMS, a_call  # noqa: E402

sys.path.pop(0)

SOURCES = runpy.run_path(str(HERE / "cases" / "bytecode_defects.py"))["SOURCES"]
TRACERS = HERE / "cases" / "tracers.py"


def run_in_a_process(*arguments):
    command = [sys.executable, "-X", "faulthandler", __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr[-4000:]}"
    return json.loads(done.stdout)


def transformed(code, transform):
    """Give a code object and all those inside it to a transform."""
    consts = tuple(
        transformed(each, transform) if isinstance(each, types.CodeType) else each for each in code.co_consts
    )
    body = xtab.decode(code.replace(co_consts=consts))
    transform(body)
    return xtab.assemble(body)


def tracers(transform):
    """The namespace of the cases, everything in it transformed."""
    namespace = {"__name__": "tracers"}
    exec(transformed(compile(TRACERS.read_bytes(), str(TRACERS), "exec", dont_inherit=True), transform), namespace)
    return namespace


def wrong_runs(runs):
    """Those of `RUNS` that give something else than they should."""
    wrong = []
    for function, call, result, log in runs:
        sys.stderr.write(f"{function.__name__}\n")
        found_log = []
        found = call(function, found_log)
        if found != result or found_log != log or sys.exc_info() != (None, None, None):
            wrong.append(f"{function.__name__}: {found!r} {found_log} instead of {result!r} {log}")
    return wrong


def run_transform(name):
    """Run the cases after a transform, often enough for the interpreter to specialise what it runs."""
    namespace = tracers(TRANSFORMS[name])
    wrong = [each for _ in range(20) for each in wrong_runs(namespace["RUNS"])]
    for case, (first_version, source, is_right) in SOURCES.items():
        if sys.version_info >= first_version:
            sys.stderr.write(f"{case}\n")
            namespace = {}
            exec(transformed(compile(source, case, "exec", dont_inherit=True), TRANSFORMS[name]), namespace)
            if not is_right(namespace):
                wrong.append(case)
    return wrong


def run_single_calls():
    """Run each case with a call put before each single instruction, one after another: what was wrong, how many ran."""
    wrong, ran, kept = [], 0, {}
    for function, call, result, log in tracers(TRANSFORMS["nothing"])["RUNS"]:
        for code in all_code(function.__code__):
            body = xtab.decode(code)
            points = [body.instructions.index(each) for each in body.insertion_points()]
            for each in body.instructions:
                reason = body.why_not_before(each)
                if reason is not None:
                    kept[f"{each.opname}: {reason}"] = kept.get(f"{each.opname}: {reason}", 0) + 1
            for point in points:
                sys.stderr.write(f"{code.co_name} {point}\n")
                edited = with_call(function.__code__, code, point)
                copy = types.FunctionType(
                    edited, function.__globals__, closure=function.__closure__, argdefs=function.__defaults__
                )
                wrong += wrong_runs([(copy, call, result, log)])
                ran += 1
    return wrong, ran, kept


def all_code(code):
    found = [code]
    for each in found:
        found += [const for const in each.co_consts if isinstance(const, types.CodeType)]
    return found


def with_call(code, chosen, point):
    """`code` with a call before one instruction of `chosen`, which is it or one inside."""
    consts = tuple(
        with_call(each, chosen, point) if isinstance(each, types.CodeType) else each for each in code.co_consts
    )
    body = xtab.decode(code if code is chosen else code.replace(co_consts=consts))
    if code is chosen:
        body.insert_before(body.instructions[point], a_call())
    return xtab.assemble(body)


# frames, looked at while rewritten code runs


class Watcher:
    """Looks at the stack in every way at every instruction of the cases, and keeps what it saw of them.

    Another thread looks as well, through `sys._current_frames`.
    """

    def __init__(self):
        self.seen = []
        self.asked, self.answered = threading.Semaphore(0), threading.Semaphore(0)
        self.file = tempfile.TemporaryFile("w+")
        self.watched = threading.get_ident()
        self.other = None
        threading.Thread(target=self.look_from_outside, daemon=True).start()

    def look_from_outside(self):
        while True:
            self.asked.acquire()
            self.other = lines_of(sys._current_frames()[self.watched])
            self.answered.release()

    def trace(self, frame, event, _argument):
        if frame.f_code.co_filename != str(TRACERS):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_lineno is not None:
            self.look(frame)
        return self.trace

    def look(self, frame):
        walked = lines_of(frame)
        printed = io.StringIO()
        traceback.print_stack(frame, file=printed)
        self.file.seek(0)
        self.file.truncate()
        faulthandler.dump_traceback(self.file, all_threads=False)
        self.file.seek(0)
        dumped = self.file.read()
        self.asked.release()
        self.answered.acquire()
        assert self.other == walked
        for name, line in walked:
            assert f"line {line}, in {name}" in printed.getvalue()
            assert f"line {line} in " in dumped
        if not self.seen or self.seen[-1] != walked:
            self.seen.append(walked)


def lines_of(frame):
    """Name and line of the frames of the cases, innermost first."""
    found = []
    while frame is not None:
        if frame.f_code.co_filename == str(TRACERS):
            found.append((frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    return found


def run_watched(name):
    """What the stack looked like, at every change of it, while the cases ran: one list a case."""
    seen = []
    for function, call, _, _ in tracers(TRANSFORMS[name])["RUNS"]:
        sys.stderr.write(f"{function.__name__}\n")
        if function.__name__ == "b4":  # 150 calls deep: seen at 5
            call = lambda f, log: f(5)  # noqa: E731
        watcher = Watcher()
        sys.settrace(watcher.trace)
        try:
            call(function, [])
        finally:
            sys.settrace(None)
        seen.append([function.__name__, watcher.seen])
    return seen


@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_cases_give_their_results_after(name):
    assert run_in_a_process("transform", name) == []


def test_cases_give_their_results_with_a_call_at_any_place():
    """Where nothing may be put, there is a reason in words."""
    wrong, ran, kept = run_in_a_process("single")
    assert wrong == []
    assert ran > 1000
    assert sum(kept.values()) < ran / 4
    assert all(": " in reason for reason in kept)


@pytest.mark.parametrize("name", [name for name in TRANSFORMS if name != "wide"])
def test_frames_show_the_lines_of_the_untouched_run(name):
    """Tracebacks, dumps and walks, from this thread and another, at every instruction."""
    assert run_in_a_process("watched", name) == run_in_a_process("watched", "nothing")


if __name__ == "__main__":
    run = {"transform": run_transform, "single": run_single_calls, "watched": run_watched}[sys.argv[1]]
    sys.stdout.write(json.dumps(run(*sys.argv[2:])))
