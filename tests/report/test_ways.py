"""Where exceptions of a line go."""

from __future__ import annotations

import warnings

import pytest

import xtab
from xtab.report.source_tree import SourceTree
from xtab.report.ways import ways


def answers(source, line, name=None):
    with warnings.catch_warnings(action="ignore"):
        code = compile(source, "sample", "exec", dont_inherit=True)
    found = ways(code, line, SourceTree(source))
    return [way for way in found if name is None or way.qualnames[0].endswith(name)]


def told(source, line, name=None):
    return [
        [(stop.region.label if stop.region else "", stop.line, stop.words) for stop in way.stops]
        for way in answers(source, line, name)
    ]


TRY = "try:\n    a()\nexcept KeyError:\n    b()\nfinally:\n    c()\n"
OUT = ("", None, "the code that imports or executes the module")


def test_handlers_in_order():
    assert told(TRY, 2) == [
        [
            ("except KeyError", 3, "runs if the class matches"),
            ("finally", 6, "runs, then the exception goes on"),
            OUT,
        ]
    ]
    assert told(TRY, 4) == [[("finally", 6, "runs, then the exception goes on"), OUT]]
    assert told(TRY, 6) == [[OUT]]


def test_a_line_that_is_not_there():
    assert told(TRY, 9) == []


@pytest.mark.parametrize(
    "source, words",
    [
        ("def f():\n    a()\n", "the caller of f"),
        ("def f():\n    yield a()\n", "the code that asks f for its next value"),
        ("async def f():\n    a()\n", "the code that awaits f"),
    ],
)
def test_who_gets_it_in_the_end(source, words):
    [[*_, (_, _, last)]] = told(source, 2, "f")
    assert last == words


def test_a_handler_that_ends_it_is_the_last():
    [[(label, line, words)]] = told("try:\n    a()\nexcept:\n    b()\n", 2)
    assert (label, line, words) == ("bare except", 3, "runs")


def test_a_finally_that_returns():
    source = "def f():\n    try:\n        a()\n    finally:\n        return 1\n"
    [[(label, _, words)]] = told(source, 3, "f")
    assert (label, words) == ("finally", "runs, and ends the exception: it returns")


def test_what_an_except_star_clause_raises_goes_out_in_the_end():
    source = "try:\n    a()\nexcept* OSError:\n    b()\n"
    [[*_, last]] = told(source, 4)
    assert last[0] in {"except* item", ""}
    assert last[2].startswith(("it is kept until", "the code that imports"))


def test_every_way_has_an_end(shapes):
    for code in shapes.values():
        for line in {row.line for row in xtab.show(code).rows if row.line}:
            assert all(way.stops for way in ways(code, line))


def test_what_makes_a_class_gets_what_is_raised_in_it():
    source = "def f():\n    try:\n        class C:\n            a()\n    except OSError:\n        b()\n"
    [way] = answers(source, 4)
    assert way.qualnames == ("f.<locals>.C", "f")
    assert [stop.words for stop in way.stops] == [
        "the code that makes the class f.<locals>.C, in f", "runs if the class matches", "the caller of f",
    ]  # fmt: skip
    assert [(each.label, each.qualname) for each in way.inside] == [("except OSError", "f")]
    assert way.around == ()


@pytest.mark.parametrize("text", ["[a() for b in c]", "{a() for b in c}", "{a(): 1 for b in c}"])
def test_a_comprehension_is_no_code_of_its_own(text):
    [way] = answers(f"def f():\n    try:\n        {text}\n    except OSError:\n        b()\n", 3)
    assert way.qualnames == ("f",)
    assert [stop.label for stop in way.stops] == ["except OSError", ""]


def test_a_line_within_a_statement():
    source = "a(\n    1,\n\n    # c\n    )\nfor b in c:\n\n    # c\n    d\nelse:\n    e\n"
    assert told(source, 5) == [[OUT]]
    assert [line for line in range(1, 12) if not answers(source, line)] == [3, 4, 7, 8, 10]


WITH = "def f():\n    with a(), b(\n        1\n    ) as c:\n        d()\n"


def test_items_of_a_with_are_told_apart():
    first, second = answers(WITH, 2)
    assert (first.which, second.which) == ("a()", "b(1)")
    assert [each.label for each in second.inside] == ["with a()"]
    [inner] = answers(WITH, 5)
    assert [(each.label, each.lines) for each in inner.inside] == [("with a()", "2-5"), ("with b(1)", "5")]


def test_copies_of_a_finally_are_one():
    source = "def f():\n    try:\n        if a: return b()\n    finally:\n        with c():\n            d()\n"
    [way] = answers(source, 6)
    assert way.inside[0].letters.count(",") >= 1
    assert way.inside[0].label == "with c()"


