"""`CodeParts`: what a code object is made of, as plain values.

Reading a code object that no compiler made can crash the interpreter (``co_code`` on 3.12 and later,
``co_positions()``), so the rules never touch one: they work on these.
"""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from xtab.format.code import CO_VARARGS, CO_VARKEYWORDS, argument_count, code_of
from xtab.format.marshalled import CELL, FREE, LOCAL, MarshalledCode

if TYPE_CHECKING:
    from xtab.format.code import HasCode

__all__ = ["CodeParts"]


class CodeParts(NamedTuple):
    """What ``types.CodeType`` takes, in its order; nothing is checked.

    >>> parts = CodeParts.of(lambda x: x + 1)
    >>> parts.varnames, parts._replace(stacksize=0).stacksize
    (('x',), 0)
    """

    argcount: int
    posonlyargcount: int
    kwonlyargcount: int
    nlocals: int
    stacksize: int
    flags: int
    code: bytes  #: co_code
    consts: tuple[Any, ...]
    names: tuple[str, ...]
    varnames: tuple[str, ...]
    filename: str
    name: str
    qualname: str
    firstlineno: int
    linetable: bytes
    exceptiontable: bytes
    freevars: tuple[str, ...] = ()
    cellvars: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: HasCode) -> CodeParts:
        """The parts of a code object, or of anything that has one. Its ``co_code`` must be safe to read."""
        code = code_of(source)
        return cls(
            code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_nlocals, code.co_stacksize,
            code.co_flags, code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_filename,
            code.co_name, code.co_qualname, code.co_firstlineno, code.co_linetable, code.co_exceptiontable,
            code.co_freevars, code.co_cellvars,
        )  # fmt: skip

    @classmethod
    def of_stored(cls, code: MarshalledCode) -> CodeParts:
        """The parts of a code object as a file has it, which may be anything: no such code object is made.

        A code object among its constants is replaced by a harmless one: the verifier asks of it only how many free
        variables it has, and whether it is a generator's.

        >>> import marshal
        >>> from xtab.format.marshalled import load_marshalled
        >>> CodeParts.of_stored(load_marshalled(marshal.dumps((lambda x: x).__code__))).varnames
        ('x',)
        """
        varnames = code.variables(LOCAL)
        consts = tuple(_stub(each) if isinstance(each, MarshalledCode) else each for each in code.consts)
        return cls(
            code.argcount, code.posonlyargcount, code.kwonlyargcount, len(varnames), code.stacksize, code.flags,
            code.code, consts, code.names, varnames, code.filename, code.name, code.qualname, code.firstlineno,
            code.linetable, code.exceptiontable, code.variables(FREE), code.variables(CELL),
        )  # fmt: skip

    @property
    def arguments(self) -> int:
        """How many local variables are arguments, those of ``*args`` and ``**kwargs`` included."""
        return argument_count(self.argcount, self.kwonlyargcount, self.flags)

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables, in the order in which instructions number them: locals, the other cells, free variables."""
        own = [name for name in self.cellvars if name not in self.varnames]
        return (*self.varnames, *own, *self.freevars)

    def to_code(self) -> CodeType:
        """The code object made of these parts. Only what the verifier accepts is safe to run, or even to look at."""
        return CodeType(*self)


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
