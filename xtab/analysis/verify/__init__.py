"""The verifier: code that it accepts can't crash the interpreter.

CPython trusts its bytecode. What it takes on trust is checked here, on plain values (`CodeParts`), in this order
(`checks`); what is wrong with one step is told, and the next is only taken where it can be relied on:

1. The code object itself: types, counts and names fit together (`counts`: XT513, XT406).
2. **1xx, bytes.** The exception table can be read (`tables`); likewise the location table. Legal but not canonical ones
   are warnings.
3. **5xx, instructions.** Opcodes of this version, whole instructions, zero caches, prefixes that add something
   (`columns`); operands in range, jumps that lead to instructions, pairs that stand together (`instructions`); a
   prologue that fits the variables and the flags (`prologue`).
4. **2xx, ranges.** In order, apart, inside the code, between instructions (`tables`, `ranges`).
5. **3xx, handlers.** At instructions, one depth each, no circles (`handlers`).
6. **4xx, stack.** All paths are followed (`stack`): no underflow, one depth wherever paths meet, a sufficient
   co_stacksize, an empty stack at returns, no way off the end; enough values wherever a handler keeps some (XT304).
7. **6xx, values.** On these paths, what each instruction trusts (`steps`, and the signatures in `format.opcodes`):
   NULL or object, cells, exceptions, iterators, exact bools, bound locals, borrowed references, and what else `kinds`
   lists.

What is not checked: "What it does not check" in ``docs/verifier.md``.

Follows Python/bytecodes.c, Python/ceval.c and Objects/codeobject.c of each version, and what their debug builds assert.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xtab.analysis.verify.catalogue import ERROR, GROUPS, RULES, WARNING, Rule
from xtab.analysis.verify.parts import CodeParts
from xtab.analysis.verify.problem import Problem
from xtab.errors import VerificationError
from xtab.format.code import code_objects, code_of

if TYPE_CHECKING:
    from xtab.format.code import HasCode

__all__ = [
    "ERROR", "GROUPS", "RULES", "WARNING", "CodeParts", "Problem", "Rule", "require_valid", "verify", "verify_parts",
]  # fmt: skip


def verify(code: HasCode, *, nested: bool = False) -> tuple[Problem, ...]:
    """All problems of a code object, by offset; none if it is safe to run.

    Args:
        code: a code object or anything that has one, whose ``co_code`` is safe to read: made by the compiler or by
            :func:`assemble`. For code of unknown origin see :func:`verify_parts`.
        nested: whether to look into the code objects among its constants too, and theirs.

    Raises:
        TypeError: `code` has no code. What is wrong with the code itself is a problem, and no error.

    >>> import xtab
    >>> xtab.verify(lambda: 0)
    ()
    >>> broken = (lambda x: (x, x)).__code__.replace(co_stacksize=1)
    >>> [problem.name for problem in xtab.verify(broken)]
    ['stack-size-too-small']
    """
    root = code_of(code)
    codes = code_objects(root) if nested else [root]
    return tuple(problem for each in codes for problem in verify_parts(CodeParts.of(each)))


def require_valid(code: HasCode, *, nested: bool = False) -> None:
    """Raise if a code object has problems that are errors; warnings pass.

    Args:
        code: as for :func:`verify`.
        nested: as for :func:`verify`.

    Raises:
        VerificationError: it has. Its `problems` are all of them.

    >>> import xtab
    >>> xtab.require_valid(lambda: 0)
    """
    problems = [problem for problem in verify(code, nested=nested) if problem.is_error]
    if problems:
        raise VerificationError(problems)


def verify_parts(parts: CodeParts) -> tuple[Problem, ...]:
    """All problems of a code object given as plain values; it needn't exist. Never raises, whatever the values are.

    Args:
        parts: the values of the code object's attributes, of any origin.

    >>> parts = CodeParts.of(lambda: 0)
    >>> [problem.name for problem in verify_parts(parts._replace(code=parts.code[:-2]))]
    ['location-table-too-long', 'falls-off-end']
    """
    from xtab.analysis.verify.checks import find_problems  # noqa: PLC0415  # only who verifies pays for it

    return find_problems(parts)
