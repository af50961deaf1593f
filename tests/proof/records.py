"""What a child process wrote, as outcomes; and what two of them have in common.

An outcome is a short text: ok, skip, fail, error, expected failure or unexpected success, with a count if several
subtests failed; or one of the words below. The module as a whole is a test too, named `WHOLE`: its outcome is how the
process ended.
"""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass, field

WHOLE = "<module>"
MISSING = "not run"
ENDED = "ended"


@dataclass
class Record:
    """The outcome of every test of one run of one module."""

    outcomes: dict = field(default_factory=dict)  #: id -> outcome
    details: dict = field(default_factory=dict)  #: id -> the exception, in a line
    seconds: float = 0.0
    complete: bool = False  #: whether the run is over, well or badly

    def died(self):
        """The test that was running when the process died, or None."""
        return next((name for name, outcome in self.outcomes.items() if outcome.startswith("died")), None)


def read(path):
    """The record in a file; one that is not there is empty."""
    record = Record()
    started, finished = None, False
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            fact = json.loads(line)
        except ValueError:  # the process died while it wrote
            continue
        if "start" in fact:
            started = fact["start"]
        elif "id" in fact:
            record.outcomes[fact["id"]] = fact["outcome"]
            record.details[fact["id"]] = fact["detail"]
            started = None
        elif "end" in fact:
            finished = True
        elif "exit" in fact:
            record.seconds = fact["seconds"]
            record.complete = True
            ending = how_it_ended(fact["exit"])
            record.outcomes.setdefault(WHOLE, ENDED if finished and ending == "exit 0" else ending)
            if started is not None and not finished:
                record.outcomes[started] = f"died: {ending}"
    return record


def how_it_ended(code):
    """The exit code of a child in words; None: the time was over."""
    if code is None:
        return "time-out"
    return f"exit {code}" if code >= 0 else signal.Signals(-code).name


def compare(before, after):
    """Test by test: id -> (outcome before, outcome after), where they differ."""
    names = {**before.outcomes, **after.outcomes}
    pairs = {name: (before.outcomes.get(name, MISSING), after.outcomes.get(name, MISSING)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
