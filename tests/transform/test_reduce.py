from __future__ import annotations

import json
import marshal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtab.format.marshalled import MarshalledCode, load_marshalled
from xtab.format.opcodes import CURRENT
from xtab.transform.reduce import Reducer, fewer, nested_paths
from xtab.transform.shrinking import CutCode

SOURCE = """
def outer(a):
    def inner(b):
        try:
            with a as c:
                return [needle(c), b, "pin"]
        except OSError:
            return 2
    return inner

class C:
    def f(self):
        return 1

x = 10, 20
"""


@pytest.fixture
def root():
    return load_marshalled(marshal.dumps(compile(SOURCE, "example.py", "exec")))


def codes(root):
    found = [root]
    for code in found:
        found += [each for each in code.consts if isinstance(each, MarshalledCode)]
    return found


def opnames(code):
    return [CURRENT.name[each.opcode] for each in CutCode(code).instructions]


def reduced(root, wanted):
    """The result, all candidates of which were told apart from what was wanted."""
    reducer = Reducer(root, lambda data: wanted(load_marshalled(data)))
    found = reducer.run()
    assert found is reducer.best
    assert wanted(found)
    return found


def test_a_name_that_is_loaded(root):
    def loads_needle(candidate):
        for code in codes(candidate):
            for each in CutCode(code).instructions:
                if CURRENT.name[each.opcode] == "LOAD_GLOBAL" and code.names[each.arg >> 1 : (each.arg >> 1) + 1]:
                    if code.names[each.arg >> CURRENT.flag_bits[each.opcode]] == "needle":
                        return True
        return False

    found = reduced(root, loads_needle)
    assert found.qualname == "outer.<locals>.inner"
    assert (opnames(found), found.names, found.consts) == (["LOAD_GLOBAL"], ("needle",), ())
    assert found.exceptiontable == b""


def test_a_constant_deep_inside(root):
    found = reduced(root, lambda candidate: any("pin" in code.consts for code in codes(candidate)))
    assert nested_paths(found) == []
    assert (found.code, found.consts) == (b"", ("pin",))


def test_an_entry_and_what_it_protects(root):
    def is_wanted(candidate):
        return any(
            (CutCode(code).entries or [(0, 0, 0, 0)])[0].flags & 1 for code in codes(candidate) if code.exceptiontable
        )

    found = reduced(root, is_wanted)
    (entry,) = CutCode(found).entries
    assert entry.flags & 1


def test_what_must_stay_in_place_becomes_nop(root):
    size = len(root.code)
    assert any(name != "NOP" for name in opnames(root))
    found = reduced(root, lambda candidate: len(opnames(candidate)) == len(opnames(root)))
    assert set(opnames(found)) == {"NOP"}
    assert len(found.code) <= size


def test_several_code_objects_that_need_each_other(root):
    wanted = {"outer", "C.f"}
    found = reduced(root, lambda candidate: wanted <= {code.qualname for code in codes(candidate)})
    assert {code.qualname for code in codes(found)} == {"<module>", "outer", "C", "C.f"}
    assert all(not code.code and not code.linetable for code in codes(found))


def test_nothing_can_be_left_out(root):
    reducer = Reducer(root, lambda data: False)
    assert reducer.run() is root
    assert reducer.tries > 0


def test_nothing_is_tried_twice_and_all_is_smaller(root):
    tried = []

    def wanted(data):
        tried.append(data)
        return len(tried) % 3 == 0

    reducer = Reducer(root, wanted)
    reducer.run()
    assert len(set(tried)) == len(tried) == reducer.tries


def test_an_exception_ends_it_and_the_best_is_kept(root):
    tried = 0

    def wanted(data):
        nonlocal tried
        tried += 1
        if tried == 5:
            raise KeyboardInterrupt
        return True

    reducer = Reducer(root, wanted)
    with pytest.raises(KeyboardInterrupt):
        reducer.run()
    assert reducer.best != root


def test_a_table_that_is_not_made_of_entries(root):
    root = root._replace(exceptiontable=b"\x01\x02\x03\x44")
    found = reduced(root, lambda candidate: 3 in candidate.exceptiontable)
    assert found.exceptiontable == b"\x03"


def test_surplus_prefixes_go():
    prefix = bytes([CURRENT.extended_arg, 0])
    load = bytes([CURRENT.number["LOAD_CONST"], 1])
    root = load_marshalled(marshal.dumps(json.load.__code__))._replace(code=prefix * 2 + load, consts=(1, 2))
    found = reduced(root, lambda candidate: "LOAD_CONST" in opnames(candidate))
    assert found.code == load[:1] + b"\0" or found.code == load


@given(st.sets(st.integers(0, 99), max_size=8))
def test_fewer_finds_exactly_what_is_needed(needed):
    assert fewer(range(100), lambda left: needed <= set(left)) == sorted(needed)


def test_fewer_takes_few_tries():
    tries = 0

    def wanted(left):
        nonlocal tries
        tries += 1
        return 700 in left

    assert fewer(range(1000), wanted) == [700]
    assert tries < 40


def test_what_is_not_plausible_is_not_asked_for(root):
    asked = []

    def wanted(data):
        asked.append(load_marshalled(data))
        return True

    reducer = Reducer(root, wanted, lambda candidate: len(opnames(candidate)) % 3 == len(opnames(root)) % 3)
    found = reducer.run()
    assert {len(opnames(candidate)) % 3 for candidate in asked} == {len(opnames(root)) % 3}
    assert len(opnames(found)) < 3


def test_statements_are_found_wherever_they_begin():
    names = ["NOP", *["LOAD_CONST", "POP_TOP"] * 3, "NOP", *["LOAD_CONST", "POP_TOP"] * 2, "RETURN_VALUE"]
    code = b"".join(bytes([CURRENT.number[name], 0]) for name in names)
    root = load_marshalled(marshal.dumps(json.load.__code__))._replace(code=code, exceptiontable=b"")

    def is_paired(candidate):
        left = [name for name in opnames(candidate) if name != "NOP"]
        whole = [*["LOAD_CONST", "POP_TOP"] * (len(left) // 2), "RETURN_VALUE"]
        return left == whole and opnames(candidate).count("NOP") == 2

    found = Reducer(root, lambda data: True, is_paired).run()
    assert opnames(found) == ["NOP", "NOP", "RETURN_VALUE"]


def test_deep_nesting():
    code = MarshalledCode(0, 0, 0, 0, 0, b"", ("pin",), (), (), b"", "", "", "", 1, b"", b"")
    root = code
    for _ in range(100):
        root = code._replace(consts=(root,))
    assert reduced(root, lambda candidate: any("pin" in code.consts for code in codes(candidate))) == code
