"""`load_parts`: the code objects of a target as plain parts.

Of a source they are those of compiled code. What is in a .pyc may be anything, so it is read without making a code
object of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify import CodeParts
from xtab.cli.stored import stored_code
from xtab.cli.targets import load
from xtab.format.code import code_objects

if TYPE_CHECKING:
    from xtab.cli.targets import SourceFile

__all__ = ["load_parts"]


def load_parts(source: SourceFile) -> list[CodeParts]:
    """The parts of the code objects of a source, or of those that were asked for by name, and of all in them.

    Raises:
        TargetError: it can't be read or compiled, or has no code object of that name.
    """
    if not source.name.endswith(".pyc"):
        return [CodeParts.of(code) for root in load(source) for code in code_objects(root)]
    return [CodeParts.of_stored(code) for code in stored_code(source, foreign=False)]
