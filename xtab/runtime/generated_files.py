"""`GeneratedFiles`: for code that must keep a generated file name, where its lines really come from.

1. A generated file is registered with the file that it stands for, and how its places and names map to that one.
2. `remap` goes over an exception and all that hang on it. An entry of a traceback whose file is registered, and whose
   place has an image, is replaced by one that shows that place (`stand_in`); all others stay as they are.
3. If the original is a generated file itself, its map is applied too, and so on.

Code that says the right place from the start needs none of this, and is right for all that looks at a running program
too: see `xtab.relocate`.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from xtab.errors import TableFormatError, XtabError
from xtab.format.code import code_of
from xtab.format.locations import Location
from xtab.runtime.stand_in import Place, stand_in
from xtab.runtime.tracebacks import put, rebuild, related
from xtab.transform.arguments import check_filename, check_types
from xtab.transform.origins import hold

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from xtab.format.code import HasCode

__all__ = ["GeneratedFiles"]

_Error = TypeVar("_Error", bound=BaseException)
_Point: TypeAlias = tuple[int, int, "int | None"]
_lock = threading.RLock()
"""Held while an entry is put in; what takes one out with its code needs none, and may run at any time."""


class _Original(NamedTuple):
    """What a generated file stands for."""

    filename: str
    shift: int  #: added to lines
    columns: int  #: added to columns
    names: Mapping[str, str] | str | None
    lines: Mapping[int, int] | None
    positions: Callable[[Location], Location | None] | None

    def location(self, location: Location) -> Location | None:
        """The image of a place, or None if it has none."""
        line, end_line, column, end_column = location
        if line is None:
            return None
        if self.positions is not None:
            return self._from_positions(location)
        end_line = line if end_line is None else end_line
        first, last = self._line(line), self._line(end_line)
        if first is None:
            return None
        if last is None or last < first or column is None or end_column is None:
            return Location(first, first, None, None)
        return Location(first, last, max(column + self.columns, 0), max(end_column + self.columns, 0))

    def _from_positions(self, location: Location) -> Location | None:
        """What the user's function gives, if that is a place: it is asked while an error is to be shown."""
        assert self.positions is not None
        try:
            line, end_line, column, end_column = self.positions(location)  # type: ignore[misc]  # what is None fails
            return None if line is None else Location(line, line if end_line is None else end_line, column, end_column)
        except Exception:  # noqa: BLE001 (whatever it is, the error that is there must be shown)
            return None

    def _line(self, line: int) -> int | None:
        return line + self.shift if self.lines is None else self.lines.get(line)

    def qualname(self, qualname: str) -> str:
        """The name to show: that of the outermost function or class is exchanged, the rest stays."""
        if self.names is None:
            return qualname
        outermost, dot, rest = qualname.partition(".")
        if isinstance(self.names, str):
            return qualname if outermost.startswith("<") else self.names + dot + rest
        return self.names.get(outermost, outermost) + dot + rest


