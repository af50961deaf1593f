"""The header of a body's text: the line with kind, name and arguments, and the lines with all that is not the default.

::

    function find(self, key, /, *rest, default) as find.2
        qualname Tree.find
        file 'tree.py'
        line 12
        flags NESTED
        stack 4
        consts 'Find a key.', None
        names os.path, key
        locals found
        cells key
        free owner

Read and written here, so that both agree on the defaults: see `Header`.
"""

from __future__ import annotations
import __future__

import difflib
import dis
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from xtab.model.text_tokens import LIMIT, name_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from xtab.model.text_tokens import Scanner

__all__ = ["DIRECTIVES", "KIND", "Header", "header_lines", "read_directive", "read_first_line"]

FLAGS: Final = {
    **{f"FUTURE_{name.upper()}": getattr(__future__, name).compiler_flag for name in __future__.all_feature_names},
    **{name: flag for flag, name in dis.COMPILER_FLAG_NAMES.items()},
}
_NAME_OF_FLAG: Final = {flag: name for name, flag in FLAGS.items() if flag}
_FUNCTION: Final = FLAGS["OPTIMIZED"] | FLAGS["NEWLOCALS"]
_VARARGS, _VARKEYWORDS = FLAGS["VARARGS"], FLAGS["VARKEYWORDS"]
_KINDS: Final = {
    "async generator": _FUNCTION | FLAGS["ASYNC_GENERATOR"],
    "coroutine": _FUNCTION | FLAGS["COROUTINE"],
    "generator": _FUNCTION | FLAGS["GENERATOR"],
    "function": _FUNCTION,
    "class": 0,
    "module": 0,
}
KIND: Final = re.compile(rf"({'|'.join(_KINDS)})\b")
_LISTS: Final = ("consts", "names", "locals", "cells", "free")
DIRECTIVES: Final = frozenset(("qualname", "file", "line", "flags", "stack", *_LISTS))
_CONSTS: Final = [] if "HAS_DOCSTRING" in FLAGS else [None]
_OPEN, _CLOSE, _COMMA, _STAR = map(re.compile, (r"\(", r"\)", ",", r"\*\*?|/"))
_AS, _FLAG = re.compile(r"as\b"), re.compile(r"(-?)(?:(\w+))")
_MODULE: Final = "<module>"
_INDENT: Final = "    "
_WIDTH: Final = 110


@dataclass
class Header:
    """What a header says. The lists are those at the beginning: the instructions add what they use besides.

    Flags: those of the kind and of the arguments, unless more are named. The list of constants begins with None in
    functions of Pythons that take the first one for the docstring, if it is a string.
    """

    kind: str
    name: str
    label: str = ""  #: what other code objects of the same text call this one
    qualname: str | None = None  #: None: as the name
    filename: str | None = None  #: None: as the first code object of the text
    first_line: int = 1
    flags: int = 0
    stacksize: int | None = None  #: None: what the instructions need
    argcount: int = 0
    posonlyargcount: int = 0
    kwonlyargcount: int = 0
    arguments: list[str] = field(default_factory=list)  #: as co_varnames begins
    consts: list[Any] | None = None  #: None: the default
    names: list[str] = field(default_factory=list)
    locals: list[str] = field(default_factory=list)  #: behind the arguments
    cells: list[str] | None = None  #: None: those that MAKE_CELL names
    free: list[str] | None = None  #: None: what is used like a cell and is none
    lines: dict[str, int] = field(default_factory=dict)  #: directive -> where it stands

    def first_consts(self) -> list[Any]:
        """The constants that the list begins with."""
        if self.consts is not None:
            return self.consts
        return _CONSTS.copy() if self.flags & _FUNCTION == _FUNCTION else []


def kind_of(name: str, flags: int) -> str:
    """The kind that says most of a code object's flags."""
    if flags & _FUNCTION == _FUNCTION:
        return next(kind for kind, implied in _KINDS.items() if flags & implied == implied)
    return "module" if name == _MODULE else "class"


# writing


def header_lines(header: Header, consts: list[str] | None, filename: str | None) -> list[str]:
    """The lines of a header. `consts`: the texts of its constants; `filename`: the one that is the default."""
    signature, implied = _signature(header)
    implied |= _KINDS[header.kind]
    first = header.kind
    if (header.kind, header.name) != ("module", _MODULE):
        first += " " + name_text(header.name, label=True)
    if signature or header.kind not in ("class", "module"):
        first += f"({signature})"
    if header.label != header.name:
        first += f" as {header.label}"
    scalars = {
        "qualname": None if header.qualname is None else name_text(header.qualname, label=True),
        "file": None if header.filename == filename else repr(header.filename),
        "line": None if header.first_line == 1 else str(header.first_line),
        "flags": None if header.flags == implied else " ".join(_flag_words(header.flags, implied)),
        "stack": None if header.stacksize is None else str(header.stacksize),
    }
    lines = [first, *(f"{_INDENT}{word} {text}" for word, text in scalars.items() if text is not None)]
    for word in _LISTS:
        items: list[str] | None = getattr(header, word)
        if word == "consts":
            lines += _list_lines(word, consts)
        elif items or word == "cells":
            lines += _list_lines(word, None if items is None else list(map(name_text, items)))
    return lines


