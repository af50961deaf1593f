"""CPython 3.14: what differs from the shared facts. Checked against 3.14.10, magic 3627, on 2026-11-30."""

from __future__ import annotations

from xtab.format.opcodes import shared, signatures

VERSION = (3, 14)
MAGIC = 3627
FIRST_WITH_OPERAND = 44
"""Opcodes from this number on have an operand."""

OPCODES = {
    "CACHE": 0, "BINARY_SLICE": 1, "BUILD_TEMPLATE": 2, "CALL_FUNCTION_EX": 4, "CHECK_EG_MATCH": 5,
    "CHECK_EXC_MATCH": 6, "CLEANUP_THROW": 7, "DELETE_SUBSCR": 8, "END_FOR": 9, "END_SEND": 10, "EXIT_INIT_CHECK": 11,
    "FORMAT_SIMPLE": 12, "FORMAT_WITH_SPEC": 13, "GET_AITER": 14, "GET_ANEXT": 15, "GET_ITER": 16, "RESERVED": 17,
    "GET_LEN": 18, "GET_YIELD_FROM_ITER": 19, "INTERPRETER_EXIT": 20, "LOAD_BUILD_CLASS": 21, "LOAD_LOCALS": 22,
    "MAKE_FUNCTION": 23, "MATCH_KEYS": 24, "MATCH_MAPPING": 25, "MATCH_SEQUENCE": 26, "NOP": 27, "NOT_TAKEN": 28,
    "POP_EXCEPT": 29, "POP_ITER": 30, "POP_TOP": 31, "PUSH_EXC_INFO": 32, "PUSH_NULL": 33, "RETURN_GENERATOR": 34,
    "RETURN_VALUE": 35, "SETUP_ANNOTATIONS": 36, "STORE_SLICE": 37, "STORE_SUBSCR": 38, "TO_BOOL": 39,
    "UNARY_INVERT": 40, "UNARY_NEGATIVE": 41, "UNARY_NOT": 42, "WITH_EXCEPT_START": 43, "BINARY_OP": 44,
    "BUILD_INTERPOLATION": 45, "BUILD_LIST": 46, "BUILD_MAP": 47, "BUILD_SET": 48, "BUILD_SLICE": 49,
    "BUILD_STRING": 50, "BUILD_TUPLE": 51, "CALL": 52, "CALL_INTRINSIC_1": 53, "CALL_INTRINSIC_2": 54, "CALL_KW": 55,
    "COMPARE_OP": 56, "CONTAINS_OP": 57, "CONVERT_VALUE": 58, "COPY": 59, "COPY_FREE_VARS": 60, "DELETE_ATTR": 61,
    "DELETE_DEREF": 62, "DELETE_FAST": 63, "DELETE_GLOBAL": 64, "DELETE_NAME": 65, "DICT_MERGE": 66, "DICT_UPDATE": 67,
    "END_ASYNC_FOR": 68, "EXTENDED_ARG": 69, "FOR_ITER": 70, "GET_AWAITABLE": 71, "IMPORT_FROM": 72, "IMPORT_NAME": 73,
    "IS_OP": 74, "JUMP_BACKWARD": 75, "JUMP_BACKWARD_NO_INTERRUPT": 76, "JUMP_FORWARD": 77, "LIST_APPEND": 78,
    "LIST_EXTEND": 79, "LOAD_ATTR": 80, "LOAD_COMMON_CONSTANT": 81, "LOAD_CONST": 82, "LOAD_DEREF": 83, "LOAD_FAST": 84,
    "LOAD_FAST_AND_CLEAR": 85, "LOAD_FAST_BORROW": 86, "LOAD_FAST_BORROW_LOAD_FAST_BORROW": 87, "LOAD_FAST_CHECK": 88,
    "LOAD_FAST_LOAD_FAST": 89, "LOAD_FROM_DICT_OR_DEREF": 90, "LOAD_FROM_DICT_OR_GLOBALS": 91, "LOAD_GLOBAL": 92,
    "LOAD_NAME": 93, "LOAD_SMALL_INT": 94, "LOAD_SPECIAL": 95, "LOAD_SUPER_ATTR": 96, "MAKE_CELL": 97, "MAP_ADD": 98,
    "MATCH_CLASS": 99, "POP_JUMP_IF_FALSE": 100, "POP_JUMP_IF_NONE": 101, "POP_JUMP_IF_NOT_NONE": 102,
    "POP_JUMP_IF_TRUE": 103, "RAISE_VARARGS": 104, "RERAISE": 105, "SEND": 106, "SET_ADD": 107,
    "SET_FUNCTION_ATTRIBUTE": 108, "SET_UPDATE": 109, "STORE_ATTR": 110, "STORE_DEREF": 111, "STORE_FAST": 112,
    "STORE_FAST_LOAD_FAST": 113, "STORE_FAST_STORE_FAST": 114, "STORE_GLOBAL": 115, "STORE_NAME": 116, "SWAP": 117,
    "UNPACK_EX": 118, "UNPACK_SEQUENCE": 119, "YIELD_VALUE": 120, "RESUME": 128, "ENTER_EXECUTOR": 255,
}  # fmt: skip