class GeneratedFiles:
    r"""A registry of generated files, and the way back from them.

    >>> import traceback
    >>> names = {}
    >>> exec(compile("def wrapped(x):\n    return x / 0\n", "<wrapped 1>", "exec"), names)
    >>> files = GeneratedFiles()
    >>> files.register("<wrapped 1>", "model.py", firstlineno=41, name="Model.forward")
    >>> try:
    ...     names["wrapped"](1)
    ... except ZeroDivisionError as error:
    ...     last = traceback.extract_tb(files.remap(error).__traceback__)[-1]
    >>> last.filename, last.lineno, last.name
    ('model.py', 42, 'forward')
    """

    def __init__(self) -> None:
        self._originals: dict[str, _Original] = {}
        self._lasting: set[str] = set()  # the names of entries that no code holds
        self._tokens: weakref.WeakValueDictionary[str, _Token] = weakref.WeakValueDictionary()

    def register(
        self,
        generated: str,
        filename: str,
        *,
        firstlineno: int = 1,
        name: str | Mapping[str, str] | None = None,
        lines: Mapping[int, int] | None = None,
        columns: int = 0,
        positions: Callable[[Location], Location | None] | None = None,
        code: HasCode | None = None,
    ) -> None:
        """Say what a generated file stands for.

        Args:
            generated: its name, the ``co_filename`` of the code.
            filename: the file that it was generated from.
            firstlineno: the line of that file that its line 1 stands for; the others follow.
            name: the qualified name to show for its outermost functions, or the one for each name of an outermost
                function or class. What is nested keeps its own name behind that: ``forward.<locals>.<lambda>``.
            lines: if the lines don't just follow each other: a line of the generated file -> one of the original.
            columns: what to add to columns, in bytes: those that an indented original has more.
            positions: a map of whole locations, in place of `firstlineno`, `lines` and `columns`. None: it has no
                image, and is shown as it is.
            code: if given, the entry goes when this code, all nested in it, and all that xtab made of these, are gone;
                and those of other calls for the same file, unless there was one without `code`.

        Raises:
            XtabError: the name is registered as something else (two files need two names), or `filename` is one that no
                file can have.
            TypeError: `code` has no code, or an argument is of a wrong type.

        >>> GeneratedFiles().register("<generated 7>", "model.py", lines={1: 12, 2: 12, 3: 14})
        """
        check_types(str, generated=generated, filename=filename)
        check_filename(filename)
        check_types(int, firstlineno=firstlineno, columns=columns)
        _check_maps(name, lines, positions)
        holder = None if code is None else code_of(code)
        original = _Original(filename, firstlineno - 1, columns, name, lines, positions)
        with _lock:
            known = self._originals.get(generated)
            if known is not None and known != original:
                raise XtabError(
                    f"expected a generated file name that is not registered yet, but found {generated!r}, registered "
                    f"for {known.filename!r} with another map; give each generated file a name of its own, or "
                    "`unregister` it"
                )
            if holder is None:
                self._lasting.add(generated)
                self._originals[generated] = original  # a new one, which no token forgets
            elif generated not in self._lasting:
                hold(holder, self._tokens.get(generated) or self._token(generated, original))

    def _token(self, generated: str, original: _Original) -> _Token:
        """Put an entry in, and give what keeps it as long as any code holds that."""
        self._originals[generated] = original
        token = self._tokens[generated] = _Token()
        weakref.finalize(token, _forget, self._originals, generated, original).atexit = False
        return token

    def unregister(self, generated: str) -> None:
        """Forget a generated file; nothing if it is not known.

        >>> GeneratedFiles().unregister("<never heard of>")
        """
        with _lock:
            self._originals.pop(generated, None)
            self._tokens.pop(generated, None)
            self._lasting.discard(generated)

    def remap(self, exc: _Error) -> _Error:
        """Let the tracebacks of an exception, its causes, contexts and members of groups show the originals.

        Frames of files that are not registered, and places without an image, stay as they are. The frames that show
        originals have the variables of the real ones, but run nothing: `pdb.post_mortem` can look at them.

        Args:
            exc: the exception; it gets new tracebacks, and nothing else of it changes.

        Returns:
            `exc`.

        >>> error = ValueError("never raised")
        >>> GeneratedFiles().remap(error) is error
        True
        """
        known: dict[_Point, Place | None] = {}  # a recursion passes the same points again and again

        def shown(entry: TracebackType) -> TracebackType:
            if entry.tb_frame.f_code.co_filename not in self._originals:
                return entry
            point = id(entry.tb_frame.f_code), entry.tb_lasti, entry.tb_lineno
            if point not in known:
                known[point] = self._place(entry)
            place = known[point]
            return entry if place is None else _stand_in(entry, place)

        for each in related(exc):
            rebuilt = rebuild(each.__traceback__, shown)
            if rebuilt is not each.__traceback__:
                put(each, "__traceback__", rebuilt)
        return exc

    def _place(self, entry: TracebackType) -> Place | None:
        """What an entry shall show, or None if it is to stay."""
        code = entry.tb_frame.f_code
        location = _location(entry)
        place = Place(code.co_filename, code.co_firstlineno, code.co_name, code.co_qualname, location)
        seen = set()
        while place.filename in self._originals and place.filename not in seen:
            seen.add(place.filename)
            image = _image(place, self._originals[place.filename])
            if image is None:
                break
            place = image
        return None if place.location is location else place


def _stand_in(entry: TracebackType, place: Place) -> TracebackType:
    try:
        return stand_in(entry, place)
    except (TableFormatError, TypeError, OverflowError):  # an image that no code object can say
        return entry


def _check_maps(name: object, lines: object, positions: object) -> None:
    """What is asked while an error is shown must not fail then."""
    for what, value, expected, good in (
        ("name", name, "a string, or a mapping from strings to strings", isinstance(name, str) or _maps(name, str)),
        ("lines", lines, "a mapping from integers to integers", _maps(lines, int)),
        ("positions", positions, "a function", callable(positions)),
    ):
        if value is not None and not good:
            raise TypeError(f"expected {expected} for {what}, but found {value!r:.80}")


def _maps(value: object, kind: type) -> bool:
    return isinstance(value, Mapping) and all(isinstance(each, kind) for pair in value.items() for each in pair)


class _Token:
    """Hangs on code, and is gone when that is."""


def _forget(originals: dict[str, _Original], generated: str, original: _Original) -> None:
    if originals.get(generated) is original:
        taken = originals.pop(generated, original)
        if taken is not original:  # another thread has put it in between these two steps
            originals.setdefault(generated, taken)


def _location(entry: TracebackType) -> Location:
    """Where an entry stands. Its line leads; where the instruction has another, there are no columns."""
    line = entry.tb_lineno
    if entry.tb_lasti >= 0:
        at = next(islice(entry.tb_frame.f_code.co_positions(), entry.tb_lasti // 2, None), None)
        if at is not None and at[0] == line:
            return Location(*at)
    return Location(line, line, None, None)


def _image(place: Place, original: _Original) -> Place | None:
    location = original.location(place.location)
    if location is None or location.line is None:
        return None
    first = original.location(Location(place.firstlineno, place.firstlineno, None, None))
    first_line = location.line if first is None or first.line is None else first.line
    qualname = original.qualname(place.qualname)
    name = place.name if qualname == place.qualname else qualname.rpartition(".")[2]
    return Place(original.filename, first_line, name, qualname, location)
