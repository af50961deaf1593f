"""All that differs between CPython versions, as data: this package is the only place in xtab that asks for the version.

One file a version holds what is special to it, `shared` what all agree on, `table` lays both out for fast look-up and
says what each fact means, and `CURRENT` is the table of the Python that runs. The log that these facts follow is the
comment in CPython's ``Include/internal/pycore_magic_number.h``; ``python -m xtab.selfcheck`` compares them with the
running interpreter.
Last checked against CPython 3.11.7, 3.12.1, 3.13.18, 3.14.10 and 3.15.2, on 2026-11-30.
"""

from __future__ import annotations

import sys

from xtab.errors import UnsupportedVersionError
from xtab.format.opcodes.table import Opcodes, OperandKind

__all__ = ["CURRENT", "SUPPORTED", "Opcodes", "OperandKind", "for_version"]

SUPPORTED = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
"""The versions that xtab knows, as (major, minor)."""


def for_version(version: tuple[int, int]) -> Opcodes:
    """The opcodes of a CPython version, given as (major, minor); any supported version, not only the running one."""
    if version not in SUPPORTED:
        names = [f"{major}.{minor}" for major, minor in SUPPORTED]
        raise UnsupportedVersionError(f"{version[0]}.{version[1]}", names)
    module = __import__(f"xtab.format.opcodes.v{version[0]}_{version[1]}", fromlist=["VERSION"])
    return Opcodes(module)


CURRENT = for_version(sys.version_info[:2])
"""The opcodes of the running Python."""
