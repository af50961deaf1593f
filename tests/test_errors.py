"""Errors: their facts as attributes, messages made of them, and the way across process borders."""

from __future__ import annotations

import pickle

import pytest

import xtab
from xtab import errors

FIRST, SECOND = xtab.ExceptionTableEntry(0, 8, 20, 0, False), xtab.ExceptionTableEntry(4, 12, 30, 1, True)
PROBLEMS = tuple(xtab.Problem("XT401", f"no {n}", offset=2 * n, opname="NOP", qualname="f") for n in range(5))
#: one of each class, with its attributes and what its message must hold
EXAMPLES = [
    (errors.XtabError("plain"), {}, ["plain"]),
    (
        errors.TableFormatError("overlap", "expected 1, but found 2", entry=3, offset=17),
        {"fault": "overlap", "detail": "expected 1, but found 2", "table": "exception table", "entry": 3, "offset": 17},
        ["exception table", "entry 3", "byte 17", "overlap", "expected 1, but found 2"],
    ),
    (
        errors.TableFormatError("truncated", "expected more", table="location table"),
        {"table": "location table", "entry": None, "offset": None},
        ["location table: truncated: expected more"],
    ),
    (
        errors.NestingError(FIRST, SECOND),
        {"first": FIRST, "second": SECOND},
        ["[0,8)", "[4,12)", repr(FIRST), repr(SECOND)],
    ),
    (errors.DecodeError("expected this", offset=6), {"offset": 6}, ["offset 6", "expected this"]),
    (errors.DecodeError("expected this"), {"offset": None}, ["expected this"]),
    (
        errors.AssembleError("expected that", instruction="NOP", index=4),
        {"instruction": "NOP", "index": 4},
        ["instruction 4", "expected that"],
    ),
    (errors.AssembleError("expected that"), {"instruction": None, "index": None}, ["expected that"]),
    (
        errors.StackError("expected depth 1", index=4, offset=10),
        {"index": 4, "offset": 10, "opname": None, "line": None},
        ["instruction 4 (offset 10): expected depth 1"],
    ),
    (
        errors.StackError("expected depth 1", index=4, opname="NOP", line=7),
        {"index": 4, "offset": None, "opname": "NOP", "line": 7},
        ["instruction 4 (NOP, line 7): expected depth 1"],
    ),
    (errors.StackError("expected depth 1", index=4), {"index": 4, "offset": None}, ["instruction 4: expected depth 1"]),
    (
        errors.UnsupportedVersionError("3.9", ["3.13", "3.14"]),
        {"found": "3.9", "supported": ("3.13", "3.14")},
        ["expected CPython 3.13 or 3.14, but found 3.9"],
    ),
    (
        errors.MissingExtraError("jinja2", "cli", "pages"),
        {"package": "jinja2", "extra": "cli", "purpose": "pages"},
        ["expected jinja2", "pages need it", "pip install 'xtab-bytecode[cli]'"],
    ),
    (errors.TargetError("no such file"), {}, ["no such file"]),
    (
        errors.EditError("expected a place", instruction="NOP", next_place="POP_TOP"),
        {"instruction": "NOP", "next_place": "POP_TOP"},
        ["expected a place"],
    ),
    (
        errors.TextError("expected this", line=3, column=5),
        {"line": 3, "column": 5},
        ["line 3, column 5: expected this"],
    ),
    (errors.TextError("expected this"), {"line": None, "column": None}, ["expected this"]),
    (
        errors.RewriteError("one argument", "two", qualname="f", filename="file.py", line=7),
        {"expected": "one argument", "found": "two", "qualname": "f", "filename": "file.py", "line": 7},
        ["f (file.py:7): expected one argument, but found two"],
    ),
    (
        errors.RelocationError("a line", "-1", qualname="f", filename="file.py", line=7),
        {"expected": "a line", "found": "-1", "qualname": "f", "filename": "file.py", "line": 7},
        ["f (file.py:7): expected a line, but found -1"],
    ),
    (
        errors.ConstantError("object() of type object", None, qualname="f", filename="file.py", line=None),
        {"found": "object() of type object", "path": None, "qualname": "f", "filename": "file.py", "line": None},
        ["f (file.py): expected constants that can be kept in a file, but found object()", "load_import(MODULE, NAME)"],
    ),
    (
        errors.ConstantError("f", ("mod", "f"), qualname="g", filename="file.py", line=7),
        {"path": ("mod", "f"), "line": 7},
        ["g (file.py:7): expected", "load it when the code runs, with emit.load_import('mod', 'f')"],
    ),
    (errors.RewriteWarning("module m: left as it is"), {}, ["module m"]),
    (
        errors.VerificationError(PROBLEMS[:1]),
        {"problems": PROBLEMS[:1]},
        ["expected code that is safe to run, but found 1 problem:\n  XT401 stack-underflow: f at 0 (NOP): no 0"],
    ),
    (errors.VerificationError(PROBLEMS), {"problems": PROBLEMS}, ["5 problems", ": no 2\n  and 2 more"]),
]


IDS = [f"{type(example[0]).__name__}-{number}" for number, example in enumerate(EXAMPLES)]


@pytest.mark.parametrize("error, attributes, words", EXAMPLES, ids=IDS)
def test_messages_hold_the_attributes(error, attributes, words):
    """The facts are attributes, and the message is made of them."""
    assert {name: getattr(error, name) for name in attributes} == attributes
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("error", [example[0] for example in EXAMPLES], ids=IDS)
def test_errors_can_be_pickled(error, protocol):
    """Class, message and attributes come back from a pickle; all but an instruction, which hangs on its body."""
    copy = pickle.loads(pickle.dumps(error, protocol))
    assert type(copy) is type(error)
    lost = dict.fromkeys({"instruction", "next_place"} & vars(error).keys())
    attributes = vars(error) | lost
    assert (str(copy), copy.args, vars(copy)) == (str(error), error.args, attributes)


def test_an_error_about_an_instruction_can_be_pickled():
    """What names an instruction crosses process borders, whatever the code object holds."""
    body = xtab.decode(lambda x: lambda: x)  # a code object among the constants
    body.instructions.append(body.instructions[-1])
    with pytest.raises(errors.AssembleError) as caught:
        xtab.assemble(body)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.index) == (str(caught.value), caught.value.index)


def test_every_class_has_an_example():
    """No class of errors is left out above, and all are XtabErrors, or warnings, that the package exports."""
    classes = {getattr(errors, name) for name in errors.__all__}
    assert {type(example[0]) for example in EXAMPLES} == classes
    for cls in classes:
        assert issubclass(cls, errors.XtabError) or issubclass(cls, Warning)
        assert getattr(xtab, cls.__name__) is cls


@pytest.mark.parametrize("name", errors.__all__)
def test_docstrings_say_when_one_sees_it(name):
    """Each class says when one sees it."""
    assert len(getattr(errors, name).__doc__) > 40
