"""The `xtab` command, and its subcommands: one module each, loaded when it is asked for."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from xtab.cli.output import CLOSED_PIPE, INTERRUPTED, UNUSABLE, version_line
from xtab.errors import TargetError

if TYPE_CHECKING:
    from typing import Any

__all__ = ["COMMANDS", "app"]

COMMANDS = {
    "check": "Check that code objects come back byte for byte.",
    "diff": "Compare code objects: two targets, or one with what a transform makes of it.",
    "dis": "Show instructions, and the regions that protect them.",
    "explain": "Explain rules of the verifier.",
    "reduce": "Reduce a file to what a command needs to go on succeeding.",
    "rewrite": "Rewrite a source file into a .pyc that this Python runs.",
    "table": "Show exception tables.",
    "verify": "Verify that code objects are safe to run.",
    "view": "Write a page that shows instructions and regions.",
    "where": "Tell what protects a line of source.",
}
"""The subcommands, and what `xtab --help` says of them: to know that, none has to be loaded."""


_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


class _Unusable(click.ClickException):
    exit_code = UNUSABLE


class _App(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (as click wants it)
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (likewise)
        """Load one of them."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"xtab.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (likewise)
        """List them, without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """A target that can't be found ends any subcommand with one line, and Ctrl-C with its usual status."""
        try:
            return super().invoke(ctx)
        except TargetError as error:
            raise _Unusable(str(error)) from None
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:  # such as `head`; click would end with 1, which says that something is wrong
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at the end
            ctx.exit(CLOSED_PIPE)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            raise _Unusable(f"expected an output that can be written, but found: {error.strerror}") from None


def _print_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(version_line())
        context.exit()


@click.group(cls=_App, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show versions"
)
def app() -> None:
    """CPython's exception tables, and the bytecode around them."""
