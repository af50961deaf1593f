"""CPython 3.12: what differs from the shared facts. Checked against 3.12.1, magic 3531, on 2026-11-30."""

from __future__ import annotations

from xtab.format.opcodes import shared, signatures

VERSION = (3, 12)
MAGIC = 3531
FIRST_WITH_OPERAND = 90
"""Opcodes from this number on have an operand."""

OPCODES = {
    "CACHE": 0, "POP_TOP": 1, "PUSH_NULL": 2, "INTERPRETER_EXIT": 3, "END_FOR": 4, "END_SEND": 5, "NOP": 9,
    "UNARY_NEGATIVE": 11, "UNARY_NOT": 12, "UNARY_INVERT": 15, "RESERVED": 17, "BINARY_SUBSCR": 25, "BINARY_SLICE": 26,
    "STORE_SLICE": 27, "GET_LEN": 30, "MATCH_MAPPING": 31, "MATCH_SEQUENCE": 32, "MATCH_KEYS": 33, "PUSH_EXC_INFO": 35,
    "CHECK_EXC_MATCH": 36, "CHECK_EG_MATCH": 37, "WITH_EXCEPT_START": 49, "GET_AITER": 50, "GET_ANEXT": 51,
    "BEFORE_ASYNC_WITH": 52, "BEFORE_WITH": 53, "END_ASYNC_FOR": 54, "CLEANUP_THROW": 55, "STORE_SUBSCR": 60,
    "DELETE_SUBSCR": 61, "GET_ITER": 68, "GET_YIELD_FROM_ITER": 69, "LOAD_BUILD_CLASS": 71, "LOAD_ASSERTION_ERROR": 74,
    "RETURN_GENERATOR": 75, "RETURN_VALUE": 83, "SETUP_ANNOTATIONS": 85, "LOAD_LOCALS": 87, "POP_EXCEPT": 89,
    "STORE_NAME": 90, "DELETE_NAME": 91, "UNPACK_SEQUENCE": 92, "FOR_ITER": 93, "UNPACK_EX": 94, "STORE_ATTR": 95,
    "DELETE_ATTR": 96, "STORE_GLOBAL": 97, "DELETE_GLOBAL": 98, "SWAP": 99, "LOAD_CONST": 100, "LOAD_NAME": 101,
    "BUILD_TUPLE": 102, "BUILD_LIST": 103, "BUILD_SET": 104, "BUILD_MAP": 105, "LOAD_ATTR": 106, "COMPARE_OP": 107,
    "IMPORT_NAME": 108, "IMPORT_FROM": 109, "JUMP_FORWARD": 110, "POP_JUMP_IF_FALSE": 114, "POP_JUMP_IF_TRUE": 115,
    "LOAD_GLOBAL": 116, "IS_OP": 117, "CONTAINS_OP": 118, "RERAISE": 119, "COPY": 120, "RETURN_CONST": 121,
    "BINARY_OP": 122, "SEND": 123, "LOAD_FAST": 124, "STORE_FAST": 125, "DELETE_FAST": 126, "LOAD_FAST_CHECK": 127,
    "POP_JUMP_IF_NOT_NONE": 128, "POP_JUMP_IF_NONE": 129, "RAISE_VARARGS": 130, "GET_AWAITABLE": 131,
    "MAKE_FUNCTION": 132, "BUILD_SLICE": 133, "JUMP_BACKWARD_NO_INTERRUPT": 134, "MAKE_CELL": 135, "LOAD_CLOSURE": 136,
    "LOAD_DEREF": 137, "STORE_DEREF": 138, "DELETE_DEREF": 139, "JUMP_BACKWARD": 140, "LOAD_SUPER_ATTR": 141,
    "CALL_FUNCTION_EX": 142, "LOAD_FAST_AND_CLEAR": 143, "EXTENDED_ARG": 144, "LIST_APPEND": 145, "SET_ADD": 146,
    "MAP_ADD": 147, "COPY_FREE_VARS": 149, "YIELD_VALUE": 150, "RESUME": 151, "MATCH_CLASS": 152, "FORMAT_VALUE": 155,
    "BUILD_CONST_KEY_MAP": 156, "BUILD_STRING": 157, "LIST_EXTEND": 162, "SET_UPDATE": 163, "DICT_MERGE": 164,
    "DICT_UPDATE": 165, "CALL": 171, "KW_NAMES": 172, "CALL_INTRINSIC_1": 173, "CALL_INTRINSIC_2": 174,
    "LOAD_FROM_DICT_OR_GLOBALS": 175, "LOAD_FROM_DICT_OR_DEREF": 176,
}  # fmt: skip

