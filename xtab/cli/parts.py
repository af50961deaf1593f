"""`load_parts`: the code objects of a target as plain parts.

Of a source they are those of compiled code. What is in a .pyc may be anything, so it is read without making a code
object of it.
"""

from __future__ import annotations

from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import TYPE_CHECKING

from xtab.analysis.verify import CodeParts
from xtab.cli.stored import stored_code
from xtab.cli.targets import load
from xtab.format.code import code_objects
from xtab.format.marshalled import CELL, FREE, LOCAL, MarshalledCode

if TYPE_CHECKING:
    from types import CodeType

    from xtab.cli.targets import Source

__all__ = ["load_parts", "parts_of"]


def load_parts(source: Source) -> list[CodeParts]:
    """The parts of the code objects of a source, or of those that were asked for by name, and of all in them.

    Raises:
        TargetError: it can't be read or compiled, or has no code object of that name.
    """
    if not source.name.endswith(".pyc"):
        return [CodeParts.of(code) for root in load(source) for code in code_objects(root)]
    return [parts_of(code) for code in stored_code(source, foreign=False)]


def parts_of(code: MarshalledCode) -> CodeParts:
    """The parts of a code object as it is stored.

    A code object among its constants is replaced by a harmless one: the verifier asks of it only how many free
    variables it has, and whether it is a generator's.
    """
    varnames = code.variables(LOCAL)
    consts = tuple(_stub(each) if isinstance(each, MarshalledCode) else each for each in code.consts)
    return CodeParts(
        code.argcount, code.posonlyargcount, code.kwonlyargcount, len(varnames), code.stacksize, code.flags, code.code,
        consts, code.names, varnames, code.filename, code.name, code.qualname, code.firstlineno, code.linetable,
        code.exceptiontable, code.variables(FREE), code.variables(CELL),
    )  # fmt: skip


_STUB = compile("", "<stored>", "exec")


def _stub(code: MarshalledCode) -> CodeType:
    """A code object that looks the same from outside, and does nothing."""
    flags = code.flags & ~(CO_VARARGS | CO_VARKEYWORDS)  # these ask for variables
    try:
        return _STUB.replace(
            co_flags=flags, co_freevars=code.variables(FREE), co_name=code.name, co_qualname=code.qualname
        )
    except (TypeError, ValueError, OverflowError):
        return _STUB
