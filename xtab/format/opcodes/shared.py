"""What every supported CPython agrees on, opcode by opcode. A name that a version lacks is simply not looked up there.

Where versions differ, the value here is the most recent one, and the version's own file says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

Effect = int | Callable[[int], int]
"""Change of the stack depth: a number, or a function of the operand."""

HANDS_ON = frozenset(
    {
        "CHECK_EXC_MATCH", "END_SEND", "FORMAT_SIMPLE", "FOR_ITER", "GET_AITER", "GET_ANEXT", "GET_AWAITABLE",
        "GET_LEN", "GET_YIELD_FROM_ITER", "IMPORT_FROM", "LOAD_SPECIAL", "MATCH_KEYS", "MATCH_MAPPING", "MATCH_SEQUENCE",
        "SEND", "SET_FUNCTION_ATTRIBUTE", "WITH_EXCEPT_START",
    }
)  # fmt: skip
"""What these took from the stack may be there still, or again, when they are done: the value itself, not a new reference."""

HANDS_ON_METHOD = frozenset({"LOAD_ATTR", "LOAD_SUPER_ATTR"})
"""So do these if they load a method: they put the value back as its self."""

CONST = frozenset({"LOAD_CONST", "RETURN_CONST", "KW_NAMES"})
"""The operand is an index in co_consts."""

NAME = frozenset(
    {
        "LOAD_NAME", "STORE_NAME", "DELETE_NAME", "LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_ATTR", "STORE_ATTR",
        "DELETE_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "LOAD_FROM_DICT_OR_GLOBALS", "IMPORT_NAME", "IMPORT_FROM",
    }
)  # fmt: skip
"""The operand is an index in co_names."""

LOCAL = frozenset(
    {
        "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR", "STORE_FAST", "DELETE_FAST",
    }
)  # fmt: skip
"""The operand is an index in the fast locals; from 3.13 it may be that of a cell, to pass the cell itself on."""

LOCAL_PAIR = frozenset(
    {
        "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST",
    }
)  # fmt: skip
"""The operand is two indices below 16 in the fast locals, four bits each."""

CELL = frozenset(
    {
        "MAKE_CELL", "LOAD_CLOSURE", "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF",
    }
)  # fmt: skip
"""The operand is an index in the fast locals where a cell or a free variable lives."""

JUMPS_FORWARD = frozenset(
    {
        "JUMP_FORWARD", "FOR_ITER", "SEND", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP",
        "POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE",
        "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE",
    }
)  # fmt: skip
"""The operand is a distance forward, in code units, from the end of the instruction's caches."""

JUMPS_BACKWARD = frozenset(
    {
        "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT",
        "POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE",
    }
)  # fmt: skip
"""The operand is a distance backward."""

DIRECTIONS = {
    "JUMP_FORWARD": "JUMP_BACKWARD",
    "POP_JUMP_FORWARD_IF_FALSE": "POP_JUMP_BACKWARD_IF_FALSE",
    "POP_JUMP_FORWARD_IF_TRUE": "POP_JUMP_BACKWARD_IF_TRUE",
    "POP_JUMP_FORWARD_IF_NONE": "POP_JUMP_BACKWARD_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE": "POP_JUMP_BACKWARD_IF_NOT_NONE",
}
"""The same jump, forward and backward: assembly picks the one that the target's place asks for."""

ONLY_BACKWARD = {"JUMP_BACKWARD_NO_INTERRUPT": "JUMP_FORWARD"}
"""Backward jumps whose forward form goes by another name that is not their pair."""

REVERSED = {
    "POP_JUMP_IF_FALSE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_IF_TRUE": "POP_JUMP_IF_FALSE",
    "POP_JUMP_IF_NONE": "POP_JUMP_IF_NOT_NONE",
    "POP_JUMP_IF_NOT_NONE": "POP_JUMP_IF_NONE",
}
"""Conditional jumps that lead forward only. One that must go back becomes the reverse, over a JUMP_BACKWARD."""

