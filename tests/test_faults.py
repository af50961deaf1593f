"""What xtab itself once did wrong, or said wrongly, is right. This file is also what runs one of the cases."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest


def _cases(name):
    return runpy.run_path(str(CASES / f"{name}.py"))["FAULTS"]


CASES = Path(__file__).parent / "cases"
FAULTS = {name: case for file in ("faults", "told") for name, case in _cases(file).items()}


@pytest.mark.parametrize("name", FAULTS)
def test_what_was_wrong_is_right(name):
    command = [sys.executable, "-X", "faulthandler", __file__, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr[-4000:]}"
    found, right = done.stdout.splitlines()
    assert found == right


if __name__ == "__main__":
    sys.stdout.write("".join(f"{value!r}\n" for value in FAULTS[sys.argv[1]]()))
