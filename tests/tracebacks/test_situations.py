"""What the tools show of code that xtab made is what they show of the same code run plainly from its file.

Each situation runs in a process of its own, once a way (`driver.py`), and all that `traceback`, ``sys.excepthook``,
`logging`, `faulthandler`, `pdb`, `inspect` and `warnings` have to say is compared, carets included.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SITUATIONS = sorted(path.stem for path in (HERE / "situations").glob("*.py") if path.stem != "helper")
#: what the shown text must have in it, so that two empty texts are not called the same
SECTIONS = [
    "pdb",
    "faulthandler",
    "warnings",
    "inspect of a running frame",
    "stack",
    "traceback",
    "traceback with locals",
    "logging",
    "inspect of the traceback",
    "pdb, post mortem",
]
ENDS = {
    "chained": "ValueError: no y in the config",
    "context": "IndexError: tuple index out of range",
    "error": "KeyError: 'missing'",
    "finally_block": "KeyError: 'open'",
    "generator_throw": "AttributeError: 'str' object has no attribute 'missing'",
    "handler": "FileNotFoundError: [Errno 2] No such file or directory: '/no/such/file'",
    "lambda_and_comprehension": "ZeroDivisionError: division by zero",
    "nested_generated": "TypeError: object of type 'int' has no len()",
    "recursion": "RecursionError: maximum recursion depth exceeded",
    "source_edited": "KeyError: 'edited'",
    "source_gone": "KeyError: 'gone'",
    "worker_thread": "ZeroDivisionError: division by zero",
}


def run(situation: str, way: str, folder: Path) -> str:
    """All that is shown; numbers that differ from run to run are taken out."""
    for path in (HERE / "situations").glob("*.py"):
        shutil.copy(path, folder)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHON_COLORS": "0", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, HERE / "driver.py", way, folder / f"{situation}.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env=environment,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 1, done.stdout  # as for any error that nobody catches
    return re.sub(r"0x[0-9a-f]+|(?<=stopped )\d+", "N", done.stdout)


@cache
def plain(situation: str, folder: Path) -> str:
    return run(situation, "plain", folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all, since the paths are part of what is shown."""
    return tmp_path_factory.mktemp("situations")


@pytest.mark.parametrize("way", ["calls", pytest.param("nops", marks=pytest.mark.slow), "relocated"])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_all_tools_show_the_same(situation, way, folder):
    assert run(situation, way, folder) == plain(situation, folder)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_tools_show_something(situation, folder):
    shown = plain(situation, folder)
    missing = [name for name in SECTIONS if f"--- {name}\n" not in shown]
    assert not missing
    assert situation == "group" or shown.endswith(f"{ENDS[situation]}\n")
    assert "Breakpoint 1 at" in shown
    assert shown.count(f'{situation}.py", line ') > 5
    assert "^" in shown.partition("--- traceback\n")[2] or situation in ("source_gone", "source_edited")
