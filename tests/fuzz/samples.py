"""Source text of small, dense functions that together use every opcode of every version; nothing here is run as it is.

It is text, since most of it is not what one would write, and some of it only compiles on later versions: `corpus`
compiles each piece, and passes over what this Python has no syntax for.
"""

from __future__ import annotations

from samples_of_flow import EXCEPTIONS, GENERATORS

BASIC = r"""
def assignments(a, b, c):
    x = y = a
    x, y = y, x
    x, y, z = b, a, x
    [p, *q] = c
    (*r, s) = c
    *t, u, v = c
    a.attr = b.attr
    a[b] = c[b]
    a[1:b] = c[::2]
    a[b:] += 1
    a.n += 1
    a[b] -= 1
    del a[0], a.attr, a[1:2], x
    return p, q, r, s, t, u, v, y, z

def operators(a, b):
    return (a + b - a * b / a // b % a ** b @ a << b >> a & b | a ^ b, -a, +a, ~b, not a, a and b, a or b,
        a if b else 1, a < b <= a == b != a > b >= a, a is b, a is not b, a in b, a not in b)

def inplace(a, b):
    a += b; a -= b; a *= b; a /= b; a //= b; a %= b; a **= b; a @= b; a <<= b; a >>= b; a &= b; a |= b; a ^= b
    return a

def constants():
    return 1, 1.5, 2j, "s", b"b", None, True, ..., (1, (2, "x")), -1, 300, 70000, 1 << 70, ""

def branches(a, b):
    if a: return 1
    elif b is None: return 2
    elif a is not None and not b: return 3
    while a:
        a -= 1
        if a == 3: continue
        if a == 2: break
    else: b = 4
    while b is None: b = a()
    while b is not None: b = a(b)
    return b

def loops(items):
    out = []
    for i, (j, k) in items:
        for n in range(3):
            if n == i: break
        else: continue
        out.append((j, k, n))
    return out

def slices(a, b):
    return a[b], a[1:2], a[:], a[b:], a[1:b:2], a[b, 1:], a[..., 0]

def displays(a, b, *c, **d):
    return [a, *b, *c], (a, *b), {a, *b}, {"k": a, **d}, {a: b, b: a}, [1, 2, 3, 4], {1, 2, 3}, {"a": a, "b": b, "c": 1}

def calls(f, a, *args, k=1, **kw):
    f(); f(a); f(a, a, k=k); f(*args); f(a, *args, k=k, **kw); f(**kw); f(x=a, y=k); f(a, *a, **a, **kw)
    a.method(); a.method(1, a, z=a); a.b.c(a).d(*args, **kw)
    return f(f(f(a)), [f(a)], k=f(a, k=a))

def formatting(a, b):
    return f"{a}{b!r:>10}{a!s}{b!a:{b}}{a=}{a:x}" + f"{a}" + "%s" % b

def walrus(a):
    if (n := len(a)) > 3 and (m := n + 1): return n, m
    return [y := 1, y ** 2, (z := a)]

def asserts(a, b):
    assert a, b
    assert b
    return a

def unpack_call(a):
    print(*a, *[1], sep="")
    return max(*a, key=lambda v, w=a: (v, w))

def global_use():
    global G, H
    G = 1
    H = G
    del H
    return G

def imports():
    import alpha
    import alpha.beta as ab
    from alpha import gamma, delta as d
    return alpha, ab, gamma, d

def deletes(a, b):
    del b
    x = a
    if a: del x
    return x

def maybe(a):
    if a: x = 1
    for y in a: pass
    return x, y

def raising(a, b):
    if a: raise ValueError(a)
    if b: raise KeyError from a
    raise a

def defaults(a, b=1, /, c=2, *d, e, f=3, **g) -> None:
    def inner(x: int = a, *, y: str = b) -> "r": return x, y
    return inner, lambda *v, **w: (v, w, c, d, e, f, g)
"""

