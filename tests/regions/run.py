"""Compare the regions of the whole standard library, its tests included, with its syntax trees.

For each code object (see `compare`): the blocks around every call and simple statement, user-written ones with the
classes that they name, and the compiler's own; the innermost region at every instruction against `find_handler`;
pieces, holes and entries against the chains. What agrees by a special rule is counted under the rule's name. The exit
code is 1 if anything does not agree, or a region's kind is not known.
"""

from __future__ import annotations

import argparse
import gc
import sys
import sysconfig
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from compare import Tally, compare_file

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

LEFT_OUT = {"site-packages", "dist-packages", "__pycache__"}


def library() -> list[Path]:
    """All .py files of the standard library of this Python."""
    folders = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    found = {path for folder in folders for path in folder.rglob("*.py") if path.is_file()}
    return sorted(path for path in found if not LEFT_OUT & set(path.parts))


def compare_files(paths: list[Path], *, progress: bool = False) -> Tally:
    """The sum over some files."""
    total = Tally()
    warnings.simplefilter("ignore")  # of the compiler, on what the tests of the library do on purpose
    gc.disable()  # nearly all that is made here has no circles: looking for some takes half of the time
    for number, path in enumerate(paths, 1):
        if number % 20 == 0:
            gc.collect()
        if progress and sys.stderr.isatty():
            sys.stderr.write(f"\r{number:5} of {len(paths)}  {path.name[:50]:50}")
            sys.stderr.flush()
        total.add(compare_file(path.read_bytes(), str(path)))
    gc.enable()
    if progress and sys.stderr.isatty():
        sys.stderr.write(f"\r{'':70}\r")
    return total


def summary(total: Tally) -> Iterator[str]:
    """Lines for the terminal."""
    yield f"CPython {'.'.join(map(str, sys.version_info[:3]))}"
    titles: list[tuple[str, Counter[str]]] = [
        ("", total.counts),
        ("instructions that agree, by rule", total.rules),
        ("regions, by kind", total.kinds),
        ("regions that may be one or another block of their kind", total.ambiguous_regions),
        ("blocks in the source, by kind", total.blocks),
        ("blocks in the source that were found, by kind", total.seen_blocks),
    ]
    for title, counts in titles:
        if title:
            yield f"{title}: {sum(counts.values()):,}"
        for name, number in sorted(counts.items(), key=lambda item: -item[1]):
            yield f"  {number:>10,}  {name}"
    yield f"mismatches: {len(total.mismatches):,}"


def main() -> int:
    """Compare all, or the files that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="instead of the standard library")
    parser.add_argument("--show", type=int, default=40, metavar="N", help="how many mismatches to print")
    options = parser.parse_args()
    total = compare_files(options.files or library(), progress=True)
    sys.stdout.writelines(f"{line}\n" for line in [*summary(total), *total.mismatches[: options.show]])
    return 1 if total.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
