"""An error raised while another one is handled, and one whose context is hidden."""

from __future__ import annotations


def hidden():
    try:
        int("three")
    except ValueError:
        raise LookupError("hidden context") from None


def main():
    probe()
    try:
        hidden()  # break here
    except LookupError as error:
        return error.args[5]
