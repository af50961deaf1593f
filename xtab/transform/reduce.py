"""`Reducer`: make a stored code object smaller for as long as somebody says that it is still what they look for.

Delta debugging, in rounds until a round changes nothing:

1. Code objects among the constants become None, and one of them takes the place of the whole.
2. Of each code object that is left: its locations go; runs of its instructions are left out, then replaced by NOP; its
   entries, its surplus EXTENDED_ARG, its constants, and what no instruction refers to any more.

Runs are halved down to single ones (`fewer`). Only what is smaller is tried, and nothing twice, so it ends. Candidates
are plain parts and bytes: they may well crash whatever makes code objects of them.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from xtab.format.marshalled import MarshalledCode, dump_marshalled, marshalled_objects
from xtab.format.table_fields import write_raw_entries
from xtab.transform.shrinking import CONSTS, NAMES, CutCode, count_not_nops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    Path: TypeAlias = tuple[int, ...]

__all__ = ["Reducer", "fewer", "nested_paths"]

_Item = TypeVar("_Item")
_LONGEST_STATEMENT = 12
"""So many instructions are left out at most where they may begin anywhere."""


def fewer(items: Sequence[_Item], wanted: Callable[[list[_Item]], bool]) -> list[_Item]:
    """As few of the items as will do, in order: runs are taken out, long ones first, from the end to the start.

    >>> fewer(range(100), lambda left: {3, 40} <= set(left))
    [3, 40]
    """
    left = list(items)
    size = len(left)
    while size:
        end = len(left)
        while end > 0:
            start = max(0, end - size)
            rest = left[:start] + left[end:]
            if wanted(rest):
                left = rest
            end = start
        size //= 2
    return left


class Reducer:
    """Reduces one code object.

    Args:
        root: what to begin with; it must be wanted.
        wanted: is given candidates as `marshal` stores them, and says whether they are still what is looked for. An
            exception that it raises ends the search: what was found until then is in `best`.
        plausible: says of candidates, cheaply, whether they are worth being asked for. Then short runs of instructions
            are looked for everywhere, since what can be left out is mostly a statement.

    >>> code = MarshalledCode(0, 0, 0, 1, 0, bytes(20), (1, 2, "x"), (), (), b"", "", "", "", 1, b"", b"")
    >>> Reducer(code, lambda data: b"x" in data).run().consts
    ('x',)
    """

    def __init__(
        self,
        root: MarshalledCode,
        wanted: Callable[[bytes], bool],
        plausible: Callable[[MarshalledCode], bool] | None = None,
    ) -> None:
        self.best = root
        self.tries = 0
        self._wanted = wanted
        self._plausible = plausible
        self._measure = _measure(root, dump_marshalled(root))
        self._tried: set[bytes] = set()

    def run(self) -> MarshalledCode:
        """The smallest that was found."""
        before = None
        while before != self._measure:
            before = self._measure
            self._drop_nested()
            self._lift()
            number = 0  # reducing one code object changes the paths of those in it only, which come later
            while number < len(paths := [(), *nested_paths(self.best)]):
                self._reduce_one(paths[number])
                number += 1
        return self.best

    def _attempt(self, candidate: MarshalledCode) -> bool:
        """Whether a candidate is smaller, and wanted: then it is the best."""
        data = dump_marshalled(candidate)
        measure = _measure(candidate, data)
        digest = sha256(data).digest()
        if measure >= self._measure or digest in self._tried:
            return False
        self._tried.add(digest)
        if self._plausible is not None and not self._plausible(candidate):
            return False
        self.tries += 1
        if not self._wanted(data):
            return False
        self.best, self._measure = candidate, measure
        return True

    def _attempt_at(self, path: Path, code: MarshalledCode) -> bool:
        return self._attempt(_put(self.best, path, code))

    def _drop_nested(self) -> None:
        """Put None in the place of code objects among the constants."""
        paths, root = nested_paths(self.best), self.best

        def wanted(left: list[Path]) -> bool:
            kept = set(left)
            gone: set[Path] = set()
            candidate = root
            for path in paths:  # outermost first
                if path not in kept or path[:-1] in gone:
                    candidate = candidate if path[:-1] in gone else _put(candidate, path, None)
                    gone.add(path)
            return self._attempt(candidate)

        fewer(paths, wanted)

    def _lift(self) -> None:
        """Put a code object among the constants, innermost first, in the place of the whole."""
        while any(self._attempt(_found(self.best, path)) for path in reversed(nested_paths(self.best))):
            pass

    def _reduce_one(self, path: Path) -> None:
        """Make one code object smaller; what is in it stays as it is."""
        self._attempt_at(path, self._cut(path).without_lines())
        cut = self._cut(path)
        fewer(range(len(cut.instructions)), lambda kept: self._attempt_at(path, cut.built(kept=kept)))
        if self._plausible is not None:
            self._slide(path)
        with_nops = self._cut(path)
        everything = set(with_nops.not_nops)
        fewer(
            with_nops.not_nops,
            lambda live: self._attempt_at(path, with_nops.built(nops=everything.difference(live))),
        )
        trimmable = self._cut(path)
        surplus = set(trimmable.with_surplus)
        fewer(
            trimmable.with_surplus,
            lambda left: self._attempt_at(path, trimmable.built(trimmed=surplus.difference(left))),
        )
        self._reduce_table(path)
        self._reduce_constants(path)
        for which in (CONSTS, NAMES):
            self._reduce_unused(path, *which)

    def _slide(self, path: Path) -> None:
        """Leave out short runs of instructions, wherever they begin."""
        cut = self._cut(path)
        kept = list(range(len(cut.instructions)))
        for size in range(2, _LONGEST_STATEMENT + 1):
            start = len(kept) - size
            while start >= 0:
                rest = kept[:start] + kept[start + size :]
                if self._attempt_at(path, cut.built(kept=rest)):
                    kept = rest
                start -= 1

    def _cut(self, path: Path) -> CutCode:
        return CutCode(_found(self.best, path))

    def _reduce_table(self, path: Path) -> None:
        """Leave out entries of the exception table; bytes, where it isn't made of entries."""
        cut = self._cut(path)
        code = cut.code
        if cut.entries is None:
            table = list(code.exceptiontable)
            fewer(table, lambda left: self._attempt_at(path, code._replace(exceptiontable=bytes(left))))
        else:
            fewer(
                cut.entries,
                lambda left: self._attempt_at(path, code._replace(exceptiontable=write_raw_entries(left))),
            )

    def _reduce_constants(self, path: Path) -> None:
        """Put None in the place of constants."""
        code = self._cut(path).code
        places = [place for place, constant in enumerate(code.consts) if constant is not None]

        def wanted(left: list[int]) -> bool:
            consts = tuple(constant if place in left else None for place, constant in enumerate(code.consts))
            return self._attempt_at(path, code._replace(consts=consts))

        fewer(places, wanted)

    def _reduce_unused(self, path: Path, field: str, kind: int) -> None:
        """Leave out constants (names) that no instruction refers to."""
        cut = self._cut(path)
        unused = set(cut.unused(field, kind))
        fewer(
            sorted(unused),
            lambda left: self._attempt_at(path, cut.without_items(field, kind, unused.difference(left))),
        )