TERMINATORS = frozenset(
    {
        "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "INTERPRETER_EXIT",
        "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT",
    }
)  # fmt: skip
"""Control never goes on to the next instruction."""

GENERATED_AT_RUN_TIME = frozenset(
    {"CACHE", "RESERVED", "INTERPRETER_EXIT", "EXIT_INIT_CHECK", "ENTER_EXECUTOR", "TRACE_RECORD"}
)
"""Opcodes with a number that no compiled code may hold."""

PROLOGUE = ("COPY_FREE_VARS", "MAKE_CELL", "RETURN_GENERATOR", "POP_TOP", "RESUME")
"""What may stand before the first RESUME, in this order, and the RESUME itself."""

ADJACENT: dict[str, frozenset[str]] = {
    "YIELD_VALUE": frozenset({"RESUME"}),
    "RETURN_GENERATOR": frozenset({"POP_TOP"}),
    # the end of an exception that was raised while another one was handled: nothing would end the first if this raised
    "COPY": frozenset({"POP_EXCEPT"}),
    # a return out of a handler: the value lies where a handler would look for the exception that was handled before
    "SWAP": frozenset({"POP_EXCEPT"}),
}
"""An instruction of the key's kind, and one of these right behind it, must stay together."""

OTHERS_MAY_FOLLOW = frozenset({"COPY", "LOAD_SPECIAL", "SEND", "SWAP"})
"""Keys of ADJACENT that others may follow as well; behind the rest the interpreter takes the one for granted."""

KEEP_BEFORE = frozenset({"END_FOR", "END_SEND", "NOT_TAKEN", "RESUME"})
"""Nothing may be put right before these: the interpreter jumps over them, or expects them where it goes on."""

RUNS_PYTHON = frozenset(
    {
        "CALL", "CALL_KW", "CALL_FUNCTION_EX", "FOR_ITER", "SEND", "BINARY_OP", "BINARY_SUBSCR", "LOAD_ATTR", "STORE_ATTR",
        "COMPARE_OP", "CONTAINS_OP",
    }
)  # fmt: skip
"""The interpreter may run a Python function for these in the same loop, and come back to look up its exception."""

BORROWS = {
    "LOAD_FAST_BORROW": "LOAD_FAST",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": "LOAD_FAST_LOAD_FAST",
}
"""Loads that don't count a reference, since the compiler has proved that the local outlives the value; and the safe form."""