SCOPES = r'''
def closure(a, b=1):
    c = 2
    def inner(d):
        nonlocal c, a
        c += d
        a = c
        def innermost(): return a, b, c, d
        del d
        return innermost
    return inner, lambda: c

def deleted_cell(a):
    def f(): return a
    f()
    del a
    return f

def class_body(base, x):
    class C(base, metaclass=type, k=x):
        """Doc."""
        attr = x
        ann: int = 1
        bare: str
        def __init__(self, *a): super().__init__(*a); self.z = x
        def m(self): return super().m, super(C, self).m(), __class__, super().a.b
        @staticmethod
        def s(): return C
        @property
        def p(self): return self.q
        for attr in x: del attr
        y = [attr for attr in x]
    return C

def class_nonlocal():
    x = 1
    class C:
        nonlocal x
        x = 2
        z = x
        w = x if x else y
    return C, x

def decorated(d, a):
    @d
    @d(a, k=1)
    def f(): return f
    @d
    class K: pass
    return f, K

def annotated(a: int, *b: str, c: "x" = 1, **d: float) -> list:
    e: int = 1
    f: str
    return e

class Module:
    x: int
    from alpha import beta
    import gamma
    try: y = x
    except NameError: y = 1
    with y as z: pass
    def f(self, v=y): return __class__

if x: z: int = 3
from alpha import *
x, y = 1, 2
with x as w: del y
print(f"{x}")
'''

MATCHING = r"""
def match_all(v):
    match v:
        case 0: return "zero"
        case -1 | 2.5 | "s" | b"b" | None | True: return "literal"
        case [a, b]: return a, b
        case [a, *rest, 9]: return rest
        case {"k": k, 1: one, **others}: return k, one, others
        case {"only": _}: return 1
        case int(): return "int"
        case str(s) if s: return s
        case Point(x=0, y=yy) | Point(0, yy): return yy
        case A.B: return "dotted"
        case (1 | 2) as n: return n
        case [Point(x=[c, _]), {"z": [*d]}]: return c, d
        case [[[[e]]]]: return e
        case _: return None

def match_loop(items):
    for v in items:
        match v:
            case [x, y] if x: continue
            case {}: break
            case e: yield e
"""

TYPES = (
    (
        "def generic[T, U: int, *Ts, **P, B: (int, str)](a: T, b: U = 1) -> T:\n    return lambda x: (T, U, Ts, P, B)\n"
        "class G[T: 'x']:\n    a: T\n    def m[U](self, x: U) -> T: return T, U, super().m\n    type L = list[T]\n"
        "type A = int\ntype X[T, *Ts] = dict[T, Ts]\n"
    ),
    "class D[T = int, **P = [int], *Ts = *tuple[int]]: pass\ntype E[T = str] = list[T]\n",
    'def template(a, b):\n    return t"{a}{b!r:>10} text {a:{b}}{a=}", t"", t"x" t"{a}"\n',
    "lazy import alpha\nlazy from alpha import beta\nprint(alpha)\n",
    "def unpacked(a): return [*x for x in a], {*x for x in a}, {**x for x in a}, (*x for x in a)\n",
    "def except_bare(a):\n    try: a()\n    except ValueError, KeyError: return 1\n",
)
"""Syntax of later versions, each piece by itself."""

_MANY = range(300)
WIDE = (
    "def many_locals(a):\n" + "".join(f"    v{i} = a\n" for i in _MANY) + "    return v0, v299, v16, v255, v256\n",
    "def many_names():\n    return " + ", ".join(f"n{i}" for i in _MANY) + "\n",
    "def many_constants(a):\n    return " + " or ".join(f"a == {i}.5" for i in _MANY) + "\n",
    "def long_loop(a):\n    for x in a:\n" + "".join(f"        a.m{i}(x)\n" for i in range(70)) + "    return x\n",
    "def long_try(a):\n    try:\n" + "".join(f"        a.m{i}(a)\n" for i in range(70)) + "    except E: return a\n",
    "def many_cells(a):\n" + "".join(f"    c{i} = a\n" for i in range(20)) + "    return lambda: (c0, c19, a)\n",
    "def deep(f, a, it):\n    return f(" + "a, " * 40 + "[x for x in it], f(" + "a, " * 30 + "*a))\n",
)
"""Operands above 255, jumps that need a prefix, depths of two bytes."""

FUTURE = "from __future__ import annotations\nx: int = 1\nclass F:\n    y: x\n    def f(self, a: y) -> x: pass\n"

SOURCES = (FUTURE, BASIC, EXCEPTIONS, GENERATORS, SCOPES, MATCHING, *TYPES, *WIDE)
