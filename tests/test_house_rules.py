"""The rules of the house that a program can check (docs/contributing.md lists them).

Each rule is a function from a path and its text to complaints. One test runs it over the files of the project, another
over a planted fault that it must find.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOP_LEVEL = frozenset(
    ".ci .gitignore CHANGELOG.md LICENSE README.md benchmarks docs noxfile.py pyproject.toml tests xtab".split()
)
#: rooms that must do with the standard library
PLAIN_ROOMS = ("errors", "format", "model", "analysis", "transform", "runtime", "selfcheck")
LONGEST_FILE = 450
LONGEST_FUNCTION = 60
#: what is longer than that, or has no test file of its own, and why
EXCUSED: dict[str, str] = {}


def project_files() -> list[str]:
    """Return the paths of all files that are or would be committed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        return sorted(name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file())
    paths = [path for top in TOP_LEVEL for path in (ROOT / top, *(ROOT / top).rglob("*")) if path.is_file()]
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    return sorted(name for name in names if "__pycache__" not in name and "/_build/" not in name)


FILES = project_files()
SOURCES = [name for name in FILES if name.startswith("xtab/") and name.endswith(".py")]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8", errors="surrogateescape")


def grep(pattern: str, name: str, text: str) -> list[str]:
    lines = enumerate(text.splitlines(), 1)
    return [f"{name}:{number}: {line.strip()}" for number, line in lines if re.search(pattern, line)]


def version_tests(name: str, text: str) -> list[str]:
    """The Python version is known in xtab/format/opcodes/ alone."""
    if not name.startswith("xtab/") or name.startswith("xtab/format/opcodes/"):
        return []
    return grep(r"version_info|hexversion|python_version|sys\.version|api_version", name, text)


def machine_paths(name: str, text: str) -> list[str]:
    """No path of one machine and no number of a tracker: the project speaks of itself alone."""
    return grep(r"(?<![\w.*])/(?:root|work|home/\w+|Users/\w+)/|(?i:\bissues? (?:#|no\. ?)?\d)", name, text)


def long_files(name: str, text: str) -> list[str]:
    """A long file is a sign that two things live in one."""
    lines = text.count("\n")
    is_code = name.startswith("xtab/") and name.endswith(".py") and not name.startswith("xtab/format/opcodes/")
    return [f"{name}: {lines} lines, at most {LONGEST_FILE}"] if is_code and lines > LONGEST_FILE else []


def long_functions(name: str, text: str) -> list[str]:
    """A long function likewise; docstrings don't count."""
    complaints = []
    if name.startswith("xtab/") and name.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                if lines > LONGEST_FUNCTION:
                    complaints.append(f"{name}:{node.lineno}: {node.name}: {lines} lines, at most {LONGEST_FUNCTION}")
    return complaints


def foreign_imports(name: str, text: str) -> list[str]:
    """What is below `report` and `cli` needs the standard library only."""
    if not name.startswith(tuple(f"xtab/{room}" for room in PLAIN_ROOMS)):
        return []
    complaints = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            roots = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            roots = [str(node.module).partition(".")[0]]
        else:
            continue
        foreign = [root for root in roots if root not in {"xtab", *sys.stdlib_module_names}]
        complaints += [f"{name}:{node.lineno}: imports {root}" for root in foreign]
    return complaints


def top_level(name: str, text: str) -> list[str]:
    """The top level of the project stays as it is."""
    top = name.partition("/")[0]
    return [] if top in TOP_LEVEL else [f"{name}: {top} is new at the top level"]


PLANTED = {
    version_tests: ("xtab/model/a.py", "if sys.version_info >= (3, 12):\n"),
    machine_paths: ("docs/a.md", "see /{}/x\n".format("root")),
    long_files: ("xtab/model/a.py", "\n" * (LONGEST_FILE + 1)),
    long_functions: ("xtab/model/a.py", 'def f():\n    """Doc."""\n' + "    pass\n" * (LONGEST_FUNCTION + 1)),
    foreign_imports: ("xtab/model/a.py", "def f():\n    from rich.table import Table\n"),
    top_level: ("setup.py", ""),
}


@pytest.mark.parametrize("rule", PLANTED, ids=lambda rule: rule.__name__)
def test_rule(rule):
    assert FILES, "found no files at all"
    complaints = [line for name in FILES if name not in EXCUSED for line in rule(name, read(name))]
    assert not complaints, f"{rule.__doc__}\n" + "\n".join(complaints)


@pytest.mark.parametrize("rule", PLANTED, ids=lambda rule: rule.__name__)
def test_rule_finds_a_planted_fault(rule):
    assert len(rule(*PLANTED[rule])) == 1


def test_numbers_of_a_tracker_are_found():
    assert machine_paths("a.md", "fixes issue #" + "12\nand is" + "sue 7\nbut cpython#107932 is a source\n")[1:]


def test_opcodes_may_know_the_version():
    assert not version_tests("xtab/format/opcodes/__init__.py", PLANTED[version_tests][1])


def test_every_module_has_a_test_file():
    tests = {Path(name).stem for name in FILES if name.startswith("tests/")}
    missing = []
    for name in SOURCES:
        path = Path(name)
        if path.stem in {"__init__", "__main__"} or name.startswith("xtab/format/opcodes/") or name in EXCUSED:
            continue
        room = path.parent.name
        if not tests & {f"test_{path.stem}", f"test_{room}_{path.stem}", *[f"test_{room}"] * (room != "xtab")}:
            missing.append(name)
    assert not missing, f"no test file of the same name: {missing}"


def test_every_dependency_has_its_reason():
    project = tomllib.loads(read("pyproject.toml"))
    extras = project["project"]["optional-dependencies"].values()
    groups = project["dependency-groups"].values()
    lists = [project["project"]["dependencies"], project["build-system"]["requires"], *extras, *groups]
    names = {re.match(r"[\w.-]+", requirement)[0] for requirements in lists for requirement in requirements}
    described = set(re.findall(r"^\| `([\w.-]+)`", read("docs/dependencies.md"), re.MULTILINE))
    assert names == described


def test_the_readme_has_the_command_that_ci_runs():
    readme = read("README.md")
    assert readme.count("<!-- the test command -->\n```sh\n") == 1
    assert readme.count("<!-- benchmarks -->") == readme.count("<!-- /benchmarks -->") == 1


def table_rows(page):
    """The cells of the tables of a page in docs/."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in read(page).splitlines() if "|" in line]


def test_the_figures_of_the_readme_are_those_of_the_tables():
    readme = " ".join(read("README.md").split())
    proof = [row for row in table_rows("docs/proof.md") if row[1:2] == ["`nothing`"] and "debug" not in row[0]]
    assert f"of CPython's own tests {sum(int(row[3].replace(',', '')) for row in proof):,}, on five versions" in readme
    fuzzed = [row for row in table_rows("docs/fuzzing.md") if re.match(r"3\.\d", row[0])]
    run = {row[0]: int(row[4].replace(",", "")) for row in fuzzed}
    debug = sum(count for name, count in run.items() if "debug" in name)
    assert f"of these {sum(run.values()):,} were run, {debug:,} on debug builds" in readme
