from __future__ import annotations

import importlib.util
import io
import marshal
import os
import sys
import sysconfig
import warnings
import zipfile
from pathlib import Path
from unittest import mock

import pytest

from xtab import TargetError
from xtab.cli.targets import SourceFile, find_sources, line_number, load
from xtab.format.opcodes import CURRENT, SUPPORTED, for_version

TRAP = "raise SystemExit('executed')\n"


def find(target, stdin=b""):
    with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))):
        return find_sources(str(target))


def names(target):
    return [source.name for source in find(target)]


def loaded(target, stdin=b""):
    return [code.co_qualname for source in find(target, stdin) for code in load(source)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with packages and modules that end the test if anything executes them."""
    monkeypatch.chdir(tmp_path)
    for name in (
        *("pkg/__init__.py", "pkg/mod.py", "pkg/sub/__init__.py", "pkg/sub/deep.py", "space/inner/mod.py", "alone.py"),
        *("pkg/.hidden/no.py", "pkg/__pycache__/no.py", "pkg/site-packages/mod.py", "pkg/data.txt"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TRAP)
    (tmp_path / "alone.py").write_text("def f():\n  def g(): pass\nclass C:\n  def f(self): pass\n" * 2 + TRAP)
    return tmp_path


def test_a_file(files):
    assert find("alone.py") == [SourceFile("alone.py")]
    assert loaded("alone.py") == ["<module>"]


def test_a_folder(files):
    found = find("pkg")
    wanted = ["__init__.py", "mod.py", "site-packages/mod.py", "sub/__init__.py", "sub/deep.py"]
    assert [source.name for source in found] == [str(Path("pkg", name)) for name in wanted]
    assert not any(source.named for source in found)


def test_a_folder_without_python_files(files):
    (files / "empty").mkdir()
    with pytest.raises(TargetError, match=r"^expected \.py files in empty, but found none "):
        find("empty")


def test_stdlib():
    found = names("stdlib")
    folder = Path(sysconfig.get_path("stdlib")).resolve()
    assert str(folder / "ast.py") in found
    assert str(folder / "json" / "decoder.py") in found
    assert (str(folder / "test" / "test_ast" / "__init__.py") in found) == (folder / "test" / "test_ast").exists()
    assert not [name for name in found if {"site-packages", "dist-packages", "__pycache__"} & set(Path(name).parts)]
    assert found == sorted(found, key=lambda name: (Path(name).parent.parts, Path(name).name))
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    "target, wanted",
    [
        ("pkg.mod", ["pkg/mod.py"]),
        ("pkg.sub.deep", ["pkg/sub/deep.py"]),
        ("pkg.sub", ["pkg/sub/__init__.py", "pkg/sub/deep.py"]),
        ("space.inner.mod", ["space/inner/mod.py"]),
        ("space.inner", ["space/inner/mod.py"]),
        ("alone", ["alone.py"]),
    ],
)
def test_modules_are_found_and_nothing_is_executed(target, wanted, files):
    before = set(sys.modules)
    assert names(target) == [str(files / name) for name in wanted]
    assert loaded(target) == ["<module>"] * len(wanted)
    assert not {name for name in set(sys.modules) - before if name.startswith(("pkg", "space", "alone"))}


def test_modules_that_are_found_under_another_name():
    assert names("os.path") == [os.path.__file__]
    assert names("collections.abc")[0].endswith("_collections_abc.py")
    assert loaded("os.path:join") == ["join"]


def test_a_column_behind_the_line_is_left_out(files):
    assert loaded("alone.py:1:5") == loaded("alone.py:1") == ["f"]
    (files / "odd.py:1").write_text("\n\n")
    assert loaded("odd.py:1:1") == ["<module>"]


def test_a_path_wins_over_a_module(files):
    (files / "json").mkdir()
    (files / "json" / "own.py").touch()
    assert names("json") == [str(Path("json", "own.py"))]


def test_a_module_on_sys_path(files, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    monkeypatch.setattr(sys, "path", [str(files), *sys.path])
    assert names("pkg.mod") == [str(files / "pkg" / "mod.py")]


def test_a_module_in_a_zip(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("zipped/__init__.py", TRAP)
        archive.writestr("zipped/mod.py", "def f(): pass\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "x.zip"), *sys.path])
    assert loaded("zipped.mod") == ["<module>"]
    assert loaded("zipped.mod:f") == ["f"]


def test_a_module_without_source_is_read_from_its_pyc(files):
    write_pyc(files / "bare.pyc", compile("def f(): pass", "bare", "exec"))
    assert loaded("bare:f") == ["f"]


@pytest.mark.parametrize(
    "target, wanted",
    [
        ("alone.py:f", ["f", "f"]),
        ("alone:C.f", ["C.f", "C.f"]),
        ("alone.py:f.<locals>.g", ["f.<locals>.g"] * 2),
        ("alone.py:f.g", ["f.<locals>.g"] * 2),
        ("alone.py:<module>", ["<module>"]),
        ("pkg:<module>", ["<module>"]),
    ],
)
def test_a_code_object_by_name(target, wanted, files):
    assert loaded(target) == wanted


def test_a_name_with_colons(files):
    (files / "a:b.py").write_text("def f(): pass")
    assert loaded("a:b.py") == ["<module>"]
    assert loaded("a:b.py:f") == ["f"]


def test_stdin():
    assert find("-", b"x = 1") == [SourceFile("-", data=b"x = 1")]
    (code,) = load(find("-", b"x = 1")[0])
    assert code.co_filename == "<stdin>"


def test_the_encoding_of_a_source_is_its_own(files):
    (files / "latin.py").write_bytes(b"# coding: latin-1\ndef f(): return '\xe9'\n")
    (code,) = load(SourceFile("latin.py", "f"))
    assert "é" in code.co_consts


def test_future_flags_are_not_inherited():
    (code,) = load(SourceFile("-", data=b"x: int = 1"))
    assert not code.co_flags & __import__("__future__").annotations.compiler_flag


def test_warnings_of_the_compiler_are_not_shown():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        load(SourceFile("-", data=b"assert (1, 'x')\n1 is 1\n"))
    assert not shown


MESSAGES = {
    "nothing.py": r"^expected a file or folder, but found no 'nothing.py'$",
    "alnoe.py": r"^expected a file or folder, but found no 'alnoe.py'; close to it: alone.py$",
    "alnoe.py:f": r"^expected a file or folder, but found no 'alnoe.py'; close to it: alone.py$",
    str(Path("pkg", "mode.py")): r"^expected a file or folder, but found no '.*mode.py'; close to it: mod.py",
    str(Path("nowhere", "a.py")): r"^expected a file or folder, but found no folder 'nowhere'$",
    "two words": r"^expected stdlib, a folder, a file, a module or -, but found 'two words'$",
    "": r"^expected stdlib, a folder, a file, a module or -, but found ''$",
    ":f": r"^expected stdlib, a folder, a file, a module or -, but found ':f'$",
    "alnoe": r"^expected a module, but found no 'alnoe' on sys.path or in the working directory; close to it: alone\b",
    "jsom": r"^expected a module, but found no 'jsom' on sys.path or in the working directory; close to it: json\b",
    "pkg.mdo": r"^expected a module, but found no 'mdo' in pkg; close to it: mod$",
    "pkg.sub.dep:f": r"^expected a module, but found no 'dep' in pkg.sub; close to it: deep$",
    "pkg.mod.more": r"^expected a package .* pkg.mod is a module; a name in it is written pkg.mod:more$",
    "space:f": r"^expected a module with source, but found that space is a namespace package$",
    "sys": r"^expected a module with Python source, but found that sys is built in$",
}


@pytest.mark.parametrize("target", MESSAGES)
def test_what_is_not_found_is_refused(target, files):
    with pytest.raises(TargetError, match=MESSAGES[target]):
        find(target)


def test_an_extension_module_is_refused(files):
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    (files / f"fast{suffix}").touch()
    with pytest.raises(TargetError, match=r"^expected a module with Python source, but found that fast is .*fast\."):
        find("fast")


@pytest.mark.parametrize(
    "data, message",
    [
        (b"def f(: pass\n", r"^SyntaxError: .* \(line 1\)$"),
        (b"\n  x\n", r"^IndentationError: unexpected indent \(line 2\)$"),
        (b"x = '\xff'\n", r"^SyntaxError: "),
        (b"# coding: nothing\n", r"^SyntaxError: .*nothing"),
        (b"x = 1\0", r"^(SyntaxError|ValueError): .*null bytes"),
        (b"x = " + b"-" * 100_000 + b"1", r"^(RecursionError|MemoryError|SyntaxError)"),
    ],
    ids=["syntax", "indent", "encoding", "coding", "null", "deep"],
)
def test_what_does_not_compile_is_refused(data, message):
    with pytest.raises(TargetError, match=message):
        load(SourceFile("-", data=data))


def test_a_file_that_is_gone_is_refused(files):
    with pytest.raises(TargetError, match=r"^expected a file that can be read, but found: No such file"):
        load(SourceFile("gone.py"))


def test_an_unknown_code_object_is_refused(files):
    with pytest.raises(
        TargetError, match=r"^expected a code object in it, but found none named 'C.ff'; close to it: C\.f"
    ):
        loaded("alone.py:C.ff")


def write_pyc(path, code, magic=importlib.util.MAGIC_NUMBER):
    path.write_bytes(magic + bytes(12) + marshal.dumps(code))


def test_a_pyc(files):
    write_pyc(files / "x.pyc", compile("def f(): pass", "x", "exec"))
    assert loaded("x.pyc") == ["<module>"]
    assert loaded("x.pyc:f") == ["f"]


@pytest.mark.parametrize("version", SUPPORTED)
def test_a_pyc_of_another_version_is_refused(version, files):
    magic = for_version(version).magic
    write_pyc(files / "x y.pyc", 0, magic.to_bytes(2, "little") + b"\r\n")
    this, other = (".".join(map(str, pair)) for pair in (CURRENT.version, version))
    with pytest.raises(TargetError) as caught:
        loaded("x y.pyc")
    if version == CURRENT.version:
        assert str(caught.value) == "expected a code object behind the header, but found int"
    else:
        assert str(caught.value) == (
            f"expected bytecode of CPython {this} (magic {CURRENT.magic}), "
            f"but found that of CPython {other} (magic {magic}). Try the same with: python{other} -m xtab"
        )


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "expected a .pyc file, but found something else"),
        (b"import os\nimport sys\n", "expected a .pyc file, but found something else"),
        ((3394).to_bytes(2, "little") + b"\r\n" + bytes(12), "but found that of another Python (magic 3394)"),
        (importlib.util.MAGIC_NUMBER + bytes(12), "expected a code object behind the header, but found: "),
        (importlib.util.MAGIC_NUMBER + bytes(12) + b"\xe3\0", "expected a code object behind the header, but found: "),
    ],
    ids=["empty", "text", "older", "nothing", "cut"],
)
def test_a_pyc_that_cannot_be_read_is_refused(data, message, files):
    (files / "x.pyc").write_bytes(data)
    with pytest.raises(TargetError) as caught:
        loaded("x.pyc")
    assert message in str(caught.value)


def test_a_link_to_nothing_in_a_folder_is_found_and_not_loaded(files):
    (files / "space" / "dangling.py").symlink_to("nowhere")
    found = {source.name: source for source in find("space")}
    with pytest.raises(TargetError, match="No such file"):
        load(found[str(Path("space", "dangling.py"))])


def test_numbers_of_lines():
    assert [line_number(text) for text in ("42", "0", "f", "-1", "²", "", "9" * 5000)] == [42, 0, *[None] * 5]


def test_nothing_behind_the_colon(files):
    path = next(str(path) for path in Path().rglob("*.py"))
    with pytest.raises(TargetError, match="expected the name of a code object, or a line, behind the colon"):
        find_sources(f"{path}:")


@pytest.mark.parametrize("error", [SystemError("bad"), MemoryError(), OverflowError("big"), RecursionError("deep")])
def test_a_damaged_pyc(error, files, monkeypatch):
    def loads(_):
        raise error

    write_pyc(files / "x.pyc", compile("x = 1", "x", "exec"))
    monkeypatch.setattr("xtab.cli.targets.marshal.loads", loads)
    with pytest.raises(TargetError, match=f"code object behind the header, but found: {type(error).__name__}"):
        loaded("x.pyc")
