"""The page of `xtab view` in headless Chromium: `nox -s browser`, or pytest with this file's name.

The quick tests don't collect it, since it needs a browser. Pictures go to the folder that XTAB_SHOTS names.
"""

from __future__ import annotations

import asyncio.base_events
import importlib.util
import os
import re
import shutil
import time
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

import xtab
from xtab.report.html import page as make_page

SAMPLE = Path(__file__).with_name("sample.py")
AXE = Path(importlib.util.find_spec("axe_playwright_python").origin).with_name("axe.min.js")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SIZES = {"wide": (1440, 1000), "narrow": (900, 1000)}


def code_in(path, name=None):
    module = compile(Path(path).read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
    return next((each for each in module.co_consts if name and getattr(each, "co_name", "") == name), module)


@pytest.fixture(scope="session")
def browser():
    found = next(filter(None, [os.environ.get("XTAB_CHROMIUM"), *map(shutil.which, BROWSERS)]), None)
    with sync_playwright() as playwright:
        with playwright.chromium.launch(executable_path=found, args=["--no-sandbox"]) as running:
            yield running


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """The pages: of one function, of a whole module, of a function with a fault, of a long one."""
    folder = tmp_path_factory.mktemp("pages")
    ours = code_in(SAMPLE, "load_all")
    small = code_in(SAMPLE, "small")
    long = "def long(f):\n" + "    f()\n" * 400 + "    try:\n" + "        f(1)\n" * 400 + "    finally:\n        f(2)\n"
    pages = {
        "function": [ours],
        "module": [code_in(asyncio.base_events.__file__)],
        "small": [small],
        "broken": [small.replace(co_stacksize=1)],
        "long": [compile(long, "long.py", "exec", dont_inherit=True).co_consts[0]],
        "several": [small, code_in(SAMPLE, "holder")],
    }
    paths = {}
    for name, codes in pages.items():
        paths[name] = folder / f"{name}.html"
        paths[name].write_text(make_page(*map(xtab.show, codes), sources={"long.py": long}), encoding="utf-8")
    paths["notebook"] = folder / "notebook.html"
    paths["notebook"].write_text(f"<!doctype html><title>n</title>{xtab.show(small)._repr_html_()}", encoding="utf-8")
    return paths


@pytest.fixture
def look_at(browser, files):
    """Open a page; when the test ends, nothing must have been loaded, and nothing complained."""
    opened, complaints = [], []

    def look(name, *, size="wide", scheme="light", anchor="", **options):
        width, height = SIZES[size]
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        view = context.new_page()
        view.on("request", lambda request: complaints.append(request.url))
        view.on("console", lambda message: complaints.append(message.text))
        view.on("pageerror", lambda error: complaints.append(str(error)))
        url = files[name].as_uri()
        view.goto(url + anchor)
        complaints.remove(url)  # the page itself
        opened.append(context)
        return view

    yield look
    for context in opened:
        context.close()
    assert not [each for each in complaints if not each.startswith("data:")]


def picture(view, name):
    if folder := os.environ.get("XTAB_SHOTS"):
        view.screenshot(path=Path(folder) / f"{name}.png")


def caption(view):
    return view.locator("#the-caption").text_content()


@pytest.mark.parametrize("size, scheme", [("wide", "light"), ("narrow", "dark")])
@pytest.mark.parametrize("name", ["small", "broken", "several", "function"])
@pytest.mark.parametrize("everything", [False, True], ids=["as-it-opens", "everything-shown"])
def test_accessible(look_at, name, size, scheme, everything):
    view = look_at(name, size=size, scheme=scheme)
    if everything:
        for box in view.locator(".toggles input").all():
            box.check()
        view.keyboard.press("j")
    # the checker is put in from outside: the page's own policy would not let it in
    session = view.context.new_cdp_session(view)
    session.send("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
    run = "axe.run({resultTypes: ['violations']}).then(result => result.violations)"
    answer = session.send("Runtime.evaluate", {"expression": run, "awaitPromise": True, "returnByValue": True})
    found = answer["result"]["value"]
    assert not [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
def test_pictures_to_look_at(look_at, size, scheme):
    view = look_at("function", size=size, scheme=scheme)
    picture(view, f"page-{size}-{scheme}")
    assert view.locator(".bytecode .few .lane").first.is_visible()


def test_nothing_is_cut_off_when_narrow(look_at):
    view = look_at("function", size="narrow")
    assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_keyboard_alone(look_at):
    view = look_at("function")
    view.keyboard.press("Tab")
    for _ in range(40):
        if view.evaluate("document.activeElement.matches('.lane')"):
            break
        view.keyboard.press("Tab")
    assert view.evaluate("document.activeElement.dataset.r") == "A"
    assert re.fullmatch(r"What raises in lines [\d-]+ goes to A finally \(\d+\) → caller", caption(view))
    view.keyboard.press("j")
    view.keyboard.press("j")
    assert view.evaluate("document.activeElement.dataset.r") == "C"
    view.keyboard.press("k")
    assert view.evaluate("document.activeElement.dataset.r") == "B"
    view.keyboard.press("Enter")
    assert view.url.endswith("#B")
    assert view.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    view.keyboard.press("h")
    assert view.evaluate("document.activeElement.matches('tr.handler')")
    assert view.evaluate("document.activeElement.querySelector('.pill').dataset.r") == "B"
    assert caption(view).startswith("If this raises: ")
    view.keyboard.press("Escape")
    assert "#" not in view.url
    assert not view.locator(".lane[aria-pressed=true]").count()
    view.keyboard.press("j")
    assert view.evaluate("document.activeElement.matches('.lane')")


def test_the_pointer(look_at):
    view = look_at("function")
    view.locator('.bytecode .few .lane[data-r="C"] .tag').scroll_into_view_if_needed()
    view.locator('.bytecode .few .lane[data-r="C"] .hit').first.hover(position={"x": 9, "y": 10})
    assert view.locator(".bytecode .few .lane.on").get_attribute("data-r") == "C"
    assert view.locator(".bytecode tr.in").count() > 10
    view.locator('.bytecode td[data-c="A B C"] ~ .op').first.hover()
    assert re.fullmatch(
        r"If this raises: C except .+ \(\d+\) → B except .+ \(\d+\) → A finally \(\d+\) → caller", caption(view)
    )
    assert view.locator(".source tr.spot").count() == 1
    view.locator(".source tr.spot").hover()
    assert view.locator(".bytecode tr.spot").count() > 1
    view.locator('.legend .chip[data-r="B"]').click()
    assert view.url.endswith("#B")
    view.locator("#show-bookkeeping").check()
    assert view.locator(".bytecode .all .lane").first.is_visible()
    assert not view.locator(".bytecode .few .lane").first.is_visible()


def test_an_address_pins(look_at):
    view = look_at("function", anchor="#C")
    assert view.locator(".bytecode .few .lane.on").get_attribute("data-r") == "C"


def test_in_a_notebook(look_at):
    view = look_at("notebook")
    frame = view.frames[1]
    frame.locator(".bytecode .few .lane").first.focus()
    view.keyboard.press("j")
    view.keyboard.press("Enter")
    assert frame.locator(".lane[aria-pressed=true]").first.get_attribute("data-r") == "B"
    frame.locator(".arg a:not(.pill)").first.click()
    assert frame.evaluate("document.activeElement.matches('tr')")
    assert "#" not in view.url


def test_without_scripts(look_at):
    view = look_at("several", java_script_enabled=False)
    assert view.locator(".legend tbody tr").count() >= 3
    assert view.locator(".bytecode .few .lane").first.is_visible()
    assert not view.locator(".legend .cs").first.is_visible()
    view.locator("#show-bookkeeping").check()
    assert view.locator(".legend .cs").first.is_visible()
    assert view.locator(".bytecode .all .lane").first.is_visible()
    view.locator(".picker summary").click()
    view.locator(".picker a").nth(1).click()
    assert view.url.endswith("#holder")


def test_long_runs_are_folded(look_at):
    view = look_at("long")
    buttons = view.locator(".fold-row button")
    count = buttons.count()
    assert count >= 2
    assert re.fullmatch(r"… \d+ rows", buttons.first.text_content())

    def handler_meets_its_arrow():
        arrow = view.locator('.few .head[data-e="A"]').bounding_box()
        row = view.locator("tr.handler").first.bounding_box()
        return row["y"] <= arrow["y"] + arrow["height"] / 2 <= row["y"] + row["height"]

    assert handler_meets_its_arrow()
    buttons.first.focus()
    view.keyboard.press("Enter")
    assert buttons.count() == count - 1
    assert handler_meets_its_arrow()
    picture(view, "long")


def busy(session):
    """Seconds of processor time that the page has taken, whatever else the machine does."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(each["value"] for each in metrics if each["name"] == "TaskDuration")


def test_a_large_page_opens_soon_and_stays_usable(browser, files):
    view = browser.new_page(viewport={"width": 1440, "height": 1000})
    session = view.context.new_cdp_session(view)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    times, started, clock = {}, busy(session), time.perf_counter()
    view.goto(files["module"].as_uri())
    view.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    clock = time.perf_counter() - clock
    times["open"], started = busy(session) - started, busy(session)
    for _ in range(20):
        view.mouse.wheel(0, 2000)
        view.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    times["scroll"], started = (busy(session) - started) / 20, busy(session)
    for step in range(20):
        view.mouse.move(1200, 200 + 25 * step)
        view.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    times["hover"] = (busy(session) - started) / 20
    size = files["module"].stat().st_size
    words = ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in times.items())
    print(f"{size:,} bytes, processor time: {words}; opened within {clock:.2f} s")  # noqa: T201 (pytest -s)
    picture(view, "module")
    assert times["open"] < 3
    assert times["scroll"] < 0.15
    assert times["hover"] < 0.1
    view.close()
