"""Sessions for nox: `nox -l` lists them, plain `nox` runs the default ones, `nox -s NAME -- ARGUMENTS` runs one.

A Python that isn't installed is skipped, and the last session, `pythons`, says which ones ran and which were not found.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import nox

nox.needs_version = ">=2025.10"
nox.options.sessions = ["lint", "types", "docs", "package", "tests", "debug", "pythons"]
nox.options.default_venv_backend = "uv|virtualenv"  # uv where it is installed: ten times faster, the same result
nox.options.error_on_missing_interpreters = False  # not even under CI=1: `pythons` reports what was missing

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)
DEBUG_BUILDS = [f"python{version}-dbg" for version in PYTHONS]
PROCESSES = str(os.cpu_count() or 1)

# What .ci/get-pythons has fetched is found without being on PATH, after all that is.
FETCHED = Path(os.environ.get("XTAB_PYTHONS") or "~/.cache/xtab-pythons").expanduser() / "path"
os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), str(FETCHED)])

started: list[str] = []  #: names of the Pythons on which the tests were started
passed: dict[str, str] = {}  #: names of those where they passed -> their versions
DESCRIBE = "import platform, sys; print(platform.python_version() + ' debug' * hasattr(sys, 'gettotalrefcount'))"


def group(*names: str) -> tuple[str, ...]:
    """Return the requirements of some dependency groups."""
    return nox.project.dependency_groups(PROJECT, *names)


def run_tests(session: nox.Session, *options: str) -> None:
    """Run the quick tests on the session's Python, and note that they ran."""
    name = str(session.python)
    started.append(name)
    session.install("-e", ".[cli]", *group("tests"))
    version = session.run("python", "-c", DESCRIBE, silent=True, log=False)
    # the same examples each time, and no deadlines, since other work may share the machine
    options = ("--hypothesis-profile=ci", *options, *session.posargs)
    session.run("python", "-m", "pytest", "-q", "-n", PROCESSES, *options)
    passed[name] = str(version).strip()


def runs(name: str) -> bool:
    """Tell whether a Python of this name is on PATH and starts."""
    command = shutil.which(name if name.startswith("python") else f"python{name}")
    return command is not None and subprocess.run([command, "-c", ""], capture_output=True, check=False).returncode == 0


@nox.session(python=PYTHONS, download_python="never")
def tests(session: nox.Session) -> None:
    """Run the quick tests on each Python (arguments go to pytest)."""
    run_tests(session)


@nox.session(python=DEBUG_BUILDS, download_python="never")
def debug(session: nox.Session) -> None:
    """Run rewritten code on each debug build, which aborts where a release build goes on with a broken stack."""
    run_tests(session, "-m", "not slow and not pure")


@nox.session(python=False)
def pythons(session: nox.Session) -> None:
    """Say which Pythons the tests of this run passed on, and which were not found."""
    names = [*PYTHONS, *DEBUG_BUILDS]
    missing = [name for name in names if name not in started and not runs(name)]
    lists = {
        "tests passed on": [f"{name} ({passed[name]})" for name in names if name in passed],
        "tests FAILED on": [name for name in names if name in started and name not in passed],
        "found, but left out of this run": [name for name in names if name not in [*started, *missing]],
        "NOT FOUND, so not tested": missing,
    }
    for title, members in lists.items():
        if members:
            session.log(f"{title}: {', '.join(members)}")
    if missing:
        session.log("on Debian, .ci/get-pythons fetches those that can be had; elsewhere, put them on PATH")
    if not passed:
        session.error("the tests passed on no Python")


@nox.session(python=PYTHONS, download_python="never")
def corpus(session: nox.Session) -> None:
    """Check the whole standard library on each Python, and run the slow tests (arguments go to `xtab check`)."""
    session.install("-e", ".[cli]", *group("tests"))
    session.run("xtab", "check", "stdlib", "--jobs", PROCESSES, *session.posargs)
    others = ["-m", "slow", "--ignore=tests/test_corpus.py"]  # that one does the same as the command
    session.run("python", "-m", "pytest", "-q", "-n", PROCESSES, *others, success_codes=[0, 5])  # 5: there are none


@nox.session(python=[*PYTHONS, *DEBUG_BUILDS], download_python="never")
def proof(session: nox.Session) -> None:
    """Run CPython's own tests on code that xtab rewrote (arguments go to tests/proof/run.py)."""
    session.install("-e", ".")
    session.run("python", "tests/proof/run.py", "--jobs", PROCESSES, *session.posargs)


@nox.session(python=PYTHONS, download_python="never")
def fuzz(session: nox.Session) -> None:
    """Fuzz the verifier, on each Python and its debug build (arguments go to tests/fuzz/fuzz.py)."""
    session.install("-e", ".")
    builds = ["python", *([f"python{session.python}-dbg"] if runs(f"python{session.python}-dbg") else [])]
    for build in builds:
        session.run("python", "tests/fuzz/fuzz.py", "--run-with", build, *session.posargs)
        session.run("python", "tests/fuzz/arbitrary.py", "--run-with", build)


