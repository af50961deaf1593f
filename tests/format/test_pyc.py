"""Files of compiled code: their header."""

from __future__ import annotations

import importlib.util
import marshal
import py_compile
from importlib.machinery import SourcelessFileLoader

import pytest

from xtab.errors import TableFormatError
from xtab.format.opcodes import CURRENT, SUPPORTED, for_version
from xtab.format.pyc import is_pyc, read_pyc, write_pyc


@pytest.mark.parametrize("mode", py_compile.PycInvalidationMode)
def test_what_python_writes(tmp_path, mode):
    (tmp_path / "a.py").write_text("x = 1\n")
    data = (tmp_path / "a.py").read_bytes()
    file = py_compile.compile(str(tmp_path / "a.py"), str(tmp_path / "a.pyc"), invalidation_mode=mode)
    with open(file, "rb") as opened:
        written = opened.read()
    found = read_pyc(written)
    assert is_pyc(written)
    assert (found.magic, found.version) == (CURRENT.magic, CURRENT.version)
    assert found.header + found.payload == written
    assert marshal.loads(found.payload).co_consts[0] == 1
    if mode is py_compile.PycInvalidationMode.UNCHECKED_HASH:
        assert write_pyc(found.payload, source=data) == written


def test_python_reads_what_is_written(tmp_path):
    path = tmp_path / "a.pyc"
    path.write_bytes(write_pyc(marshal.dumps(compile("x = 42", "a.py", "exec")), source=b"other text"))
    loader = SourcelessFileLoader("a", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("a", loader))
    loader.exec_module(module)
    assert module.x == 42


@pytest.mark.parametrize("version", SUPPORTED)
def test_other_versions_are_known(version):
    magic = for_version(version).magic
    found = read_pyc(magic.to_bytes(2, "little") + b"\r\n" + bytes(12) + b"N")
    assert (found.magic, found.version, found.payload) == (magic, version, b"N")


def test_a_version_that_is_not_known():
    found = read_pyc((3394).to_bytes(2, "little") + b"\r\n" + bytes(12))
    assert (found.magic, found.version) == (3394, None)


@pytest.mark.parametrize("data", [b"", b"import os\nimport sys\n", importlib.util.MAGIC_NUMBER + bytes(11)])
def test_what_is_none(data):
    assert not is_pyc(data)
    with pytest.raises(TableFormatError, match=r"^\.pyc, byte 0: no header: expected .*, but found b'") as caught:
        read_pyc(data)
    assert caught.value.offset == 0
