from __future__ import annotations

import marshal

import pytest

from xtab.cli.stored import foreign_version, stored_code
from xtab.cli.targets import SourceFile
from xtab.errors import TargetError
from xtab.format.marshalled import dump_marshalled, load_marshalled
from xtab.format.opcodes import CURRENT, SUPPORTED, for_version


def pyc(magic, code):
    return magic.to_bytes(2, "little") + b"\r\n" + bytes(12) + dump_marshalled(code)


def test_versions(stored):
    for version in SUPPORTED:
        source = SourceFile("a.pyc", data=pyc(for_version(version).magic, stored()))
        assert foreign_version(source) == (None if version == CURRENT.version else "{}.{}".format(*version))
        assert [code.qualname for code in stored_code(source)] == ["f"]
    assert foreign_version(SourceFile("a.py", data=b"")) is None


def test_a_python_that_nobody_knows(stored):
    source = SourceFile("a.pyc", data=pyc(3000, stored()))
    assert foreign_version(source) is None
    with pytest.raises(TargetError, match="another Python"):
        stored_code(source)


def test_names(stored):
    code = stored(consts=(stored(qualname="f.inner"),))
    data = pyc(CURRENT.magic, code)
    assert [each.qualname for each in stored_code(SourceFile("a.pyc", data=data))] == ["f", "f.inner"]
    assert [each.qualname for each in stored_code(SourceFile("a.pyc", "f.inner", data))] == ["f.inner"]
    with pytest.raises(TargetError, match=r"close to it: f\.inner"):
        stored_code(SourceFile("a.pyc", "f.inr", data))


def test_no_code_object():
    with pytest.raises(TargetError, match="expected a code object behind the header, but found int"):
        stored_code(SourceFile("a.pyc", data=pyc(CURRENT.magic, 1)))


@pytest.mark.parametrize(
    "line, names",
    [
        (1, "<module>"),
        (3, "f"),
        (4, "f"),
        (5, "f"),
        (6, "f.<locals>.g"),
        (11, "<module>"),
        (13, "C"),
        (14, ""),
        (0, ""),
    ],
)
def test_lines(line, names, layers):
    """As `file.py:LINE` has it, but nothing is made into a code object."""
    root = load_marshalled(marshal.dumps(layers))
    source = SourceFile("a.pyc", str(line), pyc(CURRENT.magic, root))
    if names:
        assert stored_code(source)[0].qualname == names
    else:
        with pytest.raises(TargetError, match="expected a line from 1 to 13, but found"):
            stored_code(source)


def test_a_line_where_the_location_table_cannot_be_read(stored):
    code = stored(firstlineno=7, linetable=b"\xff")
    assert [each.qualname for each in stored_code(SourceFile("a.pyc", "7", pyc(CURRENT.magic, code)))] == ["f"]


def test_a_line_for_table_and_verify(xtab, tmp_path, stored, write_pyc):
    name = write_pyc(stored(firstlineno=3, filename="made.py"))
    assert xtab("verify", f"{name}:3").exit_code == 0
    assert xtab("verify", f"{name}:9").exit_code == 2
    other = next(version for version in SUPPORTED if version != CURRENT.version)
    table = bytes.fromhex("80010200")
    (tmp_path / "other.pyc").write_bytes(pyc(for_version(other).magic, stored(firstlineno=3, exceptiontable=table)))
    assert "1 entry" in xtab("table", "other.pyc:3").stdout
    assert "other.pyc: expected a line from 3 to 3, but found 9" in xtab("table", "other.pyc:9").stderr