@nox.session(python=[*PYTHONS, *DEBUG_BUILDS], download_python="never")
def unwinding(session: nox.Session) -> None:
    """Raise at every instruction of functions made at random (arguments go to tests/unwinding/run.py)."""
    session.install("-e", ".")
    session.run("python", "tests/unwinding/run.py", "--cases")
    session.run("python", "tests/unwinding/run.py", *session.posargs)


@nox.session(python=PYTHONS, download_python="never")
def packages(session: nox.Session) -> None:
    """Verify some 30 large packages of the package index, as each Python compiles them (arguments: their names)."""
    session.install("-e", ".")
    session.run("python", "tests/packages/run.py", *session.posargs)


@nox.session(python=PYTHONS, download_python="never")
def regions(session: nox.Session) -> None:
    """Compare all regions of the standard library with its syntax trees (arguments go to tests/regions/run.py)."""
    session.install("-e", ".")
    session.run("python", "tests/regions/run.py", *session.posargs)


@nox.session(python=PYTHONS, download_python="never")
def ways(session: nox.Session) -> None:
    """Raise in every line of random functions, and compare with `xtab where` (arguments go to tests/ways/run.py)."""
    session.install("-e", ".")
    session.run("python", "tests/ways/run.py", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Try the page of `xtab view` in headless Chromium, which is fetched if none is on PATH (arguments: pytest's)."""
    session.install("-e", ".[cli]", *group("tests", "browser"))
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    if not os.environ.get("XTAB_CHROMIUM") and not any(map(shutil.which, names)):
        session.run("playwright", "install", "--only-shell", "chromium")
    session.run("python", "-m", "pytest", "-s", "tests/browser/check_page.py", *session.posargs)


@nox.session(python=PYTHONS, download_python="never")
def relocation(session: nox.Session) -> None:
    """Relocate the standard library, and compare with the compiler (arguments go to tests/relocation/run.py)."""
    session.install("-e", ".")
    session.run("python", "tests/relocation/run.py", "--jobs", PROCESSES, *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, layers and spelling (with the argument `fix`: mend what can be mended)."""
    fix = "fix" in session.posargs
    session.install("-e", ".[cli]", *group("lint"))
    session.run("ruff", "check", *["--fix"] * fix)
    session.run("ruff", "format", *["--check"] * (not fix))
    session.run("lint-imports")
    session.run("codespell", *["--write-changes"] * fix)


@nox.session
def types(session: nox.Session) -> None:
    """Check types, as the oldest and as the newest Python sees them."""
    session.install("-e", ".[cli]", *group("types"))
    for version in (PYTHONS[0], PYTHONS[-1]):
        session.run("mypy", "--python-version", version, *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the pages into docs/_build; any warning is an error."""
    session.install("-e", ".[cli]", *group("docs"))
    session.run("sphinx-build", "-n", "-W", "--keep-going", "-q", "-E", "docs", "docs/_build", *session.posargs)
    session.log("docs/_build/index.html")


@nox.session
def package(session: nox.Session) -> None:
    """Install the built wheel, not the checkout, and use it: finds files that were left out of it."""
    session.install(*group("package"))
    dist = Path(session.create_tmp()) / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(dist), silent=True)  # the sdist, and the wheel from the sdist
    (wheel,) = dist.glob("*.whl")
    session.install("--reinstall" if session.venv_backend == "uv" else "--force-reinstall", f"{wheel}[cli]")
    session.chdir(dist)
    for name in ("py.typed", "cli/schemas/verify.json", "report/templates/page.html"):
        session.run("python", "-c", f"import importlib.resources as r; assert (r.files('xtab') / {name!r}).is_file()")
    session.run("xtab", "--version")
    session.run("xtab", "check", "json")
    session.run("xtab", "verify", "--verbose", "json")
    session.run("xtab", "explain", "XT402", silent=True)
    session.run("xtab", "view", "json", "-o", "json.html")


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the quick tests under coverage and list the lines that none of them reached."""
    session.install("-e", ".[cli]", *group("tests"))
    session.run("coverage", "run", "-m", "pytest", "-q", *session.posargs)
    session.run("coverage", "report")


@nox.session(venv_backend="virtualenv")
def bench(session: nox.Session) -> None:
    """Compare the speed with that of other libraries (arguments go to benchmarks/run.py)."""
    session.install("-e", ".[cli]", *group("bench"))
    session.run("python", "benchmarks/run.py", *session.posargs)


@nox.session
def changelog(session: nox.Session) -> None:
    """Show what the changelog will say of the next version (with the argument `write`: write it)."""
    session.install(*group("changelog"))
    version = session.run("python", "-c", "import xtab; print(xtab.__version__)", silent=True, log=False)
    mode = "--yes" if "write" in session.posargs else "--draft"
    session.run("towncrier", "build", mode, "--version", str(version).strip())
