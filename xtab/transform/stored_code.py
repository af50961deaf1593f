"""`dump_code`: a code object as the bytes that a .pyc or a cache holds, and if that can't be, the constant at fault.

1. `marshal` writes the code object; most do, and nothing else is looked at then but the types of the constants.
2. Of what it can't write, the first constant is looked for, in tuples too, in each code object before those inside it;
   and the line of an instruction that loads it.
3. Objects that can be read as bytes, such as arrays, it writes as plain bytes without a word: they are refused as well.

CPython source followed: ``Python/marshal.c``, `w_object`.
"""

from __future__ import annotations

import marshal
import sys
from types import CodeType
from typing import TYPE_CHECKING, Any

from xtab.errors import ConstantError, XtabError
from xtab.format.code import code_objects
from xtab.format.locations import line_at
from xtab.format.printable import without_addresses
from xtab.model.decode import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["dump_code"]

_PLAIN = frozenset({str, int, float, complex, bytes, bool, type(None), type(...), CodeType})
_HOLDERS = (tuple, frozenset, list, set)


def dump_code(code: CodeType) -> bytes:
    """A code object as `marshal` writes it.

    Raises:
        ConstantError: there is a constant in it, or in code inside, that a file can't hold.

    >>> import marshal
    >>> marshal.loads(dump_code(compile("x = 1", "example", "exec"))).co_consts[0]
    1
    """
    for each in code_objects(code):
        for constant in each.co_consts:
            for part in _parts(constant):
                if not _can_be_stored(part):
                    raise _error(each, constant, part)
    try:
        return marshal.dumps(code)
    except ValueError as error:  # as for tuples in tuples in tuples
        found = f"what marshal refuses: {error}"
        raise ConstantError(found, None, qualname=code.co_qualname, filename=code.co_filename, line=None) from error


def _parts(constant: object) -> Iterator[object]:
    """A constant, and what is in it if it holds other objects."""
    waiting, seen = [constant], set[int]()
    while waiting:
        each = waiting.pop()
        if type(each) in _HOLDERS:
            if id(each) not in seen:
                seen.add(id(each))
                waiting += each  # type: ignore[arg-type]
        else:
            yield each


def _can_be_stored(part: Any) -> bool:
    if type(part) in _PLAIN:
        return True
    try:
        data = marshal.dumps(part)
    except ValueError:
        return False
    return type(marshal.loads(data)) is type(part)  # noqa: S302 (it was written right here)


def _error(code: CodeType, constant: object, part: object) -> ConstantError:
    return ConstantError(
        _shown(part),
        _path(part),
        qualname=code.co_qualname,
        filename=code.co_filename,
        line=_line(code, constant),
    )


def _shown(part: object) -> str:
    try:
        text = repr(part)
    except Exception:  # noqa: BLE001 (it is an object of the user's)
        text = "one that can't be shown"
    return f"{without_addresses(text)[:80]} of type {type(part).__qualname__}"


def _path(part: Any) -> tuple[str, str] | None:
    """The module in which an object is found, and by which name, or None."""
    module, name = getattr(part, "__module__", None), getattr(part, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str):
        found = getattr(sys.modules.get(module), name, None)
        return (module, name) if found is part else None
    return None


def _line(code: CodeType, constant: object) -> int | None:
    """The line that loads a constant."""
    try:
        instructions = decode(code).instructions
        return next((line_at(each.location) for each in instructions if each.operand is constant), None)
    except XtabError:
        return None