CACHES = {
    "BINARY_OP": 1, "BINARY_SUBSCR": 1, "CALL": 3, "COMPARE_OP": 1, "FOR_ITER": 1, "LOAD_ATTR": 9, "LOAD_GLOBAL": 4,
    "LOAD_SUPER_ATTR": 1, "SEND": 1, "STORE_ATTR": 4, "STORE_SUBSCR": 1, "UNPACK_SEQUENCE": 1,
}  # fmt: skip
"""Code units of inline cache behind the instruction."""

FLAG_BITS = {"LOAD_GLOBAL": 1, "LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2, "COMPARE_OP": 4}
"""Low bits of the operand that say something else than which name."""

OPERANDS = {
    "COMPARE_OP": shared.COMPARISONS,
    "BINARY_OP": shared.BINARY_OPS,
    "CALL_INTRINSIC_1": shared.INTRINSICS_1,
    "CALL_INTRINSIC_2": shared.INTRINSICS_2[:5],
}
"""What the numbers stand for."""

MARKS: frozenset[str] = frozenset()
"""Operands that are a distance back to an instruction that control does not go to."""

ADJACENT = {**shared.ADJACENT, "KW_NAMES": frozenset({"CALL"})}

EFFECTS: dict[str, shared.Effect] = {
    **shared.EFFECTS,
    "CALL_FUNCTION_EX": lambda arg: -2 - (arg & 1),
    "MAKE_FUNCTION": lambda arg: -(arg & 15).bit_count(),
    "BUILD_SLICE": lambda arg: -2 if arg == 3 else -1,
    "END_FOR": -2,
}
PUSHES = shared.PUSHES
JUMP_EFFECTS: dict[str, int] = {}

STACK_EFFECT_DIFFERS = {
    "RETURN_GENERATOR": "dis says 0, but the frame goes on with the value that the first send() passes in",
}
LEAST_STACK_SIZE = 0
MERGES_LOCATIONS = True
"""Whether neighbours with the same location share an entry of the location table."""
CELLS_AS_LOCALS = False
"""Whether LOAD_FAST and its kin may name a cell, to pass the cell itself on."""
LOOKS_UP_UNIT_BEFORE = False
"""Whether an exception out of a Python callee is looked up in the unit before the instruction that called."""
RESUME_ONE_SPAN = 0
"""Bit of RESUME's operand: only the generator's own StopIteration handler is around it, so close() may skip all of them."""
YIELD_COUNTS_SPANS = True
"""Whether the operand of YIELD_VALUE is how many spans are around it."""
KEEP_AS_TARGET: frozenset[str] = frozenset()
"""The jump that leads back to these must go on doing so: throw() finds the opcode at its end."""
NULL_FIRST = True
"""Whether the NULL that stands for "no self" in a call goes before the callable; else it goes behind."""
EAGER_IMPORT = 0
"""Flags of an IMPORT_NAME that imports right there, wherever it stands."""
HANDS_ON = shared.HANDS_ON
"""Opcodes after which a value that they took may be on the stack still."""
SIGNATURES = {
    **signatures.SIGNATURES,
    "LOAD_GLOBAL": "-- null? object",
    "LOAD_ATTR": "object -- maybe? object",
    "LOAD_SUPER_ATTR": "object object object -- maybe? object",
    "UNARY_NOT": "object -- bool",
    "POP_JUMP_IF_FALSE": "object --",
    "POP_JUMP_IF_TRUE": "object --",
    "CALL_FUNCTION_EX": "null object object own? -- object",
    "WITH_EXCEPT_START": "object lasti prev exc -- =0 =1 =2 =3 object",
    "END_FOR": "object dropped --",
}
LIMITS = signatures.LIMITS
MUST_FOLLOW = {**signatures.MUST_FOLLOW, "KW_NAMES": "CALL"}
LEADS_TO = signatures.LEADS_TO
ITERATOR_SLOTS = 1
"""How many values an iterator is on the stack."""
LASTI_IS_OBJECT = True
"""Whether the offset pushed with an exception is an int object, so that it may be used as one."""
LOCALS_ARE_CHECKED = False
"""Whether LOAD_FAST raises for an unbound local."""
COMPARISON_IS_BOOL = 0
"""Bit of COMPARE_OP's operand that makes the result True or False; 0: there is none."""
RESUME_AT_START = (0,)
"""Operands of a RESUME that is not behind a YIELD_VALUE."""
YIELD_TELLS_DELEGATION = False
"""Whether the operand of YIELD_VALUE says that the value comes from another generator."""
