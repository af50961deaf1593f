"""Every error that xtab raises on purpose.

Each carries its facts as attributes, and its message is built from them: what was expected, what was found, where,
and what to do. Whatever else escapes from xtab (an ``IndexError``, an ``AssertionError``) is a fault of xtab: please
report it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AssembleError",
    "ConstantError",
    "DecodeError",
    "EditError",
    "MissingExtraError",
    "NestingError",
    "RelocationError",
    "RewriteError",
    "RewriteWarning",
    "StackError",
    "TableFormatError",
    "TargetError",
    "TextError",
    "UnsupportedVersionError",
    "VerificationError",
    "XtabError",
]


class XtabError(Exception):
    """The base of all errors raised by xtab on purpose: catch it to catch them all."""

    def __reduce__(self) -> tuple[object, ...]:
        """Let errors cross process borders: subclasses take other arguments than ``args``."""
        return _rebuild, (type(self), self.args, self.__dict__)


def instruction_words(index: int, opname: str | None, line: int | None, offset: int | None) -> str:
    """An instruction in an error: its place in the body, and what else is known of it.

    >>> instruction_words(4, "POP_TOP", 12, None)
    'instruction 4 (POP_TOP, line 12)'
    """
    known = (opname, None if line is None else f"line {line}", None if offset is None else f"offset {offset}")
    more = ", ".join(each for each in known if each is not None)
    return f"instruction {index} ({more})" if more else f"instruction {index}"


def _rebuild(cls: type[XtabError], args: tuple[object, ...], state: dict[str, object]) -> XtabError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error


class TableFormatError(XtabError):
    """The bytes of a table can't be read, or the entries given can't be written as one.

    You see it when ``co_exceptiontable`` or ``co_linetable`` was not made by CPython's compiler, was cut or edited,
    or when entries handed to an assembler contradict each other. Look at byte `offset` (or at entry `entry`); for an
    exception table, ``parse_exception_table(data, strict=False)`` reads as much as CPython itself would and lists
    every fault.
    """

    def __init__(
        self,
        fault: str,
        detail: str,
        *,
        table: str = "exception table",
        entry: int | None = None,
        offset: int | None = None,
    ) -> None:
        self.fault = fault  #: which rule is broken, in a few stable words, such as ``"truncated"`` or ``"overlap"``
        self.detail = detail  #: "expected X, but found Y", in words
        self.table = table  #: which table: ``"exception table"`` or ``"location table"``
        self.entry = entry  #: number of the entry, from 0, or None when the fault belongs to no entry
        self.offset = offset  #: offset in the table, in bytes, or None when entries and not bytes were given
        where = "".join(
            f", {name} {value}" for name, value in (("entry", entry), ("byte", offset)) if value is not None
        )
        super().__init__(f"{table}{where}: {fault}: {detail}")


class MissingExtraError(XtabError, ImportError):
    """A package is not installed that only some of xtab needs.

    You see it from what makes pages and from other parts that go with the command line. Install the extra that the
    message names.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package = package  #: what was not found
        self.extra = extra  #: the extra of xtab that brings it
        self.purpose = purpose  #: what it is needed for
        super().__init__(
            f"expected {package} to be installed, since {purpose} need it, but found no such module: "
            f"pip install 'xtab-bytecode[{extra}]'"
        )


class NestingError(XtabError):
    """Two ranges overlap in part, so neither can lie inside the other.

    You see it from :func:`xtab.flatten`. Cut one of the two at the border of the other.
    """

    def __init__(self, first: Sequence[object], second: Sequence[object]) -> None:
        self.first = first  #: the range that begins first
        self.second = second  #: the range that begins inside the first and ends outside it
        super().__init__(
            f"expected ranges that are apart or lie one inside the other, but found [{first[0]},{first[1]}) and "
            f"[{second[0]},{second[1]}), which overlap in part: {first!r} and {second!r}. "
            "Cut one at the border of the other"
        )


class DecodeError(XtabError):
    """The instructions of a code object can't be told apart.

    You see it for code that no compiler made: an opcode this version doesn't have, a jump into the middle of an
    instruction, cache units that hold something else.
    """

    def __init__(self, message: str, *, offset: int | None = None) -> None:
        self.offset = offset  #: offset in ``co_code``, in bytes
        super().__init__(message if offset is None else f"at offset {offset}: {message}")


class AssembleError(XtabError):
    """A body can't become a code object as it stands.

    You see it when an instruction stands twice, when a jump or a span leads to an instruction that is not in the
    body, or when an operand doesn't fit its opcode. `index` is the place in ``body.instructions``.
    """

    def __init__(self, message: str, *, instruction: object = None, index: int | None = None) -> None:
        self.instruction = instruction  #: the instruction at fault, or None; lost when the error is pickled
        self.index = index  #: its place in ``body.instructions``, or None
        super().__init__(message if index is None else f"instruction {index}: {message}")

    def __reduce__(self) -> tuple[object, ...]:
        """As for all errors, but without the instruction, which hangs on its whole body."""
        return _rebuild, (type(self), self.args, {**self.__dict__, "instruction": None})


