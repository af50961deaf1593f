"""Exceptions raised in the lines of generated functions come to the handlers foretold: the short form of `run`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).parent / "run.py"


def test_generated_functions():
    command = [sys.executable, str(RUN), "--count", "15"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert not done.returncode, done.stdout + done.stderr
    assert " 15 functions, " in done.stdout
    assert " 0 raised" not in done.stdout