CACHES = {
    "BINARY_OP": 5, "CALL": 3, "CALL_KW": 3, "COMPARE_OP": 1, "CONTAINS_OP": 1, "FOR_ITER": 1, "JUMP_BACKWARD": 1,
    "LOAD_ATTR": 9, "LOAD_GLOBAL": 4, "LOAD_SUPER_ATTR": 1, "POP_JUMP_IF_FALSE": 1, "POP_JUMP_IF_NONE": 1,
    "POP_JUMP_IF_NOT_NONE": 1, "POP_JUMP_IF_TRUE": 1, "SEND": 1, "STORE_ATTR": 4, "STORE_SUBSCR": 1, "TO_BOOL": 3,
    "UNPACK_SEQUENCE": 1,
}  # fmt: skip
"""Code units of inline cache behind the instruction."""

FLAG_BITS = {"LOAD_GLOBAL": 1, "LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2, "COMPARE_OP": 5}
"""Low bits of the operand that say something else than which name."""

OPERANDS = {
    "COMPARE_OP": shared.COMPARISONS,
    "BINARY_OP": (*shared.BINARY_OPS, "[]"),
    "CALL_INTRINSIC_1": shared.INTRINSICS_1,
    "CALL_INTRINSIC_2": shared.INTRINSICS_2,
    "LOAD_SPECIAL": shared.SPECIAL_METHODS,
    "LOAD_COMMON_CONSTANT": ("AssertionError", "NotImplementedError", "tuple", "all", "any"),
}
"""What the numbers stand for."""

MARKS = frozenset({"END_ASYNC_FOR"})
"""Operands that are a distance back to an instruction that control does not go to."""

ADJACENT = {**shared.ADJACENT, "END_FOR": frozenset({"POP_ITER"})}

EFFECTS: dict[str, shared.Effect] = {**shared.EFFECTS}
PUSHES = shared.PUSHES
JUMP_EFFECTS: dict[str, int] = {}

STACK_EFFECT_DIFFERS = {"RETURN_VALUE": "dis says 0, but the value leaves with the frame"}
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
SIGNATURES = signatures.SIGNATURES
LIMITS = {
    **signatures.LIMITS,
    "BUILD_TUPLE": (1, 1 << 30),
    "LOAD_SMALL_INT": (0, 256),
    "RESUME": (0, 7),
    "YIELD_VALUE": (0, 1),
}
MUST_FOLLOW = {**signatures.MUST_FOLLOW, "END_FOR": "POP_ITER"}
LEADS_TO = signatures.LEADS_TO
ITERATOR_SLOTS = 1
"""How many values an iterator is on the stack."""
LASTI_IS_OBJECT = False
"""Whether the offset pushed with an exception is an int object, so that it may be used as one."""
LOCALS_ARE_CHECKED = False
"""Whether LOAD_FAST raises for an unbound local."""
COMPARISON_IS_BOOL = 16
"""Bit of COMPARE_OP's operand that makes the result True or False; 0: there is none."""
RESUME_AT_START = (0,)
"""Operands of a RESUME that is not behind a YIELD_VALUE."""
YIELD_TELLS_DELEGATION = True
"""Whether the operand of YIELD_VALUE says that the value comes from another generator."""
