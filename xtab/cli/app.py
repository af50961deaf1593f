"""The `xtab` command, and its subcommands: one module each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from xtab.cli.check import check
from xtab.cli.explain import explain
from xtab.cli.output import INTERRUPTED, UNUSABLE, version_line
from xtab.cli.reduce import reduce
from xtab.cli.rewrite import rewrite
from xtab.cli.verify import verify
from xtab.errors import TargetError

if TYPE_CHECKING:
    from typing import Any

__all__ = ["app"]


class _Unusable(click.ClickException):
    exit_code = UNUSABLE


class _App(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        """A target that can't be found ends any subcommand with one line, and Ctrl-C with its usual status."""
        try:
            return super().invoke(ctx)
        except TargetError as error:
            raise _Unusable(str(error)) from None
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


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


app.add_command(check)
app.add_command(explain)
app.add_command(reduce)
app.add_command(rewrite)
app.add_command(verify)
