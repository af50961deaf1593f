from __future__ import annotations

import re

from xtab.analysis.verify.catalogue import ERROR, GROUPS, RULES, WARNING


def test_codes_and_names_are_distinct_and_in_order():
    assert list(RULES) == sorted(RULES)
    assert len({rule.name for rule in RULES.values()}) == len(RULES)
    assert all(code == rule.code for code, rule in RULES.items())


def test_every_rule_has_a_group_and_every_group_a_rule():
    assert {rule.group for rule in RULES.values()} == set(GROUPS)


def test_form():
    for rule in RULES.values():
        assert re.fullmatch(r"XT[1-6]\d\d", rule.code)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", rule.name)
        assert rule.severity in {ERROR, WARNING}
        assert rule.summary
        assert not rule.summary.endswith(".")
