"""`Body`: its pieces and its lists."""

from __future__ import annotations

import pytest

import xtab
from xtab import Instruction, Span


def body_with(protected):
    """Return a body of NOPs, each protected by the span that stands in the list."""
    body = xtab.decode(lambda x: x)
    body.instructions[1:1] = [Instruction("NOP", exn_tab_entry=span) for span in protected]
    return body


def pieces(body, span):
    place = body.instructions.index
    return [(place(first) - 1, place(last) - 1) for first, last in body.pieces_of(span)]


def test_pieces_of_a_span():
    """Pairs of first and last instruction; what is protected by spans inside belongs to it, holes do not."""
    handler = Instruction("NOP")
    outer = Span(handler, 0)
    inner = Span(handler, 0, outer=outer)
    innermost = Span(handler, 0, outer=inner)
    other = Span(handler, 0)
    body = body_with([outer, inner, innermost, None, other, outer, inner, None, innermost])
    assert pieces(body, outer) == [(0, 2), (5, 6), (8, 8)]
    assert pieces(body, inner) == [(1, 2), (6, 6), (8, 8)]
    assert pieces(body, innermost) == [(2, 2), (8, 8)]
    assert pieces(body, other) == [(4, 4)]
    assert pieces(body, Span(handler)) == []


def closure(x):
    def inner():
        return x

    return inner


def generator():
    try:
        yield 1
    finally:
        closure(1)


async def coroutine(x):
    return [y async for y in x]


@pytest.mark.parametrize(
    "code",
    [
        lambda: None,
        lambda *, x: [lambda: x],
        closure,
        closure(1),
        generator,
        coroutine,
        compile("import a\nclass B: pass", "example", "exec"),
        compile("(x for x in y)", "example", "eval").co_consts[0],
    ],
    ids=range(8),
)
def test_the_start_is_behind_the_first_resume(code):
    body = xtab.decode(code)
    names = [each.opname for each in body.instructions]
    assert body.start is body.instructions[names.index("RESUME") + 1]
    assert body.start is body.insertion_points()[0]
    assert body.why_not_before(body.start) is None
    nop = Instruction("NOP")
    body.insert_before(body.start, [nop])
    assert body.start is nop
    xtab.assemble(body)


def test_a_body_without_a_start():
    body = xtab.decode(lambda: None)
    body.instructions[:] = body.instructions[:1]
    with pytest.raises(
        xtab.XtabError, match=r"behind its first RESUME, but found Instruction\('RESUME', 0\) as the last"
    ):
        _ = body.start
    body.instructions.clear()
    with pytest.raises(xtab.XtabError, match="behind its first RESUME, but found nothing"):
        _ = body.start
    body.instructions.append(Instruction("NOP"))
    assert body.start is body.instructions[0]


def test_pieces_follow_edits():
    """Nothing is stored that could go stale: deleting instructions, all of them too, leaves the rest right."""
    span = Span(Instruction("NOP"), 0)
    body = body_with([span, span, None, span])
    del body.instructions[1]
    assert pieces(body, span) == [(0, 0), (2, 2)]
    body.instructions[2].exn_tab_entry = span
    assert pieces(body, span) == [(0, 2)]
    body.instructions[1:] = body.instructions[4:]
    assert pieces(body, span) == []


def test_pieces_of_spans_in_a_circle():
    """Such spans are refused at assembly, but asking ends."""
    handler = Instruction("NOP")
    first, second, third = Span(handler), Span(handler), Span(handler)
    first.outer, second.outer = second, first
    body = body_with([first, None, second, third])
    assert pieces(body, first) == pieces(body, second) == [(0, 0), (2, 2)]
    assert pieces(body, third) == [(3, 3)]


def test_pieces_of_spans_nested_deeply():
    handler = Instruction("NOP")
    spans = [Span(handler)]
    for _ in range(20_000):
        spans.append(Span(handler, outer=spans[-1]))
    body = body_with([spans[-1], None, spans[5_000], spans[0]])
    assert pieces(body, spans[0]) == [(0, 0), (2, 3)]
    assert pieces(body, spans[5_001]) == [(0, 0)]


def test_the_lists_are_those_of_the_code():
    """In its order, each the same list whenever asked for; they can be appended to, but not replaced."""

    def f(a, b=1):
        c = a.x, len
        return lambda: (c, free)

    free = 1
    body = xtab.decode(f)
    code = f.__code__
    for name in ("consts", "names", "varnames", "cellvars", "freevars"):
        items = getattr(body, name)
        assert items == list(getattr(code, f"co_{name}"))
        assert getattr(body, name) is items
        with pytest.raises(AttributeError):
            setattr(body, name, [])
    body.names.append("new")
    body.consts.append("constant")
    new = xtab.assemble(body)
    assert (new.co_names, new.co_consts) == ((*code.co_names, "new"), (*code.co_consts, "constant"))
    assert free


def test_the_rest_of_a_code_object_can_be_set():
    """Names, numbers and flags go to the code object as they are."""
    body = xtab.decode(lambda a, /, b, *, c: a)
    values = {"name": "n", "qualname": "q.n", "filename": "elsewhere", "first_line": 77}
    for name, value in values.items():
        setattr(body, name, value)
    body.argcount, body.posonlyargcount, body.kwonlyargcount = 3, 0, 0
    code = xtab.assemble(body)
    assert (code.co_name, code.co_qualname, code.co_filename, code.co_firstlineno) == tuple(values.values())
    assert (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount) == (3, 0, 0)
    assert repr(body) == f"<Body of q.n, {len(body.instructions)} instructions>"
