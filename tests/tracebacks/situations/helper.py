"""Not a situation: what `nested_generated` loads."""

from __future__ import annotations


def fail(table):
    def pick(key):
        probe()
        return table[key] + len(table[key].real)

    return pick("a")
