"""The file of results of one version: for each transform and module, the counts, and the tests that differ by name."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import threading
from contextlib import contextmanager


class Results:
    """A file of results, which several processes may write at the same time.

    A result has these keys: tests, same: how many; differences: id -> outcome before, outcome after, the exception;
    unsteady: id -> the outcomes seen; seconds; sources: the hash of what rewrote.
    """

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)

    def read(self):
        if not self.path.exists():
            return {"python": "", "transforms": {}}
        return json.loads(self.path.read_text(encoding="utf-8"))

    def get(self, transform, module):
        """A result, or None."""
        return self.read()["transforms"].get(transform, {}).get(module)

    def put(self, transform, module, result):
        """Merge a result into the file."""
        with self.lock, locked(self.path.parent):
            document = self.read()
            document["python"] = platform.python_version()
            document["transforms"].setdefault(transform, {})[module] = result
            unfinished = self.path.with_suffix(".unfinished")
            unfinished.write_text(as_text(document), encoding="utf-8")
            unfinished.replace(self.path)


@contextmanager
def locked(directory):
    """Keep other processes that lock the directory out."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def as_text(document):
    """JSON with a line for each module."""
    transforms = []
    for transform, modules in sorted(document["transforms"].items()):
        lines = [f"  {json.dumps(name)}: {json.dumps(result)}" for name, result in sorted(modules.items())]
        transforms.append(f" {json.dumps(transform)}: {{\n" + ",\n".join(lines) + "\n }")
    head = f'{{"python": {json.dumps(document["python"])}, "transforms": {{\n'
    return head + ",\n".join(transforms) + "\n}}\n"
