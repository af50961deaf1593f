"""The short form of the comparison with the syntax tree; and that it finds what is wrong."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from xtab.analysis.region_kinds import Kind

LIBRARY = Path(sysconfig.get_path("stdlib"))
#: small files with much in them
FILES = """
_collections_abc.py asyncio/locks.py asyncio/runners.py asyncio/streams.py asyncio/taskgroups.py cmd.py contextlib.py
dataclasses.py shelve.py socket.py subprocess.py tempfile.py threading.py traceback.py zipfile/__init__.py zipfile.py
""".split()

SHAPES = {
    "nested": """
def f(a, b):
    with a() as x, b() as y.z:
        try:
            g()
            for i in range(3):
                try:
                    if i: continue
                    h(i)
                except (KeyError, os.error) as e:
                    return k(e)
                except ValueError:
                    raise l() from None
                else:
                    m()
                finally:
                    n()
        except:
            o()
        finally:
            try: p()
            except A.b: q()
            finally: r()
""",
    "groups": """
def f():
    try: a()
    except* (A, B) as e: b(e)
    except* C:
        try: c()
        except* D: d()
    finally: e()
""",
    "coroutine": """
async def f(a):
    async with a() as b, c(b):
        async for x in d():
            await e(x)
            try: yield f(x)
            except await g(): return
            finally: await h()
async def g():
    with i(): return [j(x) async for x in y() if await k(x)]
""",
    "comprehensions": """
class C:
    x = [f(y) for y in g() for z in h(y)]
    def m(self):
        try: return {f(y): [g(z) for z in y] for y in h()}, tuple(k(x) for x in l()), (lambda: n())()
        except self.error: return (lambda: (yield p()))
""",
    "match": """
match f():
    case [A(x), *_] if g():
        with a(): b()
    case {"k": B()}:
        try: c()
        finally: d()
""",
    "leaving": """
def f():
    while a():
        try:
            with b():
                if c(): break
                if d(): continue
                return e()
        finally:
            if g(): return h()
            if i(): continue
            j()
""",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(tools, name):
    tally = tools("compare").compare_file(SHAPES[name].encode(), name)
    assert tally.mismatches == []
    assert tally.counts["calls compared"] >= 3
    assert tally.blocks.keys() <= tally.seen_blocks.keys() | {"throw clean-up", "comprehension restore"}
    assert tally.kinds["unknown"] == 0


@pytest.mark.parametrize("part", range(2))
def test_some_of_the_library(tools, part):
    run = tools("run")
    paths = [path for path in run.library() if path.relative_to(LIBRARY).as_posix() in FILES][part::2]
    total = run.compare_files(paths)
    assert total.mismatches == []
    assert len(paths) >= 6
    assert total.counts["calls compared"] > 300
    assert total.kinds["unknown"] == 0
    assert "mismatches: 0" in list(run.summary(total))


@pytest.mark.slow
def test_all(tools):
    run = tools("run")
    assert run.compare_files(run.library()).mismatches == []


def lie_about_kind(regions):
    for region in regions:
        if region.kind == Kind.FINALLY:
            region.kind = Kind.BARE_EXCEPT


def lie_about_classes(regions):
    for region in regions:
        region.classes = region.classes[:-1]


def lie_about_bookkeeping(regions):
    for region in regions:
        if region.kind == Kind.NAME_CLEANUP:
            region.kind = Kind.HANDLER_CLEANUP


def lie_about_nesting(regions):
    inner = next(region for region in regions if region.parent is not None)
    inner.parent = None


def lie_about_order(regions):
    first, second = (region for region in regions if region.kind == Kind.WITH)
    first.kind, second.kind = Kind.ASYNC_WITH, Kind.ASYNC_WITH


def lie_about_pieces(regions):
    regions[0].pieces = regions[0].pieces[:-1]


def lie_about_entries(regions):
    regions[0].entries, regions[1].entries = regions[1].entries, regions[0].entries


def lose_the_kind(regions):
    regions[0].kind = Kind.UNKNOWN


def swap_blocks_of_one_kind(regions):
    """Both are a with: only that one of them is around what the other was around tells."""
    outer, inner = (region for region in regions if region.kind == Kind.WITH)
    outer.handler, inner.handler = inner.handler, outer.handler
    outer.depth, inner.depth = inner.depth, outer.depth


LIES = [
    lie_about_kind, lie_about_classes, lie_about_bookkeeping, lie_about_nesting, lie_about_order, lie_about_pieces,
    lie_about_entries, lose_the_kind, swap_blocks_of_one_kind,
]  # fmt: skip


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_what_is_wrong_is_found(tools, monkeypatch, lie):
    compare = tools("compare")
    right = compare.read_regions

    def wrong(source):
        found = right(source)
        if len(found) > 2:
            lie(found)
        return found

    monkeypatch.setattr(compare, "read_regions", wrong)
    assert compare.compare_file(SHAPES["nested"].encode(), "nested").mismatches


def test_regions_of_one_block_each(tools, monkeypatch):
    """Two blocks of one kind that are taken for each other in one place are found by what they are elsewhere."""
    compare = tools("compare")
    tally = compare.Tally()
    source = b"with a():\n    b()\nwith c():\n    d()\n"
    right = compare.read_regions

    def wrong(source):
        found = [region for region in right(source) if region.kind == Kind.WITH]
        others = [region for region in right(source) if region.kind != Kind.WITH]
        found[0].entries += found[1].entries
        found[0].pieces += found[1].pieces
        return (found[0], *others)

    monkeypatch.setattr(compare, "read_regions", wrong)
    tally = compare.compare_file(source, "two")
    assert any("elsewhere" in line for line in tally.mismatches)


def test_what_cannot_be_compiled_is_counted(tools):
    tally = tools("compare").compare_file(b"x = (", "broken")
    assert dict(tally.counts) == {"files that can't be compiled": 1}
