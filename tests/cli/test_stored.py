from __future__ import annotations

import pytest

from xtab.cli.stored import foreign_version, stored_code
from xtab.cli.targets import Source
from xtab.errors import TargetError
from xtab.format.marshalled import dump_marshalled
from xtab.format.opcodes import CURRENT, SUPPORTED, for_version


def pyc(magic, code):
    return magic.to_bytes(2, "little") + b"\r\n" + bytes(12) + dump_marshalled(code)


def test_versions(stored):
    for version in SUPPORTED:
        source = Source("a.pyc", data=pyc(for_version(version).magic, stored()))
        assert foreign_version(source) == (None if version == CURRENT.version else "{}.{}".format(*version))
        assert [code.qualname for code in stored_code(source)] == ["f"]
    assert foreign_version(Source("a.py", data=b"")) is None


def test_a_python_that_nobody_knows(stored):
    source = Source("a.pyc", data=pyc(3000, stored()))
    assert foreign_version(source) is None
    with pytest.raises(TargetError, match="another Python"):
        stored_code(source)


def test_names(stored):
    code = stored(consts=(stored(qualname="f.inner"),))
    data = pyc(CURRENT.magic, code)
    assert [each.qualname for each in stored_code(Source("a.pyc", data=data))] == ["f", "f.inner"]
    assert [each.qualname for each in stored_code(Source("a.pyc", "f.inner", data))] == ["f.inner"]
    with pytest.raises(TargetError, match=r"close to it: f\.inner"):
        stored_code(Source("a.pyc", "f.inr", data))


def test_no_code_object():
    with pytest.raises(TargetError, match="expected a code object behind the header, but found int"):
        stored_code(Source("a.pyc", data=pyc(CURRENT.magic, 1)))
