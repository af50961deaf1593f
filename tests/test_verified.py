"""What xtab's own transforms make is accepted by the verifier: of the cases, and of some of the standard library."""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path

import pytest

import xtab

HERE = Path(__file__).parent
CASES = sorted((HERE / "cases").glob("*.py"))
MODULES = [
    "asyncio.taskgroups",
    "contextlib",
    "ftplib",
    "fileinput",
    "getpass",
    "shutil",
    "test.test_exception_variations",
    "zipfile",
]


def transforms():
    """The transforms of the proof."""
    spec = importlib.util.spec_from_file_location("proof_transforms", HERE / "proof" / "transforms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TRANSFORMS


def sources():
    yield from CASES
    for name in MODULES:
        with contextlib.suppress(ModuleNotFoundError):  # some Pythons come without their tests
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.origin:
                yield Path(spec.origin)


@pytest.mark.parametrize("path", list(sources()), ids=lambda path: path.stem)
def test_rewritten_code_has_no_problem(path):
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    assert xtab.verify(code, nested=True) == ()
    for name, transform in transforms().items():
        new = xtab.rewrite_code(code, transform, recursive=True)
        problems = xtab.verify(new, nested=True)
        assert not problems, (name, [(each.qualname, str(each)) for each in problems[:3]])
