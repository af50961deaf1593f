"""``xtab explain``: what a rule of the verifier is about. The pages are files of `xtab.rules`."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import TYPE_CHECKING

import click
from rich.markdown import Markdown

from xtab.analysis.verify import RULES
from xtab.cli.output import FINE, color_option, console_for, document, json_option
from xtab.cli.rule_choice import choose_rules

if TYPE_CHECKING:
    from typing import NoReturn

    from xtab.analysis.verify import Rule

__all__ = ["explain", "page_of"]

_WIDEST = 100
"""Columns of a page on a terminal."""


def page_of(rule: Rule) -> str:
    """The page of a rule, in Markdown."""
    return (files("xtab.rules") / f"{rule.code}.md").read_text(encoding="utf-8")


@click.command()
@click.argument("rules", nargs=-1, metavar="RULE...")
@click.option("--all", "all_rules", is_flag=True, help="Explain all rules.")
@json_option
@color_option
@click.pass_context
def explain(context: click.Context, *, rules: tuple[str, ...], all_rules: bool, as_json: bool, color: str) -> NoReturn:
    """Explain rules of the verifier.

    A RULE is a code such as XT402, the beginning of codes such as XT4, or a name such as merge-conflict.

    \b
    Examples:
      xtab explain XT402
      xtab explain --all > rules.md
    """  # noqa: D301 (click wants the backspaces)
    if bool(rules) == all_rules:
        found = "both" if rules else "neither"
        raise click.UsageError(f"expected RULE or --all, but found {found}", context)
    meant = list(RULES.values()) if all_rules else choose_rules(rules)
    if as_json:
        click.echo(document([{**rule._asdict(), "page": page_of(rule)} for rule in meant]))
        sys.exit(FINE)
    console = console_for(sys.stdout, color)
    for number, rule in enumerate(meant):
        if number:
            console.print()
        if console.is_terminal:
            console.print(Markdown(page_of(rule)), width=min(console.width, _WIDEST), soft_wrap=False)
        else:
            click.echo(page_of(rule).rstrip("\n"))
    sys.exit(FINE)
