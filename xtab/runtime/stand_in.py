"""`stand_in`: an entry of a traceback that shows another place than the code that ran.

A traceback shows the file, the names and the columns of its frame's code object, so another place needs another frame,
with a code object that says that place; a frame can't be given other code. Such a frame is the one of a generator that
was made and never started: none of its code runs but what makes it, and it has variables, with the values that the
real frame's have. (Up to 3.12 such a generator is closed at once by an exception in it, which a tracer sees as a call.)

1. The code is a template's, one for each number of free variables, under the names, file and first line wanted. All of
   its instructions have the one location wanted, so frame, traceback and columns agree on it.
2. The arguments of the real code are arguments; all other variables are free variables, which may be any number.

See Objects/genobject.c and, for frames that outlive what they belong to, Python/frame.c (`take_ownership`).
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from types import CellType, CodeType, FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from xtab.format.code import argument_count, code_length
from xtab.format.locations import Location, LocationEntry, assemble_location_table
from xtab.model.assemble import assemble
from xtab.model.decode import decode
from xtab.model.instruction import Instruction
from xtab.transform.origins import made_from

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["Place", "stand_in"]


class Place(NamedTuple):
    """What a frame shall show."""

    filename: str
    firstlineno: int  #: of the code object
    name: str
    qualname: str
    location: Location  #: of what raised


def stand_in(entry: TracebackType, place: Place) -> TracebackType:
    """An entry of a traceback like `entry`, at another place; its `tb_next` is None.

    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as error:
    ...     entry = stand_in(error.__traceback__, Place("model.py", 3, "run", "K.run", Location(5, 5, 4, 9)))
    >>> entry.tb_lineno, entry.tb_frame.f_lineno, entry.tb_frame.f_code.co_filename
    (5, 5, 'model.py')
    """
    old = entry.tb_frame
    arguments, others = _variables(old)
    code = _code(old.f_code, place, tuple(arguments), tuple(others))
    cells = tuple(map(CellType, others.values()))
    generator = FunctionType(code, old.f_globals, place.name, None, cells)(*arguments.values())
    frame: FrameType = generator.gi_frame
    return TracebackType(None, frame, frame.f_lasti, place.location.line or -1)


def _variables(frame: FrameType) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a frame, and its other variables, none of which are globals."""
    found = frame.f_locals  # the frame of a function makes it anew each time
    if found is frame.f_globals:
        return {}, {}
    others: dict[str, Any] = {}
    with suppress(Exception):  # the names of a class body are in whatever its metaclass made for them
        others.update({name: value for name, value in dict(found).items() if type(name) is str})
    code = frame.f_code
    names = code.co_varnames[: argument_count(code.co_argcount, code.co_kwonlyargcount, code.co_flags)]
    bound = all(name in others for name in names)  # if not, none is shown as an argument
    return {name: others.pop(name) for name in names if bound}, others


def _code(old: CodeType, place: Place, arguments: tuple[str, ...], others: tuple[str, ...]) -> CodeType:
    template = _template(len(others))
    everywhere = LocationEntry(0, code_length(template), place.location)
    new = template.replace(
        co_name=place.name,
        co_qualname=place.qualname,
        co_filename=place.filename,
        co_firstlineno=place.firstlineno,
        co_linetable=assemble_location_table([everywhere], place.firstlineno),
        co_varnames=arguments,
        co_nlocals=len(arguments),
        co_argcount=len(arguments),
        co_freevars=others,
    )
    return made_from(new, old, f"{__name__}:stand_in")


@lru_cache(maxsize=64)
def _template(count: int) -> CodeType:
    """The code of a generator with so many free variables."""
    body = decode((lambda: (yield)).__code__)
    body.freevars[:] = [f"_{number}" for number in range(count)]
    if count:
        body.instructions.insert(0, Instruction("COPY_FREE_VARS", count))
    return assemble(body)
