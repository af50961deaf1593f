"""5xx, the code object itself: types, counts, names and sizes fit together (XT406, XT513)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify.stack import MOST_SLOTS

if TYPE_CHECKING:
    from xtab.analysis.verify.parts import CodeParts
    from xtab.analysis.verify.report import Report

__all__ = ["check_counts"]

_NUMBERS = ("argcount", "posonlyargcount", "kwonlyargcount", "nlocals", "stacksize", "flags", "firstlineno")
_BYTES = ("code", "linetable", "exceptiontable")
_TUPLES = ("consts", "names", "varnames", "freevars", "cellvars")
_TEXTS = ("filename", "name", "qualname")
_INT = 1 << 31


def check_counts(parts: CodeParts, report: Report) -> bool:
    """Whether the parts can be worked with at all."""
    for check in (_check_types, _check_numbers, _check_variables):
        if not report.errors:
            check(parts, report)
    return not report.errors


def _check_types(parts: CodeParts, report: Report) -> None:
    hint = "exactly that type is trusted"
    for names, kind in ((_NUMBERS, int), (_BYTES, bytes), (_TUPLES, tuple), (_TEXTS, str)):
        for name in names:
            found = type(getattr(parts, name))
            if found is not kind:
                report.add("XT513", f"expected {name} to be {kind.__name__}, but found {found.__name__}", hint)
    for name in ("names", "varnames", "freevars", "cellvars"):
        items = getattr(parts, name)
        if type(items) is tuple and any(type(item) is not str for item in items):
            report.add("XT513", f"expected only strings in {name}, but found others", hint)


def _check_numbers(parts: CodeParts, report: Report) -> None:
    for name in _NUMBERS:
        least = -_INT if name in ("flags", "firstlineno") else 0
        if not least <= getattr(parts, name) < _INT:
            message = f"expected {name} from {least} to 2**31 - 1, but found {getattr(parts, name)}"
            report.add("XT406" if name == "stacksize" else "XT513", message, "it is an int in C")
    if MOST_SLOTS < parts.stacksize < _INT:
        message = f"expected co_stacksize of at most {MOST_SLOTS}, but found {parts.stacksize}"
        report.add("XT406", message, "a frame is one piece of memory; stack_size() computes what is needed")


def _check_variables(parts: CodeParts, report: Report) -> None:
    if parts.nlocals != len(parts.varnames):
        count = len(parts.varnames)
        message = f"expected co_nlocals to be {count}, as there are names in co_varnames, but found {parts.nlocals}"
        report.add("XT513", message, "one for each name")
    if parts.posonlyargcount > parts.argcount:
        message = f"expected at most {parts.argcount} positional-only arguments, but found {parts.posonlyargcount}"
        report.add("XT513", message, "co_argcount includes co_posonlyargcount")
    if parts.arguments > len(parts.varnames):
        wanted = f"{parts.arguments} names or more in co_varnames, one for each argument"
        message = f"expected {wanted}, but found {len(parts.varnames)}"
        report.add("XT513", message, "arguments are the first local variables; *args and **kwargs count")
    for name in ("varnames", "cellvars", "freevars"):
        names = getattr(parts, name)
        if len(set(names)) != len(names):
            twice = next(one for one in names if names.count(one) > 1)
            report.add("XT513", f"expected each name once in co_{name}, but found {twice!r} twice", "name them apart")
