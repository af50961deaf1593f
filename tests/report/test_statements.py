"""Why a statement doesn't protect a line."""

from __future__ import annotations

import pytest

from xtab.report.source_tree import SourceTree
from xtab.report.statements import left_out, notes_on

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
    assert len(notes_on(source, 3)) == 1
    assert len(notes_on(source, 5)) == 1


def test_no_python():
    with pytest.raises(SyntaxError):
        notes_on("a b", 1)


def test_what_a_finally_ends():
    source = "try:\n    a()\nfinally:\n    for b in c:\n        break\n    raise d\n"
    assert notes_on(source, 2) == [
        "the raise in line 6 replaces any exception that gets to it: it is in the finally clause of the try in line 1"
    ]


def test_a_clause_that_is_never_reached():
    source = "try:\n    a()\nexcept Exception:\n    b()\nexcept (ValueError, OSError):\n    c()\nexcept d:\n    e()\n"
    note = "the except clause in line 5 is never reached: the one in line 3 names Exception and gets its exceptions"
    assert notes_on(source, 2) == [note]
    assert note in notes_on(source, 6)
    assert note not in notes_on(source, 4)


def test_functions_without_a_name():
    source = "try:\n    f = lambda: a()\n    g = (b for b in c)\nfinally:\n    d()\n"
    assert notes_on(source, 2) == [
        "the try in line 1 protects the making of the lambda, not what runs when it is called"
    ]
    assert "the making of the generator expression" in notes_on(source, 3)[0]


def test_items_of_a_with():
    source = "with (\n    a,\n    b as c,\n):\n    d()\n"
    assert "not how its first item is entered" in notes_on(source, 2)[0]
    assert "only by the items before it" in notes_on(source, 3)[0]


def test_a_body_that_begins_with_decorators():
    source = "try:\n    @a\n    def b(): pass\nexcept c:\n    d()\nwith (\n    e\n):\n    @f\n    class g: pass\n"
    assert notes_on(source, 5)[0].endswith("its handlers are for its body, lines 2-3")
    assert notes_on(source, 7) == ["the with in line 6 protects its body, lines 9-10, and not how it is entered"]
    assert notes_on(source, 9) == []


def without(source, line):
    return left_out(SourceTree(source), line, compile(source, "sample", "exec", dont_inherit=True))


@pytest.mark.parametrize(
    "source, line, lines",
    [
        ("def f():\n    return 1\n    a()\n", 3, "line 3"),
        ("def f():\n    return 1\n    a = (\n        b)\n", 4, "lines 3-4"),
        ("if 0:\n    a = 1\n", 2, "line 2"),
        ("while True:\n    a()\nelse:\n    raise b\n", 4, "line 4"),
        ("def f():\n    raise a\n    for b in c:\n        pass\n", 3, "lines 3-4"),
        ("def f():\n    return\n    @a\n    def g(): pass\n", 3, "lines 3-4"),
    ],
)
def test_what_is_never_reached(source, line, lines):
    assert without(source, line) == [f"the compiler left out {lines}, for nothing ever gets there"]


@pytest.mark.parametrize(
    "source, line",
    [
        ('def f():\n    """a"""\n    return 1\n', 2),
        ("def f():\n    global a\n    a = 1\n", 2),
        ("def f():\n    a: int\n    return 1\n", 2),
        ("from __future__ import annotations\na()\n", 1),
        ("if a:\n    b()\nelse:\n    c()\n", 3),
        ("try:\n    a()\nfinally:\n    b()\n", 3),
        ("if 0:\n    a()\n", 1),
        ("a()\n# b\n\nc()\n", 2),
        ("def f():\n    return 1\n    # a\n", 3),
        ("a(\n    b\n)\n", 3),
        ("def f():\n    1\n    ...\n    pass\n    return 1\n", 3),
        ("a()\n", 9),
    ],
)
def test_what_needs_no_instruction_was_not_left_out(source, line):
    assert without(source, line) == []
