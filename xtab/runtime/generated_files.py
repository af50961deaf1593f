"""`GeneratedFiles`: for code that must keep a generated file name, where its lines really come from.

1. A generated file is registered with the file that it stands for, and how its places and names map to that one.
2. `remap` goes over an exception and all that hang on it. An entry of a traceback whose file is registered, and whose
   place has an image, is replaced by one that shows that place (`stand_in`); all others stay as they are.
3. If the original is a generated file itself, its map is applied too, and so on.

Code that says the right place from the start needs none of this, and is right for all that looks at a running program
too: see `xtab.relocate`.
"""

from __future__ import annotations

import weakref
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from xtab.errors import TableFormatError, XtabError
from xtab.format.code import code_of
from xtab.format.locations import Location
from xtab.runtime.stand_in import Place, stand_in
from xtab.runtime.tracebacks import rebuild, related
from xtab.transform.origins import hold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from xtab.format.code import HasCode

__all__ = ["GeneratedFiles"]

_Error = TypeVar("_Error", bound=BaseException)


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
            try:
                return self.positions(location)
            except LookupError:  # a table may well be looked up in
                return None
        end_line = line if end_line is None else end_line
        first, last = self._line(line), self._line(end_line)
        if first is None:
            return None
        if last is None or last < first or column is None or end_column is None:
            return Location(first, first, None, None)
        return Location(first, last, max(column + self.columns, 0), max(end_column + self.columns, 0))

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
            code: if given, the entry goes when this code, all nested in it, and all that xtab made of these, are gone.

        Raises:
            XtabError: the name is registered as something else. Two files need two names.
            TypeError: `code` has no code.

        >>> GeneratedFiles().register("<generated 7>", "model.py", lines={1: 12, 2: 12, 3: 14})
        """
        original = _Original(filename, firstlineno - 1, columns, name, lines, positions)
        known = self._originals.setdefault(generated, original)
        if known != original:
            raise XtabError(
                f"expected a generated file name that is not registered yet, but found {generated!r}, registered for "
                f"{known.filename!r} with another map; give each generated file a name of its own, or `unregister` it"
            )
        if code is not None:
            token = _Token()
            weakref.finalize(token, _forget, self._originals, generated, known).atexit = False
            hold(code_of(code), token)

    def unregister(self, generated: str) -> None:
        """Forget a generated file; nothing if it is not known.

        >>> GeneratedFiles().unregister("<never heard of>")
        """
        self._originals.pop(generated, None)

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
        for each in related(exc):
            shown = rebuild(each.__traceback__, self._shown)
            if shown is not each.__traceback__:
                each.__traceback__ = shown
        return exc

    def _shown(self, entry: TracebackType) -> TracebackType:
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
        if place.location is location:
            return entry
        try:
            return stand_in(entry, place)
        except TableFormatError:  # an image that no line table can hold
            return entry


class _Token:
    """Hangs on code, and is gone when that is."""


def _forget(originals: dict[str, _Original], generated: str, original: _Original) -> None:
    if originals.get(generated) is original:
        del originals[generated]


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