def test_a_finally_that_may_return():
    source = "def f():\n    try:\n        a()\n    finally:\n        if b: return 1\n"
    [[(_, _, words), last]] = told(source, 3, "f")
    assert words == "runs, and may end the exception (return in line 5); otherwise the exception goes on"
    assert last[2] == "the caller of f"


def test_clauses_have_their_lines():
    source = "try:\n    a()\nexcept OSError:\n    b()\nexcept tuple(c):\n    d()\n"
    [way] = answers(source, 2)
    assert way.stops[0].label == "except OSError, tuple(c)"
    assert way.stops[0].lines == "lines 3 and 5"
    assert way.stops[0].words == "the first clause whose class matches runs"


def test_lines_of_definitions_have_one_answer():
    source = "async def f(a):\n    yield a\n\nclass C:\n    def g(self): yield\n"
    assert [way.qualnames for way in answers(source, 1)] == [("<module>",)]
    assert [way.qualnames for way in answers(source, 4)] == [("<module>",)]


def test_what_cannot_raise_is_marked():
    code = compile(TRY, "sample", "exec")
    [way] = ways(code, 1)
    assert not way.raises


def test_parts_of_a_line_without_columns(without_columns):
    source = "a() if b else c()\nwith d: e()\n"
    code = without_columns(compile(source, "sample", "exec"))
    found = ways(code, 2, SourceTree(source))
    assert len({way.which for way in found}) == len(found) > 1
    assert all("(" in way.which for way in found)


@pytest.mark.parametrize("source, line", [('"""a"""\n', 1), ('class C:\n    """a\n    b"""\n', 3)])
def test_a_docstring_raises_nothing(source, line):
    assert [way.raises for way in answers(source, line)] == [False]


def test_a_docstring_that_is_assigned_may_raise():
    assert [way.raises for way in answers("class C:\n    __doc__ = 1\n", 2)] == [True]


def last_words(source, line):
    return {way.qualnames[0].rpartition(".")[2]: way.stops[-1].words for way in answers(source, line)}


def compiles(source):
    try:
        compile(source, "sample", "exec")
    except SyntaxError:
        return False
    return True


needs_parameters = pytest.mark.skipif(not compiles("type A = b"), reason="no type parameters in this Python")
needs_defaults = pytest.mark.skipif(not compiles("type A[B = c] = d"), reason="their defaults are newer")


@needs_parameters
def test_who_asks_for_the_value_of_an_alias():
    assert last_words("type A = a()\n", 1)["A"] == "the code that asks for the value of A"
    assert last_words("def f():\n    type A[B] = B[a()]\n", 2)["A"] == (
        "the code that asks for the value of f.<locals>.A"
    )


@needs_parameters
@pytest.mark.parametrize("head", ["type A[\n{}\n] = d", "class A[\n{}\n]: d", "def A[\n{}\n](): d"])
def test_who_asks_for_what_belongs_to_a_type_parameter(head):
    assert last_words(head.format("B: a()"), 2)["B"] == "the code that asks for the bound of B"
    assert last_words(head.format("B: (a(), c)"), 2)["B"] == "the code that asks for the constraints of B"


@needs_defaults
@pytest.mark.parametrize("parameter", ["B", "*B", "**B"])
def test_who_asks_for_the_default_of_a_type_parameter(parameter):
    source = f"class A[\n{parameter} = a()\n]: d"
    assert last_words(source, 2)["B"] == "the code that asks for the default of B"


@pytest.mark.parametrize(
    "source, line, name",
    [
        ("def f(\n    b: a()\n): pass\n", 2, "f"),
        ("def g(h):\n    def f(\n        b: h()\n    ): pass\n", 3, "g.<locals>.f"),
        ("class f:\n    b: a()\n", 2, "f"),
        ("b: a()\n", 1, "the module"),
        ("class f:\n    x: c\n    def g(\n        self, b: a()\n    ): pass\n", 4, "f.g"),
    ],
)
def test_who_asks_for_annotations(source, line, name):
    """Where they are evaluated at once, they are part of the code around."""
    words = last_words(source, line)
    lazy = "__annotate__" in words or any(hasattr(each, "__annotate__") for each in (lambda: 0, last_words))
    assert words.get("__annotate__") == (f"the code that asks for the annotations of {name}" if lazy else None)


@pytest.mark.parametrize(
    "source, line, name",
    [
        ("def __annotate__(a):\n    b()\n", 2, "__annotate__"),
        ("class A:\n    def __annotate__(self): b()\n", 2, "A.__annotate__"),
        ("x = [__annotate__ := lambda:\n    b()]\n", 2, "<lambda>"),
        ("def f():\n    @c\n    def __annotate__(d, /):\n        b()\n", 4, "f.<locals>.__annotate__"),
    ],
)
def test_functions_that_happen_to_be_called_so(source, line, name):
    assert last_words(source, line)[name.rpartition(".")[2]] == f"the caller of {name}"
