"""No chart without units and spread, and no name that plotly would read as markup."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from perf.harness.records import Change
from perf.harness.report.page import charts, curves, plot
from perf.harness.report.page.case_data import State, Tone
from perf.harness.report.page.data import CurvePoint, ExpectationView
from tests.harness import makers
from tests.harness.paired_makers import around, paired
from tests.report.pages import HOSTILE, mixed_results, paired_page, session_page


def expectation(**changes):
    points = tuple(
        CurvePoint(size, Change(ratio, ratio * 0.9, ratio * 1.1, 0.95), 0.01 * ratio, 0.01)
        for size, ratio in ((1, 0.4), (8, 0.9), (64, 2.0))
    )
    fields = {
        "id": "xla-first", "claim": "xla beats loop below batch 16", "state": State("holds", "=", Tone.CALM),
        "found": "", "reason": "", "source": "", "quantity": "time per step", "axis": "batch", "first": "xla",
        "second": "<b>loop</b>", "at": 16, "points": points, "crossing": (10.0, 1.0, None),
    }  # fmt: skip
    return ExpectationView(**{**fields, **changes})


def drawn(page):
    made = (charts.changes_chart(page), charts.times_chart(page), charts.first_calls_chart(page))
    return [chart for chart in (*made, charts.memory_chart(page)) if chart]


PAGES = {
    "compared": lambda: session_page(mixed_results()),
    "alone": lambda: session_page([makers.result([0.01, 0.012]), makers.result(0.02, 1)], compared=False),
    "paired": lambda: paired_page([paired(around(0.2)), paired(number=1)], [paired(around(0.2, count=10))]),
}


@pytest.mark.parametrize("kind", PAGES)
def test_every_axis_has_a_title_and_every_value_its_interval(kind):
    made = drawn(PAGES[kind]())
    assert len(made) == (3 if kind == "alone" else 4)
    for chart in made:
        axis = chart.figure["layout"]["xaxis"]["title"]["text"]
        assert any(unit in axis for unit in ("(ms)", "(MiB)", "1 = no change")), axis
        assert "interval" in chart.note or "range" in chart.note
        for trace in chart.figure["data"]:
            assert len(trace["error_x"]["array"]) == len(trace["x"]) == len(trace["y"]) == len(trace["hovertext"])


def test_the_worst_stands_on_top_with_the_interval_that_decided():
    chart = charts.changes_chart(session_page(mixed_results()))
    names, layout = [trace["name"] for trace in chart.figure["data"]], chart.figure["layout"]
    assert names == ["regressed", "improved", "unchanged"]
    assert [trace["y"] for trace in chart.figure["data"]] == [[2], [0], [1]]
    red = chart.figure["data"][0]
    assert red["x"][0] - red["error_x"]["arrayminus"][0] > 2.5
    assert "96.7 %" in red["hovertext"][0]
    assert layout["xaxis"]["type"] == "log"
    assert len({trace["marker"]["symbol"] for trace in chart.figure["data"]}) == 3


def test_of_many_cases_the_worst_are_drawn_and_the_rest_is_said():
    page = session_page([makers.result(0.01 * (1 + n / 100), n) for n in range(70)], compared=False)
    chart = charts.times_chart(page)
    assert len(chart.figure["data"][0]["x"]) == charts.MOST_ROWS
    assert "30 of 70 cases" in chart.note
    assert max(chart.figure["data"][0]["x"]) == pytest.approx(16.9)


def test_names_stay_text():
    for chart in drawn(session_page(mixed_results())):
        text = json.dumps(chart.figure, ensure_ascii=False)
        assert HOSTILE not in text
        assert "<script" not in text


def test_a_curve_has_its_band_its_level_and_where_it_crosses():
    chart = curves.curve_chart(expectation())
    band, line = chart.figure["data"]
    assert line["y"] == [0.4, 0.9, 2.0]
    assert band["y"] == pytest.approx([0.44, 0.99, 2.2, 1.8, 0.81, 0.36])
    crossing = next(shape for shape in chart.figure["layout"]["shapes"] if shape["type"] == "rect")
    assert (crossing["x0"], crossing["x1"]) == (1.0, 64)
    assert "95 % t interval" in chart.note
    assert chart.figure["layout"]["yaxis"]["title"]["text"] == "time per step (ratio)"
    assert curves.curve_chart(expectation(points=())) is None


def test_expectations_at_one_size_stand_together_with_their_intervals():
    one = expectation(id="one", points=expectation().points[:1])
    broken = expectation(id="<b>", points=expectation().points[:1], state=State("broken", "✕", Tone.RED))
    assert curves.curve_chart(one) is None
    chart = curves.ratios_chart([broken, expectation(), one])
    assert chart.figure["layout"]["yaxis"]["ticktext"] == ["one", "&lt;b&gt;"]
    assert [trace["name"] for trace in chart.figure["data"]] == ["holds", "broken"]
    assert chart.figure["data"][0]["error_x"]["array"] == pytest.approx([0.04])
    assert curves.ratios_chart([expectation()]) is None


@pytest.mark.parametrize(("low", "high"), [(0.9, 1.1), (1.0, 1.0), (0.03, 700.0), (5.0, 5.0), (1e-5, 2e-5)])
def test_ticks_hold_the_values_between_them(low, high):
    ticks = plot.decade_ticks(low, high)
    assert ticks[0] <= low
    assert ticks[-1] >= high
    assert all(2 <= after / before <= 2.5000001 for before, after in pairwise(ticks))


def test_no_memory_at_all_still_has_a_place_on_a_log_scale():
    chart = charts.memory_chart(session_page([makers.result([0.01, 0.011], bytes_peak=0)], compared=False))
    assert chart.figure["data"][0]["x"] == [4096 / 2**20]
    assert charts.memory_chart(session_page([makers.result(0.01, bytes_peak=None)], compared=False)) is None