def _list_lines(word: str, items: list[str] | None) -> list[str]:
    """The lines for a list: several if it is long, none if it is the default."""
    if items is None:
        return []
    rows: list[list[str]] = [[]]
    width = 0
    for item in items:
        if rows[-1] and width + len(item) > _WIDTH:
            rows.append([])
            width = 0
        rows[-1].append(item)
        width += len(item) + 2
    return [f"{_INDENT}{word} {', '.join(row)}".rstrip() for row in rows]


def _signature(header: Header) -> tuple[str, int]:
    """The arguments as Python shows them, and the flags that they imply."""
    names = list(map(name_text, header.arguments))
    positional, after = header.argcount, header.argcount + header.kwonlyargcount
    parts = names[:positional]
    rest = names[after:]
    if header.posonlyargcount:
        parts.insert(header.posonlyargcount, "/")
    if header.flags & _VARARGS:
        parts.append("*" + rest.pop(0))
    elif header.kwonlyargcount:
        parts.append("*")
    parts += names[positional:after]
    if header.flags & _VARKEYWORDS:
        parts.append("**" + rest.pop(0))
    return ", ".join(parts), header.flags & (_VARARGS | _VARKEYWORDS)


def _flag_words(flags: int, implied: int) -> list[str]:
    """What is to be said of flags where others are implied: names or numbers, with ``-`` in front of missing ones."""
    words = []
    for place in range(32):
        bit = 1 << place
        if (flags ^ implied) & bit:
            words.append(("" if flags & bit else "-") + _NAME_OF_FLAG.get(bit, hex(bit)))
    return words


# reading


def read_first_line(scan: Scanner, kind: str) -> Header:
    """The header that begins on a line whose first word, the kind, was read."""
    named = kind != "module" or not (scan.at_end() or _OPEN.match(scan.text, scan.at) or _AS.match(scan.text, scan.at))
    name = scan.label(f"the name of the {kind}") if named else _MODULE
    header = Header(kind, name, name, flags=_KINDS[kind])
    if scan.take(_OPEN):
        _read_arguments(scan, header)
    elif kind not in ("class", "module"):
        scan.fail("'(' and the names of the arguments")
    if scan.take(_AS):
        header.label = scan.label("a name for this code object")
    scan.expect_end("'as NAME' or the end of the line")
    return header


def _read_arguments(scan: Scanner, header: Header) -> None:
    """What stands between the brackets."""
    plain: list[str] = []
    keyword_only: list[str] = []
    stars: dict[str, str] = {}
    while not scan.take(_CLOSE):
        if plain or stars or header.posonlyargcount:
            scan.expect(_COMMA, "',' or ')'")
            if scan.take(_CLOSE):
                break
        mark = scan.take(_STAR)
        sign = "" if mark is None else mark[0]
        if "**" in stars:
            scan.fail("')' behind the argument with '**'", f"'{sign or scan.text[scan.at : scan.at + 1]}'")
        if sign == "/":
            if not plain or stars or header.posonlyargcount:
                scan.fail("the names of arguments in front of '/'", "none")
            header.posonlyargcount = len(plain)
        elif sign:
            if sign in stars:
                scan.fail(f"one argument with '{sign}'", "another")
            stars[sign] = "" if sign == "*" and scan.text[scan.at :].lstrip()[:1] == "," else scan.name("a name")
        else:
            (keyword_only if stars else plain).append(scan.name("the name of an argument"))
    header.argcount, header.kwonlyargcount = len(plain), len(keyword_only)
    header.arguments = [*plain, *keyword_only, *filter(None, (stars.get("*"), stars.get("**")))]
    header.flags |= _VARARGS * bool(stars.get("*")) | _VARKEYWORDS * ("**" in stars)


def read_directive(scan: Scanner, word: str, header: Header, constant: Callable[[Scanner], Any]) -> None:
    """Read the rest of a line that begins with one of `DIRECTIVES`; `constant` reads a constant."""
    if word in header.lines and word not in _LISTS:
        scan.fail(f"one line with {word!r}", f"another; the first is line {header.lines[word]}", 0)
    header.lines[word] = scan.line
    if word == "qualname":
        header.qualname = scan.label("a qualified name")
    elif word == "file":
        header.filename = scan.string("the name of a file between quotes")
    elif word == "line":
        header.first_line = scan.number("the number of a line")
    elif word == "stack":
        header.stacksize = scan.number("a number of values")
    elif word == "flags":
        _read_flags(scan, header)
    else:
        items: list[Any] = getattr(header, word) or []
        while not scan.at_end():
            items.append(constant(scan) if word == "consts" else scan.name("a name"))
            if not scan.take(_COMMA):
                break
        setattr(header, word, items)
    scan.expect_end()


def _read_flags(scan: Scanner, header: Header) -> None:
    while not scan.at_end():
        sign, word = scan.expect(_FLAG, "the name of a flag").groups()
        flag = FLAGS.get(word)
        if flag is None:
            try:
                flag = int(word, 16) if word.startswith("0x") else LIMIT
            except ValueError:
                flag = LIMIT
        if flag >= LIMIT:
            close = difflib.get_close_matches(word.upper(), FLAGS, n=3) or list(_NAME_OF_FLAG.values())
            scan.fail(f"the name of a flag, such as {', '.join(close)}", repr(word), scan.at - len(word))
        header.flags = header.flags & ~flag if sign else header.flags | flag