EFFECTS: dict[str, Effect] = {
    # loads, stores, plain moves
    "NOP": 0, "RESUME": 0, "CACHE": 0, "EXTENDED_ARG": 0, "NOT_TAKEN": 0, "RESERVED": 0, "ENTER_EXECUTOR": 0, "TRACE_RECORD": 0,
    "POP_TOP": -1, "PUSH_NULL": 1, "COPY": 1, "SWAP": 0,
    "LOAD_CONST": 1, "LOAD_SMALL_INT": 1, "LOAD_COMMON_CONSTANT": 1, "LOAD_ASSERTION_ERROR": 1, "LOAD_BUILD_CLASS": 1,
    "LOAD_LOCALS": 1, "LOAD_NAME": 1, "STORE_NAME": -1, "DELETE_NAME": 0,
    "LOAD_GLOBAL": lambda arg: 1 + (arg & 1), "STORE_GLOBAL": -1, "DELETE_GLOBAL": 0, "LOAD_FROM_DICT_OR_GLOBALS": 0,
    "LOAD_FAST": 1, "LOAD_FAST_BORROW": 1, "LOAD_FAST_CHECK": 1, "LOAD_FAST_AND_CLEAR": 1, "STORE_FAST": -1, "DELETE_FAST": 0,
    "LOAD_FAST_LOAD_FAST": 2, "LOAD_FAST_BORROW_LOAD_FAST_BORROW": 2, "STORE_FAST_LOAD_FAST": 0, "STORE_FAST_STORE_FAST": -2,
    "MAKE_CELL": 0, "COPY_FREE_VARS": 0, "LOAD_CLOSURE": 1, "LOAD_DEREF": 1, "STORE_DEREF": -1, "DELETE_DEREF": 0,
    "LOAD_CLASSDEREF": 1, "LOAD_FROM_DICT_OR_DEREF": 0,
    "LOAD_ATTR": lambda arg: arg & 1, "STORE_ATTR": -2, "DELETE_ATTR": -1, "LOAD_METHOD": 1,
    "LOAD_SUPER_ATTR": lambda arg: (arg & 1) - 2,
    # operators
    "BINARY_OP": -1, "BINARY_SUBSCR": -1, "STORE_SUBSCR": -3, "DELETE_SUBSCR": -2, "BINARY_SLICE": -2, "STORE_SLICE": -4,
    "COMPARE_OP": -1, "IS_OP": -1, "CONTAINS_OP": -1, "TO_BOOL": 0,
    "UNARY_NOT": 0, "UNARY_NEGATIVE": 0, "UNARY_INVERT": 0, "UNARY_POSITIVE": 0,
    # building and taking apart
    "BUILD_TUPLE": lambda arg: 1 - arg, "BUILD_LIST": lambda arg: 1 - arg, "BUILD_SET": lambda arg: 1 - arg,
    "BUILD_STRING": lambda arg: 1 - arg, "BUILD_MAP": lambda arg: 1 - 2 * arg, "BUILD_CONST_KEY_MAP": lambda arg: -arg,
    "BUILD_SLICE": lambda arg: 1 - arg, "BUILD_TEMPLATE": -1, "BUILD_INTERPOLATION": lambda arg: -1 - (arg & 1),
    "LIST_APPEND": -1, "LIST_EXTEND": -1, "LIST_TO_TUPLE": 0, "SET_ADD": -1, "SET_UPDATE": -1, "MAP_ADD": -2,
    "DICT_UPDATE": -1, "DICT_MERGE": -1,
    "UNPACK_SEQUENCE": lambda arg: arg - 1, "UNPACK_EX": lambda arg: (arg & 0xFF) + (arg >> 8),
    "FORMAT_VALUE": lambda arg: -1 if arg & 4 else 0, "FORMAT_SIMPLE": 0, "FORMAT_WITH_SPEC": -1, "CONVERT_VALUE": 0,
    "GET_LEN": 1, "MATCH_CLASS": -2, "MATCH_KEYS": 1, "MATCH_MAPPING": 1, "MATCH_SEQUENCE": 1,
    # calls and functions
    "PRECALL": lambda arg: -arg, "KW_NAMES": 0, "CALL": lambda arg: -1 - arg, "CALL_KW": lambda arg: -2 - arg,
    "CALL_FUNCTION_EX": -3, "CALL_INTRINSIC_1": 0, "CALL_INTRINSIC_2": -1, "MAKE_FUNCTION": 0, "SET_FUNCTION_ATTRIBUTE": -1,
    "RETURN_VALUE": -1, "RETURN_CONST": 0, "EXIT_INIT_CHECK": -1, "INTERPRETER_EXIT": -1,
    # imports, class bodies, the prompt
    "IMPORT_NAME": -1, "IMPORT_FROM": 1, "IMPORT_STAR": -1, "SETUP_ANNOTATIONS": 0, "PRINT_EXPR": -1,
    # exceptions and with
    "PUSH_EXC_INFO": 1, "POP_EXCEPT": -1, "RERAISE": -1, "RAISE_VARARGS": lambda arg: -arg, "CHECK_EXC_MATCH": 0,
    "CHECK_EG_MATCH": 0, "PREP_RERAISE_STAR": -1, "BEFORE_WITH": 1, "BEFORE_ASYNC_WITH": 1, "LOAD_SPECIAL": 1,
    "WITH_EXCEPT_START": 1, "CLEANUP_THROW": -1,
    # iteration, generators, coroutines. RETURN_GENERATOR leaves the generator's frame with the value that the
    # first send() passes in, whatever dis.stack_effect says of it.
    "GET_ITER": 0, "GET_YIELD_FROM_ITER": 0, "FOR_ITER": 1, "END_FOR": -1, "POP_ITER": -1, "GET_AITER": 0, "GET_ANEXT": 1,
    "END_ASYNC_FOR": -2, "GET_AWAITABLE": 0, "SEND": 0, "END_SEND": -1, "YIELD_VALUE": 0, "RETURN_GENERATOR": 1, "ASYNC_GEN_WRAP": 0,
    # jumps
    "JUMP_FORWARD": 0, "JUMP_BACKWARD": 0, "JUMP_BACKWARD_NO_INTERRUPT": 0, "JUMP_IF_FALSE_OR_POP": -1, "JUMP_IF_TRUE_OR_POP": -1,
    "POP_JUMP_IF_FALSE": -1, "POP_JUMP_IF_TRUE": -1, "POP_JUMP_IF_NONE": -1, "POP_JUMP_IF_NOT_NONE": -1,
    "POP_JUMP_FORWARD_IF_FALSE": -1, "POP_JUMP_FORWARD_IF_TRUE": -1, "POP_JUMP_FORWARD_IF_NONE": -1,
    "POP_JUMP_FORWARD_IF_NOT_NONE": -1, "POP_JUMP_BACKWARD_IF_FALSE": -1, "POP_JUMP_BACKWARD_IF_TRUE": -1,
    "POP_JUMP_BACKWARD_IF_NONE": -1, "POP_JUMP_BACKWARD_IF_NOT_NONE": -1,
}  # fmt: skip
"""The effect when the instruction doesn't jump. A RETURN_VALUE takes its value with it: the frame is left with one less."""

