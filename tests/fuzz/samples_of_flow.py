"""Source text of functions that raise, catch, clean up, yield and await; see `samples`."""

from __future__ import annotations

EXCEPTIONS = r"""
def plain(a):
    try: return a()
    except KeyError: return 1
    except (ValueError, TypeError) as e: return e
    except Exception: raise
    else: a = 2
    finally: a = 3

def nested(a, b):
    try:
        try: a(b)
        finally:
            try: b(a)
            except ValueError as e: b = e
    except BaseException as e:
        try: raise RuntimeError from e
        finally: a = b
    return a

def in_loop(items):
    n = 0
    for x in items:
        try:
            if x == 1: continue
            if x == 2: break
            n += x
        except Exception as e:
            n = repr(e)
            continue
        finally:
            n = n
    return n

def return_finally(a):
    while True:
        try: return a
        finally:
            if a: break
    return 2

def star(a):
    try: a()
    except* ValueError as e: a(e)
    except* (TypeError, KeyError): a = 1
    else: a = 3
    finally: a = 2
    return a

def with_one(a, b):
    with a: b()
    with a as x: return x, b

def with_many(a, b):
    with a as (x, y), b as c.d, a:
        with b: raise KeyError
    return x, y

def with_loop(items):
    for cm in items:
        with cm as x:
            if x: continue
            break
    else: return 1

def with_try(a, f):
    with a:
        try: f()
        except LookupError as e: f(e)
        finally: f()
    return 1

def bare(a):
    try: a.b
    except: pass
    try: a.c
    except Exception: return a
    return None

def reraise(a):
    try: a()
    except KeyError as e: raise ValueError("x") from e
    except ValueError: raise

def suppress(a, f):
    value = 0
    with a:
        value = f()
        for value in f: pass
    return value
"""

GENERATORS = r"""
def gen(a):
    x = yield
    y = yield x
    yield from a
    z = yield from gen(a)
    return x, y, z

def gen_try(a):
    try:
        while True:
            try: a = yield a
            except ValueError as e: yield e
    finally: a = None

def gen_with(a):
    with a as x:
        yield x
        yield from x

def gen_loop(items):
    for x in items:
        if x: yield x, [y for y in items]
    yield (lambda: x)

async def coro(a, b):
    x = await a
    async with a as y, b: await y
    async for z in b:
        if z: break
        await z
    else: return 1
    return x, z

async def agen(a):
    yield 1
    async for x in a:
        try: yield x
        except ValueError: return
        finally: await a

async def acomp(a, b):
    return [x async for x in a if x], {await x for x in b}, {x: y async for x, y in a}, (x async for x in b)

async def awith(a):
    try:
        async with a as x:
            return await x
    except* ValueError: await a

def comprehensions(a, b):
    return [x for x in a], {x for x in a if x}, {x: y for x in a for y in b}, (
        x for x in a if b), [[y for y in x] for x in a]

def comp_cells(a, b):
    return [lambda: x for x in a], [(lambda: (x, b)) for x in a if b], {k: (lambda: k) for k in b}, [b for b in a]

def comp_walrus(a):
    return [last := x for x in a], last

def comp_try(a):
    x = 5
    try: return [x for x in a], x
    except Exception: return x, [[x for x in a] for _ in a]
    finally: x = 1

def gen_close(a):
    try: yield a
    finally:
        try: yield a()
        except: pass
"""
