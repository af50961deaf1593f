"""Run one module of CPython's test suite in this process, rewritten, and record what became of every single test.

``main(transform, module, path, include)`` writes a line of JSON a fact to the file, at once, so that a crash loses
nothing. The transform `UNTOUCHED` is none: the same process without the hook.

This is a module for ``python -c``, not a script: multiprocessing runs the script of its parent again in its children.
"""

from __future__ import annotations

import sys

STARTED = frozenset(sys.modules)

import hashlib  # noqa: E402 - what is imported from here on is loaded again for the tests
from importlib.machinery import SourceFileLoader  # noqa: E402
from pathlib import Path  # noqa: E402

import transforms  # noqa: E402

from xtab import rewrite_imports  # noqa: E402

UNTOUCHED = "untouched"
KEPT = frozenset({"xtab", "importlib", "copyreg"})  #: what rewrites, what loads, and what copying a loader asks for


def hash_of_sources():
    """A text that changes with the transforms, and with those files of xtab that they and the hook need."""
    ours = [module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] == "xtab"]
    digest = hashlib.sha256()
    for name in sorted({transforms.__file__, *ours}):
        digest.update(Path(name).read_bytes())
    return digest.hexdigest()[:16]


def forget():
    """Have the next import load again what was loaded from source since the start; xtab keeps its copies."""
    for name in [*sys.modules]:
        spec = getattr(sys.modules[name], "__spec__", None)
        from_source = isinstance(getattr(spec, "loader", None), SourceFileLoader)
        if from_source and name not in STARTED and name.partition(".")[0] not in KEPT:
            del sys.modules[name]


def main(transform, module, path, include=None):
    if transform != UNTOUCHED:
        rewrite_imports(
            transforms.TRANSFORMS[transform],
            include=include,
            exclude=["importlib", "importlib.*"],
            on_error="raise",
            cache=Path(path).parent / transform,
            version=hash_of_sources(),
        ).install()
    forget()
    here = sys.path.pop(0)  # its names are not for the tests
    sys.path.append(here)
    import recorder  # noqa: PLC0415 - now, so that it and unittest are rewritten as well

    sys.path.remove(here)
    recorder.run(module, path)
