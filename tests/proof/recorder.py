"""Run the tests of a module as CPython's own runner does, and write down the outcome of each; itself rewritten."""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import random
import signal
import sys
import traceback
import unittest

from test import support
from test.support import os_helper


class Recorder(unittest.TestResult):
    """Writes ``{"start": id}`` when a test starts, and ``{"id": id, "outcome": ..., "detail": ...}`` at its end."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.seen = {}
        self.name = None
        self.found = []

    def write(self, **fact):
        self.file.write(json.dumps(fact) + "\n")
        self.file.flush()

    def unique(self, test):
        """The id of a test; the second of the same id gets a number."""
        name = test.id()
        count = self.seen[name] = self.seen.get(name, 0) + 1
        return name if count == 1 else f"{name} #{count}"

    def startTest(self, test):
        self.name = self.unique(test)
        self.found = []
        self.write(start=self.name)

    def stopTest(self, test):
        self.finish(self.name, self.found)
        self.name = None

    def finish(self, name, found):
        problems = [each for each in found if each[0] not in ("ok", "skip")]
        outcome, detail = (problems or [each for each in found if each[0] == "skip"] or found or [("nothing", "")])[0]
        if len(problems) > 1:
            outcome = f"{outcome} x{len(problems)}"
        if problems:
            calm_down()
        self.write(id=name, outcome=outcome, detail=detail)

    def note(self, test, outcome, error=None):
        detail = "" if error is None else error if isinstance(error, str) else one_line(error)
        if error is not None and not isinstance(error, str):
            sys.stderr.write(f"\n===== {outcome}: {test}\n")
            traceback.print_exception(*error)
        if self.name is None:  # in setUpClass and the like
            self.finish(self.unique(test), [(outcome, detail)])
        else:
            self.found.append((outcome, detail))

    def addSuccess(self, test):
        self.note(test, "ok")

    def addError(self, test, err):
        self.note(test, "error", err)

    def addFailure(self, test, err):
        self.note(test, "fail", err)

    def addSkip(self, test, reason):
        self.note(test, "skip", reason)

    def addExpectedFailure(self, test, err):
        self.note(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        self.note(test, "unexpected success")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note(subtest, "fail" if issubclass(err[0], test.failureException) else "error", err)


def calm_down():
    """End what a test that failed half-way may have left running, so that the next ones don't fail for that."""
    sys.settrace(None)
    sys.setprofile(None)
    monitoring = getattr(sys, "monitoring", None)
    for tool in range(6) if monitoring else ():
        if monitoring.get_tool(tool) is not None:
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)


def one_line(error):
    """The exception of an exc_info in at most 200 characters."""
    try:
        text = f"{error[0].__name__}: {error[1]}"
    except Exception:
        text = error[0].__name__
    return " ".join(text.split())[:200]


def run(module, path):
    """Run the tests of ``test.MODULE``, as regrtest does without resources, and write what happens to `path`."""
    faulthandler.enable(all_threads=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed(0)
    support.use_resources = ()
    support.record_original_stdout(sys.stdout)
    sys.stdout.reconfigure(errors="backslashreplace")
    with open(path, "w", encoding="utf-8") as file, os_helper.temp_cwd(None, quiet=True):
        recorder = Recorder(file)
        try:
            tests = importlib.import_module(f"test.{module}")
        except unittest.SkipTest as reason:
            recorder.write(id="<module>", outcome="skip", detail=str(reason))
        else:
            loader = unittest.TestLoader()
            suite = loader.loadTestsFromModule(tests)
            for error in loader.errors:
                sys.stderr.write(error)
            suite.run(recorder)
        recorder.write(end=os.getpid())
