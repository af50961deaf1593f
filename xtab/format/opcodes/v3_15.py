"""CPython 3.15: what differs from the shared facts. Checked against 3.15.2, magic 3666, on 2026-11-30."""

from __future__ import annotations

from xtab.format.opcodes import shared, signatures

VERSION = (3, 15)
MAGIC = 3666
FIRST_WITH_OPERAND = 42
"""Opcodes from this number on have an operand."""

OPCODES = {
    "CACHE": 0, "BINARY_SLICE": 1, "BUILD_TEMPLATE": 2, "CALL_FUNCTION_EX": 4, "CHECK_EG_MATCH": 5,
    "CHECK_EXC_MATCH": 6, "CLEANUP_THROW": 7, "DELETE_SUBSCR": 8, "END_FOR": 9, "END_SEND": 10, "EXIT_INIT_CHECK": 11,
    "FORMAT_SIMPLE": 12, "FORMAT_WITH_SPEC": 13, "GET_AITER": 14, "GET_ANEXT": 15, "GET_LEN": 16, "RESERVED": 17,
    "INTERPRETER_EXIT": 18, "LOAD_BUILD_CLASS": 19, "LOAD_LOCALS": 20, "MAKE_FUNCTION": 21, "MATCH_KEYS": 22,
    "MATCH_MAPPING": 23, "MATCH_SEQUENCE": 24, "NOP": 25, "NOT_TAKEN": 26, "POP_EXCEPT": 27, "POP_ITER": 28,
    "POP_TOP": 29, "PUSH_EXC_INFO": 30, "PUSH_NULL": 31, "RETURN_GENERATOR": 32, "RETURN_VALUE": 33,
    "SETUP_ANNOTATIONS": 34, "STORE_SLICE": 35, "STORE_SUBSCR": 36, "TO_BOOL": 37, "UNARY_INVERT": 38,
    "UNARY_NEGATIVE": 39, "UNARY_NOT": 40, "WITH_EXCEPT_START": 41, "BINARY_OP": 42, "BUILD_INTERPOLATION": 43,
    "BUILD_LIST": 44, "BUILD_MAP": 45, "BUILD_SET": 46, "BUILD_SLICE": 47, "BUILD_STRING": 48, "BUILD_TUPLE": 49,
    "CALL": 50, "CALL_INTRINSIC_1": 51, "CALL_INTRINSIC_2": 52, "CALL_KW": 53, "COMPARE_OP": 54, "CONTAINS_OP": 55,
    "CONVERT_VALUE": 56, "COPY": 57, "COPY_FREE_VARS": 58, "DELETE_ATTR": 59, "DELETE_DEREF": 60, "DELETE_FAST": 61,
    "DELETE_GLOBAL": 62, "DELETE_NAME": 63, "DICT_MERGE": 64, "DICT_UPDATE": 65, "END_ASYNC_FOR": 66,
    "EXTENDED_ARG": 67, "FOR_ITER": 68, "GET_AWAITABLE": 69, "GET_ITER": 70, "IMPORT_FROM": 71, "IMPORT_NAME": 72,
    "IS_OP": 73, "JUMP_BACKWARD": 74, "JUMP_BACKWARD_NO_INTERRUPT": 75, "JUMP_FORWARD": 76, "LIST_APPEND": 77,
    "LIST_EXTEND": 78, "LOAD_ATTR": 79, "LOAD_COMMON_CONSTANT": 80, "LOAD_CONST": 81, "LOAD_DEREF": 82, "LOAD_FAST": 83,
    "LOAD_FAST_AND_CLEAR": 84, "LOAD_FAST_BORROW": 85, "LOAD_FAST_BORROW_LOAD_FAST_BORROW": 86, "LOAD_FAST_CHECK": 87,
    "LOAD_FAST_LOAD_FAST": 88, "LOAD_FROM_DICT_OR_DEREF": 89, "LOAD_FROM_DICT_OR_GLOBALS": 90, "LOAD_GLOBAL": 91,
    "LOAD_NAME": 92, "LOAD_SMALL_INT": 93, "LOAD_SPECIAL": 94, "LOAD_SUPER_ATTR": 95, "MAKE_CELL": 96, "MAP_ADD": 97,
    "MATCH_CLASS": 98, "POP_JUMP_IF_FALSE": 99, "POP_JUMP_IF_NONE": 100, "POP_JUMP_IF_NOT_NONE": 101,
    "POP_JUMP_IF_TRUE": 102, "RAISE_VARARGS": 103, "RERAISE": 104, "SEND": 105, "SET_ADD": 106,
    "SET_FUNCTION_ATTRIBUTE": 107, "SET_UPDATE": 108, "STORE_ATTR": 109, "STORE_DEREF": 110, "STORE_FAST": 111,
    "STORE_FAST_LOAD_FAST": 112, "STORE_FAST_STORE_FAST": 113, "STORE_GLOBAL": 114, "STORE_NAME": 115, "SWAP": 116,
    "UNPACK_EX": 117, "UNPACK_SEQUENCE": 118, "YIELD_VALUE": 119, "RESUME": 128, "ENTER_EXECUTOR": 254,
    "TRACE_RECORD": 255,
}  # fmt: skip

