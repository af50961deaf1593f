"""The results of all versions as a table, for the terminal; with ``--write`` also into docs/fuzzing.md."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from fuzz import CACHE

PAGE = Path(__file__).parents[2] / "docs" / "fuzzing.md"
TABLE = re.compile(r"(?<=<!-- fuzzing -->\n).*?(?=<!-- /fuzzing -->)", re.DOTALL)
COLUMNS = ("seeds", "mutants", "accepted", "run", "timeouts", "hangs", "holes")
GROUPS = ("1xx", "2xx", "3xx", "4xx", "5xx", "6xx")


def load(directory: Path) -> list[dict[str, Any]]:
    """What is in the files of results."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(directory.glob("*.json"))]


def order(python: str) -> tuple[bool, list[int]]:
    """Debug builds behind the others, versions as numbers."""
    return "debug" in python, [int(each) for each in python.partition(" ")[0].split(".") if each.isdigit()]


def table(documents: list[dict[str, Any]]) -> str:
    """A row for each interpreter, as Markdown: the sums over all seeds of the random numbers."""
    sums: dict[str, Counter[str]] = {}
    for document in documents:
        counts = sums.setdefault(document["python"], Counter())
        counts["seeds"] += 1
        counts.update({key: value for key, value in document["counts"].items() if key != "seeds"})
    head = ["Python", "runs", *COLUMNS[1:], *(f"by {group}" for group in GROUPS)]
    lines = [f"| {' | '.join(head)} |", "|---|" + "--:|" * (len(head) - 1)]
    for python in sorted(sums, key=order):
        numbers = [sums[python][key] for key in (*COLUMNS, *(f"rejected {group}" for group in GROUPS))]
        lines.append(f"| {python} | " + " | ".join(f"{number:,}" for number in numbers) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table, and write it where it belongs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=CACHE / "results", metavar="DIR")
    parser.add_argument("--write", action="store_true", help="put the table into docs/fuzzing.md")
    options = parser.parse_args()
    rows = table(load(options.results))
    sys.stdout.write(rows)
    if options.write:
        PAGE.write_text(TABLE.sub(lambda _: rows, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
