"""The differences that have to be: `explained.toml` names each, with the reason.

An entry holds for the versions from `since` to `until`, both included and both optional, for the listed transforms,
and for the tests whose ids match one of the patterns.
"""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

FILE = Path(__file__).with_name("explained.toml")
KEYS = {"tests", "transforms", "since", "until", "reason"}


def load(path=FILE):
    """The entries of the file; an unknown key is an error."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("explained", [])
    for entry in entries:
        if not {"tests", "transforms", "reason"} <= entry.keys() <= KEYS:
            raise ValueError(f"expected the keys {sorted(KEYS)}, but found {sorted(entry)}")
    return entries


def reason(entries, version, transform, test):
    """Why this test differs, or None if nothing says so. The version is a text such as "3.13" or "3.13-dbg"."""
    for entry in entries:
        first, last = as_numbers(entry.get("since", "3.0")), as_numbers(entry.get("until", "3.99"))
        if (
            transform in entry["transforms"]
            and first <= as_numbers(version) <= last
            and any(fnmatchcase(test, pattern.replace("[", "[[]")) for pattern in entry["tests"])
        ):
            return entry["reason"]
    return None


def as_numbers(version):
    """`"3.13-dbg"` as (3, 13)."""
    return tuple(map(int, version.partition("-")[0].split(".")))
