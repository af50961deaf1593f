"""``xtab reduce``: the smallest file for which a command still succeeds."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from xtab.analysis.verify import CodeParts, verify_parts
from xtab.cli.output import DIFFERENT, FINE, INTERRUPTED, UNUSABLE, progress_option, writing
from xtab.cli.targets import pyc_payload
from xtab.errors import TableFormatError, TargetError
from xtab.format.marshalled import MarshalledCode, dump_marshalled, load_marshalled, marshalled_objects
from xtab.format.pyc import is_pyc
from xtab.runtime.code_cache import write_atomically
from xtab.transform.reduce import Reducer
from xtab.transform.shrinking import count_not_nops

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from rich.status import Status

__all__ = ["reduce"]

_SIGNALLED = 128
"""A shell adds this to the number of the signal that ended a command."""


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--keep", required=True, metavar="COMMAND", help="Exits with status 0 for a file that is to be kept.")
@click.option("-o", "--output", metavar="OUT", help="The file to write.  [default: NAME.reduced.pyc or .py]")
@click.option("--status", type=int, default=0, show_default=True, help="The exit status of COMMAND that means: keep.")
@click.option("--no-new-problems", is_flag=True, help="Of a .pyc, try only what breaks no other rules than FILE does.")
@click.option("--timeout", type=click.FloatRange(min=0), default=30, show_default=True, help="Seconds for COMMAND.")
@progress_option
def reduce(
    *,
    file: str,
    keep: str,
    output: str | None,
    status: int,
    no_new_problems: bool,
    timeout: float,
    progress: bool,
) -> NoReturn:
    """Reduce a file to what a command needs to go on succeeding.

    Candidates are written to a file of the same name in a folder of their own. COMMAND is run by the shell, with the
    path of that file in the place of {}, or behind it. Exit status 0 says that the candidate still shows what is
    looked for; so does --status 139 where python is to crash with a segmentation fault.

    Of a .pyc, or of what marshal wrote, instructions are removed or replaced by NOP, and entries, constants and nested
    code objects are dropped. What is left needn't make sense, and mostly crashes Python for reasons of its own: with
    --no-new-problems, the verifier has a look first. Of a .py, pysource-minimize cuts the source.

    \b
    Examples:
      xtab reduce app.pyc --keep 'xtab verify --select XT402' --status 1
      xtab reduce app.pyc --keep 'python {}' --status 139 --no-new-problems
      xtab reduce app.py --keep 'sh still_fails.sh {}' -o small.py

    \b
    Exit status:
      0    the file was written
      1    the command doesn't succeed for FILE itself
      2    wrong usage, or FILE can't be read, or the output not be written
      130  ended by Ctrl-C; the smallest until then was written
    """  # noqa: D301 (click wants the backspaces)
    path = Path(file)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TargetError(f"expected {file!r} to be a file that can be read, but found: {error.strerror}") from None
    target = Path(output) if output else path.with_name(f"{path.stem}.reduced{path.suffix}")
    job = _SourceJob(data, path) if path.suffix == ".py" else _CodeJob(data, path.name, strict=no_new_problems)
    with tempfile.TemporaryDirectory(prefix="xtab-reduce-") as folder:
        command = _Command(keep, Path(folder, path.name), status, timeout)
        found = command.status_for(data)
        if found != status:
            text = "no end in time" if found is None else f"exit status {found}"
            click.echo(f"Error: expected exit status {status} of the command for {file}, but found {text}", err=True)
            sys.exit(DIFFERENT)
        end = _run(job, command, wanted=progress)
    if end == UNUSABLE:
        sys.exit(end)
    with writing(target):
        write_atomically(target, job.best)
    click.echo(f"{target}: {len(data):,} -> {len(job.best):,} bytes{job.details()}, {command.tries:,} tries")
    sys.exit(end)


def _run(job: _SourceJob | _CodeJob, command: _Command, *, wanted: bool) -> int:
    """Reduce, with what was reached so far on the terminal; the exit status."""
    console = Console(stderr=True)
    try:
        if not (wanted and console.is_terminal):
            job.run(command.keeps)
            return FINE
        with console.status("reducing") as line:
            job.run(lambda data: _shown(line, command, data, len(job.best)))
    except KeyboardInterrupt:
        click.echo("interrupted: the smallest until now is written", err=True)
        return INTERRUPTED
    except _NotReducibleError as error:
        click.echo(f"Error: {error}", err=True)
        return UNUSABLE
    return FINE


def _shown(line: Status, command: _Command, data: bytes, size: int) -> bool:
    line.update(f"reducing: {size:,} bytes, {command.tries:,} tries")
    return command.keeps(data)


class _NotReducibleError(Exception):
    """The file can't be reduced at all: the text says why."""


