"""Relocate the standard library, and compare with what the compiler gives for the same text at another place.

For each file, as this Python compiles it:

1. Relocated by nothing, each code object is the very object that it was, so all its bytes are the same.
2. Relocated by 1,000 lines and 4 columns and back, each part of each code object is the same, byte for byte, and
   constants are the same objects. What `marshal` writes is compared too, but for the kinds of arguments where this
   Python's `code.replace` loses them.
3. Relocated code is as safe as it was: the verifier finds nothing.
4. The text is put 1,000 lines further down and into an `if`, and compiled there. All that is nested in it has the same
   location table, byte for byte, the same first line and the same names as the relocated code.

The exit code is 1 if anything differs. Arguments: see --help.
"""

from __future__ import annotations

import argparse
import dis
import inspect
import io
import marshal
import re
import sys
import tokenize
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from types import CodeType
from typing import NamedTuple

from xtab.analysis.verify import verify
from xtab.format.code import code_objects
from xtab.format.marshalled import MarshalledCode, load_marshalled
from xtab.transform.relocate import relocate

LINES, COLUMNS = 1000, 4
FIELDS = [name for name in dir(CodeType) if name.startswith("co_") and not callable(getattr(CodeType, name))]
FIELDS = [name for name in FIELDS if name not in ("co_consts", "co_lnotab")]  # that one is deprecated, and made anew
FUTURE = re.compile(r"^from __future__ import +(\w[\w, ]*?) *(?:#.*)?$|^from __future__ import \(([\w,\s]*)\)", re.M)
FUTURE_FLAGS = 0x1FF0000
ARGUMENT_KINDS = 0x0E
"""Of the kinds of variables, the bits that say how an argument can be passed (from 3.14 on)."""


class Report(NamedTuple):
    """What was found in one file."""

    name: str
    counts: Counter[str]
    differences: list[str]


def loses_kinds() -> bool:
    """Whether `code.replace` of this Python loses what is known of arguments."""
    code = (lambda x, *y, z=1: 0).__code__
    return load_marshalled(marshal.dumps(code)) != load_marshalled(marshal.dumps(code.replace()))


KEPT = ~ARGUMENT_KINDS & 0xFF if loses_kinds() else 0xFF


def marshalled(code: CodeType) -> object:
    """What marshal writes of a code object, without what `code.replace` loses, in pieces that can be compared."""

    def kept(value: object) -> object:
        if isinstance(value, MarshalledCode):
            kinds = bytes(kind & KEPT for kind in value.localspluskinds)
            return value._replace(localspluskinds=kinds, consts=tuple(map(kept, value.consts)))
        if isinstance(value, tuple | frozenset):
            return type(value)(map(kept, value))
        return type(value), repr(value) if isinstance(value, float | complex) else value  # nan isn't equal to itself

    return kept(load_marshalled(marshal.dumps(code)))


def parts_that_differ(code: CodeType, other: CodeType) -> list[str]:
    """The names of what differs in two code objects that should be the same; what is nested is not looked into."""
    found = [name for name in FIELDS if getattr(code, name) != getattr(other, name)]
    constants = [*zip(code.co_consts, other.co_consts, strict=False)]
    same = len(code.co_consts) == len(other.co_consts) and all(one is two or alike(one, two) for one, two in constants)
    return [*found, *["co_consts"] * (not same)]


def alike(one: object, other: object) -> bool:
    """Code is looked at by itself, and the line of a class is an integer that was made anew."""
    return type(one) is type(other) and (isinstance(one, CodeType) or (type(one) is int and one == other))


def read(path: Path) -> str | None:
    """The text of a file, or None if it isn't one."""
    try:
        with tokenize.open(path) as file:
            return io.IncrementalNewlineDecoder(None, translate=True).decode(file.read(), final=True)
    except (SyntaxError, UnicodeDecodeError):
        return None


def placed(text: str) -> str:
    """The text, 1,000 lines further down and in an `if`."""
    prefix = "\n" * (LINES - 1) + "if 1:\n"
    lines = text.split("\n")
    moved = [" " * COLUMNS + line if line.strip(" \t\f") else line for line in lines]
    return prefix + "\n".join([*moved, " " * COLUMNS + "pass\n"])  # there are files without a statement


def without_future(text: str) -> str:
    """The text without imports from `__future__`, which may stand in no `if`; lines and columns are kept."""
    return FUTURE.sub(lambda found: "pass" + re.sub(r"[^\n]", " ", found[0])[4:].replace("\n", "\\\n"), text)


