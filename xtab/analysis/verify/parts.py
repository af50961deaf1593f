"""`CodeParts`: what a code object is made of, as plain values.

Reading a code object that no compiler made can crash the interpreter (``co_code`` on 3.12 and later,
``co_positions()``), so the rules never touch one: they work on these.
"""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from xtab.format.code import code_of

if TYPE_CHECKING:
    from xtab.format.code import HasCode

__all__ = ["CodeParts"]

_CO_VARARGS, _CO_VARKEYWORDS = 0x04, 0x08


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

    @property
    def arguments(self) -> int:
        """How many local variables are arguments, those of ``*args`` and ``**kwargs`` included."""
        stars = bool(self.flags & _CO_VARARGS) + bool(self.flags & _CO_VARKEYWORDS)
        return self.argcount + self.kwonlyargcount + stars

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables, in the order in which instructions number them: locals, the other cells, free variables."""
        own = [name for name in self.cellvars if name not in self.varnames]
        return (*self.varnames, *own, *self.freevars)

    def to_code(self) -> CodeType:
        """The code object made of these parts. Only what the verifier accepts is safe to run, or even to look at."""
        return CodeType(*self)