PUSHES: dict[str, Effect] = {
    **dict.fromkeys(
        (
            "NOP", "RESUME", "CACHE", "EXTENDED_ARG", "NOT_TAKEN", "RESERVED", "ENTER_EXECUTOR", "TRACE_RECORD", "POP_TOP", "SWAP",
            "STORE_NAME", "DELETE_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_FAST", "DELETE_FAST", "STORE_FAST_STORE_FAST",
            "MAKE_CELL", "COPY_FREE_VARS", "STORE_DEREF", "DELETE_DEREF", "STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR",
            "DELETE_SUBSCR", "STORE_SLICE", "LIST_APPEND", "LIST_EXTEND", "SET_ADD", "SET_UPDATE", "MAP_ADD", "DICT_UPDATE",
            "DICT_MERGE", "PRECALL", "KW_NAMES", "RETURN_VALUE", "RETURN_CONST", "EXIT_INIT_CHECK", "INTERPRETER_EXIT",
            "IMPORT_STAR", "SETUP_ANNOTATIONS", "PRINT_EXPR", "POP_EXCEPT", "RERAISE", "RAISE_VARARGS", "END_FOR", "POP_ITER",
            "END_ASYNC_FOR", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_IF_FALSE_OR_POP",
            "JUMP_IF_TRUE_OR_POP", *(jump for jump in JUMPS_FORWARD | JUMPS_BACKWARD if jump.startswith("POP_JUMP")),
        ),
        0,
    ),
    **dict.fromkeys(
        (
            "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_METHOD", "BEFORE_WITH", "BEFORE_ASYNC_WITH",
            "LOAD_SPECIAL", "PUSH_EXC_INFO", "CHECK_EG_MATCH", "CLEANUP_THROW",
        ),
        2,
    ),
    "LOAD_GLOBAL": lambda arg: 1 + (arg & 1),
    "LOAD_ATTR": lambda arg: 1 + (arg & 1),
    "LOAD_SUPER_ATTR": lambda arg: 1 + (arg & 1),
    "UNPACK_SEQUENCE": lambda arg: arg,
    "UNPACK_EX": lambda arg: 1 + (arg & 0xFF) + (arg >> 8),
}  # fmt: skip
"""How many values an instruction puts on the stack, after those that it took; one where it isn't said. What it only
looks at counts as neither."""