def nested_paths(root: MarshalledCode) -> list[Path]:
    """Where the code objects among the constants are, and those in them: indices of constants, outermost first."""
    paths: list[Path] = []
    waiting: list[tuple[Path, MarshalledCode]] = [((), root)]
    while waiting:
        path, code = waiting.pop()
        if path:
            paths.append(path)
        nested = [(place, each) for place, each in enumerate(code.consts) if isinstance(each, MarshalledCode)]
        waiting += [((*path, place), each) for place, each in reversed(nested)]
    return paths


def _found(root: MarshalledCode, path: Path) -> Any:
    """What is at a place, or None if there is no such place any more."""
    found: Any = root
    for place in path:
        if not isinstance(found, MarshalledCode) or place >= len(found.consts):
            return None
        found = found.consts[place]
    return found


def _put(root: MarshalledCode, path: Path, value: Any) -> MarshalledCode:
    """The whole with something else at a place."""
    chain = [root] if path else []
    for place in path[:-1]:
        chain.append(chain[-1].consts[place])
    for code, place in zip(reversed(chain), reversed(path), strict=True):
        value = code._replace(consts=(*code.consts[:place], value, *code.consts[place + 1 :]))
    result: MarshalledCode = value
    return result


def _measure(root: MarshalledCode, data: bytes) -> tuple[int, int, int]:
    """What must get smaller: the bytes; if they don't, what is more than a NOP or than None."""
    codes = list(marshalled_objects(root))
    not_nops = sum(count_not_nops(code.code) for code in codes)
    not_none = sum(constant is not None for code in codes for constant in code.consts)
    return len(data), not_nops, not_none
