"""An error thrown into a generator, through another one that delegates to it."""

from __future__ import annotations


def inner():
    try:
        yield 1
    except KeyError as error:
        probe()
        yield error.args[0].missing


def outer():
    return (yield from inner())


def main():
    generator = outer()
    next(generator)
    return generator.throw(KeyError("thrown"))  # break here
