"""Functions at random, as source: blocks in blocks, of every kind that leaves something in the exception table.

What a function does is decided by the `World` that it is called with, from a seed of its own, so that one function can
be led along many ways and along the same way again.
"""

from __future__ import annotations

import random

KINDS = ("plain", "plain", "generator", "coroutine", "async generator")
HEADS = {
    "plain": "def target(w):",
    "generator": "def target(w):",
    "coroutine": "async def target(w):",
    "async generator": "async def target(w):",
}
CLASSES = ("w.One", "w.Two", "(w.One, w.Two)", "LookupError", "Exception")


class One(Exception):
    """What functions raise, and mostly handle."""


class Two(LookupError):
    """Another."""


class Writer:
    """Writes one function; `budget` is how many statements it may still have."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.kind = self.rng.choice(KINDS)
        self.budget = self.rng.randint(4, 9)
        self.count = 0
        self.lines = [HEADS[self.kind], "    x = y = e = None"]

    def text(self) -> str:
        self.block(1, [], 0)
        if "generator" in self.kind:
            self.put(1, "yield x")
        return "\n".join([*self.lines, ""])

    def put(self, level: int, line: str) -> None:
        self.lines.append("    " * level + line)

    def number(self) -> int:
        self.count += 1
        return self.count

    def block(self, level: int, around: list[str], depth: int) -> None:
        """One to three statements; `around` are the kinds of blocks they stand in."""
        for _ in range(self.rng.randint(1, 3) if self.budget > 0 else 1):
            choices = [self.simple, self.simple]
            if depth < 4 and self.budget > 0:
                choices += [self.try_except, self.try_finally, self.with_, self.with_, self.loop, self.if_, self.star]
                choices += [self.try_except, self.try_finally]
            self.rng.choice(choices)(level, around, depth)
            self.budget -= 1

    def simple(self, level: int, around: list[str], depth: int) -> None:
        n, rng = self.number(), self.rng
        lines = [
            f"x = w.step({n})", f"y = [w.step(i) for i in w.items({n}) if w.choose({n})]",
            f"x = {{i: w.step(i) for i in w.items({n})}}",
            f"y = sum(w.number(i) for i in w.items({n}))", f"if w.choose({n}): raise w.One({n})", "pass",
            f"x = w.step({n}, y, *w.items({n}))", f"x, y = w.pair({n})", f"x = y if w.choose({n}) else w.step({n})",
        ]  # fmt: skip
        if "star" not in around:
            lines.append(f"if w.choose({n}): return{'' if self.kind == 'async generator' else ' x'}")
            if "loop" in around and around.index("loop") >= 0:
                lines += [f"if w.choose({n}): break", f"if w.choose({n}): continue"]
        if around and around[-1] == "except":
            lines.append(f"if w.choose({n}): raise")
        if "generator" in self.kind:
            lines += [f"y = yield w.step({n})"] * 3
        if self.kind == "generator":
            lines.append(f"x = yield from w.items({n})")
        if self.kind in ("coroutine", "async generator"):
            lines += [
                f"x = await w.wait({n})",
                f"y = [i async for i in w.waits({n})]",
                f"x = [await w.wait(i) for i in w.items({n})]",
            ]
        self.put(level, rng.choice(lines))

    def try_except(self, level: int, around: list[str], depth: int) -> None:
        self.put(level, "try:")
        self.block(level + 1, [*around, "try"], depth + 1)
        for _ in range(self.rng.randint(1, 2)):
            name = " as e" if self.rng.random() < 0.4 else ""
            self.put(level, f"except {self.rng.choice(CLASSES)}{name}:")
            self.block(level + 1, [*around, "except"], depth + 1)
        if self.rng.random() < 0.15:
            self.put(level, "except:")
            self.block(level + 1, [*around, "except"], depth + 1)
        if self.rng.random() < 0.2:
            self.put(level, "else:")
            self.block(level + 1, [*around, "else"], depth + 1)
        if self.rng.random() < 0.3:
            self.finally_(level, around, depth)

    def finally_(self, level: int, around: list[str], depth: int) -> None:
        self.put(level, "finally:")
        if self.rng.random() < 0.5:
            self.put(level + 1, f"w.step({self.number()})")
        else:
            self.block(level + 1, [*around, "finally", "star"], depth + 1)  # no return: it is warned of

    def try_finally(self, level: int, around: list[str], depth: int) -> None:
        self.put(level, "try:")
        self.block(level + 1, [*around, "try"], depth + 1)
        self.finally_(level, around, depth)

    def star(self, level: int, around: list[str], depth: int) -> None:
        self.put(level, "try:")
        self.block(level + 1, [*around, "try"], depth + 1)
        for name in self.rng.choice((("w.One",), ("w.One", "w.Two"))):
            self.put(level, f"except* {name}{' as e' if self.rng.random() < 0.4 else ''}:")
            self.block(level + 1, [*around, "star"], depth + 1)

    def with_(self, level: int, around: list[str], depth: int) -> None:
        n = self.number()
        word = "async with" if self.kind in ("coroutine", "async generator") and self.rng.random() < 0.5 else "with"
        second = f", w.manager({n + 1000}) as y" if self.rng.random() < 0.3 else ""
        self.put(level, f"{word} w.manager({n}){' as x' if self.rng.random() < 0.5 else ''}{second}:")
        self.block(level + 1, [*around, "with"], depth + 1)

    def loop(self, level: int, around: list[str], depth: int) -> None:
        n = self.number()
        heads = [f"for x in w.items({n}):", f"while w.choose({n}):"]
        if self.kind in ("coroutine", "async generator"):
            heads.append(f"async for x in w.waits({n}):")
        self.put(level, self.rng.choice(heads))
        inner = [each for each in around if each != "star"] if "finally" not in around else around
        self.block(level + 1, [*inner, "loop"] if "star" not in around else [*around], depth + 1)
        if self.rng.random() < 0.2:
            self.put(level, "else:")
            self.block(level + 1, around, depth + 1)

    def if_(self, level: int, around: list[str], depth: int) -> None:
        self.put(level, f"if w.choose({self.number()}):")
        self.block(level + 1, around, depth + 1)
        if self.rng.random() < 0.4:
            self.put(level, "else:")
            self.block(level + 1, around, depth + 1)


class World:
    """What a function calls; it decides by its own seed."""

    One, Two = One, Two

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.left = 25  # decisions, then all are no

    def choose(self, number: int) -> bool:
        self.left -= 1
        return self.left > 0 and self.rng.random() < 0.35

    def step(self, number: object, *more: object) -> object:
        return number

    def number(self, number: int) -> int:
        return number

    def pair(self, number: int) -> tuple[int, int]:
        return number, number

    def items(self, number: int) -> range:
        return range(2)

    def manager(self, number: int) -> Manager:
        return Manager()

    def wait(self, number: int) -> Waiting:
        return Waiting(number)

    def waits(self, number: int) -> Waits:
        return Waits()


class Manager:
    """A context manager that lets exceptions through."""

    def __enter__(self) -> int:
        return 1

    def __exit__(self, *exception: object) -> bool:
        return False

    async def __aenter__(self) -> int:
        await Waiting(1)
        return 1

    async def __aexit__(self, *exception: object) -> bool:
        await Waiting(2)
        return False


class Waiting:
    """Something to await: it suspends once."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __await__(self):
        yield self.number
        return self.number


class Waits:
    """Two values, asynchronously."""

    def __init__(self) -> None:
        self.left = 2

    def __aiter__(self) -> Waits:
        return self

    async def __anext__(self) -> int:
        await Waiting(0)
        self.left -= 1
        if self.left < 0:
            raise StopAsyncIteration
        return self.left


def drive(result: object) -> object:
    """Run what a call gave to its end, whatever it is."""
    if hasattr(result, "__anext__"):
        return drive(_all_of(result))
    if hasattr(result, "send"):
        try:
            for _ in range(200):
                result.send(None)
        except StopIteration as stop:
            return stop.value
        finally:
            result.close()
    return result


async def _all_of(items: object) -> list[object]:
    return [each async for each in items]