class ConstantError(XtabError, ValueError):
    """There is a constant in code that a file can't hold.

    You see it when rewritten code is written to a file: from ``xtab rewrite``, or as a warning where a cache was asked
    for. A constant may be any object while the program runs; in a file it has to be something that has a literal. Load
    the object by its name: with ``emit.load_import``, which finds it in its module when the code runs.
    """

    def __init__(
        self, found: str, path: tuple[str, str] | None, *, qualname: str, filename: str, line: int | None
    ) -> None:
        self.found = found  #: the constant, in words
        self.path = path  #: the module that has it, and its name there; None if it isn't found so
        self.qualname = qualname  #: of the code that has the constant
        self.filename = filename  #: of that code
        self.line = line  #: the one that loads it, or None
        place = filename if line is None else f"{filename}:{line}"
        advice = "MODULE, NAME" if path is None else ", ".join(map(repr, path))
        super().__init__(
            f"{qualname} ({place}): expected constants that can be kept in a file, but found {found}; load it when the "
            f"code runs, with emit.load_import({advice})"
        )


class EditError(XtabError):
    """An edit would part what must stay together, or can't be made where it was asked for.

    You see it from the editing methods of a :class:`~xtab.Body`: something was to go between a branch and its
    NOT_TAKEN, or in front of the first RESUME; half of such a pair was to be removed; or a span would overlap another
    in part. Put new instructions before `next_place` instead.
    """

    def __init__(self, message: str, *, instruction: object = None, next_place: object = None) -> None:
        self.instruction = instruction  #: the instruction at fault, or None; lost when the error is pickled
        self.next_place = next_place  #: the next instruction before which something may be put, or None; lost likewise
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        """As for all errors, but without instructions, which hang on their whole body."""
        return _rebuild, (type(self), self.args, {**self.__dict__, "instruction": None, "next_place": None})


class RewriteError(XtabError):
    """The code that a transform gave can't take the place of what it was given.

    You see it from :func:`xtab.rewrite` and its kin, before anything runs: the new code has other arguments than the
    callers and the defaults of the function are made for, or reads a free variable that the function's closure lacks.
    """

    def __init__(self, expected: str, found: str, *, qualname: str, filename: str, line: int) -> None:
        self.expected = expected  #: in words
        self.found = found  #: in words
        self.qualname = qualname  #: of the code that was to be replaced
        self.filename = filename  #: of that code
        self.line = line  #: its first
        super().__init__(f"{qualname} ({filename}:{line}): expected {expected}, but found {found}")


class RelocationError(RewriteError):
    """A line or a column of the code would go where there is none.

    You see it from :func:`xtab.relocate`: its `lines`, `columns`, `firstlineno` or `positions` lead to a line below 1,
    to a column below 0, to an end before the start, or beyond what a location table can hold.
    """


class RewriteWarning(UserWarning):
    """A module was loaded as it is since it could not be rewritten, or rewritten code could not be kept for next time.

    You see it from :func:`xtab.rewrite_imports` with ``on_error="warn"``. The message names the module and the
    transform; with ``on_error="raise"`` you get the error itself.
    """


class StackError(XtabError):
    """The stack depth is not the same on all ways to an instruction, or falls below zero.

    You see it when an edit left a value too many or too few on the stack. `index` is the place where it shows; the
    cause lies on one of the ways there, which the message names.
    """

    def __init__(
        self,
        message: str,
        *,
        index: int,
        offset: int | None = None,
        opname: str | None = None,
        line: int | None = None,
    ) -> None:
        self.index = index  #: place in ``body.instructions``
        self.offset = offset  #: offset in ``co_code``, in bytes, where there is one
        self.opname = opname  #: of the instruction there, or None: not known
        self.line = line  #: of the source, or None: it has none
        super().__init__(f"{instruction_words(index, opname, line, offset)}: {message}")


class UnsupportedVersionError(XtabError):
    """This Python, or the Python that wrote a file, is not one that xtab knows."""

    def __init__(self, found: str, supported: Sequence[str]) -> None:
        self.found = found  #: the version found, in words
        self.supported = tuple(supported)  #: the versions that xtab knows, such as ``"3.13"``
        super().__init__(f"expected CPython {' or '.join(supported)}, but found {found}")


class TargetError(XtabError):
    """A target given on the command line can't be found or read: the message says what to try instead."""


class TextError(XtabError):
    """A text can't be read as a body.

    You see it from :meth:`xtab.Body.from_text`. Look at `line` and `column` of the text: the message says what is
    expected there and what was found, and for an opcode that this Python doesn't have, which names are close to it.
    """

    def __init__(self, message: str, *, line: int | None = None, column: int | None = None) -> None:
        self.line = line  #: number of the line, from 1, or None
        self.column = column  #: of the first character at fault, from 1, or None: the whole line is
        where = ", ".join(f"{name} {at}" for name, at in (("line", line), ("column", column)) if at is not None)
        super().__init__(f"{where}: {message}" if where else message)


class VerificationError(XtabError):
    """A code object could crash the interpreter, or corrupt what it works on.

    You see it from :func:`xtab.require_valid`, and from whatever is asked to verify. `problems` has all that was found;
    ``xtab explain XT###`` says of each what it is, why it crashes, and how it is mended.
    """

    def __init__(self, problems: Sequence[object]) -> None:
        self.problems = tuple(problems)  #: the `Problem`\ s, all of them errors
        shown = [f"  {problem}" for problem in self.problems[:3]]
        left = len(self.problems) - len(shown)
        count = len(self.problems)
        lines = [f"expected code that is safe to run, but found {count} problem{'s' if count != 1 else ''}:", *shown]
        if left:
            lines.append(f"  and {left} more")
        super().__init__("\n".join(lines))
