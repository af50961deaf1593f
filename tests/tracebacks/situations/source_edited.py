"""The file is another one when the error comes."""

from __future__ import annotations


def main():
    with open(__file__, "w", encoding="utf-8") as file:
        file.write("# edited\n" * 9 + "other = text  # of another version\n" * 9)
    probe()
    names = {}  # break here
    return names["edited"]
