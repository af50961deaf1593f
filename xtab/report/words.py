"""What all screens say in the same words: how many, which lines, and where in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.format.printable import one_line

if TYPE_CHECKING:
    from xtab.format.locations import Location

__all__ = ["count", "file_line", "line_words", "lines_of_source"]


def count(number: int, one: str, many: str = "") -> str:
    """How many of something there are.

    >>> count(1, "region"), count(2, "region"), count(0, "entry", "entries")
    ('1 region', '2 regions', '0 entries')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def file_line(filename: str, line: int | None) -> str:
    """A place as editors and `grep` take it.

    >>> file_line("model.py", 3), file_line("model.py", None)
    ('model.py:3', 'model.py')
    """
    return one_line(filename) + ("" if line is None else f":{line}")


def lines_of_source(location: Location | None) -> str:
    """The lines of a location, first and last included: ``3``, or ``3-7``; empty where they aren't known.

    >>> from xtab import Location
    >>> lines_of_source(Location(3, 7, 0, 1)), lines_of_source(Location(3, 3, 0, 1)), lines_of_source(None)
    ('3-7', '3', '')
    """
    if location is None or location.line is None:
        return ""
    return str(location.line) if location.end_line in {None, location.line} else f"{location.line}-{location.end_line}"


def line_words(first: int, last: int | None) -> str:
    """The same of two numbers, in words.

    >>> line_words(3, 7), line_words(3, 3)
    ('lines 3-7', 'line 3')
    """
    return f"line {first}" if last in {None, first} else f"lines {first}-{last}"
