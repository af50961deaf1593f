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

TYPE_CHECKING = False  # as in `typing`, without loading it: type checkers know the name
if TYPE_CHECKING:
    from xtab.analysis.block_stack import Block, BlockStack, block_stack
    from xtab.analysis.control_flow import BasicBlock, ControlFlow, Edge, EdgeKind, control_flow
    from xtab.analysis.region_kinds import Kind
    from xtab.analysis.regions import Region, regions
    from xtab.analysis.typed_frame import Binding, Slot, TypedFrame, Variable, typed_frame
    from xtab.analysis.unwind import Step, Unwinding, unwind
    from xtab.analysis.verify import CodeParts, Problem, require_valid, verify, verify_parts
    from xtab.errors import (
        AssembleError,
        ConstantError,
        DecodeError,
        EditError,
        MissingExtraError,
        NestingError,
        RelocationError,
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
    from xtab.report.ipython import Shell
    from xtab.report.listing import Listing, show
    from xtab.runtime.excepthooks import install_excepthook
    from xtab.runtime.generated_files import GeneratedFiles
    from xtab.runtime.import_hook import rewrite_imports
    from xtab.runtime.sources import register_source
    from xtab.runtime.tracebacks import filter_traceback, frames_outside, splice_context
    from xtab.transform.origins import Origin, origin_of
    from xtab.transform.relocate import relocate
    from xtab.transform.rewrite import rewrite, rewrite_code, swap_code
    from xtab.transform.source_map import source_map


__version__ = "0.1.0"

__all__ = [
    "AssembleError",
    "BasicBlock",
    "Binding",
    "Block",
    "BlockStack",
    "Body",
    "Cell",
    "CodeParts",
    "ConstantError",
    "ControlFlow",
    "DecodeError",
    "Edge",
    "EdgeKind",
    "EditError",
    "ExceptionTableEntry",
    "Free",
    "GeneratedFiles",
    "Instruction",
    "Kind",
    "Layout",
    "Listing",
    "Location",
    "MissingExtraError",
    "NestingError",
    "Origin",
    "Problem",
    "Region",
    "RelocationError",
    "RewriteError",
    "RewriteWarning",
    "Slot",
    "Span",
    "StackError",
    "Step",
    "TableFormatError",
    "TargetError",
    "TextError",
    "TypedFrame",
    "UnsupportedVersionError",
    "Unwinding",
    "Variable",
    "VerificationError",
    "XtabError",
    "assemble",
    "assemble_exception_table",
    "block_stack",
    "control_flow",
    "decode",
    "filter_traceback",
    "find_handler",
    "flatten",
    "frames_outside",
    "install_excepthook",
    "nest",
    "origin_of",
    "parse_exception_table",
    "regions",
    "register_source",
    "relocate",
    "require_valid",
    "rewrite",
    "rewrite_code",
    "rewrite_imports",
    "show",
    "source_map",
    "splice_context",
    "stack_depths",
    "stack_size",
    "swap_code",
    "typed_frame",
    "unwind",
    "verify",
    "verify_parts",
]

_HOMES = {
    "xtab.analysis.block_stack": "Block BlockStack block_stack",
    "xtab.analysis.control_flow": "BasicBlock ControlFlow Edge EdgeKind control_flow",
    "xtab.analysis.region_kinds": "Kind",
    "xtab.analysis.regions": "Region regions",
    "xtab.analysis.typed_frame": "Binding Slot TypedFrame Variable typed_frame",
    "xtab.analysis.unwind": "Step Unwinding unwind",
    "xtab.analysis.verify": "CodeParts Problem require_valid verify verify_parts",
    "xtab.errors": (
        "AssembleError ConstantError DecodeError EditError MissingExtraError NestingError RelocationError RewriteError "
        "RewriteWarning StackError TableFormatError TargetError TextError UnsupportedVersionError VerificationError "
        "XtabError"
    ),
    "xtab.format.exception_table": "ExceptionTableEntry assemble_exception_table find_handler parse_exception_table",
    "xtab.format.locations": "Location",
    "xtab.model.assemble": "assemble",
    "xtab.model.body": "Body",
    "xtab.model.decode": "decode",
    "xtab.model.instruction": "Instruction Span",
    "xtab.model.nesting": "flatten nest",
    "xtab.model.offsets": "Layout",
    "xtab.model.stack": "stack_depths stack_size",
    "xtab.model.tables": "Cell Free",
    "xtab.report.listing": "Listing show",
    "xtab.runtime.excepthooks": "install_excepthook",
    "xtab.runtime.generated_files": "GeneratedFiles",
    "xtab.runtime.import_hook": "rewrite_imports",
    "xtab.runtime.sources": "register_source",
    "xtab.runtime.tracebacks": "filter_traceback frames_outside splice_context",
    "xtab.transform.origins": "Origin origin_of",
    "xtab.transform.relocate": "relocate",
    "xtab.transform.rewrite": "rewrite rewrite_code swap_code",
    "xtab.transform.source_map": "source_map",
}
"""Where the names are. A module is loaded when one of its names is first asked for, so `import xtab` is quick."""

_ROOMS = ("analysis", "errors", "format", "model", "report", "runtime", "transform")


def load_ipython_extension(shell: Shell) -> None:
    """``%load_ext xtab``: see `xtab.report.ipython`."""
    from xtab.report.ipython import load_ipython_extension as load  # noqa: PLC0415 (only IPython calls this)

    load(shell)


def __getattr__(name: str) -> object:
    """Load what was asked for, and keep it: this is called once a name."""
    from importlib import import_module  # noqa: PLC0415 (`import xtab` loads nothing)

    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    for home, names in _HOMES.items():
        if name in names.split():
            value = globals()[name] = getattr(import_module(home), name)
            return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