CANNOT_RAISE = frozenset(
    {
        "NOP", "NOT_TAKEN", "CACHE", "EXTENDED_ARG", "POP_TOP", "PUSH_NULL", "COPY", "SWAP", "LOAD_CONST", "LOAD_SMALL_INT",
        "LOAD_COMMON_CONSTANT", "STORE_FAST", "MAKE_CELL", "PUSH_EXC_INFO", "POP_EXCEPT", "END_FOR", "POP_ITER", "JUMP_FORWARD",
        "JUMP_BACKWARD_NO_INTERRUPT", "RETURN_VALUE", "RETURN_CONST",
    }
)  # fmt: skip
"""Only a trace function can raise at these, and it does so before they touch the stack."""

RAISES_ON_SIGNAL = frozenset(
    {"JUMP_BACKWARD", "RESUME", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"}
)
"""Only the handler of a signal raises at these, or not even that; compilers leave them out of a range now and then."""

QUIET = frozenset({"NOP", "NOT_TAKEN", "JUMP_FORWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
"""Instructions that the compiler leaves out of ranges in the midst of a block: they can't raise and move no values."""

FILLERS = QUIET | {"JUMP_BACKWARD"}
"""What the compiler leaves out of ranges in the midst of a block: these, and the ends of loops, where signals raise."""

RAISES_AGAIN = frozenset({"CLEANUP_THROW", "END_ASYNC_FOR", "RERAISE"})
"""These raise an exception that they find on the stack, where a handler or a throw() put it."""

TAKEN_WHEN_RAISING = {"YIELD_VALUE": 0, "END_ASYNC_FOR": 1}
"""Values that are gone when these raise, where it is not all that they take: throw() raises at a YIELD_VALUE with another
value in the place of the one that was taken."""

BINARY_OPS = (
    "+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^",
    "+=", "&=", "//=", "<<=", "@=", "*=", "%=", "|=", "**=", ">>=", "-=", "/=", "^=",
)  # fmt: skip
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")
COMPARISON_MASKS = (2, 10, 8, 7, 4, 12)
"""The low four bits of a COMPARE_OP from 3.12 on: which of unordered 1, less 2, greater 4 and equal 8 make it true."""
SPECIAL_METHODS = ("__enter__", "__exit__", "__aenter__", "__aexit__")
INTRINSICS_1 = (
    "INTRINSIC_1_INVALID", "INTRINSIC_PRINT", "INTRINSIC_IMPORT_STAR", "INTRINSIC_STOPITERATION_ERROR", "INTRINSIC_ASYNC_GEN_WRAP",
    "INTRINSIC_UNARY_POSITIVE", "INTRINSIC_LIST_TO_TUPLE", "INTRINSIC_TYPEVAR", "INTRINSIC_PARAMSPEC",
    "INTRINSIC_TYPEVARTUPLE", "INTRINSIC_SUBSCRIPT_GENERIC", "INTRINSIC_TYPEALIAS",
)  # fmt: skip
INTRINSICS_2 = (
    "INTRINSIC_2_INVALID", "INTRINSIC_PREP_RERAISE_STAR", "INTRINSIC_TYPEVAR_WITH_BOUND", "INTRINSIC_TYPEVAR_WITH_CONSTRAINTS",
    "INTRINSIC_SET_FUNCTION_TYPE_PARAMS", "INTRINSIC_SET_TYPEPARAM_DEFAULT",
)  # fmt: skip