def compiled(text: str, name: str, flags: int = 0) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(text, name, "exec", flags, dont_inherit=True)


def facts(code: CodeType) -> list[object]:
    """What must be the same in relocated code and in code that was compiled there."""
    return [code.co_qualname, code.co_name, code.co_firstlineno, line_of_class(code), list(code.co_positions())]


def line_of_class(code: CodeType) -> object:
    """What a class body says is its first line."""
    if code.co_flags & inspect.CO_OPTIMIZED or "__firstlineno__" not in code.co_names:
        return None
    steps = list(dis.get_instructions(code))
    return next((load.argval for load, store in pairwise(steps) if store.argval == "__firstlineno__"), None)


def check(path: Path, *, verified: bool = True) -> Report:
    """Do all four for one file."""
    report = Report(str(path), Counter(), [])
    text = read(path)
    try:
        code = None if text is None else compiled(text, str(path))
    except (SyntaxError, ValueError):
        code = None
    if text is None or code is None:
        report.counts["not compilable"] += 1
        return report

    def differs(what: str, where: CodeType) -> None:
        report.differences.append(f"{path}:{where.co_firstlineno}: {where.co_qualname}: {what}")

    codes = list(code_objects(code))
    report.counts["code objects"] += len(codes)
    if relocate(code) is not code:
        differs("relocated by nothing, it is another", code)
    there = relocate(code, filename="elsewhere.py", lines=LINES, columns=COLUMNS)
    back = relocate(there, filename=str(path), lines=-LINES, columns=-COLUMNS)
    for before, after in zip(codes, code_objects(back), strict=True):
        for name in parts_that_differ(before, after):
            differs(f"there and back again, {name} differs", before)
    if marshalled(code) != marshalled(back):
        differs("there and back again, marshal writes something else", code)
    if verified:
        for each in code_objects(there):
            report.counts["verified"] += 1
            for problem in verify(each):
                differs(f"relocated: {problem}", each)
    compare_with_compiler(text, str(path), report)
    return report


def compare_with_compiler(text: str, name: str, report: Report) -> None:
    """The fourth of the checks."""
    code = compiled(text, name)
    text, flags = without_future(text), code.co_flags & FUTURE_FLAGS
    try:
        code = compiled(text, name, flags)
        native = compiled(placed(text), name, flags)
    except (SyntaxError, MemoryError):
        report.counts["not compilable in an if"] += 1
        return
    ours = relocate(code, lines=LINES, columns=COLUMNS)
    pairs = zip(code_objects(ours), code_objects(native), strict=True)
    for one, other in islice(pairs, 1, None):
        report.counts["compared with the compiler"] += 1
        if one.co_code[::2] != other.co_code[::2]:  # constants in another order can need other EXTENDED_ARG
            report.counts["compiled to other instructions"] += 1
        elif other.co_firstlineno == LINES:  # a module's annotations begin with its first statement, here the `if`
            report.counts["begins at the if"] += 1
        elif (found := facts(one)) != (expected := facts(other)):
            pairs_of_facts = zip(found, expected, strict=True)
            shown = next((a, b) for a, b in pairs_of_facts if a != b)
            if isinstance(shown[0], list):
                shown = next((a, b) for a, b in zip(*shown, strict=True) if a != b)
            report.differences.append(f"{name}:{other.co_firstlineno - LINES}: {one.co_qualname}: {shown}")
        elif one.co_linetable != other.co_linetable:
            report.differences.append(f"{name}:{other.co_firstlineno - LINES}: {one.co_qualname}: other bytes")


def files(every: int = 1, first: int = 0) -> list[Path]:
    """The files of the standard library, or each so-many-th."""
    root = Path(tokenize.__file__).parent
    found = sorted(path for path in root.rglob("*.py") if "site-packages" not in path.parts and path.is_file())
    return found[first::every]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--no-verify", action="store_true", help="leave out the third check, which takes the longest")
    parser.add_argument("--every", type=int, default=1, help="take each so-many-th file only")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    differences: list[str] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for report in pool.map(partial(check, verified=not options.no_verify), files(options.every), chunksize=8):
            counts += report.counts
            differences += report.differences
    sums = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    lines = [*differences, f"{sys.version.split()[0]}: {sums}", f"{len(differences)} differences"]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
