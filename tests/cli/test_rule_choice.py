from __future__ import annotations

import click
import pytest

from xtab.analysis.verify import RULES
from xtab.cli.rule_choice import choose_rules


def codes(*texts):
    return [rule.code for rule in choose_rules(texts)]


@pytest.mark.parametrize(
    "text", ["XT402", "xt402", "merge-conflict", "Merge-Conflict", " XT402 ", "XT402,merge-conflict"]
)
def test_one_rule(text):
    assert codes(text) == ["XT402"]


def test_beginnings_of_codes():
    assert codes("XT1") == [code for code in RULES if code.startswith("XT1")]
    assert codes("XT40") == [code for code in RULES if code.startswith("XT40")]
    assert codes("XT") == list(RULES)


def test_each_rule_is_found_by_its_name():
    for rule in RULES.values():
        assert choose_rules([rule.name]) == [rule]


def test_several_in_the_order_of_the_texts():
    assert codes("XT402", "XT101,stack-underflow", "XT402") == ["XT402", "XT101", "XT401"]
    assert codes() == []


@pytest.mark.parametrize(
    "text, close",
    [
        ("mrge-conflict", "; close to it: XT402 merge-conflict"),
        ("underflow", "; close to it: XT401 stack-underflow"),
        ("XT4020", "; close to it: XT402 merge-conflict"),
        ("402", "; close to it: XT402 merge-conflict"),
        ("nothing at all like it", ""),
        ("", ""),
        ("XT9", "; close to it: "),
    ],
)
def test_a_rule_that_is_not_there(text, close):
    with pytest.raises(click.BadParameter) as caught:
        choose_rules([text])
    message = "expected the code, the beginning of a code or the name of a rule, but found "
    assert caught.value.message.startswith(f"{message}{text!r}{close}")
    assert close or caught.value.message == message + repr(text)
