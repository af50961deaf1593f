"""``xtab rewrite``: a source file, rewritten by a transform, becomes a .pyc that Python runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xtab.analysis.verify import CodeParts, verify_parts
from xtab.cli.failures import show_failure
from xtab.cli.output import DIFFERENT, FINE, wants_color, writing
from xtab.cli.targets import SourceFile, load, working_directory_on_path
from xtab.errors import TargetError, XtabError
from xtab.format.code import code_objects
from xtab.format.pyc import write_pyc
from xtab.report.excerpt import excerpt
from xtab.report.text import paint, problem_lines
from xtab.runtime.code_cache import write_atomically
from xtab.transform.named import load_transform
from xtab.transform.rewrite import rewrite_code
from xtab.transform.stored_code import dump_code

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import NoReturn

__all__ = ["rewrite", "transformed"]


@click.command()
@click.argument("source", metavar="FILE.py")
@click.option("--transform", required=True, metavar="PKG.MOD:NAME", help="What rewrites a body.")
@click.option("-o", "--output", required=True, metavar="FILE.pyc", help="The file to write.")
@click.option(
    "--recursive/--no-recursive",
    default=True,
    show_default=True,
    help="Rewrite functions, classes and so on as well, or the top level only.",
)
@click.option(
    "--verify/--no-verify",
    "wants_proof",
    default=True,
    show_default=True,
    help="Write the file only if the verifier finds no error in the new code, or in any case.",
)
def rewrite(*, source: str, transform: str, output: str, recursive: bool, wants_proof: bool) -> NoReturn:
    """Rewrite a source file into a .pyc that this Python runs.

    The transform is a function in a module on sys.path or in the working directory. It is called with the body of each
    code object, inner ones first; see the documentation of xtab.rewrite. The file is written only if all went well,
    and if the new code is safe to run: what xtab verify would find wrong with it is printed otherwise.

    \b
    Example:
      xtab rewrite app.py --transform mytools.trace:add_counters -o app.pyc
      python app.pyc

    \b
    Exit status:
      0    the file was written
      1    the transform failed, or gave what can't be assembled or kept in a
           file, or what isn't safe to run
      2    wrong usage, or a file or the transform can't be found, read or written

    The source is compiled, not executed; the module of the transform is imported.
    """  # noqa: D301 (click wants the backspaces)
    path = Path(source).absolute()
    if not path.is_file() or path.suffix == ".pyc":
        raise TargetError(f"expected a file with Python source, but found {source!r}")
    if path == Path(output).absolute():
        raise TargetError(f"expected another file to write than the source, but found {output!r}")
    data = path.read_bytes()
    (plain,) = load(SourceFile(str(path), data=data))

    def finish(code: CodeType) -> bytes:
        if wants_proof:
            _require_safe(code, output)
        return dump_code(code)

    payload = transformed(plain, transform, recursive=recursive, finish=finish)
    with writing(Path(output)):
        write_atomically(Path(output), write_pyc(payload, source=data))
    sys.exit(FINE)


def transformed(
    plain: CodeType, transform: str, *, recursive: bool = True, finish: Callable[[CodeType], Any] = lambda code: code
) -> Any:
    """What the transform of that name, ``pkg.mod:name``, makes of a code object; then what `finish` makes of it.

    If one of them fails, or the module of the transform does, its traceback is printed, and the command ends.

    Raises:
        TargetError: there is no such transform.
    """
    with working_directory_on_path():
        try:
            try:
                function = load_transform(transform)
            except XtabError as error:
                raise TargetError(str(error)) from None
            return finish(rewrite_code(plain, function, recursive=recursive))
        except TargetError:
            raise
        except Exception as error:  # noqa: BLE001 (it may be anything: the transform is the user's)
            show_failure(error)
            sys.exit(DIFFERENT)


def _require_safe(code: CodeType, output: str) -> None:
    """End the command if the verifier finds an error, and print all errors as ``xtab verify`` does."""
    in_color = wants_color(sys.stderr, "auto")
    found = False
    for each in code_objects(code):
        parts = CodeParts.of(each)
        for problem in verify_parts(parts):
            if not problem.is_error:
                continue
            if found:
                click.echo(err=True)
            found = True
            for line in problem_lines(problem, around=excerpt(parts, problem.offset)):
                click.echo(paint(line, color=in_color), err=True, color=in_color)
    if found:
        click.echo(f"\n{output} is not written: the new code is not safe to run (--no-verify writes it)", err=True)
        sys.exit(DIFFERENT)
