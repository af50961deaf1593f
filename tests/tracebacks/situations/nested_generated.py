"""Generated code that calls generated code of another file."""

from __future__ import annotations


def main():
    other = load("helper")
    probe()
    table = {"a": 1}  # break here
    return [other.fail(table), 1]
