"""CPython 3.15: what differs from the shared facts. Checked against 3.15.2, magic 3666, on 2026-11-30."""

from __future__ import annotations

from xtab.format.opcodes import shared, signatures

VERSION = (3, 15)
MAGIC = 3666
FIRST_WITH_OPERAND = 42

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

FLAG_BITS = {"LOAD_GLOBAL": 1, "LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2, "COMPARE_OP": 5, "IMPORT_NAME": 2}

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

MARKS = frozenset({"END_ASYNC_FOR"})

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

HANDS_ON = shared.HANDS_ON | {"GET_ITER"}  # lists and tuples are iterated as they are
KEEP_AS_TARGET: frozenset[str] = frozenset()

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
LEADS_TO = signatures.LEADS_TO

LEAST_STACK_SIZE = 1
MERGES_LOCATIONS = True
CELLS_AS_LOCALS = True
LOOKS_UP_UNIT_BEFORE = True
NULL_FIRST = False
EAGER_IMPORT = 2
ITERATOR_SLOTS = 2
LASTI_IS_OBJECT = False
LOCALS_ARE_CHECKED = False
COMPARISON_IS_BOOL = 16

RESUME_AT_START = (0, 4)
RESUME_ONE_SPAN = 8
YIELD_COUNTS_SPANS = False
YIELD_TELLS_DELEGATION = True
