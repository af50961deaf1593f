"""The text form of a body: one that a person can read, and write by hand for a test.

>>> import xtab
>>> body = from_text('''
... function get(d, k)
...     RESUME 0
...     try to L1
...         LOAD_FAST d
...         LOAD_FAST k
...         LOAD_CONST None
...         BUILD_TUPLE 3
...     end
...     RETURN_VALUE
... L1: RERAISE 0
... ''')
>>> [entry.depth for entry in xtab.parse_exception_table(xtab.assemble(body))]
[0]

The page "Bodies as text" of the documentation tells the whole language. It is written in `text_writer` and read in
`text_reader`; what both must agree on is in `text_tokens` (names, constants), `text_operands` (operands, flags,
locations) and `text_header`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xtab.model.text_reader import read
from xtab.model.text_writer import write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xtab.model.body import Body

__all__ = ["from_text", "objects_in", "to_text"]


def to_text(body: Body) -> str:
    r"""A body as text, with the code objects inside it.

    It shows what assembly would write, and assembling what :func:`from_text` reads from it gives the same code object.
    The body stays as it is.

    Args:
        body: any body that can be laid out; the depth of its stack may be wrong.

    Raises:
        AssembleError: as for :func:`xtab.assemble`.
        XtabError: spans go round in a circle.

    >>> import xtab
    >>> print(to_text(from_text("module\nNOP\nLOAD_CONST 1\nRETURN_VALUE  # a comment")))
    module
            NOP
            LOAD_CONST 1
            RETURN_VALUE
    <BLANKLINE>
    """
    return write(body)[0]


def objects_in(body: Body) -> dict[str, Any]:
    """The constants of a body that have no literal, by the names that :func:`to_text` gives them.

    >>> import xtab
    >>> body = xtab.decode(lambda: 0)
    >>> body.instructions.insert(1, xtab.Instruction("LOAD_CONST", print))
    >>> body.instructions.insert(2, xtab.Instruction("POP_TOP"))
    >>> objects_in(body)
    {'builtin_function_or_method': <built-in function print>}
    >>> from_text(to_text(body), objects=objects_in(body)).instructions[1]
    Instruction('LOAD_CONST', <built-in function print>)
    """
    return write(body)[1]


def from_text(text: str, *, objects: Mapping[str, Any] | None = None) -> Body:
    r"""The body that a text describes: that of its first code object, which holds the others.

    Nothing is mended: what the text says is what is assembled, with the directions and sizes of jumps found as always.

    Args:
        text: as :func:`to_text` writes it, or shorter: what is left out has a default.
        objects: what ``<object NAME>`` means, by name.

    Raises:
        TextError: the text can't be read. It says where, what was expected there and what was found.

    >>> import xtab
    >>> from_text("function one()\n RESUME 0\n LOAD_CONST 1\n RETURN_VALUE")
    <Body of one, 3 instructions>
    """
    if not isinstance(text, str):
        raise TypeError(f"expected text, but found {text!r:.80} of type {type(text).__qualname__}")
    return read(text, {} if objects is None else objects)
