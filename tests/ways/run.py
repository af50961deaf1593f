"""Raises in every line of generated functions, and compares the handlers that come to run with what `ways` foretells.

``python tests/ways/run.py --first 0 --count 500``: prints a line of figures, and every difference. Exit code 1 if
there are any. Nothing is taken from bytecode: the handlers themselves write down that they run.
"""

from __future__ import annotations

import argparse
import platform
import random
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from xtab.analysis.region_kinds import Kind
from xtab.report.source_tree import SourceTree
from xtab.report.ways import ways

if TYPE_CHECKING:
    from types import CodeType

HIT = re.compile(r"hit\((\d+)\)")
LEAVES = re.compile(r"\s*(if maybe: )?(return|break|continue|raise Other)")
"""Statements that may keep what is behind them from being reached."""
HEADS = {"plain": "def f():", "generator": "def f():", "async": "async def f():"}


class Writer:
    """The source of a function: statements in statements, each line with a call that can be made to raise."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.kind = self.random.choice(["plain", "plain", "generator", "async"])
        self.lines = [HEADS[self.kind]]
        self.hits = self.loops = self.functions = 0
        self.body(1, 3, 0)
        self.put(1, "yield" if self.kind == "generator" else "pass")

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def hit(self) -> str:
        self.hits += 1
        return f"hit({self.hits})"

    def body(self, depth: int, size: int, nested: int, *, loop: bool = False, own: bool = True) -> None:
        for _ in range(self.random.randint(1, size)):
            if self.random.random() < 0.2:
                self.put(depth, self.random.choice(["# a comment", ""]))
            made = (
                [self.call]
                if nested > 3 or len(self.lines) > 30
                else [self.call, self.tries, self.tries, self.with_items, self.classes, self.loop]
            )
            self.random.choice(made)(depth, nested, loop, own)

    def call(self, depth: int, nested: int, loop: bool, own: bool) -> None:
        forms = [
            "@", "x = [@ for _ in one]", "x = {@ for _ in one}", "x = (lambda: @)()", "list(@ for _ in one)",
            "x = {1: @ for _ in one if @}", "print_nothing(@, @)", "if @: x = 1",
        ]  # fmt: skip
        self.put(depth, re.sub("@", lambda _: self.hit(), self.random.choice(forms)))

    def tries(self, depth: int, nested: int, loop: bool, own: bool) -> None:
        self.put(depth, "try:")
        self.body(depth + 1, 2, nested + 1, loop=loop, own=own)
        clauses = self.random.choice(["f", "e", "ef", "ee", "ee", "eef"])
        for number, each in enumerate(clauses):
            if each == "f":
                self.put(depth, "finally:")
                self.put(depth + 1, f"log('finally', {len(self.lines) + 1})")
                if own and self.random.random() < 0.3:
                    leave = [*(["break", "continue"] if loop else []), *(["return"] if own else [])]
                    leave = self.random.choice([*leave, "raise Other"])
                    self.put(depth + 1, self.random.choice(["", "if maybe: "]) + leave)
                else:
                    self.body(depth + 1, 1, nested + 1, own=own)
                continue
            names = ["Boom", "ValueError", "(KeyError, Boom)", "pick(Boom)", "Exception"]
            bare = clauses[number + 1 : number + 2] != "e" and self.random.random() < 0.2
            self.put(
                depth, "except:" if bare else f"except {self.random.choice(names)}{self.random.choice(['', ' as e'])}:"
            )
            self.put(depth + 1, f"log('except', {len(self.lines)})")
            first = len(self.lines)
            self.body(depth + 1, 1, nested + 1, loop=loop, own=own)
            if self.random.random() < 0.3 and not any(map(LEAVES.match, self.lines[first:])):
                self.put(depth + 1, "raise")

    def with_items(self, depth: int, nested: int, loop: bool, own: bool) -> None:
        head = "async with" if own and self.kind == "async" and self.random.random() < 0.5 else "with"
        items = []
        for _ in range(self.random.randint(1, 3)):
            name = self.random.choice(["quiet", "loud"])
            self.functions += 1
            items.append(f"{name}({self.functions}, {self.hit()}){self.random.choice(['', ' as x'])}")
        if self.random.random() < 0.4:
            self.put(depth, f"{head} (")
            for item in items:
                self.put(depth + 2, f"{item},")
            self.put(depth, "):")
        else:
            self.put(depth, f"{head} {', '.join(items)}:")
        self.body(depth + 1, 2, nested + 1, loop=loop, own=own)

    def classes(self, depth: int, nested: int, loop: bool, own: bool) -> None:
        self.put(depth, f"class C{len(self.lines)}({self.random.choice(['', 'base(' + self.hit() + ')'])}):")
        self.body(depth + 1, 2, nested + 1, own=False)

    def loop(self, depth: int, nested: int, loop: bool, own: bool) -> None:
        self.put(depth, self.random.choice([f"for x in [{self.hit()}]:", "while once():"]))
        self.body(depth + 1, 2, nested + 1, loop=own, own=own)


class Boom(Exception):
    pass


class Other(Exception):
    pass


class Run:
    """One call of the function, with exceptions raised in some places."""

    def __init__(self, code: CodeType, kind: str, raising: set[int], *, maybe: bool) -> None:
        self.raising = set(raising)
        self.booms: dict[int, tuple[Boom, str, bool]] = {}
        self.events: list[tuple[BaseException | None, str, int]] = []
        self.calls = 0
        space = {
            "hit": self.hit, "log": self.log, "quiet": self.manager(True), "loud": self.manager(False), "one": [1],
            "maybe": maybe, "once": self.once, "Boom": Boom, "Other": Other, "base": lambda _: object,
            "pick": lambda each: each, "print_nothing": lambda *_: None,
        }  # fmt: skip
        exec(code, space)
        self.out: BaseException | None = None
        try:
            made = space["f"]()
            if kind == "async":
                made.send(None)
            elif kind == "generator":
                list(made)
        except StopIteration:
            pass
        except BaseException as error:
            self.out = error

    def once(self) -> bool:
        self.calls += 1
        return self.calls < 20 and self.calls % 2 == 1

    def hit(self, number: int) -> bool:
        if number in self.raising:
            self.raising.remove(number)
            boom, frame = Boom(number), sys._getframe(1)
            self.booms[number] = boom, frame.f_code.co_qualname, sys.exception() is not None
            raise boom
        return True

    def log(self, what: str, line: int) -> None:
        self.events.append((sys.exception(), what, line))

    def manager(self, quiet: bool) -> Any:
        run = self

        class Manager:
            def __init__(self, number: int, _: object) -> None:
                self.number = number

            def __enter__(self) -> None: ...

            def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
                run.events.append((error, "exit", self.number))
                return quiet

            async def __aenter__(self) -> None: ...

            async def __aexit__(self, *error: object) -> bool:
                return self.__exit__(*error)

        return Manager


class Told(NamedTuple):
    events: list[tuple[str, int]]
    escapes: bool | None  # None: to whoever called the function that the line is in


def foretold(way: Any, lines: list[str], *, maybe: bool) -> Told:
    """What must happen if the words of a way are right."""
    events: list[tuple[str, int]] = []
    for stop in way.stops:
        if stop.region is None:
            if stop.words.startswith("the code that makes the class"):
                continue
            return Told(events, True if stop.qualname == "f" else None)
        if stop.region.kind in {Kind.WITH, Kind.ASYNC_WITH}:
            name, number = re.match(r"(?:async )?with (quiet|loud)\((\d+)", stop.label).groups()
            events.append(("exit", int(number)))
            if name == "quiet":
                return Told(events, False)
        elif stop.region.kind == Kind.FINALLY:
            events.append(("finally", stop.line))
            if "does not go on" in stop.words or "ends the exception:" in stop.words or "another" in stop.words:
                return Told(events, False)
            if "may end" in stop.words and maybe:
                return Told(events, False)
        else:
            ended = _except(stop, lines, events)
            if ended:
                return Told(events, False)
    return Told(events, False)


def _except(stop: Any, lines: list[str], events: list[tuple[str, int]]) -> bool:
    """Follow an except; whether it ends the exception."""
    for number in map(int, re.findall(r"\d+", stop.lines)):
        clause = lines[number - 1]
        if re.match(r"\s*except(:| .*(Boom|Exception\b))", clause) and "ValueError" not in clause:
            events.append(("except", number))
            indent = len(clause) - len(clause.lstrip())
            for line in lines[number:]:
                if line.strip() and len(line) - len(line.lstrip()) <= indent:
                    break
                if line == " " * (indent + 4) + "raise":
                    return False
            return True
    return False


def check(seed: int) -> tuple[list[str], int]:
    """The differences of a generated function, and how many exceptions were raised in it."""
    writer = Writer(seed)
    source = "\n".join(writer.lines) + "\n"
    try:
        with warnings.catch_warnings(action="ignore"):
            code = compile(source, "generated", "exec", dont_inherit=True)
    except SyntaxError:  # such as a bare except before another
        return [], 0
    tree = SourceTree(source)
    line_of = {int(n): at for at, line in enumerate(writer.lines, 1) for n in HIT.findall(line)}
    told = {line: ways(code, line, tree) for line in set(line_of.values())}
    wrong: list[str] = []
    done: set[tuple[int, bool, bool]] = set()
    firsts = writer.random.sample(sorted(line_of), min(8, len(line_of)))
    for first in (None, *firsts):
        for number, line in line_of.items():
            for maybe in (False, True):
                run = Run(code, writer.kind, {number, *([first] if first else [])}, maybe=maybe)
                if number not in run.booms:
                    continue
                boom, qualname, handling = run.booms[number]
                if (number, maybe, handling) in done:
                    continue
                done.add((number, maybe, handling))
                problem = compare(told[line], number, run, boom, qualname, writer.lines, maybe)
                if problem:
                    wrong.append(f"seed {seed}, hit {number} in line {line}, maybe {maybe}: {problem}\n{source}")
    return wrong, len(done)


def compare(
    found: list[Any], number: int, run: Run, boom: Boom, qualname: str, lines: list[str], maybe: bool
) -> str | None:
    handling = run.booms[number][2]
    name = re.sub(r"\.<locals>\.<(list|set|dict)comp>|\.<(list|set|dict)comp>", "", qualname)
    fitting = [way for way in found if way.qualnames[0] == name and (not way.which or f"hit({number})" in way.which)]
    fitting = [way for way in fitting if not way.when or ("after" in way.when) == handling]
    real: list[tuple[str, int]] = []
    for error, what, at in run.events:  # a finally clause inside a handler that runs sees the exception too
        if error is boom and not (what == "finally" and any(_is_in(at, *other, lines) for other in real)):
            real.append((what, at))
    results = []
    for way in fitting:
        told = foretold(way, lines, maybe=maybe)
        if told.events == real[: len(told.events)] and (
            told.escapes is None
            or (
                told.escapes == (run.out is boom)
                and (len(real) == len(told.events) or real[len(told.events) - 1][0] == "except")
            )
        ):
            results.append(told)
    if len(results) == len(fitting) == 1:
        return None
    expected = [foretold(way, lines, maybe=maybe) for way in fitting]
    return f"expected one of {expected}, but found {real}, out: {run.out!r} ({name}; {[w.qualnames for w in found]})"


def _is_in(line: int, what: str, handler: int, lines: list[str]) -> bool:
    """Whether a line is in the body of a handler."""
    if what == "exit":
        return False
    first = handler - 1 if what == "finally" else handler  # its first statement, from 0
    indent = len(lines[first]) - len(lines[first].lstrip())
    return line - 1 > first and all(
        not each.strip() or len(each) - len(each.lstrip()) >= indent for each in lines[first:line]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    wrong: list[str] = []
    raised = 0
    for seed in range(options.first, options.first + options.count):
        more, count = check(seed)
        wrong += more
        raised += count
    sys.stdout.write("".join(f"{each}\n" for each in wrong))
    sys.stdout.write(
        f"CPython {platform.python_version()}: {options.count} functions, {raised} raised, {len(wrong)} differences\n"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
