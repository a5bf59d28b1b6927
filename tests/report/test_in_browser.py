"""The page in headless Chromium: it loads in silence, draws its charts, searches, filters, and shows names as text."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from perf.harness.report.page.data import PageData
from perf.harness.report.page.history_page import from_run
from perf.harness.report.page.write import write
from tests.harness import makers
from tests.harness.paired_makers import around, paired
from tests.report.browser import Browser
from tests.report.pages import HOSTILE, RUNS, history, hostile, mixed_results, paired_page, session_page
from tests.report.test_charts import expectation


def compared() -> PageData:
    """Everything at once."""
    page = session_page(mixed_results(), trend=history(), reasons_not_green=(f"{HOSTILE} is new.",))
    return dataclasses.replace(page, expectations=(expectation(), expectation(id="other", claim=HOSTILE)))


def stored() -> PageData:
    runs = (*RUNS[:-1], makers.run([*RUNS[-1].cases.values(), hostile()], 6))
    return from_run(runs[-1], history(runs))


PAGES: dict[str, Callable[[], PageData]] = {
    "compared": compared,
    "alone": lambda: session_page([makers.result([0.01, 0.012]), makers.result(0.02, 1)], compared=False),
    "paired": lambda: paired_page([paired(around(0.2)), paired(number=1)], [paired(around(0.2, count=10))]),
    "stored": stored,
    "one process": lambda: session_page([makers.result(0.01)], compared=False),
    "all failed": lambda: session_page([makers.failed(1)], compared=False),
    "nothing": lambda: session_page([], compared=False),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {kind: write(tmp_path_factory.mktemp("page"), make(), {}) for kind, make in PAGES.items()}


@pytest.mark.parametrize("kind", PAGES)
def test_it_loads_without_an_error_and_without_the_network(
    browser: Browser,
    pages: dict[str, Path],
    kind: str,
) -> None:
    browser.open(pages[kind])
    for button in browser.all("button.open"):
        browser.see(button).click()
    assert browser.errors() == []
    assert browser.script("performance.getEntriesByType('resource').map((entry) => entry.name)") == []


@pytest.mark.parametrize("kind", ["compared", "alone", "paired", "stored", "one process"])
def test_every_chart_is_drawn_when_it_comes_into_sight(
    browser: Browser,
    pages: dict[str, Path],
    kind: str,
) -> None:
    browser.open(pages[kind])
    charts = browser.all("[data-chart]")
    assert len(charts) == {"compared": 5, "alone": 3, "paired": 3, "stored": 3, "one process": 3}[kind]
    for chart in charts:
        browser.see(chart)
        points = browser.script(
            "JSON.parse(document.getElementById('figures').textContent)[arguments[0]].data"
            ".filter((trace) => trace.mode.includes('markers')).reduce((sum, trace) => sum + trace.x.length, 0)",
            chart.get_attribute("data-chart"),
        )
        assert points > 0
        browser.wait("arguments[0].querySelectorAll('.scatterlayer .point').length === arguments[1]", chart, points)
        assert browser.script("arguments[0].querySelector('.xtitle').textContent", chart)


def test_a_hostile_name_stays_text(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["compared"])
    row = next(row for row in browser.all("tr.case") if HOSTILE in (row.get_attribute("data-key") or ""))
    assert HOSTILE in row.text
    browser.see(row.find_element("css selector", "button")).click()
    assert HOSTILE in browser.one("tr.detail").text
    assert HOSTILE in browser.one(".remark").text
    chart = browser.see(browser.one("[data-chart='first-calls']"))
    browser.wait(
        "[...arguments[0].querySelectorAll('.ytick text')].some((tick) => tick.textContent.includes('<script>'))", chart
    )
    assert "owned" not in browser.driver.title
    ours = browser.script("[...document.scripts].map((script) => script.id || 'code')")
    assert ours == ["figures", "details", "trend", "code", "code"]


def test_search_and_filters_leave_what_fits(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["compared"])
    everything = browser.shown()
    assert len(everything) == 5
    search = browser.one("input[type=search]")
    search.send_keys("W1 forward")
    assert browser.shown() == ["forward w1-b32 loop"]
    assert browser.one("#shown").text == "1 of 5 shown"
    search.clear()
    search.send_keys("no such case")
    assert browser.shown() == []
    assert browser.one("#none").is_displayed()
    browser.one("button[type=reset]").click()
    browser.wait("document.getElementById('shown').textContent === '5 of 5 shown'")
    assert browser.shown() == everything
    browser.one("select[name=verdict] option:nth-child(3)").click()
    assert browser.one("select[name=verdict]").get_attribute("value") == "regressed"
    assert browser.shown() == ["forward w0-b32 loop"]


def test_a_click_sorts_and_what_is_missing_stays_last(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["compared"])
    button = browser.one("[data-sort=ratio]")
    button.click()
    assert browser.shown()[:3] == ["forward w2-b32 loop", "forward w1-b32 loop", "forward w0-b32 loop"]
    button.click()
    assert browser.shown()[:3] == ["forward w0-b32 loop", "forward w1-b32 loop", "forward w2-b32 loop"]


@pytest.mark.parametrize(("kind", "titles"), [
    ("compared", ["Every timed round (36)", "History"]),
    ("paired", ["Every timed round (60)", "time per step: one point per pair", "first call", "peak memory"]),
    ("stored", ["Every timed round (9)", "History"]),
])  # fmt: skip
def test_a_case_opens_with_its_rounds_its_history_and_its_reason(
    browser: Browser,
    pages: dict[str, Path],
    kind: str,
    titles: list[str],
) -> None:
    browser.open(pages[kind])
    button = browser.see(browser.one("button.open"))
    button.click()
    detail = browser.one("tr.detail")
    captions = [caption.text for caption in detail.find_elements("css selector", "figcaption")]
    assert [caption.startswith(title) for caption, title in zip(captions, titles, strict=True)] == [True] * len(titles)
    assert len(detail.find_elements("css selector", ".chart .main-svg .xtitle")) == len(titles)
    assert browser.all(".detail .boxlayer path.box")
    if kind == "compared":
        assert "regressed" in detail.text
        assert "tensorflow 2.21.0 -> 2.22.0" in browser.script("arguments[0].textContent", detail)
    button.click()
    assert browser.all("tr.detail") == []


def test_light_and_dark_are_followed_by_page_and_charts(browser: Browser, pages: dict[str, Path]) -> None:
    seen = []
    try:
        for scheme in ("light", "dark"):
            browser.media(prefers_color_scheme=scheme)
            if not seen:
                browser.open(pages["compared"])
                browser.wait("document.querySelector('[data-chart] .xtitle') !== null")
            text = browser.script("getComputedStyle(document.body).color")
            browser.wait("getComputedStyle(document.querySelector('[data-chart] .xtitle')).fill === arguments[0]", text)
            seen.append((text, browser.script("getComputedStyle(document.body).backgroundColor")))
    finally:
        browser.media()
    assert seen[0][0] != seen[1][0]
    assert seen[0][1] != seen[1][1]


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_the_page_scrolls_one_way_only(browser: Browser, pages: dict[str, Path], width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.open(pages["compared"])
        browser.see(browser.one("#cases"))
        assert browser.script("document.documentElement.scrollWidth") <= width
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
