"""What instructions take from the stack and leave there, in words, as all supported versions agree.

``"object bool -- list"``: takes an object and, on top of it, a bool; leaves a list. The words of CPython's own
``Python/bytecodes.c``, with kinds in place of names:

- ``object`` any object, ``null`` NULL, ``maybe`` either; ``self`` the same, as LOAD_SPECIAL leaves it
- ``dropped`` what may be dropped: no NULL, but for a ``self``; ``any`` NULL too
- ``bool str list dict tuple func`` objects of that kind, where the interpreter trusts them to be; what is left may also
  be one of ``none int set interpolation``, which no signature asks for
- ``strs`` a tuple of strings; ``cells`` one of cells; ``alias`` one of a name, type parameters or None, and a function
- ``own`` a dict that nobody else holds: while keywords are parsed, one that others hold may change; ``own_or_null``
  one, or NULL
- ``iter`` what FOR_ITER can ask for a next value; ``index`` NULL, or where in a list or tuple the iteration is
- ``exc`` an exception; ``prev`` what PUSH_EXC_INFO saved; ``lasti`` the offset that was pushed with an exception;
  ``caught`` an exception or None, ``rest`` the same, what ``except*`` leaves; ``excs`` a list of such
- ``=0`` the first of those taken, put back as it was
- ``object?`` only if the operand is odd; ``object?4`` only if it has bit 4; ``object*n`` as often as the operand says;
  ``object*2n`` twice as often

Instructions that are not here do more than take and leave: `xtab.analysis.verify.steps` has them one by one.
"""

from __future__ import annotations

SIGNATURES: dict[str, str] = {
    "NOP": "--", "NOT_TAKEN": "--", "POP_TOP": "dropped --", "PUSH_NULL": "-- null",
    "LOAD_SMALL_INT": "-- int", "LOAD_ASSERTION_ERROR": "-- object", "LOAD_BUILD_CLASS": "-- object",
    "LOAD_LOCALS": "-- object", "LOAD_NAME": "-- object", "STORE_NAME": "object --", "DELETE_NAME": "--",
    "LOAD_GLOBAL": "-- object null?", "STORE_GLOBAL": "object --", "DELETE_GLOBAL": "--",
    "LOAD_FROM_DICT_OR_GLOBALS": "object -- object",
    "LOAD_ATTR": "object -- object maybe?", "STORE_ATTR": "object object --", "DELETE_ATTR": "object --",
    "LOAD_METHOD": "object -- maybe object", "LOAD_SUPER_ATTR": "object object object -- object maybe?",
    "BINARY_OP": "object object -- object", "BINARY_SUBSCR": "object object -- object",
    "STORE_SUBSCR": "object object object --", "DELETE_SUBSCR": "object object --",
    "BINARY_SLICE": "object object object -- object", "STORE_SLICE": "object object object object --",
    "IS_OP": "object object -- bool", "CONTAINS_OP": "object object -- bool", "TO_BOOL": "object -- bool",
    "UNARY_NOT": "bool -- bool", "UNARY_NEGATIVE": "object -- object", "UNARY_INVERT": "object -- object",
    "UNARY_POSITIVE": "object -- object",
    "BUILD_LIST": "object*n -- list", "BUILD_SET": "object*n -- set", "BUILD_STRING": "object*n -- str",
    "BUILD_MAP": "object*2n -- own", "BUILD_CONST_KEY_MAP": "object*n tuple -- own", "BUILD_SLICE": "object*n -- object",
    "BUILD_INTERPOLATION": "object str object? -- interpolation",
    "LIST_TO_TUPLE": "list -- tuple", "UNPACK_SEQUENCE": "object -- object*n",
    "FORMAT_VALUE": "object object?4 -- str", "FORMAT_SIMPLE": "object -- str", "FORMAT_WITH_SPEC": "object object -- str",
    "CONVERT_VALUE": "object -- str",
    "GET_LEN": "object -- =0 int", "MATCH_MAPPING": "object -- =0 bool", "MATCH_SEQUENCE": "object -- =0 bool",
    "MATCH_KEYS": "object tuple -- =0 =1 object", "MATCH_CLASS": "object object strs -- object",
    "CALL_FUNCTION_EX": "object null object own_or_null -- object",
    "IMPORT_NAME": "object object -- object", "IMPORT_FROM": "object -- =0 object", "IMPORT_STAR": "object --",
    "SETUP_ANNOTATIONS": "--", "PRINT_EXPR": "object --",
    "RAISE_VARARGS": "object*n --", "CHECK_EXC_MATCH": "exc object -- =0 bool",
    "CHECK_EG_MATCH": "caught object -- rest caught", "PREP_RERAISE_STAR": "exc excs -- caught",
    "BEFORE_WITH": "object -- object object", "BEFORE_ASYNC_WITH": "object -- object object",
    "LOAD_SPECIAL": "object -- object self",
    "WITH_EXCEPT_START": "object maybe lasti prev exc -- =0 =1 =2 =3 =4 object",
    "GET_ITER": "object -- iter", "GET_YIELD_FROM_ITER": "object -- object", "GET_AITER": "object -- object",
    "GET_ANEXT": "object -- =0 object", "END_ASYNC_FOR": "object exc --", "GET_AWAITABLE": "object -- object",
    "END_FOR": "object dropped -- =0", "POP_ITER": "dropped --", "END_SEND": "object object -- =1",
    "CLEANUP_THROW": "object object exc -- none object", "ASYNC_GEN_WRAP": "object -- object",
    "RETURN_GENERATOR": "-- object", "YIELD_VALUE": "object -- object", "KW_NAMES": "--", "RETURN_CONST": "--",
    "RETURN_VALUE": "object --", "RESUME": "--",
    "JUMP_FORWARD": "--", "JUMP_BACKWARD": "--", "JUMP_BACKWARD_NO_INTERRUPT": "--",
    "POP_JUMP_IF_FALSE": "bool --", "POP_JUMP_IF_TRUE": "bool --", "POP_JUMP_IF_NONE": "object --",
    "POP_JUMP_IF_NOT_NONE": "object --",
    "JUMP_IF_FALSE_OR_POP": "object --", "JUMP_IF_TRUE_OR_POP": "object --",
    "POP_JUMP_FORWARD_IF_FALSE": "object --", "POP_JUMP_FORWARD_IF_TRUE": "object --",
    "POP_JUMP_FORWARD_IF_NONE": "object --", "POP_JUMP_FORWARD_IF_NOT_NONE": "object --",
    "POP_JUMP_BACKWARD_IF_FALSE": "object --", "POP_JUMP_BACKWARD_IF_TRUE": "object --",
    "POP_JUMP_BACKWARD_IF_NONE": "object --", "POP_JUMP_BACKWARD_IF_NOT_NONE": "object --",
}  # fmt: skip

