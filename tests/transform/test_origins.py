"""Origins: by identity, weak, and the place of the first code object of all."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import types
import weakref

import pytest

import xtab
from xtab.format.code import code_objects
from xtab.transform import origins
from xtab.transform.emit import load_const, pop
from xtab.transform.origins import Origin, hold, made_from, mark_loaded, origin_of
from xtab.transform.relocate import relocate

TEXT = "def f(x):\n    return [lambda: x, x]\n"
NAME = f"{__name__}:add_something"


def add_something(body):
    body.insert_before(body.insertion_points()[0], [*load_const("new"), *pop()])


def function(filename="a.py", text=TEXT, name="f"):
    names = {}
    exec(compile(text, filename, "exec"), names)
    return names[name]


def test_two_functions_of_equal_code_have_each_their_own():
    one, two = function("a.py"), function("b.py")
    assert one.__code__ == two.__code__, "CPython's equality doesn't see the file"
    new = [xtab.rewrite(each, add_something) for each in (one, two)]
    assert new[0].__code__ == new[1].__code__
    assert [origin_of(each) for each in new] == [Origin(name, 1, "f", NAME) for name in ("a.py", "b.py")]
    assert origin_of(one) is origin_of(two) is None


def test_an_equal_twin_of_what_was_made_has_none():
    new = xtab.rewrite_code(function().__code__, add_something)
    twin = new.replace()
    assert twin == new
    assert origin_of(twin) is None


def test_two_lambdas_of_one_line_have_each_their_own():
    pair = eval(compile("[lambda: 1, lambda: 2]", "a.py", "eval"))
    new = [xtab.rewrite(each, add_something) for each in pair]
    del pair, new[0]
    gc.collect()
    assert origin_of(new[0]).qualname == "<lambda>"


def test_what_has_code_is_asked():
    new = xtab.rewrite(function(text="def f():\n    yield 1 / 0\n"), add_something)
    generator = new()
    want = Origin("a.py", 1, "f", NAME)
    assert origin_of(new) == origin_of(generator) == origin_of(generator.gi_frame) == want
    with pytest.raises(ZeroDivisionError) as caught:
        next(generator)
    assert origin_of(caught.value.__traceback__) is None
    assert origin_of(caught.value.__traceback__.tb_next) == want
    assert origin_of(types.MethodType(new, 1)) == want
    with pytest.raises(TypeError, match="expected a code object"):
        origin_of(len)


def test_nested_code_has_its_own():
    code = xtab.rewrite_code(compile(TEXT, "a.py", "exec"), add_something, recursive=True)
    found = [origin_of(each) for each in code_objects(code)]
    assert [each.qualname for each in found] == ["<module>", "f", "f.<locals>.<lambda>"]
    assert [each.firstlineno for each in found] == [1, 1, 2]


def test_nested_code_that_nobody_changed_has_none():
    code = xtab.rewrite_code(compile(TEXT, "a.py", "exec"), add_something)
    assert [origin_of(each) is None for each in code_objects(code)] == [False, True, True]


def test_of_several_steps_the_first_place_and_the_last_transform():
    moved = relocate(function("<generated>"), filename="user.py", lines=40, name="forward")
    new = xtab.rewrite(moved, add_something)
    assert new.__code__.co_filename == "user.py"
    assert origin_of(moved)[:3] == origin_of(new)[:3] == ("<generated>", 1, "f")
    assert origin_of(moved).transform == "xtab.transform.relocate:relocate"
    assert origin_of(new).transform == NAME


def test_code_that_one_transform_gives_for_many():
    stub = function().__code__
    new = [xtab.rewrite_code(function(name).__code__, lambda body: stub) for name in ("b.py", "c.py")]
    assert [origin_of(each).filename for each in new] == ["b.py", "c.py"]
    assert new[0] == new[1] == stub


def test_what_a_transform_leaves_alone_is_not_made():
    code = function().__code__
    assert made_from(code, code, "tool:nothing") is code
    assert origin_of(code) is None
    same = xtab.rewrite_code(code, lambda body: code)
    assert same is code
    assert origin_of(code) is None


def test_swapped_code():
    victim, plain = function(), function().__code__
    body = xtab.decode(victim)
    add_something(body)
    old = xtab.swap_code(victim, xtab.assemble(body))
    assert origin_of(victim) == Origin("a.py", 1, "f", "xtab.transform.rewrite:swap_code")
    assert xtab.swap_code(victim, old) is not old
    assert origin_of(victim) is None, "the old code is an original"
    new = xtab.rewrite_code(plain, add_something)
    xtab.swap_code(victim, new)
    assert origin_of(victim).transform == NAME, "what is known is known better"


def test_imported_modules(tmp_path, monkeypatch):
    (tmp_path / "xt_origin.py").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    for fresh in (True, False):
        with xtab.rewrite_imports(add_something, include="xt_origin", cache=tmp_path / "cache", version="1") as hook:
            import xt_origin  # noqa: PLC0415 (while the hook is there)

            assert origin_of(xt_origin.f) == Origin(str(tmp_path / "xt_origin.py"), 1, "f", NAME), fresh
        del sys.modules["xt_origin"], hook
    assert list((tmp_path / "cache").iterdir())


def test_marked_code():
    code = compile(TEXT, "a.py", "exec")
    mark_loaded(code, "tool:edit", nested=False)
    assert [origin_of(each) is None for each in code_objects(code)] == [False, True, True]


def test_a_record_goes_with_its_code():
    gc.collect()
    before = len(origins._records)
    new = xtab.rewrite(function(), add_something)
    assert len(origins._records) == before + 1
    del new
    gc.collect()
    assert len(origins._records) == before


def test_a_late_callback_spares_the_next_record():
    code = function().__code__
    mark_loaded(code, "tool:one", nested=False)
    late = origins._records[id(code)]
    mark_loaded(code, "tool:two", nested=False)
    origins._drop(late)
    assert origin_of(code).transform == "tool:two"


class Thing:
    pass


def test_a_thing_is_held_by_all_that_is_made():
    thing = Thing()
    gone = weakref.ref(thing)
    code = compile(TEXT, "a.py", "exec")
    for _ in range(3):
        hold(code, thing)
    assert len(origins._held(code)) == 1
    names = {}
    exec(code, names)
    del code, thing
    new = xtab.rewrite(names.pop("f"), add_something)
    names.clear()
    gc.collect()
    assert gone() is not None
    inner = new(1)[0]
    del new
    gc.collect()
    assert gone() is not None, "what is nested holds it too"
    del inner
    gc.collect()
    assert gone() is None


def test_threads():
    def work():
        for _ in range(50):
            new = xtab.rewrite(function(threading.current_thread().name), add_something)
            wrong.extend([] if origin_of(new).filename == threading.current_thread().name else [new])

    wrong = []
    threads = [threading.Thread(target=work, name=f"file {number}") for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_end_of_the_interpreter_is_quiet():
    text = (
        "import xtab, sys\n"
        "def f(): return lambda: 0\n"
        "keep = sys.keep = xtab.rewrite(f, lambda body: body.insert_before(body.instructions[-1], "
        "[xtab.Instruction('NOP')]))\n"
        "xtab.register_source(compile('x', '<x>', 'eval'), 'x')\n"
        "again = xtab.rewrite(keep, lambda body: None); again.me = again\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("count", [500, pytest.param(5_000, marks=pytest.mark.slow)])
def test_short_lived_code_leaves_no_memory_behind(count):
    """Functions, each made, registered in every way that there is, asked, and dropped."""
    text = """
