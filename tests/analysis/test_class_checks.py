"""Hand-made handlers: what no compiler makes must give an answer too. What compilers make is in test_region_kinds."""

from __future__ import annotations

import pytest

from xtab import regions
from xtab.analysis.class_checks import BARE, UNNAMED, class_checks, straight_on
from xtab.format.opcodes import CURRENT
from xtab.model.decode import read_source


def checks(source, **more):
    """The classes of the first handler of a text."""
    found = read_source(compile(source, "example", "exec"))
    place = [CURRENT.name[opcode] for opcode in found.opcodes].index("PUSH_EXC_INFO")
    return class_checks(found, place + 1)


def test_clauses():
    assert checks("try: f()\nexcept A.b: g()\nexcept h(): g()\nexcept: g()") == (("A.b", UNNAMED, BARE), False)
    assert checks("try: f()\nexcept* A: g()\nexcept* h().b: g()") == (("A", UNNAMED), True)
    assert checks("try: f()\nfinally: g()") == ((), False)


@pytest.mark.parametrize("depth", [1, 30, 2000])
def test_long_dotted_names(depth):
    name = ".".join(["a"] * depth)
    assert checks(f"try: f()\nexcept {name}: g()") == ((name,), False)


def test_a_comparison_elsewhere_is_not_this_handlers():
    """The body of a finally that jumps out to where other handlers are."""
    text = """
for x in y:
    try: f()
    finally:
        if x: continue
        for z in x:
            try: g()
            except A: break
"""
    with pytest.warns(SyntaxWarning) if CURRENT.version >= (3, 14) else nothing():
        code = compile(text, "example", "exec")
    labels = sorted(region.label for region in regions(code) if not region.bookkeeping)
    assert labels == ["except A", "except A", "finally"]


class nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def test_straight_on_ends():
    """It leaves NOPs and jumps out, and ends behind a return and in a circle."""
    source = read_source(compile("while True: pass", "example", "exec"))
    names = [CURRENT.name[source.opcodes[place]] for place in straight_on(source, 0)]
    assert names == ["RESUME"]
    source = read_source(compile("x = 1", "example", "exec"))
    names = [CURRENT.name[source.opcodes[place]] for place in straight_on(source, 0)]
    assert names[0] == "RESUME"
    assert names[-1].startswith("RETURN")
    assert list(straight_on(source, len(source.opcodes))) == []


def test_stacks_that_run_dry():
    """A handler that compares without having loaded a class."""
    code = compile("try: f()\nexcept A: g()", "example", "exec")
    source = read_source(code)
    names = [CURRENT.name[opcode] for opcode in source.opcodes]
    place = names.index("PUSH_EXC_INFO")
    changed = bytearray(code.co_code)
    changed[2 * source.starts[names.index("LOAD_NAME", place)]] = CURRENT.nop
    source = read_source(code.replace(co_code=bytes(changed)))
    assert class_checks(source, place + 1) == ((UNNAMED,), False)


def test_clauses_in_a_circle():
    """The comparison fails to where it is made."""
    code = compile("try: f()\nexcept A: g()\nexcept B: g()", "example", "exec")
    source = read_source(code)
    names = [CURRENT.name[opcode] for opcode in source.opcodes]
    place = names.index("PUSH_EXC_INFO")
    last = max(number for number, name in enumerate(names) if str(name).endswith("IF_FALSE"))
    source.targets[last] = place + 1
    assert class_checks(source, place + 1) == (("A", "B"), False)
