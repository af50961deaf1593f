from __future__ import annotations

import importlib.util
import inspect
import json
import marshal

import pytest

from xtab import TargetError
from xtab.analysis.verify import CodeParts
from xtab.cli.parts import load_parts
from xtab.cli.targets import SourceFile
from xtab.format.code import code_objects

SOURCE = "def outer():\n    class Inner:\n        def method(self): ...\n"


def test_a_pyc_has_the_parts_of_its_code_objects(tmp_path):
    code = compile(inspect.getsource(json.decoder), "decoder.py", "exec")
    (tmp_path / "decoder.pyc").write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    found = load_parts(SourceFile(str(tmp_path / "decoder.pyc")))
    wanted = [CodeParts.of(each) for each in code_objects(code)]
    assert [parts._replace(consts=()) for parts in found] == [parts._replace(consts=()) for parts in wanted]


@pytest.mark.parametrize("qualname", ["outer.<locals>.Inner", "outer.Inner"])
def test_by_name(tmp_path, qualname):
    path = tmp_path / "a.pyc"
    path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(SOURCE, "a.py", "exec")))
    (tmp_path / "a.py").write_text(SOURCE)
    for name in ("a.pyc", "a.py"):
        found = [parts.qualname for parts in load_parts(SourceFile(str(tmp_path / name), qualname))]
        assert found == ["outer.<locals>.Inner", "outer.<locals>.Inner.method"]


@pytest.mark.parametrize(
    "payload, message",
    [
        (b"", "found: marshalled data, byte 0: truncated: expected 1 bytes, but found 0"),
        (b"N", "found NoneType"),
    ],
)
def test_what_is_no_code_object(tmp_path, payload, message):
    (tmp_path / "a.pyc").write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + payload)
    with pytest.raises(TargetError) as caught:
        load_parts(SourceFile(str(tmp_path / "a.pyc")))
    assert str(caught.value).endswith(message)
