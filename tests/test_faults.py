"""What xtab itself once did wrong is right. The cases are in `cases/faults.py`; this file is also what runs one."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases" / "faults.py"
FAULTS = runpy.run_path(str(CASES))["FAULTS"]


@pytest.mark.parametrize("name", FAULTS)
def test_what_was_wrong_is_right(name):
    command = [sys.executable, "-X", "faulthandler", __file__, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr[-4000:]}"
    found, right = done.stdout.splitlines()
    assert found == right


if __name__ == "__main__":
    sys.stdout.write("".join(f"{value!r}\n" for value in FAULTS[sys.argv[1]]()))
