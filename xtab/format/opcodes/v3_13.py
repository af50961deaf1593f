"""CPython 3.13: what differs from the shared facts. Checked against 3.13.0 and 3.13.18, magic 3571, on 2026-11-30."""

from __future__ import annotations

from xtab.format.opcodes import shared, signatures

VERSION = (3, 13)
MAGIC = 3571
FIRST_WITH_OPERAND = 45
"""Opcodes from this number on have an operand."""

OPCODES = {
    "CACHE": 0, "BEFORE_ASYNC_WITH": 1, "BEFORE_WITH": 2, "BINARY_SLICE": 4, "BINARY_SUBSCR": 5, "CHECK_EG_MATCH": 6,
    "CHECK_EXC_MATCH": 7, "CLEANUP_THROW": 8, "DELETE_SUBSCR": 9, "END_ASYNC_FOR": 10, "END_FOR": 11, "END_SEND": 12,
    "EXIT_INIT_CHECK": 13, "FORMAT_SIMPLE": 14, "FORMAT_WITH_SPEC": 15, "GET_AITER": 16, "RESERVED": 17,
    "GET_ANEXT": 18, "GET_ITER": 19, "GET_LEN": 20, "GET_YIELD_FROM_ITER": 21, "INTERPRETER_EXIT": 22,
    "LOAD_ASSERTION_ERROR": 23, "LOAD_BUILD_CLASS": 24, "LOAD_LOCALS": 25, "MAKE_FUNCTION": 26, "MATCH_KEYS": 27,
    "MATCH_MAPPING": 28, "MATCH_SEQUENCE": 29, "NOP": 30, "POP_EXCEPT": 31, "POP_TOP": 32, "PUSH_EXC_INFO": 33,
    "PUSH_NULL": 34, "RETURN_GENERATOR": 35, "RETURN_VALUE": 36, "SETUP_ANNOTATIONS": 37, "STORE_SLICE": 38,
    "STORE_SUBSCR": 39, "TO_BOOL": 40, "UNARY_INVERT": 41, "UNARY_NEGATIVE": 42, "UNARY_NOT": 43,
    "WITH_EXCEPT_START": 44, "BINARY_OP": 45, "BUILD_CONST_KEY_MAP": 46, "BUILD_LIST": 47, "BUILD_MAP": 48,
    "BUILD_SET": 49, "BUILD_SLICE": 50, "BUILD_STRING": 51, "BUILD_TUPLE": 52, "CALL": 53, "CALL_FUNCTION_EX": 54,
    "CALL_INTRINSIC_1": 55, "CALL_INTRINSIC_2": 56, "CALL_KW": 57, "COMPARE_OP": 58, "CONTAINS_OP": 59,
    "CONVERT_VALUE": 60, "COPY": 61, "COPY_FREE_VARS": 62, "DELETE_ATTR": 63, "DELETE_DEREF": 64, "DELETE_FAST": 65,
    "DELETE_GLOBAL": 66, "DELETE_NAME": 67, "DICT_MERGE": 68, "DICT_UPDATE": 69, "ENTER_EXECUTOR": 70,
    "EXTENDED_ARG": 71, "FOR_ITER": 72, "GET_AWAITABLE": 73, "IMPORT_FROM": 74, "IMPORT_NAME": 75, "IS_OP": 76,
    "JUMP_BACKWARD": 77, "JUMP_BACKWARD_NO_INTERRUPT": 78, "JUMP_FORWARD": 79, "LIST_APPEND": 80, "LIST_EXTEND": 81,
    "LOAD_ATTR": 82, "LOAD_CONST": 83, "LOAD_DEREF": 84, "LOAD_FAST": 85, "LOAD_FAST_AND_CLEAR": 86,
    "LOAD_FAST_CHECK": 87, "LOAD_FAST_LOAD_FAST": 88, "LOAD_FROM_DICT_OR_DEREF": 89, "LOAD_FROM_DICT_OR_GLOBALS": 90,
    "LOAD_GLOBAL": 91, "LOAD_NAME": 92, "LOAD_SUPER_ATTR": 93, "MAKE_CELL": 94, "MAP_ADD": 95, "MATCH_CLASS": 96,
    "POP_JUMP_IF_FALSE": 97, "POP_JUMP_IF_NONE": 98, "POP_JUMP_IF_NOT_NONE": 99, "POP_JUMP_IF_TRUE": 100,
    "RAISE_VARARGS": 101, "RERAISE": 102, "RETURN_CONST": 103, "SEND": 104, "SET_ADD": 105,
    "SET_FUNCTION_ATTRIBUTE": 106, "SET_UPDATE": 107, "STORE_ATTR": 108, "STORE_DEREF": 109, "STORE_FAST": 110,
    "STORE_FAST_LOAD_FAST": 111, "STORE_FAST_STORE_FAST": 112, "STORE_GLOBAL": 113, "STORE_NAME": 114, "SWAP": 115,
    "UNPACK_EX": 116, "UNPACK_SEQUENCE": 117, "YIELD_VALUE": 118, "RESUME": 149,
}  # fmt: skip

