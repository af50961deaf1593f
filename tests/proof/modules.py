"""The modules of CPython's test suite that the proof runs, the quick ones first."""

from __future__ import annotations

import importlib.util

MODULES = """
test_with test_raise test_exception_variations test_generator_stop test_except_star test_yield_from test_contextlib
test_contextlib_async test_patma test_scope test_super test_class test_listcomps test_named_expressions test_grammar
test_syntax test_unpack test_unpack_ex test_extcall test_keywordonlyarg test_positional_only_arg test_type_params
test_sys_setprofile test_monitoring test_call test_exception_group test_sys_settrace test_generators test_asyncgen
test_coroutines test_dict test_dataclasses test_typing test_finalization test_functools test_inspect test_exceptions
test_traceback test_gc test_weakref test_logging test_unittest test_json test_threading test_asyncio
""".split()


def available(names):
    """Those that this interpreter has."""
    if importlib.util.find_spec("test") is None:
        return []
    return [name for name in names if importlib.util.find_spec(f"test.{name}") is not None]
