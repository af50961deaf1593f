"""The parent's side of `run_one`: sends mutants to a child, and gives what became of them."""

from __future__ import annotations

import marshal
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from trees import pack

if TYPE_CHECKING:
    from types import TracebackType

    from trees import Tree

CHILD = Path(__file__).with_name("run_one.py")
HOLES = frozenset({"SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGBUS", "internal", "leak"})
"""Outcomes that accepted code must never have."""


class Outcome(NamedTuple):
    """What became of a mutant."""

    word: str  #: "ok", "timeout", "hang" (killed: it didn't even look for signals), or the name of a hole
    stderr: str
    seconds: float

    @property
    def is_hole(self) -> bool:
        """Whether accepted code may not end like this."""
        return self.word in HOLES


def describe(interpreter: str) -> str:
    """Version of an interpreter, such as "3.14.10 debug"; an error if it doesn't start."""
    script = "import sys,platform; print(platform.python_version() + ' debug' * hasattr(sys, 'gettotalrefcount'))"
    return subprocess.run([interpreter, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


class Runner:
    """A child that runs mutants; it is started again if it should die itself."""

    def __init__(self, interpreter: str = sys.executable) -> None:
        found = shutil.which(interpreter)
        if found is None:
            raise FileNotFoundError(f"expected an interpreter, but found none called {interpreter}")
        self.interpreter = found
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the child."""
        if self.process is not None:
            self.process.stdin.close()  # type: ignore[union-attr]
            self.process.stdout.close()  # type: ignore[union-attr]
            self.process.wait(30)
            self.process = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            # memory that is used after it was freed, or past its end, is noticed by release builds as well
            environment = {"PYTHONMALLOC": "debug", "PYTHONHASHSEED": "0", "PATH": os.defpath}
            command = [self.interpreter, "-S", "-s", "-B", "-X", "frozen_modules=on", str(CHILD)]
            self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self.process

    def run(self, tree: Tree, seed: int) -> Outcome:
        """Run a mutant that the verifier has accepted."""
        job = marshal.dumps((0, pack(tree), seed))
        process = self._started()
        process.stdin.write(struct.pack("<I", len(job)) + job)  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        head = process.stdout.read(4)  # type: ignore[union-attr]
        if len(head) < 4:
            self.close()
            return Outcome("failed", "the child died", 0)
        answer: tuple[Any, ...] = marshal.loads(process.stdout.read(struct.unpack("<I", head)[0]))  # type: ignore[union-attr]
        return Outcome(*answer[1:])