CACHES = {
    "BINARY_OP": 5, "CALL": 3, "CALL_FUNCTION_EX": 1, "CALL_KW": 3, "COMPARE_OP": 1, "CONTAINS_OP": 1, "FOR_ITER": 1,
    "GET_ITER": 1, "JUMP_BACKWARD": 1, "LOAD_ATTR": 9, "LOAD_GLOBAL": 4, "LOAD_SUPER_ATTR": 1, "POP_JUMP_IF_FALSE": 1,
    "POP_JUMP_IF_NONE": 1, "POP_JUMP_IF_NOT_NONE": 1, "POP_JUMP_IF_TRUE": 1, "RESUME": 1, "SEND": 1, "STORE_ATTR": 4,
    "STORE_SUBSCR": 1, "TO_BOOL": 3, "UNPACK_SEQUENCE": 1,
}  # fmt: skip
"""Code units of inline cache behind the instruction."""

FLAG_BITS = {"LOAD_GLOBAL": 1, "LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2, "COMPARE_OP": 5, "IMPORT_NAME": 2}
"""Low bits of the operand that say something else than which name."""

OPERANDS = {
    "COMPARE_OP": shared.COMPARISONS,
    "BINARY_OP": (*shared.BINARY_OPS, "[]"),
    "CALL_INTRINSIC_1": shared.INTRINSICS_1,
    "CALL_INTRINSIC_2": shared.INTRINSICS_2,
    "LOAD_SPECIAL": shared.SPECIAL_METHODS,
    "LOAD_COMMON_CONSTANT": (
        "AssertionError",
        "NotImplementedError",
        "tuple",
        "all",
        "any",
        "list",
        "set",
        "None",
        "''",
        "True",
        "False",
        "-1",
    ),
}
"""What the numbers stand for."""

MARKS = frozenset({"END_ASYNC_FOR"})
"""Operands that are a distance back to an instruction that control does not go to."""

ADJACENT = {
    **shared.ADJACENT,
    "END_FOR": frozenset({"POP_ITER"}),
    # pending signals wait between these two, so that __exit__ is sure to be called
    "LOAD_SPECIAL": frozenset({"CALL"}),
}

EFFECTS: dict[str, shared.Effect] = {
    **shared.EFFECTS,
    # an iterator takes two slots: itself, and NULL or an index
    "GET_ITER": 1,
    "POP_ITER": -2,
    "END_SEND": -2,
}
PUSHES: dict[str, shared.Effect] = {**shared.PUSHES, "GET_ITER": 2}
JUMP_EFFECTS: dict[str, int] = {}

STACK_EFFECT_DIFFERS = {"RETURN_VALUE": "dis says 0, but the value leaves with the frame"}
LEAST_STACK_SIZE = 1
MERGES_LOCATIONS = True
"""Whether neighbours with the same location share an entry of the location table."""
CELLS_AS_LOCALS = True
"""Whether LOAD_FAST and its kin may name a cell, to pass the cell itself on."""
LOOKS_UP_UNIT_BEFORE = True
"""Whether an exception out of a Python callee is looked up in the unit before the instruction that called."""
RESUME_ONE_SPAN = 8
"""Bit of RESUME's operand: only the generator's own StopIteration handler is around it, so close() may skip all of them."""
YIELD_COUNTS_SPANS = False
"""Whether the operand of YIELD_VALUE is how many spans are around it."""
KEEP_AS_TARGET: frozenset[str] = frozenset()
"""The jump that leads back to these must go on doing so: throw() finds the opcode at its end."""
NULL_FIRST = False
"""Whether the NULL that stands for "no self" in a call goes before the callable; else it goes behind."""
EAGER_IMPORT = 2
"""Flags of an IMPORT_NAME that imports right there, wherever it stands."""
HANDS_ON = shared.HANDS_ON | {"GET_ITER"}
"""Opcodes after which a value that they took may be on the stack still; lists and tuples are iterated as they are."""
SIGNATURES = {
    **signatures.SIGNATURES,
    "POP_TOP": "any --",
    "POP_ITER": "any index --",
    "END_FOR": "object index dropped -- =0 =1",
    "END_SEND": "object index object -- =2",
    "CLEANUP_THROW": "object index object exc -- none null object",
}
LIMITS = {
    **signatures.LIMITS,
    "BUILD_TUPLE": (1, 1 << 30),
    "LOAD_SMALL_INT": (0, 1024),
    "GET_ITER": (0, 3),
    "RESUME": (0, 11),
    "YIELD_VALUE": (0, 1),
}
MUST_FOLLOW = {**signatures.MUST_FOLLOW, "END_FOR": "POP_ITER"}
LEADS_TO = signatures.LEADS_TO
ITERATOR_SLOTS = 2
"""How many values an iterator is on the stack."""
LASTI_IS_OBJECT = False
"""Whether the offset pushed with an exception is an int object, so that it may be used as one."""
LOCALS_ARE_CHECKED = False
"""Whether LOAD_FAST raises for an unbound local."""
COMPARISON_IS_BOOL = 16
"""Bit of COMPARE_OP's operand that makes the result True or False; 0: there is none."""
RESUME_AT_START = (0, 4)
"""Operands of a RESUME that is not behind a YIELD_VALUE."""
YIELD_TELLS_DELEGATION = True
"""Whether the operand of YIELD_VALUE says that the value comes from another generator."""
