"""The child: runs code objects that the verifier accepted, each in a fork, and says what became of them.

It reads marshalled jobs, ``(number, parts, seed)``, from standard input, and writes marshalled outcomes to where
standard output was. It imports nothing of xtab, so that it starts fast and any interpreter of the same version can run
it. The code runs in an empty folder, without core dumps, with little memory and little time.
"""

from __future__ import annotations

import gc
import marshal
import os
import random
import resource
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
import types
import warnings
from typing import TYPE_CHECKING, Any

import hostile

if TYPE_CHECKING:
    from collections.abc import Callable

SOFT = 1.2 if hasattr(sys, "gettotalrefcount") else 0.4  #: seconds of CPU until an exception is raised
HARD = 5 * SOFT  #: seconds of CPU after which the process is killed
MEMORY = 1 << 30
MUTANTS = "<fuzz>"  #: the file name that all mutants have
MADE = ("__annotations__", "__defaults__", "__kwdefaults__", "__closure__", "__type_params__", "__code__", "__doc__")
BROKEN = ("unknown opcode", "without setting an exception", "without exception set", "with an exception set")
TIMEOUT, LEAK, INTERNAL = 71, 72, 73  #: exit codes of a fork


class TooLongError(BaseException):
    """Raised in the middle of code that takes too long."""


class State:
    """What the trace function and the timer have to know of each other."""

    tracing = False
    rings = 0
    internal = ""


def build(fields: list[Any]) -> types.CodeType:
    """The code object of packed parts."""
    parts = list(fields)
    parts[7] = tuple(build(value) if is_code else value for is_code, value in parts[7])
    return types.CodeType(*parts)


def codes_in(code: types.CodeType) -> list[types.CodeType]:
    """A code object and those nested in it."""
    return [code, *(inner for each in code.co_consts if isinstance(each, types.CodeType) for inner in codes_in(each))]


def on_alarm(signum: int, frame: types.FrameType | None) -> None:
    """Raise in the code; where a trace function runs, or raising did not help, end the process."""
    State.rings += 1
    if State.tracing or State.rings > 3:
        os._exit(TIMEOUT)
    raise TooLongError


def note(error: BaseException) -> None:
    """Remember an error that says that the interpreter itself lost its way."""
    if isinstance(error, SystemError) and any(text in str(error) for text in BROKEN):
        State.internal = f"SystemError: {error}"


def trace(frame: types.FrameType, event: str, arg: Any) -> Any:
    """Look at everything that a debugger looks at, at every instruction of a mutant."""
    if frame.f_code.co_filename != MUTANTS:
        return None
    frame.f_trace_opcodes = True
    if event in ("line", "opcode", "return", "exception"):
        kept: list[Any] = [type(each) for each in dict(frame.f_locals).values()]
        kept.append((frame.f_lineno, frame.f_lasti))
    if event == "exception" and isinstance(arg[1], BaseException):
        note(arg[1])
    return trace


def attempt(action: Callable[[], Any], *, formatted: bool = False) -> Any:
    """The result of something, or None where it raised."""
    try:
        return action()
    except TooLongError:
        raise
    except BaseException as error:
        note(error)
        if formatted:
            show(error)
        return None


def show(error: BaseException) -> None:
    """Format a traceback; line numbers may be nonsense, so that this may fail."""
    try:
        traceback.format_exception(error)
    except BaseException as another:
        note(another)


def step(result: Any, rng: random.Random, mood: str) -> None:
    """Go on with what a call gave: generators and coroutines run, functions are called."""
    if isinstance(result, (types.GeneratorType, types.CoroutineType)):
        attempt(lambda: result.send(None))
        for _ in range(rng.randrange(1, 6)):
            error = rng.choice(hostile.ERRORS[:-2])
            ways = (
                lambda: result.send(None),
                lambda: result.send(hostile.value(rng, mood)),
                lambda: result.throw(error),
            )
            attempt(rng.choice((ways[0], *ways)))
            if rng.random() < 0.1:
                gc.collect()  # looks through frames that wait
        attempt(rng.choice((result.close, lambda: None)))
    elif isinstance(result, types.AsyncGeneratorType):
        for _ in range(rng.randrange(1, 5)):
            ways = (lambda: anext(result), lambda: result.athrow(rng.choice(hostile.ERRORS[:-2])), result.aclose)
            step_awaitable(attempt(rng.choice((ways[0], ways[0], *ways))), rng)
    elif isinstance(result, types.FunctionType):
        for name in MADE:
            attempt(lambda name=name: repr(getattr(result, name)))  # type: ignore[misc]
        attempt(lambda: call(result, rng, mood))
    elif isinstance(result, type):
        attempt(lambda: result(*result.__type_params__))


def step_awaitable(awaitable: Any, rng: random.Random) -> None:
    """Drive one step of an asynchronous generator."""
    for _ in range(3):
        if awaitable is not None:
            attempt(lambda: awaitable.send(None))
    if awaitable is not None:
        attempt(lambda: awaitable.throw(rng.choice(hostile.ERRORS)))


