"""An error many calls down, and the recursion limit."""

from __future__ import annotations


def down(depth):
    if depth:
        return down(depth - 1) + 1
    probe()
    return for_ever(0)  # break here


def for_ever(depth):
    return for_ever(depth + 1)


def main():
    return down(20)