class _Command:
    """The user's command, and the file that it is run for."""

    def __init__(self, text: str, path: Path, status: int, timeout: float) -> None:
        quoted = shlex.quote(str(path)) if os.name == "posix" else subprocess.list2cmdline([str(path)])
        text = text.replace("{}", quoted) if "{}" in text else f"{text} {quoted}"
        self._text = f"ulimit -c 0\n{text}" if os.name == "posix" else text  # no file for each crash
        self._path = path
        self._status = status
        self._timeout = timeout or None
        self.tries = 0

    def keeps(self, data: bytes) -> bool:
        """Whether a candidate is to be kept."""
        self.tries += 1
        return self.status_for(data) == self._status

    def status_for(self, data: bytes) -> int | None:
        """The exit status of the command, as a shell tells it; None if it did not end in time."""
        self._path.write_bytes(data)
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(self._text, shell=True, start_new_session=True, **quiet) as process:  # type: ignore[call-overload]  # noqa: S602
            try:
                found: int = process.wait(self._timeout)
            except subprocess.TimeoutExpired:
                return None
            finally:
                _end(process)
        return found if found >= 0 else _SIGNALLED - found


def _end(process: subprocess.Popen[Any]) -> None:
    """End a command and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.poll() is None:
            process.kill()


class _CodeJob:
    """A .pyc, or what `marshal` wrote."""

    def __init__(self, data: bytes, name: str, *, strict: bool) -> None:
        payload = pyc_payload(data) if name.endswith(".pyc") or is_pyc(data) else data
        self._header = data[: len(data) - len(payload)]
        try:
            root = load_marshalled(payload)
        except TableFormatError as error:
            raise TargetError(f"expected a .pyc file or a code object that marshal wrote, but found: {error}") from None
        if not isinstance(root, MarshalledCode):
            raise TargetError(f"expected a code object in {name}, but found {type(root).__name__}")
        self._root = root
        self._strict = strict
        self._reducer: Reducer | None = None
        self._data = data

    @property
    def best(self) -> bytes:
        """The smallest file until now."""
        if self._reducer is None or self._reducer.best is self._root:
            return self._data
        return self._header + dump_marshalled(self._reducer.best)

    def run(self, keeps: Callable[[bytes], bool]) -> None:
        """Reduce."""
        rules = _BrokenRules()
        broken = rules.of(self._root) if self._strict else frozenset()
        plausible = (lambda code: rules.of(code) <= broken) if self._strict else None
        self._reducer = Reducer(self._root, lambda payload: keeps(self._header + payload), plausible)
        self._reducer.run()

    def details(self) -> str:
        """What has become less, in words."""
        best = self._root if self._reducer is None else self._reducer.best
        pairs = [[_counts(root)[place] for root in (self._root, best)] for place in range(2)]
        names = ("code objects", "instructions")
        return "".join(f", {old:,} -> {new:,} {name}" for name, (old, new) in zip(names, pairs, strict=True))


class _BrokenRules:
    """Which rules code objects break; those that a candidate shares with others are verified once."""

    _MOST = 5000

    def __init__(self) -> None:
        self._known: dict[int, tuple[MarshalledCode, frozenset[str]]] = {}

    def of(self, root: MarshalledCode) -> frozenset[str]:
        """The codes of the rules that the code object and those in it break."""
        return frozenset().union(*map(self._of_one, marshalled_objects(root)))

    def _of_one(self, code: MarshalledCode) -> frozenset[str]:
        if id(code) not in self._known:
            if len(self._known) >= self._MOST:
                self._known.clear()
            problems = verify_parts(CodeParts.of_stored(code))
            self._known[id(code)] = code, frozenset(each.code for each in problems if each.is_error)
        return self._known[id(code)][1]


def _counts(root: MarshalledCode) -> tuple[int, int]:
    """How many code objects, and instructions that are no NOP, there are."""
    codes = list(marshalled_objects(root))
    return len(codes), sum(count_not_nops(code.code) for code in codes)


def _no_warnings() -> warnings.catch_warnings[None]:
    """Say nothing of what is deprecated: pysource-minimize asks `ast` for names that are."""
    return warnings.catch_warnings(action="ignore")


class _SourceJob:
    """A source file."""

    def __init__(self, data: bytes, path: Path) -> None:
        try:
            with _no_warnings():
                from pysource_minimize import CouldNotMinimize, minimize  # noqa: PLC0415 (the extra may be missing)
        except ModuleNotFoundError:
            raise TargetError(
                "reducing source needs pysource-minimize: pip install 'xtab-bytecode[cli,reduce]'"
            ) from None
        self._minimize = minimize
        self._failure = CouldNotMinimize
        try:
            self._source = data.decode()
            with _no_warnings():
                compile(self._source, str(path), "exec", dont_inherit=True)
        except (UnicodeDecodeError, SyntaxError, ValueError) as error:
            raise TargetError(f"expected Python source in UTF-8, but found: {error}") from None
        self.best = data

    def run(self, keeps: Callable[[bytes], bool]) -> None:
        """Reduce."""

        def keeps_text(text: str) -> bool:
            data = text.encode()
            if not keeps(data):
                return False
            self.best = min(self.best, data, key=len)
            return True

        try:
            with _no_warnings():
                self.best = self._minimize(self._source, keeps_text).encode()
        except self._failure as error:
            raise _NotReducibleError(error) from None

    def details(self) -> str:
        """What has become less, in words."""
        return ""
