"""An error in a handler that also raises again."""

from __future__ import annotations


def main():
    values = []
    try:
        try:
            values.pop()
        except IndexError as error:
            probe()
            note = f"{error}"  # break here
            error.add_note(note)
            raise
    except IndexError:
        with open("/no/such/file"):
            pass
