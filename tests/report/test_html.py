"""The page: complete, harmless whatever it shows, with nothing to load. `nox -s browser` looks at it in a browser."""

from __future__ import annotations

import base64
import builtins
import hashlib
import re
import sys
from collections import Counter
from html.parser import HTMLParser

import pytest

import xtab
from xtab.report import highlight, html
from xtab.report.html import fragment, page
from xtab.report.source_text import remember_text

VOID = {"meta", "link", "input", "path", "rect"}
LEFT_OPEN = {"td", "tr"}
HOSTILE = "</script></style><img src=x onerror=alert(1)>\"'`&\u202e"


class Page(HTMLParser):
    """All elements and texts; complains about what is closed in the wrong order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID | LEFT_OPEN:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag not in LEFT_OPEN:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag, **wanted):
        return [found for name, found in self.elements if name == tag and wanted.items() <= found.items()]


def reads(path):
    try:
        with open(path) as file:
            return [line.strip() for line in file]
    except OSError:
        return None


@pytest.fixture(scope="module")
def text():
    return page(xtab.show(reads))


def test_every_region_has_a_tag_a_legend_row_and_a_label(text):
    found = Page(text)
    ids = {each["id"] for _, each in found.elements if "id" in each}
    for region in xtab.regions(reads):
        assert any(region.label in each.get("aria-label", "") for each in found.all("g", **{"data-r": region.letter}))
        assert [each["id"] for each in found.all("tr", **{"data-r": region.letter})][:1] == [region.letter]
        assert f"@{region.handler}" in ids
    assert {each["data-r"] for each in found.all("g", role="button")} >= {each.letter for each in xtab.regions(reads)}


def test_every_instruction_has_a_row(text):
    offsets = [int(each) for each in re.findall(r'<td class="n o">(\d+)', text)]
    wanted = [row.offset for row in xtab.show(reads).rows]
    assert offsets[: len(wanted)] == wanted


def test_ids_are_unique_and_links_lead_somewhere(text):
    for each in (
        text,
        page(xtab.show(compile("def A():\n  try: x\n  except B: y\nclass caption: pass", "a.py", "exec"))),
    ):
        found = Page(each)
        ids = Counter(attributes["id"] for _, attributes in found.elements if "id" in attributes)
        assert set(ids.values()) == {1}
        assert all(link["href"][0] == "#" and link["href"][1:] in ids for link in found.all("a"))
        assert {each["aria-labelledby"] for each in found.all("section")} <= set(ids)


def test_nothing_is_loaded(text):
    found = Page(text)
    for _, attributes in found.elements:
        assert not attributes.keys() & {"src", "style", "action", "onclick", "onload"}
        assert attributes.get("href", "#")[:1] == "#" or attributes["href"] == "data:,"
    assert "url(" not in text
    assert "@import" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_policy_names_what_may_run(text):
    (policy,) = (each["content"] for each in Page(text).all("meta", **{"http-equiv": "Content-Security-Policy"}))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        content = re.search(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_hostile_names_constants_and_source():
    source = (
        f"def f(x):\n    try:\n        return {HOSTILE!r}, x.attribute\n    except Odd:\n        pass # {HOSTILE}\n"
    )
    outer = compile(source, HOSTILE, "exec", dont_inherit=True)
    (inner,) = (each for each in outer.co_consts if hasattr(each, "co_code"))
    odd = inner.replace(
        co_name=HOSTILE, co_qualname=HOSTILE, co_varnames=(HOSTILE,),
        co_names=tuple(HOSTILE + name for name in inner.co_names),
    )  # fmt: skip
    outer = outer.replace(co_consts=tuple(odd if each is inner else each for each in outer.co_consts))
    text = page(xtab.show(outer), title=HOSTILE, sources={HOSTILE: source})
    assert "\u202e" not in text
    found = Page(text)
    assert not found.all("img")
    assert len(found.all("script")) == len(found.all("style")) == 1
    allowed = {"id", "class", "title", "href", "role", "tabindex"}
    for _, attributes in found.elements:
        assert all(re.fullmatch(r"[\w-]+", name) for name in attributes.keys() - allowed)


def test_source_is_given_found_or_told_missing():
    code = compile("x = 1\n", "nowhere.py", "exec")
    assert "No source found: nowhere.py:1" in page(xtab.show(code))
    assert 'class="nu">1</span>' in page(xtab.show(code), sources={"nowhere.py": "x = 1\n"})


def test_no_table():
    text = page(xtab.show(lambda: 0))
    assert "No exception table: every exception leaves this code." in text
    assert not Page(text).all("svg")


def test_problems_are_listed_and_linked():
    broken = reads.__code__.replace(co_stacksize=1)
    text = page(xtab.show(broken))
    assert "XT403 stack-size-too-small" in text
    assert "xtab explain XT403" in text
    assert Page(text).all("div", id="problems-1")
    assert text.count("✓ verified") == text.count("<section") - 1  # the comprehension may have one


def test_several_code_objects_have_a_picker():
    listing = xtab.show(compile("def f(): pass\ndef g(): pass\n", "two.py", "exec"))
    found = Page(page(listing))
    assert len(found.all("section")) == 3
    assert len(found.all("details")) == 1
    assert "3 code objects" in "".join(found.texts)
    assert not Page(page(listing.nested[0])).all("details")


def test_a_page_of_nothing():
    assert "<main>" in page()


def test_a_notebook_gets_the_page_in_a_frame(text):
    (frame,) = Page(fragment(xtab.show(reads))).all("iframe")
    assert frame["srcdoc"] == text
    assert frame["sandbox"] == "allow-scripts"
    assert xtab.show(reads)._repr_html_() == fragment(xtab.show(reads))


@pytest.mark.parametrize("missing", ["jinja2", "pygments"])
def test_without_the_extra(missing, monkeypatch):
    real = builtins.__import__

    def pretend(name, *rest):
        if name == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    html._environment.cache_clear()
    monkeypatch.delitem(sys.modules, missing, raising=False)
    monkeypatch.setattr(builtins, "__import__", pretend)
    with pytest.raises(xtab.MissingExtraError, match=rf"expected {missing} .*pip install 'xtab-bytecode\[cli\]'"):
        page(xtab.show(reads))
    assert xtab.show(reads)._repr_html_() is None


def test_sources_of_functions_far_apart(tmp_path):
    text = "x = 1\n" * 50 + "def f():\n    return '''\n    1'''\n" + "x = 1\n" * 50 + "def g():\n    return 2\n"
    names = {}
    exec(compile(text, str(tmp_path / "apart.py"), "exec"), names)
    made = page(xtab.show(names["g"]), xtab.show(names["f"]), sources={str(tmp_path / "apart.py"): text})
    assert [made.count(each) for each in ("    1&#39;&#39;&#39;", '<span class="fu">g</span>', "x = <span")] == [
        1,
        1,
        0,
    ]


def test_a_long_file_is_cut_as_far_as_it_is_shown(monkeypatch):
    seen = []
    cut = highlight.highlighted
    monkeypatch.setattr(highlight, "highlighted", lambda text: seen.append(text) or cut(text))
    remember_text("<long file>", "x = 1\n" * 3000 + "def f():\n    return 1\n" + "y = 2\n" * 3000)
    code = compile("\n" * 3000 + "def f():\n    return 1\n", "<long file>", "exec").co_consts[0]
    assert ">3002<" in page(xtab.show(code))
    assert seen == ["def f():\n    return 1\n"]
