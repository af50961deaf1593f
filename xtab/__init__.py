"""xtab: CPython's exception tables, and the bytecode around them: decode a code object, edit it, assemble it again.

>>> import xtab
>>> def ask(d):
...     try:
...         return d["k"]
...     except KeyError:
...         return None
>>> body = xtab.decode(ask)
>>> ask.__code__ = xtab.assemble(body)
>>> ask({}) is None
True
"""

from __future__ import annotations

from xtab.analysis.region_kinds import Kind
from xtab.analysis.regions import Region, regions
from xtab.analysis.verify import CodeParts, Problem, require_valid, verify, verify_parts
from xtab.errors import (
    AssembleError,
    DecodeError,
    EditError,
    NestingError,
    RewriteError,
    RewriteWarning,
    StackError,
    TableFormatError,
    TargetError,
    TextError,
    UnsupportedVersionError,
    VerificationError,
    XtabError,
)
from xtab.format.exception_table import (
    ExceptionTableEntry,
    assemble_exception_table,
    find_handler,
    parse_exception_table,
)
from xtab.format.locations import Location
from xtab.model.assemble import assemble
from xtab.model.body import Body
from xtab.model.decode import decode
from xtab.model.instruction import Instruction, Span
from xtab.model.nesting import flatten, nest
from xtab.model.offsets import Layout
from xtab.model.stack import stack_depths, stack_size
from xtab.model.tables import Cell, Free
from xtab.report.listing import Listing, show
from xtab.runtime.import_hook import rewrite_imports
from xtab.transform.rewrite import rewrite, rewrite_code, swap_code

__version__ = "0.1.0"

__all__ = [
    "AssembleError",
    "Body",
    "Cell",
    "CodeParts",
    "DecodeError",
    "EditError",
    "ExceptionTableEntry",
    "Free",
    "Instruction",
    "Kind",
    "Layout",
    "Listing",
    "Location",
    "NestingError",
    "Problem",
    "Region",
    "RewriteError",
    "RewriteWarning",
    "Span",
    "StackError",
    "TableFormatError",
    "TargetError",
    "TextError",
    "UnsupportedVersionError",
    "VerificationError",
    "XtabError",
    "assemble",
    "assemble_exception_table",
    "decode",
    "find_handler",
    "flatten",
    "nest",
    "parse_exception_table",
    "regions",
    "require_valid",
    "rewrite",
    "rewrite_code",
    "rewrite_imports",
    "show",
    "stack_depths",
    "stack_size",
    "swap_code",
    "verify",
    "verify_parts",
]
