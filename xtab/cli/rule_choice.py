"""`choose_rules`: what is meant by the codes, the beginnings of codes and the names of rules on a command line."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import click

from xtab.analysis.verify import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xtab.analysis.verify import Rule

__all__ = ["choose_rules"]


def choose_rules(texts: Iterable[str]) -> list[Rule]:
    """The rules meant, in the order of `texts`, each once.

    Args:
        texts: each a code, a beginning of codes, a name, or several of them with commas between.

    Raises:
        click.BadParameter: there is no such rule; the message lists those that are close to it.

    >>> [rule.code for rule in choose_rules(["merge-conflict,xt101", "XT101"])]
    ['XT402', 'XT101']
    """
    found: dict[str, Rule] = {}
    for text in (part.strip() for whole in texts for part in whole.split(",")):
        meant = [rule for rule in RULES.values() if _is_meant(rule, text)]
        if not meant:
            raise click.BadParameter(
                f"expected the code, the beginning of a code or the name of a rule, but found {text!r}{_close(text)}"
            )
        found |= {rule.code: rule for rule in meant}
    return list(found.values())


def _is_meant(rule: Rule, text: str) -> bool:
    code = text.upper()
    return rule.name == text.lower() or (code.startswith("XT") and rule.code.startswith(code))


def _close(text: str) -> str:
    """What to add to a message about a rule that is not there."""
    names = {rule.name: rule for rule in RULES.values()}
    close = [names[name] for name in difflib.get_close_matches(text.lower(), names, n=3)]
    close += [rule for rule in names.values() if text and text.lower() in rule.name and rule not in close][:3]
    close += [RULES[code] for code in difflib.get_close_matches(text.upper(), RULES, n=3, cutoff=0.75)]
    shown = ", ".join(f"{rule.code} {rule.name}" for rule in dict.fromkeys(close[:3]))
    return f"; close to it: {shown}" if shown else ""
