"""The results of all versions as a table, for the terminal; with ``--write`` also into docs/proof.md.

Rows are versions, columns transforms. With ``--list``, every difference is named, with its reason.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

import explained
from transforms import TRANSFORMS

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "proof.md"
TABLE = re.compile(r"(?<=<!-- proof -->\n).*?(?=<!-- /proof -->)", re.DOTALL)
HEADER = "| Python | transform | modules | tests | the same | explained | unsteady | unexplained |"


def load(directory=HERE / "results"):
    """Name of the version -> what is in its file, the oldest version first."""
    files = sorted(directory.glob("*.json"), key=lambda path: (path.stem.count("-"), explained.as_numbers(path.stem)))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}


def counts(version, transform, results, entries):
    """The numbers of a row: modules, tests, same, explained, unsteady, unexplained."""
    differences = [name for result in results.values() for name in result["differences"]]
    reasons = [explained.reason(entries, version, transform, name) for name in differences]
    return (
        len(results),
        sum(result["tests"] for result in results.values()),
        sum(result["same"] for result in results.values()),
        len(reasons) - reasons.count(None),
        sum(len(result["unsteady"]) for result in results.values()),
        reasons.count(None),
    )


def table(documents, entries):
    """The rows as Markdown."""
    lines = [HEADER, "|---|---|" + "--:|" * 6]
    for version, document in documents.items():
        python = document["python"] + " debug" * version.endswith("-dbg")
        for transform in TRANSFORMS:
            results = document["transforms"].get(transform)
            if results:
                numbers = counts(version, transform, results, entries)
                lines.append(f"| {python} | `{transform}` | " + " | ".join(f"{each:,}" for each in numbers) + " |")
    return "\n".join(lines) + "\n"


def listing(documents, entries):
    """Every test that differs or is unsteady, a line each."""
    for version, document in documents.items():
        for transform, results in document["transforms"].items():
            for result in results.values():
                for name, (before, after, detail) in result["differences"].items():
                    why = explained.reason(entries, version, transform, name) or f"UNEXPLAINED {detail}"
                    yield f"{version} {transform} {name}: {before} -> {after}: {why}"
                for name, outcomes in result["unsteady"].items():
                    yield f"{version} {transform} {name}: unsteady: {', '.join(outcomes)}"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into docs/proof.md")
    parser.add_argument("--list", action="store_true", help="name every difference")
    options = parser.parse_args(argv)
    documents, entries = load(), explained.load()
    rows = table(documents, entries)
    sys.stdout.write(rows)
    if options.list:
        sys.stdout.writelines(f"{line}\n" for line in listing(documents, entries))
    if options.write:
        PAGE.write_text(TABLE.sub(lambda _: rows, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
