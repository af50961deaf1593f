"""Modules are rewritten as they are imported, and nothing else about importing changes."""

from __future__ import annotations

import importlib
import importlib.resources
import importlib.util
import inspect
import os
import subprocess
import sys
import threading
import warnings
import zipfile
from importlib.machinery import SourceFileLoader

import pytest

import xtab
from xtab.errors import RewriteWarning, XtabError
from xtab.runtime.import_hook import rewrite_imports

NUMBER = "number = 10\ndef ten():\n    return 10\n"


def tenfold(body):
    for instruction in body.instructions:
        operand = instruction.operand
        if type(operand) is int and operand == 10 and instruction.opname.startswith(("LOAD_", "RETURN_CONST")):
            instruction.operand = 100


def without_a_return(body):
    code = xtab.assemble(body)
    return code.replace(co_code=code.co_code[:-2])


def fails(body):
    return 1 / 0


@pytest.fixture
def space(tmp_path, monkeypatch):
    """A folder on sys.path with modules; what is imported from it is forgotten afterwards."""
    files = {
        "xt_one.py": NUMBER,
        "xt_two.py": "import xt_one\n" + NUMBER,
        "xt_pkg/__init__.py": NUMBER + "from . import inner\nfrom .inner import ten as inner_ten\n",
        "xt_pkg/inner.py": NUMBER + "from . import __name__ as parent\n",
        "xt_pkg/data.txt": "data",
        "xt_space/part.py": NUMBER,
        "xt_broken.py": "x = (\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = sys.meta_path.copy()
    yield tmp_path
    assert sys.meta_path == before
    for name in [name for name in sys.modules if name.startswith("xt_")]:
        del sys.modules[name]


def fresh(name):
    for known in [known for known in sys.modules if known.startswith("xt_")]:
        del sys.modules[known]
    return importlib.import_module(name)


def values(module):
    return module.number, module.ten()


def test_modules_are_rewritten(space):
    with rewrite_imports(tenfold):
        two = fresh("xt_two")
    assert values(two) == values(two.xt_one) == (100, 100)
    assert values(fresh("xt_two")) == (10, 10)


def test_the_top_level_only(space):
    with rewrite_imports(tenfold, recursive=False):
        assert values(fresh("xt_one")) == (100, 10)


def test_modules_that_were_loaded_are_left_alone(space):
    one = fresh("xt_one")
    with rewrite_imports(tenfold):
        import xt_two  # noqa: PLC0415

        assert xt_two.xt_one is one
        assert values(one) == (10, 10)


@pytest.mark.parametrize(
    "include, exclude, wanted",
    [
        (None, None, {"xt_pkg", "xt_pkg.inner"}),
        ("xt_pkg", None, {"xt_pkg"}),
        ("xt_pkg.*", None, {"xt_pkg.inner"}),
        (["xt_pkg", "xt_pkg.*"], ["*.inner"], {"xt_pkg"}),
        (None, "xt_*", set()),
        (["XT_PKG"], (), set()),
    ],
)
def test_patterns(space, include, exclude, wanted):
    with rewrite_imports(tenfold, include=include, exclude=exclude):
        modules = [fresh("xt_pkg"), sys.modules["xt_pkg.inner"]]
    assert {module.__name__ for module in modules if values(module) == (100, 100)} == wanted


def state(module):
    """What a module knows of its import."""
    spec = module.__spec__
    names = "__name__", "__file__", "__package__", "__path__", "__doc__", "__cached__"
    return {
        **{name: str(getattr(module, name, None)) for name in names},
        "spec": (spec.name, spec.origin, spec.cached, spec.has_location, str(spec.submodule_search_locations)),
        "loader": (type(module.__loader__), spec.loader is module.__loader__, spec.parent),
        "source": inspect.getsource(module.ten),
        "names": sorted(vars(module)),
    }


@pytest.mark.parametrize("name", ["xt_one", "xt_pkg", "xt_pkg.inner", "xt_space.part"])
def test_all_else_is_as_before(space, name):
    plain = state(fresh(name))
    with rewrite_imports(tenfold):
        module = fresh(name)
    assert values(module) == (100, 100)
    assert state(module) == plain
    assert module.__loader__.is_package(name) == (name == "xt_pkg")
    assert module.__loader__.get_source(name) == (space / os.path.relpath(module.__file__, space)).read_text()


def test_resources_and_relative_imports(space):
    with rewrite_imports(tenfold):
        package = fresh("xt_pkg")
    assert importlib.resources.files("xt_pkg").joinpath("data.txt").read_text() == "data"
    assert package.inner.parent == "xt_pkg"
    assert package.inner_ten() == 100


def test_reload(space):
    with rewrite_imports(tenfold):
        one = fresh("xt_one")
        assert importlib.reload(one) is one
        assert values(one) == (100, 100)
    assert values(importlib.reload(one)) == (10, 10)


def test_namespace_packages(space):
    with rewrite_imports(tenfold):
        part = fresh("xt_space.part")
    assert values(part) == (100, 100)
    assert not hasattr(sys.modules["xt_space"], "ten")


def test_the_pyc_of_python_is_never_rewritten(space):
    cached = importlib.util.cache_from_source(str(space / "xt_one.py"))
    with rewrite_imports(tenfold):
        fresh("xt_one")
    assert os.path.exists(cached)
    assert values(fresh("xt_one")) == (10, 10)
    with rewrite_imports(tenfold):
        assert values(fresh("xt_one")) == (100, 100)


def test_zip_files(space, monkeypatch):
    with zipfile.ZipFile(space / "xt.zip", "w") as file:
        file.writestr("xt_zipped.py", NUMBER)
        file.writestr("xt_other.py", NUMBER)
    monkeypatch.syspath_prepend(space / "xt.zip")
    with rewrite_imports(tenfold, include="xt_zipped"):
        module, other = fresh("xt_zipped"), importlib.import_module("xt_other")
    assert values(module) == (100, 100)
    assert values(other) == (10, 10)
    assert inspect.getsource(module.ten) == "def ten():\n    return 10\n"


def test_only_what_has_source(space):
    plain = fresh("xt_one")
    os.replace(importlib.util.cache_from_source(plain.__file__), space / "xt_sourceless.pyc")
    seen = []
    names = ["xt_sourceless", "_testbuffer", "__hello__", "xxsubtype"]
    for name in names:
        sys.modules.pop(name, None)
    with rewrite_imports(lambda body: seen.append(body.filename)):
        for name in names:
            spec = importlib.util.find_spec(name)
            if spec is not None and type(spec.loader) is not SourceFileLoader:  # debug builds freeze nothing
                importlib.import_module(name)
    assert seen == []


def test_a_loader_with_its_own_way_is_left_alone(space, monkeypatch):
    class Loader(SourceFileLoader):
        def exec_module(self, module):
            module.number, module.ten = 5, lambda: 5

    class Finder:
        def find_spec(name, path=None, target=None):
            if name == "xt_one":
                file = str(space / "xt_one.py")
                return importlib.util.spec_from_file_location(name, file, loader=Loader(name, file))
            return None

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    with rewrite_imports(tenfold):
        assert values(fresh("xt_one")) == (5, 5)
    monkeypatch.undo()


def test_hooks_stack(space):
    def more(body):
        for instruction in body.instructions:
            if type(instruction.operand) is int and instruction.operand == 100:
                instruction.operand = 101

    with rewrite_imports(more), rewrite_imports(tenfold) as inner:
        assert inner in sys.meta_path
        assert values(fresh("xt_one")) == (100, 100)
    with rewrite_imports(tenfold), rewrite_imports(more):
        assert values(fresh("xt_one")) == (101, 101)


def test_install_and_uninstall(space):
    hook = rewrite_imports(tenfold)
    assert values(fresh("xt_one")) == (10, 10)
    hook.install()
    hook.install()
    assert values(fresh("xt_one")) == (100, 100)
    hook.uninstall()
    hook.uninstall()
    assert values(fresh("xt_one")) == (10, 10)


def test_a_failure_warns_at_the_import(space):
    sys.modules.pop("xt_one", None)
    with rewrite_imports(fails), pytest.warns(RewriteWarning) as caught:
        import xt_one  # noqa: PLC0415
    assert values(xt_one) == (10, 10)
    (warning,) = caught
    assert warning.filename == __file__
    assert str(warning.message) == (
        f"expected {__name__}:fails to rewrite module xt_one, but found ZeroDivisionError: division by zero (in the "
        f"transform {__name__}:fails, on ten, {xt_one.__file__}:2); the module is loaded as it is"
    )


def test_a_failure_raises_if_asked(space):
    with rewrite_imports(fails, on_error="raise"), pytest.raises(ZeroDivisionError) as caught:
        fresh("xt_one")
    assert caught.value.__notes__[-1] == "while module xt_one was imported"
    assert "xt_one" not in sys.modules
    with pytest.raises(XtabError, match="expected 'warn' or 'raise' for on_error, but found 'no'"):
        rewrite_imports(fails, on_error="no")


def test_errors_of_the_module_are_its_own(space):
    with rewrite_imports(tenfold):
        with pytest.raises(SyntaxError):
            fresh("xt_broken")
        with pytest.raises(ModuleNotFoundError):
            fresh("xt_nowhere")


def test_xtab_and_the_module_of_the_transform_are_left_alone(space):
    (space / "xt_mine.py").write_text("def transform(body):\n    raise KeyError(body.name)\n" + NUMBER)
    transform = fresh("xt_mine").transform
    with rewrite_imports(transform, on_error="raise"):
        assert values(importlib.reload(sys.modules["xt_mine"])) == (10, 10)
        assert importlib.util.find_spec("xtab.selfcheck").loader.get_code("xtab.selfcheck")
        with pytest.raises(KeyError):
            importlib.import_module("xt_one")


def test_what_a_transform_imports_is_left_alone(space):
    def lazy(body):
        import xt_one  # noqa: PLC0415

        assert values(xt_one) == (10, 10)
        tenfold(body)

    with rewrite_imports(lazy, on_error="raise"):
        assert values(fresh("xt_pkg")) == (100, 100)


def test_what_the_hook_needs_may_be_missing(space, monkeypatch):
    """Copying a loader asks for copyreg: if that isn't loaded yet, its import doesn't go round in a circle."""
    with rewrite_imports(tenfold):
        monkeypatch.delitem(sys.modules, "copyreg")
        assert importlib.import_module("xt_one").ten() == 100


def test_threads_import_at_once(space):
    for number in range(20):  # no ring: in one of those, 3.11 itself finds a deadlock now and then
        others = [f"from xt_n{other} import ten as t\n" for other in (number + 1, number + 7) if other < 20]
        (space / f"xt_n{number}.py").write_text("import xt_two\n" + NUMBER + "".join(others))
    found, start = [], threading.Barrier(8)

    def work(first):
        start.wait()
        for number in range(20):
            found.append(values(importlib.import_module(f"xt_n{(first + number) % 20}")))

    with rewrite_imports(tenfold):
        threads = [threading.Thread(target=work, args=(5 * n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert found == [(100, 100)] * 160


class Counting:
    """A transform that counts the bodies it was given."""

    def __init__(self):
        self.seen = []

    def __call__(self, body):
        self.seen.append(body.name)
        tenfold(body)


def test_rewritten_code_is_kept(space):
    counting, cache = Counting(), space / "deep" / "cache"
    options = {"include": "xt_*", "cache": cache, "version": "1"}
    with rewrite_imports(counting, **options):
        assert values(fresh("xt_one")) == (100, 100)
        assert counting.seen == ["ten", "<module>"]
        one = fresh("xt_one")
        assert values(one) == (100, 100)
        assert len(counting.seen) == 2
        (file,) = cache.iterdir()
        assert file.name.startswith("xt_one-")
        assert file.suffix == ".xtabc"
        assert inspect.getsource(one.ten) == "def ten():\n    return 10\n"
        (space / "xt_one.py").write_text(NUMBER.replace("number = 10", "number = 11"))
        assert values(fresh("xt_one")) == (11, 100)
        assert len(counting.seen) == 4
        assert list(cache.iterdir()) == [file]
    with rewrite_imports(counting, **options | {"version": "2"}):
        fresh("xt_one")
    assert len(counting.seen) == 6
    with rewrite_imports(counting, **options, recursive=False):
        fresh("xt_one")
    assert len(counting.seen) == 7


def test_what_other_hooks_change_is_not_kept(space):
    with rewrite_imports(tenfold), rewrite_imports(Counting(), cache=space / "cache", version="1"):
        assert values(fresh("xt_one")) == (100, 100)
    assert not (space / "cache").exists()


def test_code_that_failed_is_not_kept(space):
    with rewrite_imports(fails, cache=space / "cache"), pytest.warns(RewriteWarning):
        fresh("xt_one")
    assert not (space / "cache").exists()


def test_what_can_not_be_kept_is_said_once(space):
    def hold(body):
        body.consts.append(object())

    with rewrite_imports(hold, cache=space / "cache", version="1"), pytest.warns(RewriteWarning) as caught:
        fresh("xt_two")
    (warning,) = caught
    assert "expected constants that can be kept in a file, but found" in str(warning.message)
    with rewrite_imports(tenfold, cache=space / "xt_one.py"), pytest.warns(RewriteWarning) as caught:
        fresh("xt_two")
    (warning,) = caught
    assert f"expected to write into {space / 'xt_one.py'}, but found: " in str(warning.message)


def test_a_transform_without_a_name_needs_a_version(space):
    with pytest.warns(RewriteWarning, match="can't be found by its name") as caught:
        rewrite_imports(lambda body: None, cache=space / "cache")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rewrite_imports(tenfold, cache=space / "cache")


def test_importtime_and_other_flags(space):
    code = (
        "from xtab.runtime.import_hook import rewrite_imports\n"
        "with rewrite_imports(lambda body: None, include='xt_*'): import xt_pkg"
    )
    for flags in (["-X", "importtime"], ["-O"], ["-v"], ["-I"][:0]):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(space), os.path.dirname(xtab.__path__[0])])}
        command = [sys.executable, *flags, "-c", code]
        result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert result.returncode == 0, result.stderr
        if "importtime" in flags:
            assert "xt_pkg.inner" in result.stderr


def test_verify_refuses_code_that_could_crash(space):
    with rewrite_imports(without_a_return, verify=True), pytest.warns(RewriteWarning, match="XT405"):
        assert values(fresh("xt_one")) == (10, 10)
    with rewrite_imports(tenfold, verify=True):
        assert values(fresh("xt_one")) == (100, 100)
