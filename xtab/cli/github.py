"""Problems as GitHub's workflow commands, which it shows as annotations of the lines of a change.

Follows https://docs.github.com/actions/reference/workflow-commands-for-github-actions and, for what must be escaped,
``packages/core/src/command.ts`` of actions/toolkit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.cli.places import source_path

if TYPE_CHECKING:
    from xtab.analysis.verify import Problem

__all__ = ["annotation"]

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})


def annotation(problem: Problem, file: str) -> str:
    """The command that annotates the line of a problem.

    Args:
        problem: what to tell.
        file: what was read; the problem may name the source that it was made from.

    >>> from xtab.analysis.verify import Problem
    >>> annotation(Problem("XT403", "100% wrong", qualname="f", filename="a.py", line=3), "a.py")
    '::error file=a.py,line=3,title=XT403 stack-size-too-small::f: 100%25 wrong'
    """
    line = "" if problem.line is None else f",line={problem.line}"
    title = f"{problem.code} {problem.name}".translate(_PROPERTY)
    path = source_path(problem.filename or file).translate(_PROPERTY)
    hint = f"\n{problem.hint}" if problem.hint else ""
    text = f"{problem.place}: {problem.message}{hint}".translate(_DATA)
    return f"::{problem.severity} file={path}{line},title={title}::{text}"
