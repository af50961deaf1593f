"""Every rule of the verifier: its code, its name, how grave it is, and what it says in one line.

Codes are never used again for another rule. The long story of each is a page in ``xtab/rules``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["ERROR", "GROUPS", "RULES", "WARNING", "Rule"]

ERROR: Final = "error"
WARNING: Final = "warning"


class Rule(NamedTuple):
    """One rule."""

    code: str  #: such as ``"XT402"``; stable
    name: str  #: such as ``"merge-conflict"``; stable too
    severity: str  #: ``"error"``: can crash or corrupt; ``"warning"``: legal, but not what a compiler writes
    summary: str  #: what must hold

    @property
    def group(self) -> str:
        """The group it belongs to, such as ``"4xx"``."""
        return f"{self.code[2]}xx"


GROUPS: Final = {
    "1xx": "bytes: the tables can be read",
    "2xx": "ranges: what the exception table covers",
    "3xx": "handlers: where exceptions go",
    "4xx": "stack: how deep it is",
    "5xx": "instructions: opcodes, operands, jumps, the prologue, the counts",
    "6xx": "values: what the interpreter takes on trust",
}

_RULES = (
    ("XT101", "exception-table-unreadable", ERROR, "the exception table can be read"),
    ("XT102", "exception-table-not-canonical", WARNING, "the exception table is written as a compiler writes it"),
    ("XT103", "location-table-unreadable", ERROR, "the location table can be read"),
    ("XT104", "location-table-not-canonical", WARNING, "the location table is written as a compiler writes it"),
    ("XT105", "location-table-too-short", WARNING, "the location table covers all of the code"),
    ("XT106", "location-table-too-long", ERROR, "the location table covers no more than the code"),
    ("XT201", "range-out-of-order", ERROR, "ranges are sorted by where they begin"),
    ("XT202", "ranges-overlap", ERROR, "ranges don't overlap"),
    ("XT203", "range-empty", WARNING, "a range covers something"),
    ("XT204", "range-outside-code", ERROR, "a range lies inside the code"),
    ("XT205", "range-cuts-instruction", ERROR, "a range begins and ends between instructions"),
    ("XT301", "handler-outside-code", ERROR, "a handler lies inside the code"),
    ("XT302", "handler-inside-instruction", ERROR, "a handler begins at an instruction"),
    ("XT303", "handler-depths-differ", ERROR, "all entries of a handler have the same depth and lasti"),
    ("XT304", "handler-too-deep", ERROR, "what raises leaves as many values on the stack as its handler keeps"),
    ("XT305", "reraise-without-lasti", ERROR, "RERAISE finds a lasti where its operand says"),
    ("XT306", "handler-catches-itself", ERROR, "handlers don't lead back to themselves"),
    ("XT307", "lasti-misused", ERROR, "a lasti that the interpreter pushed is only popped, or read by RERAISE"),
    ("XT308", "call-in-other-span", ERROR, "the unit before an instruction that can run Python code has its handler"),
    ("XT401", "stack-underflow", ERROR, "an instruction finds as many values as it takes"),
    ("XT402", "merge-conflict", ERROR, "wherever paths meet, the stack is equally deep"),
    ("XT403", "stack-size-too-small", ERROR, "co_stacksize is as large as the stack gets"),
    ("XT404", "values-left-at-return", ERROR, "nothing is left on the stack under the value that is returned"),
    ("XT405", "falls-off-end", ERROR, "control never runs past the last instruction"),
    ("XT406", "stack-size-out-of-range", ERROR, "co_stacksize is a size that a frame can have"),
    ("XT407", "too-tangled", ERROR, "the paths through the code can be followed in reasonable time"),
    ("XT501", "bad-code-size", ERROR, "the code is a whole number of units, and not empty"),
    ("XT502", "unknown-opcode", ERROR, "the opcode is one that compiled code of this version may hold"),
    ("XT503", "operand-out-of-range", ERROR, "the operand is one that this opcode knows"),
    ("XT504", "jump-outside-code", ERROR, "a jump stays inside the code"),
    ("XT505", "jump-inside-instruction", ERROR, "a jump leads to the beginning of an instruction"),
    ("XT506", "jump-into-prologue", ERROR, "nothing leads to what comes before the first RESUME"),
    ("XT507", "truncated-instruction", ERROR, "an instruction has its opcode and its caches"),
    ("XT508", "cache-not-zero", ERROR, "caches are zero"),
    ("XT509", "useless-extended-arg", ERROR, "an EXTENDED_ARG adds something"),
    ("XT510", "parted-pair", ERROR, "instructions that belong together stand together"),
    ("XT511", "bad-prologue", ERROR, "the code begins with what its variables and flags ask for"),
    ("XT512", "flags-mismatch", ERROR, "co_flags and the code say the same"),
    ("XT513", "counts-mismatch", ERROR, "counts, names and variables of the code object fit together"),
    ("XT514", "wrong-resume-depth", ERROR, "RESUME and YIELD_VALUE say rightly whether something is around them"),
    ("XT601", "null-used", ERROR, "no NULL stands where an object is needed"),
    ("XT602", "wrong-kind", ERROR, "a value is of the kind that its instruction trusts it to be"),
    ("XT603", "not-a-bool", ERROR, "a conditional jump finds True or False"),
    ("XT604", "unbound-local", ERROR, "a local is bound where it is read without a check"),
    ("XT605", "not-a-cell", ERROR, "a variable holds a cell where its instruction looks into one"),
    ("XT606", "not-an-exception", ERROR, "an exception stands where one is handled or raised again"),
    ("XT607", "not-the-previous-exception", ERROR, "POP_EXCEPT finds what PUSH_EXC_INFO saved"),
    ("XT608", "exit-function-misplaced", ERROR, "WITH_EXCEPT_START finds the function to call where it looks for it"),
    ("XT609", "not-an-iterator", ERROR, "an iterator stands where one is asked for its next value"),
    (
        "XT610",
        "bad-keyword-names",
        ERROR,
        "names of keyword arguments are a tuple of strings, no longer than the arguments",
    ),
    ("XT611", "closure-mismatch", ERROR, "a function gets as many cells as its code has free variables"),
    ("XT612", "borrowed-too-long", ERROR, "a borrowed reference is not used after its local was stored again"),
    ("XT613", "yield-outside-generator", ERROR, "only generators and coroutines yield"),
    ("XT614", "exception-state-leaks", ERROR, "every PUSH_EXC_INFO has its POP_EXCEPT, on every way out"),
)

RULES: Final = {rule[0]: Rule(*rule) for rule in _RULES}
"""Code -> rule, in order."""