INTRINSICS: dict[str, str] = {
    "INTRINSIC_PRINT": "object -- object", "INTRINSIC_IMPORT_STAR": "object -- object",
    "INTRINSIC_STOPITERATION_ERROR": "exc -- exc", "INTRINSIC_ASYNC_GEN_WRAP": "object -- object",
    "INTRINSIC_UNARY_POSITIVE": "object -- object", "INTRINSIC_LIST_TO_TUPLE": "list -- tuple",
    "INTRINSIC_TYPEVAR": "str -- object", "INTRINSIC_PARAMSPEC": "str -- object", "INTRINSIC_TYPEVARTUPLE": "str -- object",
    "INTRINSIC_SUBSCRIPT_GENERIC": "tuple -- object", "INTRINSIC_TYPEALIAS": "alias -- object",
    "INTRINSIC_PREP_RERAISE_STAR": "exc excs -- caught", "INTRINSIC_TYPEVAR_WITH_BOUND": "str object -- object",
    "INTRINSIC_TYPEVAR_WITH_CONSTRAINTS": "str object -- object",
    "INTRINSIC_SET_FUNCTION_TYPE_PARAMS": "func tuple -- =0", "INTRINSIC_SET_TYPEPARAM_DEFAULT": "object object -- object",
}  # fmt: skip
"""The same for the functions behind CALL_INTRINSIC_1 and CALL_INTRINSIC_2; ``alias``: the tuple of a type alias."""

ADDS_TO = {
    "LIST_APPEND": ("list", 1), "LIST_EXTEND": ("list", 1), "SET_ADD": ("object", 1), "SET_UPDATE": ("object", 1),
    "MAP_ADD": ("dict", 2), "DICT_UPDATE": ("dict", 1), "DICT_MERGE": ("dict", 1),
}  # fmt: skip
"""Instructions that put something in a collection further down: its kind, and how many values they take. Sets are checked."""

FUNCTION_PARTS = ((1, "tuple"), (2, "dict"), (4, "tuple"), (8, "cells"), (16, "func"))
"""What a function can be given: the bit in the operand, and the kind; in this order where several are on the stack."""

LIMITS: dict[str, tuple[int, int]] = {
    "COPY": (1, 1 << 30), "SWAP": (2, 1 << 30), "RERAISE": (0, 2), "RAISE_VARARGS": (0, 2), "BUILD_SLICE": (2, 3),
    "IS_OP": (0, 1), "CONTAINS_OP": (0, 1), "GET_AWAITABLE": (0, 2), "CONVERT_VALUE": (1, 3), "FORMAT_VALUE": (0, 7), "RESUME": (0, 3),
    "LIST_APPEND": (1, 1 << 30), "LIST_EXTEND": (1, 1 << 30), "SET_ADD": (1, 1 << 30), "SET_UPDATE": (1, 1 << 30),
    "MAP_ADD": (1, 1 << 30), "DICT_UPDATE": (1, 1 << 30), "DICT_MERGE": (1, 1 << 30), "CALL_FUNCTION_EX": (0, 1),
    "MAKE_FUNCTION": (0, 15), "SEND": (0, (1 << 16) - 3), "CALL_INTRINSIC_1": (1, 255), "CALL_INTRINSIC_2": (1, 255),
}  # fmt: skip
"""The least and the greatest operand, where the operand stands for itself and not all numbers will do."""

LEADS_TO = {"FOR_ITER": "END_FOR", "SEND": "END_SEND"}
"""What a jump must lead to, since the interpreter skips it, or looks for it."""