CACHES = {
    "BINARY_OP": 1, "BINARY_SUBSCR": 1, "CALL": 3, "COMPARE_OP": 1, "CONTAINS_OP": 1, "FOR_ITER": 1, "JUMP_BACKWARD": 1,
    "LOAD_ATTR": 9, "LOAD_GLOBAL": 4, "LOAD_SUPER_ATTR": 1, "POP_JUMP_IF_FALSE": 1, "POP_JUMP_IF_NONE": 1,
    "POP_JUMP_IF_NOT_NONE": 1, "POP_JUMP_IF_TRUE": 1, "SEND": 1, "STORE_ATTR": 4, "STORE_SUBSCR": 1, "TO_BOOL": 3,
    "UNPACK_SEQUENCE": 1,
}  # fmt: skip
"""Code units of inline cache behind the instruction."""

FLAG_BITS = {"LOAD_GLOBAL": 1, "LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2, "COMPARE_OP": 5}
"""Low bits of the operand that say something else than which name."""

OPERANDS = {
    "COMPARE_OP": shared.COMPARISONS,
    "BINARY_OP": shared.BINARY_OPS,
    "CALL_INTRINSIC_1": shared.INTRINSICS_1,
    "CALL_INTRINSIC_2": shared.INTRINSICS_2,
}
"""What the numbers stand for."""

MARKS: frozenset[str] = frozenset()
"""Operands that are a distance back to an instruction that control does not go to."""

ADJACENT = {**shared.ADJACENT, "END_FOR": frozenset({"POP_TOP"})}

EFFECTS: dict[str, shared.Effect] = {
    **shared.EFFECTS,
    "CALL_FUNCTION_EX": lambda arg: -2 - (arg & 1),
    "BUILD_SLICE": lambda arg: -2 if arg == 3 else -1,
}
PUSHES = shared.PUSHES
JUMP_EFFECTS: dict[str, int] = {}

STACK_EFFECT_DIFFERS: dict[str, str] = {}
LEAST_STACK_SIZE = 1
MERGES_LOCATIONS = True
"""Whether neighbours with the same location share an entry of the location table."""
CELLS_AS_LOCALS = True
"""Whether LOAD_FAST and its kin may name a cell, to pass the cell itself on."""
LOOKS_UP_UNIT_BEFORE = True
"""Whether an exception out of a Python callee is looked up in the unit before the instruction that called."""
RESUME_ONE_SPAN = 4
"""Bit of RESUME's operand: only the generator's own StopIteration handler is around it, so close() may skip all of them."""
YIELD_COUNTS_SPANS = False
"""Whether the operand of YIELD_VALUE is how many spans are around it."""
KEEP_AS_TARGET: frozenset[str] = frozenset()
"""The jump that leads back to these must go on doing so: throw() finds the opcode at its end."""
NULL_FIRST = False
"""Whether the NULL that stands for "no self" in a call goes before the callable; else it goes behind."""
EAGER_IMPORT = 0
"""Flags of an IMPORT_NAME that imports right there, wherever it stands."""
HANDS_ON = shared.HANDS_ON
"""Opcodes after which a value that they took may be on the stack still."""
SIGNATURES = {
    **signatures.SIGNATURES,
    "CALL_FUNCTION_EX": "object null object own? -- object",
    "WITH_EXCEPT_START": "object lasti prev exc -- =0 =1 =2 =3 object",
}
LIMITS = {**signatures.LIMITS, "RESUME": (0, 7), "YIELD_VALUE": (0, 1)}
MUST_FOLLOW = {**signatures.MUST_FOLLOW, "END_FOR": "POP_TOP"}
LEADS_TO = signatures.LEADS_TO
ITERATOR_SLOTS = 1
"""How many values an iterator is on the stack."""
LASTI_IS_OBJECT = True
"""Whether the offset pushed with an exception is an int object, so that it may be used as one."""
LOCALS_ARE_CHECKED = False
"""Whether LOAD_FAST raises for an unbound local."""
COMPARISON_IS_BOOL = 16
"""Bit of COMPARE_OP's operand that makes the result True or False; 0: there is none."""
RESUME_AT_START = (0,)
"""Operands of a RESUME that is not behind a YIELD_VALUE."""
YIELD_TELLS_DELEGATION = True
"""Whether the operand of YIELD_VALUE says that the value comes from another generator."""
