"""Why a statement doesn't protect a line."""

from __future__ import annotations

import pytest

from xtab.report.statements import notes_on

SOURCE = """\
try:
    a()
except OSError:
    b()
else:
    c()
finally:
    d()
with open(
    name
) as file:
    e()
try:
    def f(x=1):
        g()
finally:
    h()
with lock: i()
match j:
    case 1:
        try: k()
        except* KeyError:
            m()
"""


@pytest.mark.parametrize("line", [1, 2, 12, 18, 21])
def test_what_protects_needs_no_note(line):
    assert notes_on(SOURCE, line) == []


IN_EXCEPT = (
    "the try in line 1 doesn't protect line {}, which is in an except clause: its handlers are for its body, line 2"
)
IN_STAR = (
    "the try in line 21 doesn't protect line 23, which is in an except clause: its handlers are for its body, line 21"
)
FINALLY_TOO = "; its finally clause runs all the same"


@pytest.mark.parametrize(
    "line, note",
    [
        (3, IN_EXCEPT.format(3) + FINALLY_TOO),
        (4, IN_EXCEPT.format(4) + FINALLY_TOO),
        (6, IN_EXCEPT.format(6).replace("an except", "the else") + FINALLY_TOO),
        (8, "the try in line 1 doesn't protect line 8, which is in its finally clause"),
        (9, "the with in line 9 protects its body, line 12, and not how it is entered"),
        (10, "the with in line 9 protects its body, line 12, and not how it is entered"),
        (15, "the try in line 13 protects the making of f, not what runs when it is called"),
        (23, IN_STAR),
    ],
)
def test_notes(line, note):
    assert notes_on(SOURCE, line) == [note]


def test_the_default_of_an_argument_is_of_the_outer_code():
    assert notes_on(SOURCE, 14) == []


def test_many_levels_are_no_recursion():
    source = "".join("  " * n + "if a:\n" for n in range(90)) + "  " * 90 + "b()\n"
    assert notes_on(source, 91) == []


def test_warnings_of_the_source_are_not_passed_on():
    source = "def f():\n    try:\n        a('\\d')\n    finally:\n        return 1\n"
    assert notes_on(source, 3) == []
    assert len(notes_on(source, 5)) == 1


def test_no_python():
    with pytest.raises(SyntaxError):
        notes_on("a b", 1)
