"""The seeds: honest code objects, of this project's own texts, and small ones of the standard library's tests."""

from __future__ import annotations

import random
import runpy
import sys
import sysconfig
import warnings
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

import samples
from trees import Tree, nested, tree_of
from units import read_units

import xtab

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).parents[1] / "cases"
LARGEST = 300  #: bytes of code of a seed from the standard library: below about 150 instructions
CUT_ABOVE = 3000  #: bytes: hand-written seeds above are left to the few rounds that want large operands

#: Names by which code could come by something that isn't a stand-in: code objects that hold one are no seeds.
FORBIDDEN = frozenset(
    """__builtins__ __class_getitem__ __closure__ __code__ __dict__ __globals__ __import__ __loader__ __mro__ __spec__
    __subclasses__ __base__ __bases__ _getframe addaudithook ag_code ag_frame breakpoint compile cr_code cr_frame ctypes
    eval exec exit f_back f_builtins f_code f_globals f_lineno f_locals f_trace gi_code gi_frame globals input modules
    open os quit settrace signal subprocess sys tb_frame tb_next vars __reduce__ __reduce_ex__""".split()
)


class Seed(NamedTuple):
    """An honest tree, and how deep the stack is before each of its instructions (by offset, where it is known)."""

    name: str
    tree: Tree
    depths: dict[int, int]
    code: CodeType


class Corpus:
    """All seeds of a run."""

    def __init__(self, seeds: list[Seed]) -> None:
        self.seeds = seeds
        self.made: list[Seed] = []  #: bodies that were put together at random
        self._by_tree = {seed.tree: seed for seed in seeds}

    def find(self, tree: Tree) -> Seed | None:
        """The seed that a nested tree is by itself."""
        return self._by_tree.get(tree)


def seed_of(code: CodeType) -> Seed:
    """The seed that a code object is."""
    tree = tree_of(code)
    try:
        found = xtab.stack_depths(code)
    except xtab.XtabError:
        found = []
    starts = [unit.begin for unit in read_units(tree.code)]
    depths = {start: depth for start, depth in zip(starts, found, strict=False) if depth is not None}
    return Seed(code.co_qualname, tree, depths, code)


def is_harmless(tree: Tree) -> bool:
    """Whether no name in it leads to more than the stand-ins."""
    return not any(FORBIDDEN.intersection(each.names, each.varnames) for each in nested(tree))


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that are nested in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_in(each)


def compiled(source: str, name: str) -> CodeType | None:
    """The code object of a source text, or None if this version can't compile it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return compile(source, name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return None


def texts() -> Iterator[str]:
    """The source texts of this project's own seeds."""
    yield from samples.SOURCES
    defects = runpy.run_path(str(CASES / "bytecode_defects.py"))
    yield from (source for _, source, _ in defects["SOURCES"].values())
    for name in ("tracers.py", "faults.py"):
        yield (CASES / name).read_text(encoding="utf-8")
    tracers = runpy.run_path(str(CASES / "tracers.py"))
    yield from (make() for name, make in tracers.items() if name.startswith("gen_"))


def own_codes() -> list[CodeType]:
    """All code objects of the project's own texts."""
    modules = (compiled(text, "<seed>") for text in texts())
    return [each for module in modules if module is not None for each in codes_in(module)]


def library_codes(rng: random.Random, count: int) -> list[CodeType]:
    """Small code objects of the standard library's tests (of the library itself, where these are missing)."""
    library = Path(sysconfig.get_path("stdlib"))
    files = sorted((library / "test").glob("test_*.py")) or sorted(library.glob("*.py"))
    found: list[CodeType] = []
    while files and len(found) < count:
        path = files.pop(rng.randrange(len(files)))
        module = compiled(path.read_text(encoding="utf-8", errors="replace"), "<library>")
        small = [each for each in codes_in(module) if len(each.co_code) <= LARGEST] if module is not None else []
        found += rng.sample(small, min(len(small), 1 + count // 20))
    return found[:count]


def corpus(rng: random.Random, library: int = 200) -> Corpus:
    """The seeds for one run: the same for the same state of `rng`, on the same Python."""
    chosen: dict[Tree, Seed] = {}
    for code in [*own_codes(), *library_codes(rng, library)]:
        seed = seed_of(code)
        if is_harmless(seed.tree) and (len(code.co_code) < CUT_ABOVE or code.co_name != "<module>"):
            chosen.setdefault(seed.tree, seed)
    return Corpus(list(chosen.values()))


if __name__ == "__main__":
    given = corpus(random.Random(int(sys.argv[1]) if sys.argv[1:] else 0))
    sys.stdout.write(f"{len(given.seeds)} seeds, {sum(len(each.tree.code) for each in given.seeds)} bytes of code\n")