import sys, gc, tracemalloc, xtab, linecache
from xtab.transform.relocate import relocate
from xtab.transform.origins import _records
files = xtab.GeneratedFiles()

def once(number):
    text = "def f():\\n    return [lambda: %d]\\n" % number
    code = compile(text, f"<generated {number}>", "exec")
    xtab.register_source(code, text)
    files.register(code.co_filename, "model.py", code=code)
    new = relocate(code, lines=1)
    assert xtab.origin_of(new.co_consts[0]).filename == code.co_filename
    assert linecache.getline(code.co_filename, 1)

def many(numbers):
    before = tracemalloc.get_traced_memory()[0], len(_records), len(gc.get_objects())
    for number in numbers:
        once(number)
        if number % 100 == 0:
            gc.collect()  # or else dictionaries grow with what waits for it
    gc.collect()
    assert len(_records) == before[1], (len(_records), before)
    assert not [name for name in linecache.cache if name.startswith("<generated")]
    assert not files._originals
    return tracemalloc.get_traced_memory()[0] - before[0], len(gc.get_objects()) - before[2]

count = int(sys.argv[1])
tracemalloc.start()
many(range(300))
# the less of two, since the interpreter's table of strings grows now and then, to twice its size
print(*min(many(range(1_000, 1_000 + count)), many(range(50_000, 50_000 + count))))
"""
    done = subprocess.run([sys.executable, "-c", text, str(count)], capture_output=True, text=True, check=True)
    left, objects = map(int, done.stdout.split())
    assert left < 10_000, "20 bytes each for 500, 2 for 5,000, twice"
    assert objects < 50
