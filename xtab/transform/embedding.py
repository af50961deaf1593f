"""Names that a code object looks up in its module, made constants: so that it can run in another module.

Each LOAD_GLOBAL becomes a LOAD_CONST of what the name means now, and so does each LOAD_NAME of a class body for a name
that the class doesn't bind itself; in inner code objects too.
"""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, Any, cast

from xtab.errors import XtabError
from xtab.format.opcodes import CURRENT
from xtab.model.assemble import assemble
from xtab.model.decode import decode
from xtab.model.instruction import Instruction
from xtab.transform.emit import load_const
from xtab.transform.sequences import become, put_behind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FunctionType

    from xtab.model.body import Body

__all__ = ["embed_names"]

_SETS_GLOBAL = ("STORE_GLOBAL", "DELETE_GLOBAL")
_BINDS_NAME = ("STORE_NAME", "DELETE_NAME")
_LOOKS_TWICE = ("LOAD_FROM_DICT_OR_GLOBALS",)


def embed_names(body: Body, function: FunctionType) -> None:
    """Make the globals and builtins that a body reads constants, as `function` would find them.

    Raises:
        XtabError: a global isn't defined, or is set by the body, or an import is relative to the module.

    >>> import xtab
    >>> def size(x):
    ...     return len(x)
    >>> body = xtab.decode(size)
    >>> embed_names(body, size)
    >>> [each.operand for each in body.instructions if each.opname == "LOAD_CONST"]
    [<built-in function len>]
    """
    builtins: dict[str, Any] = cast("Any", function).__builtins__  # not every type checker knows it
    _Embedding(function.__qualname__, builtins, function.__globals__).apply(body)


class _Embedding:
    def __init__(self, name: str, builtins: Mapping[str, Any], module: Mapping[str, Any]) -> None:
        self._name = name
        self._module = module
        self._found = {**builtins, **module}

    def apply(self, body: Body) -> None:
        behind: dict[Instruction, list[Instruction]] = {}
        own = {each.operand for each in body.instructions if each.opname in _BINDS_NAME}
        recent: list[Instruction] = []
        for each in body.instructions:
            opname = each.opname
            if opname in _SETS_GLOBAL or opname in _LOOKS_TWICE:
                raise self._refused(f"{opname} of {each.operand!r}; names='lookup' leaves names alone")
            if opname == "LOAD_GLOBAL":
                behind[each] = self._load(each, each.operand, with_null=bool(each.flags & 1))
            elif opname == "LOAD_NAME" and each.operand in own:
                if each.operand in self._module:
                    raise self._refused(f"the name {each.operand!r} of a class body, which may be that of the module")
            elif opname == "LOAD_NAME" and each.operand in self._found:
                become(each, load_const(self._found[each.operand])[0])
            elif opname == "IMPORT_NAME" and recent[-2].operand:
                raise self._refused(f"a relative import of {each.operand!r}")
            elif opname == "LOAD_CONST" and isinstance(each.operand, CodeType):
                inner = decode(each.operand)
                self.apply(inner)
                each.operand = assemble(inner)
            recent = [*recent[-1:], each]
        body.instructions[:] = put_behind(body.instructions, behind)

    def _load(self, instruction: Instruction, name: str, *, with_null: bool) -> list[Instruction]:
        """Turn a LOAD_GLOBAL into a LOAD_CONST, and give what has to follow it."""
        if name not in self._found:
            raise self._refused(f"the name {name!r}, which isn't defined in its module")
        new = load_const(self._found[name])
        if with_null:
            new.insert(0 if CURRENT.null_first else 1, Instruction("PUSH_NULL"))
        become(instruction, new[0])
        return new[1:]

    def _refused(self, found: str) -> XtabError:
        return XtabError(f"expected names that can become constants in {self._name}, but found {found}")
