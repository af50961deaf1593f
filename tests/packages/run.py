"""Verify the code of large packages of the package index: as compilers make it, there is no problem in it.

Each package is downloaded as a wheel, of which only the .py files are looked at; nothing is installed or run. What this
Python can't compile is counted. The exit code is 1 if there is a problem.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

from xtab.analysis.verify import verify
from xtab.format.code import code_objects

PACKAGES = """
aiohttp ansible-core black boto3 botocore celery coverage django fastapi flask hypothesis ipython jinja2 matplotlib mypy
networkx nltk numpy pandas pydantic pylint pytest scikit-learn scipy setuptools sphinx sqlalchemy sympy tornado
transformers twisted
""".split()
"""Web, science, tests, compilers, coroutines, code that writes code: as different as possible, and large."""
CACHE = Path(os.environ.get("XTAB_PACKAGES") or "~/.cache/xtab-packages").expanduser()


def download(name: str, folder: Path) -> Path:
    """The wheel of a package; of whatever Python and platform there is one for, since only its sources are read."""
    found = sorted(folder.glob(f"{name.replace('-', '_')}-*.whl"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--python-version", "3.13", "-d", folder, name], check=True)
        found = sorted(folder.glob(f"{name.replace('-', '_')}-*.whl"))
    return found[-1]


def check(wheel: Path) -> tuple[int, int, int, list[str]]:
    """Files, files that don't compile, code objects, problems."""
    files = failed = codes = 0
    problems: list[str] = []
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith(".py"):
                continue
            files += 1
            try:
                code = compile(archive.read(name), name, "exec", dont_inherit=True)
            except (SyntaxError, ValueError):
                failed += 1
                continue
            for each in code_objects(code):
                codes += 1
                problems += [f"{name}:{problem.line}: {problem}" for problem in verify(each)]
    return files, failed, codes, problems


def main() -> int:
    """Check all, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=PACKAGES, metavar="PACKAGE")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help="where wheels are kept")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    total = [0, 0, 0, 0]
    for package in options.packages:
        wheel = download(package, options.cache)
        *counts, problems = check(wheel)
        name = "-".join(wheel.name.split("-")[:2])
        sys.stdout.write(f"{name:32} {counts[0]:6,} files, {counts[1]:3} not compilable, {counts[2]:7,} code objects, ")
        sys.stdout.write(f"{len(problems)} problems\n")
        sys.stdout.writelines(f"    {problem}\n" for problem in problems[:20])
        sys.stdout.flush()
        for index, count in enumerate([*counts, len(problems)]):
            total[index] += count
    version = ".".join(map(str, sys.version_info[:3]))
    sys.stdout.write(f"{version}: {len(options.packages)} packages, {total[0]:,} files, {total[1]:,} not compilable, ")
    sys.stdout.write(f"{total[2]:,} code objects, {total[3]} problems\n")
    return 1 if total[3] else 0


if __name__ == "__main__":
    sys.exit(main())
