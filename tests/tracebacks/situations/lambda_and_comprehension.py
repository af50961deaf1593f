"""A lambda, a generator expression and a comprehension."""

from __future__ import annotations


def main():
    divide = lambda x, y: probe() or x / y  # noqa: E731
    pairs = [(1, 1), (1, 0)]  # break here
    return [sum(divide(x, y) for x, y in pairs) for _ in range(2)]
