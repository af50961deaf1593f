"""Every rule has its page, and the page is right: what fails gives that code and no other, what is mended none.

The third line of a page says how grave the rule is and to which versions it applies, and why not to the others. On
those, the block that fails is run nonetheless: it gives nothing of that code, or it is written with an opcode that the
version lacks, which the page then names.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import xtab
from xtab.analysis.verify import GROUPS, RULES, verify_parts
from xtab.format.opcodes import CURRENT, SUPPORTED

FOLDER = Path(xtab.__file__).parent / "rules"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))
SECTIONS = ["What must hold", "Why it crashes", "Fails", "Mended", "What to do"]
APPLIES = re.compile(r"(error|warning), CPython 3\.(\d+) to 3\.(\d+)(?:\. (.+))?")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(code):
    return (FOLDER / f"{code}.md").read_text(encoding="utf-8")


def applies(code):
    """How grave, the minor versions, and why no others, as the page has it."""
    match = APPLIES.fullmatch(read(code).splitlines()[2])
    assert match, f"{code}: the third line doesn't say where the rule applies"
    severity, first, last, reason = match.groups()
    return severity, range(int(first), int(last) + 1), reason or ""


def codes_of(block, code, names):
    """The codes of the problems of the block's `parts`."""
    exec(compile(block, f"{code}.md", "exec", dont_inherit=True), names)
    return {problem.code for problem in verify_parts(names["parts"])}


def blocks(code):
    text = read(code)
    return [BLOCK.findall(part) for part in re.split(r"^## .*\n", text, flags=re.MULTILINE)[1:]]


def test_every_rule_has_a_page_and_every_page_a_rule():
    assert PAGES == sorted(RULES)


def test_the_documentation_shows_every_page_in_its_group():
    lines = (Path(__file__).parents[3] / "docs" / "rules.md").read_text(encoding="utf-8").splitlines()
    shown = [line for line in lines if line.startswith(("## ", "```{"))]
    expected = []
    for group, title in GROUPS.items():
        expected.append(f"## {group}: {title.partition(':')[0]}")
        expected += [f"```{{include}} ../xtab/rules/{code}.md" for code in PAGES if RULES[code].group == group]
    assert shown == expected


@pytest.mark.parametrize("code", PAGES)
def test_form(code):
    text = read(code)
    rule = RULES[code]
    assert text.splitlines()[0] == f"# {code} {rule.name}"
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert [len(found) for found in blocks(code)] == [0, 0, 1, 1, 0]
    assert text.count("```") == 4, "a block that is not run"
    severity, minors, reason = applies(code)
    assert severity == rule.severity
    everywhere = [minor for _, minor in SUPPORTED] == list(minors)
    assert everywhere != bool(reason), "a page says why a rule doesn't apply to a version, and only then"


@pytest.mark.parametrize("code", PAGES)
def test_examples(code):
    _, minors, reason = applies(code)
    fails, mended = (found[0] for found in blocks(code)[2:4])
    names = {"__name__": "__main__"}
    if CURRENT.version[1] in minors:
        assert codes_of(fails, code, names) == {code}
        assert codes_of(mended, code, names) == set()
        return
    lacking = [name for name in re.findall(r"`([A-Z_]+)`", reason) if name not in CURRENT.number]
    if lacking:
        with pytest.raises(KeyError) as caught:
            codes_of(fails, code, names)
        assert caught.value.args[0] in lacking
    else:
        assert code not in codes_of(fails, code, names)


def test_no_version_goes_without_examples():
    """As many pages apply to each version as are meant to: none is left out unheard."""
    count = Counter(minor for code in PAGES for minor in applies(code)[1])
    expected = {11: -5, 12: -4, 13: -2, 14: 0, 15: 0}
    assert {minor: found - len(RULES) for minor, found in count.items()} == expected
