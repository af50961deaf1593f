"""`relocate`: code that says another file, other lines, columns and names than it was compiled with.

1. A first line for each code object, each before what it holds: the one given; that of the location at which the code
   around it loads it; or what `positions` has for the line itself (`_first_lines`).
2. The code objects are made anew, those inside first. Each entry of the location table is moved: by `positions`, if
   there is such a thing, and then by `lines` and `columns`. What has no location keeps none. What the compiler put at
   no text, that is without width at column 0, as RESUME and the start of a class body, moves with the first line, and
   keeps its columns (`_Mover`).
3. The entries are written as long as they were, so that the table comes back byte for byte when nothing moved.
4. Names of nested code that begin with the qualified name of the outer code get the new one in its place, and class
   bodies say their new name and line (`with_class_facts`).
5. A code object in which nothing changed stays the very object that it was.

The instructions stay as they are, but for what a class body says of itself. CPython sources followed:
``Python/codegen.c`` (up to 3.13 ``Python/compile.c``), `codegen_enter_scope`, and ``Objects/codeobject.c``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from xtab.errors import RelocationError
from xtab.format.code import code_objects
from xtab.format.locations import Location, LocationEntry, assemble_location_table, parse_location_table
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.format.units import split_code
from xtab.transform.arguments import check_filename, check_types
from xtab.transform.class_prologue import with_class_facts
from xtab.transform.functions import twin, unwrapped, wrapped_again
from xtab.transform.named import transform_name
from xtab.transform.origins import made_from

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Positions", "relocate"]

#: From one location to another, or to None for "no location".
Positions: TypeAlias = "Callable[[Location], Location | None] | Mapping[Location, Location | None]"

_Code = TypeVar("_Code", bound="CodeType | Callable[..., Any] | staticmethod[..., Any] | classmethod[Any, ..., Any]")
_MODULE = "<module>"
_ADVICE = (
    "if the text was written around or in place of another one, so that not all of it is off by the same lines and "
    "columns, give positions=xtab.source_map(original, generated) instead"
)
_MAX = (1 << 31) - 2  # what a table can hold of lines and columns


def relocate(
    code: _Code,
    *,
    filename: str | None = None,
    lines: int = 0,
    columns: int = 0,
    name: str | None = None,
    qualname: str | None = None,
    firstlineno: int | None = None,
    positions: Positions | None = None,
) -> _Code:
    r"""Code like `code`, and all that is nested in it, that comes from another place: file, lines, columns and names.

    Whoever asks sees that place: tracebacks with their carets, debuggers, coverage, `inspect`, `warnings`. Give the
    place of the text that was compiled: for code compiled from the dedented text of a method, ``lines`` is the number
    of lines above it in the file, and ``columns`` the width of its indentation.

    Args:
        code: a code object, or a function, method, staticmethod or classmethod; the result is of the same type. It
            stays as it is. A code object in which nothing changes is itself the result.
        filename: the new ``co_filename``.
        lines: what to add to all lines; may be negative.
        columns: what to add to all columns, those of continuation lines too, since indenting moves them all; counted
            in bytes of UTF-8; may be negative.
        name: the new ``co_name``, and ``__name__`` of a function. Without `qualname`, the last part of the qualified
            name as well.
        qualname: the new ``co_qualname``, and ``__qualname__`` of a function. Without `name`, its last part is the
            name as well. Nested code follows: ``old.<locals>.inner`` becomes ``new.<locals>.inner``.
        firstlineno: the new ``co_firstlineno`` of `code` itself, in place of the one that is moved there. What the
            compiler put on that line without any text, as RESUME, follows.
        positions: the new place of each location: a function of a :class:`Location` that gives one, or None for "no
            location"; or a mapping, in which what isn't a key has none. :func:`source_map` makes one. It is asked with
            what is in `code`; `lines` and `columns` move what it gives. For a first line it may also be asked with
            ``Location(line, line, None, None)``; if it has none either, the least line that the code got is taken for
            `code` itself, and the first line of the code around it for nested code.

    Raises:
        RelocationError: a line would be below 1, or a column below 0, or either beyond 2**31.
        TableFormatError: the location table is broken.
        XtabError: the file name is one that no file can have.
        TypeError: `code` has no code that could be moved, or an argument is of a wrong type.

    >>> text = "def scale(x):\n    return x * factor"
    >>> code = relocate(compile(text, "<generated>", "exec"), filename="user.py", lines=40, columns=4)
    >>> function = next(item for item in code.co_consts if hasattr(item, "co_code"))
    >>> function.co_filename, function.co_firstlineno, list(function.co_positions())[-1]
    ('user.py', 41, (42, 42, 8, 25))
    """
    check_types(str, or_none=True, filename=filename, name=name, qualname=qualname)
    check_filename(filename)
    check_types(int, lines=lines, columns=columns)
    check_types(int, or_none=True, firstlineno=firstlineno)
    if positions is not None and not (callable(positions) or isinstance(positions, Mapping)):
        raise TypeError(f"expected a function or a mapping for positions, but found {positions!r:.80}")
    mover = _Mover(positions, lines, columns)
    if isinstance(code, CodeType):
        wanted = _Wanted(filename, *_names(code, name, qualname), firstlineno)
        return _relocated(code, wanted, mover)  # type: ignore[return-value]  # the very type that it was given
    plain, wrappers = unwrapped(code)
    wanted = _Wanted(filename, *_names(plain.__code__, name, qualname), firstlineno)
    moved = _moved_twin(plain, wanted, mover)
    annotate = getattr(plain, "__annotate__", None)
    if isinstance(annotate, FunctionType) and _is_inside(annotate, plain.__code__):
        annotated: Any = moved  # functions have it from 3.14 on
        annotated.__annotate__ = _moved_annotate(annotate, plain.__code__, wanted, mover)
    if name is not None or qualname is not None:
        moved.__name__, moved.__qualname__ = wanted.name, wanted.qualname
    return wrapped_again(moved, wrappers)  # type: ignore[no-any-return]


def _moved_twin(function: FunctionType, wanted: _Wanted, mover: _Mover) -> FunctionType:
    new = _relocated(function.__code__, wanted, mover)
    return twin(function, new, dict(zip(new.co_freevars, function.__closure__ or (), strict=True)))


def _is_inside(function: FunctionType, outer: CodeType) -> bool:
    """Whether a function stands in the text of code: not so the annotations that a wrapper has of what it wraps."""
    if function.__code__.co_filename != outer.co_filename:
        return False
    if function.__qualname__ == "__annotate__":  # what 3.15 calls it for a generic function, whatever it is in
        lines = {line for _, _, line in outer.co_lines()}
        return function.__code__.co_firstlineno in lines
    return function.__qualname__.startswith(f"{outer.co_qualname}.")


def _moved_annotate(function: FunctionType, outer: CodeType, wanted: _Wanted, mover: _Mover) -> FunctionType:
    """The function that evaluates annotations; its code may be named as if it stood beside."""
    code = function.__code__
    nested = _nested_name(code.co_qualname, outer, wanted.qualname)
    moved = _moved_twin(function, _Wanted(wanted.filename, code.co_name, nested, None), mover)
    moved.__qualname__ = _nested_name(function.__qualname__, outer, wanted.qualname)
    return moved


def _nested_name(name: str, outer: CodeType, new: str) -> str:
    """The qualified name of what is nested in code, where that of the code itself is a new one."""
    rest = name.removeprefix(f"{outer.co_qualname}.")
    return name if rest == name else f"{new}.{rest}"


class _Wanted(NamedTuple):
    """What is to be said of the outermost code object."""

    filename: str | None
    name: str
    qualname: str
    first_line: int | None


def _names(code: CodeType, name: str | None, qualname: str | None) -> tuple[str, str]:
    """The new name and qualified name; of which one may follow from the other."""
    if name is None and qualname is None:
        return code.co_name, code.co_qualname
    if qualname is None:
        head, dot, _ = code.co_qualname.rpartition(".")
        return str(name), f"{head}{dot}{name}"
    return qualname.rpartition(".")[2] if name is None else name, qualname


def _relocated(code: CodeType, wanted: _Wanted, mover: _Mover) -> CodeType:
    """Steps 2 to 5; code objects are told apart by identity, since equal ones may be of different files."""
    first_lines = _first_lines(code, wanted.first_line, mover)
    done: dict[int, CodeType] = {}
    for each in reversed(list(code_objects(code))):
        if id(each) in done:
            continue
        name, qualname = each.co_name, _nested_name(each.co_qualname, code, wanted.qualname)
        if each is code:
            name, qualname = wanted.name, wanted.qualname
        first_line = first_lines[id(each)]
        moved = with_class_facts(each, qualname, first_line)  # which may put other EXTENDED_ARG into it
        new = {
            "co_filename": each.co_filename if wanted.filename is None else wanted.filename,
            "co_name": name,
            "co_qualname": qualname,
            "co_firstlineno": first_line,
            "co_linetable": mover.table(moved, first_line),
        }
        changes: dict[str, Any] = {field: value for field, value in new.items() if value != getattr(moved, field)}
        constants = tuple(done[id(item)] if isinstance(item, CodeType) else item for item in moved.co_consts)
        if any(now is not before for now, before in zip(constants, moved.co_consts, strict=True)):
            changes["co_consts"] = constants
        if changes or moved is not each:
            moved = made_from(moved.replace(**changes), each, transform_name(relocate))
        done[id(each)] = moved
    return done[id(code)]


def _first_lines(code: CodeType, wanted: int | None, mover: _Mover) -> dict[int, int]:
    """Step 1: the new first line of each code object, by its `id`."""
    found: dict[int, int] = {}
    loaded: dict[int, tuple[Location, int]] = {}  # where the code around it loads it, and that code's first line
    for each in code_objects(code):
        if id(each) in found:
            continue
        line = wanted
        if line is None or each is not code:
            line = _first_line(each, loaded.get(id(each)), mover)
        if not min(each.co_firstlineno, 1) <= line <= _MAX:
            expected = "a first line from 1 to 2**31 - 2; give other lines, or another firstlineno"
            raise _impossible(each, expected, f"{line}, from {each.co_firstlineno}", mover)
        found[id(each)] = line
        if mover.positions is not None:
            for nested, location in _loads(each):
                loaded.setdefault(id(nested), (location, line))
    return found


def _first_line(code: CodeType, loaded: tuple[Location, int] | None, mover: _Mover) -> int:
    """The new first line of one code object, loaded by other code whose first line is known already, or by none."""
    moved = code.co_firstlineno + mover.lines
    if mover.positions is None or code.co_name == _MODULE:  # a module begins on line 1, whatever stands there
        return moved
    at, around = (None, None) if loaded is None else loaded
    line = mover.line_of(code, at)
    if line is None:
        line = mover.least_line(code) if around is None else around
    return moved if line is None else line


def _loads(code: CodeType) -> Iterator[tuple[CodeType, Location]]:
    """The code objects that a code object loads, and the locations at which it does."""
    if not any(isinstance(item, CodeType) for item in code.co_consts):
        return
    entries = iter(parse_location_table(code.co_linetable, code.co_firstlineno))
    entry = next(entries, None)
    for each in split_code(code.co_code):
        while entry is not None and entry.end <= each.start:
            entry = next(entries, None)
        if entry is None:
            return
        if CURRENT.kind[each.opcode] == OperandKind.CONST and entry.location is not None:
            for constant in code.co_consts[each.arg : each.arg + 1]:  # none in broken code, which stays as it is
                if isinstance(constant, CodeType):
                    yield constant, entry.location


class _Mover:
    """Step 2: where locations go."""

    def __init__(self, positions: Positions | None, lines: int, columns: int) -> None:
        self.positions = positions
        self.lines = lines
        self._columns = columns
        self._known: dict[Location, Location | None] = {}

    def table(self, code: CodeType, first_line: int) -> bytes:
        """The new location table of a code object that has a new first line."""
        entries = parse_location_table(code.co_linetable, code.co_firstlineno)
        by = first_line - code.co_firstlineno
        moved = [
            LocationEntry(start, end, None if location is None else self._moved(location, by, code))
            for start, end, location in entries
        ]
        if moved == entries and not by:
            return code.co_linetable
        return assemble_location_table(moved, first_line)

    def line_of(self, code: CodeType, at: Location | None) -> int | None:
        """The new first line of a code object that is loaded at a location, or None if `positions` has none.

        Those of a decorated function, or one loaded elsewhere, are not the same; then the line itself is asked for.
        """
        line = code.co_firstlineno
        for location in (at, Location(line, line, None, None)):
            if location is not None and location.line == line:
                new = self._shifted(location, code)
                if new is not None:
                    return new.line
        return None

    def least_line(self, code: CodeType) -> int | None:
        """The least new line of what comes from a text in a code object."""
        entries = parse_location_table(code.co_linetable, code.co_firstlineno)
        old = [entry.location for entry in entries if entry.location and not _is_synthetic(entry.location, code)]
        new = [self._moved(location, 0, code) for location in old]
        return min((each.line for each in new if each is not None and each.line is not None), default=None)

    def _moved(self, location: Location, by: int, code: CodeType) -> Location | None:
        """The new place of a location; `by` is what the first line moves by."""
        if _is_synthetic(location, code):
            line, end_line, column, end_column = location
            assert line is not None
            assert end_line is not None
            new = Location(line + by, end_line + by, column, end_column)
            return _checked(new, location, code, self)
        if location not in self._known:
            self._known[location] = self._shifted(location, code)
        return self._known[location]

    def _shifted(self, location: Location, code: CodeType) -> Location | None:
        """What `positions` has for a location, moved by so many lines and columns."""
        new: Any = location
        if isinstance(self.positions, Mapping):
            new = self.positions.get(location)
        elif self.positions is not None:
            new = self.positions(location)
        if new is None:
            return None
        is_location = isinstance(new, tuple) and len(new) == len(location)
        if not is_location or not all(each is None or isinstance(each, int) for each in new):
            raise TypeError(f"expected a Location or None from positions for {location}, but found {new!r:.80}")
        line, end_line, column, end_column = new
        if line is None:
            return None
        return _checked(
            Location(
                line + self.lines,
                line + self.lines if end_line is None else end_line + self.lines,
                None if column is None else column + self._columns,
                None if end_column is None else end_column + self._columns,
            ),
            location,
            code,
            self,
        )


def _is_synthetic(location: Location, code: CodeType) -> bool:
    """Whether the compiler put it there without any text: RESUME and the like.

    That of a module begins on the line before the first, and ends on the first. A generator begins on its first line.
    """
    line, end_line, column, end_column = location
    first_line = code.co_firstlineno
    if column is None:
        return line == end_line == first_line
    return column == 0 == end_column and end_line in (line, first_line)


def _checked(new: Location, old: Location, code: CodeType, mover: _Mover) -> Location:
    """The new location, if there is such a place."""
    line, end_line, column, end_column = new
    least = 0 if _is_synthetic(old, code) else min(old.line or 0, 1)  # the RESUME of a module is on line 0
    if line is None or end_line is None or not least <= line <= end_line <= _MAX:
        expected = "lines from 1 to 2**31 - 2, the last not before the first"
        raise _impossible(code, expected, f"{new}, from {old}", mover)
    for each in (column, end_column):
        if each is not None and not 0 <= each <= _MAX:
            raise _impossible(code, "columns from 0 to 2**31 - 2", f"{new}, from {old}", mover)
    if _ends_before_it_begins(new) and not _ends_before_it_begins(old):
        raise _impossible(code, "the last column not before the first", f"{new}, from {old}", mover)
    return new


def _ends_before_it_begins(location: Location) -> bool:
    line, end_line, column, end_column = location
    return line == end_line and column is not None and end_column is not None and end_column < column


def _impossible(code: CodeType, expected: str, found: str, mover: _Mover) -> RelocationError:
    if mover.positions is None:
        found += f"; {_ADVICE}"
    return RelocationError(
        expected, found, qualname=code.co_qualname, filename=code.co_filename, line=code.co_firstlineno
    )