def call(function: types.FunctionType, rng: random.Random, mood: str) -> Any:
    """Call a function with as many arguments as it takes, now and then with others."""
    code = function.__code__
    names = code.co_varnames
    positional = [hostile.argument(rng, mood, name) for name in names[: code.co_argcount]]
    only = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    named = {name: hostile.argument(rng, mood, name) for name in only}
    if code.co_flags & 4 and rng.random() < 0.5:
        positional += [hostile.value(rng, mood), 1]
    if code.co_flags & 8 and rng.random() < 0.5:
        named["extra"] = hostile.value(rng, mood)
    return function(*positional, **named)


def run(code: types.CodeType, rng: random.Random, mood: str, *, calls: int = 1, formatted: bool = False) -> None:
    """One round: make a function of the code, call it, and go on with the result."""
    space = hostile.namespace(rng, mood, code.co_names)
    cells = tuple(hostile.cell(rng, mood, name) for name in code.co_freevars)
    if not code.co_flags & 2 and rng.random() < 0.8:  # CO_NEWLOCALS
        own: Any = {} if rng.random() < 0.7 else hostile.Names(rng, mood)
        attempt(lambda: exec(code, space, own, closure=cells or None), formatted=formatted)
        made = list(own.values()) if isinstance(own, dict) else []
    else:
        function = types.FunctionType(code, space, None, None, cells)
        made = [attempt(lambda: call(function, rng, mood), formatted=formatted) for _ in range(calls)]
    for result in made:
        step(result, rng, mood)


def rounds(code: types.CodeType, rng: random.Random) -> None:
    """All that is done with a code object and some of those in it.

    The same calls often, so that it gets specialised; odd ones; and some under a trace function.
    """
    top, *inner = codes_in(code)
    for each in [top, *rng.sample(inner, min(len(inner), 3))]:
        attempt(lambda: (list(each.co_positions()), list(each.co_lines())))
        run(each, rng, "kind", calls=8)
        for mood in ("odd", "raising", "odd"):
            run(each, rng, mood)
        State.tracing = True
        sys.settrace(trace)
        run(each, rng, rng.choice(hostile.MOODS), formatted=True)
        sys.settrace(None)
        State.tracing = False
        run(each, rng, "kind")


def in_fork(fields: list[Any], seed: int) -> int:
    """Run one mutant, and give the exit code."""
    signal.signal(signal.SIGVTALRM, on_alarm)
    signal.setitimer(signal.ITIMER_VIRTUAL, SOFT, SOFT)
    signal.setitimer(signal.ITIMER_PROF, HARD)  # its signal kills
    late = False
    try:
        rounds(build(fields), random.Random(seed))
    except TooLongError:
        late = True
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    sys.settrace(None)
    leaked = sys.exc_info()[1]
    gc.collect()
    if State.internal or leaked is not None:
        sys.stderr.write(f"{State.internal or f'left behind in sys.exc_info(): {leaked!r:.200}'}\n")
        sys.stderr.flush()
        return INTERNAL if State.internal else LEAK
    return TIMEOUT if late else 0


def fork(fields: list[Any], seed: int, log: Any) -> tuple[str, str]:
    """What became of a mutant in a process of its own, and what it wrote to standard error."""
    log.truncate(0)
    log.seek(0)
    child = os.fork()
    if not child:
        code = 1
        try:
            code = in_fork(fields, seed)
        except BaseException as error:
            sys.stderr.write(f"{type(error).__name__}: {error!s:.200}\n")
            sys.stderr.flush()
        finally:
            os._exit(code)
    status = wait(child)
    if status is None:
        return "hang", ""
    log.seek(0)
    text = log.read().decode(errors="replace")[-3000:]
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return ("hang", "") if number == signal.SIGPROF else (signal.Signals(number).name, text)
    words = {0: "ok", TIMEOUT: "timeout", LEAK: "leak", INTERNAL: "internal"}
    return words.get(os.WEXITSTATUS(status), "failed"), text


def wait(child: int) -> int | None:
    """The exit status, or None: it had to be killed, since it neither ended nor used its CPU time."""
    descriptor = os.pidfd_open(child)
    try:
        if not select.select([descriptor], [], [], 10 * HARD)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
    finally:
        os.close(descriptor)
    return os.waitpid(child, 0)[1]


def warm_up(a: Any) -> Any:
    """An honest function that fails, so that what is imported only then is imported before there are forks."""
    try:
        return a.nothing + a().nothing
    finally:
        raise KeyError(0)


def serve() -> None:
    """Read jobs and write outcomes until the input ends."""
    jobs, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryFile(buffering=0) as log:
        os.chdir(empty)
        for standard, descriptor in ((0, null), (1, null), (2, log.fileno())):
            os.dup2(descriptor, standard)
        os.set_inheritable(2, False)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        sys.unraisablehook = lambda _: None
        warnings.simplefilter("ignore")
        sys.setrecursionlimit(200)
        for seed in range(20):
            rounds(warm_up.__code__.replace(co_filename=MUTANTS), random.Random(seed))
        gc.collect()
        gc.freeze()
        while head := jobs.read(4):
            number, fields, seed = marshal.loads(jobs.read(struct.unpack("<I", head)[0]))
            started = time.monotonic()
            outcome, text = fork(fields, seed, log)
            answer = marshal.dumps((number, outcome, text, time.monotonic() - started))
            results.write(struct.pack("<I", len(answer)) + answer)
            results.flush()
        os.chdir("/")


if __name__ == "__main__":
    serve()
