"""Expectations on the page: as they were judged, with their curve and its numbers."""

from __future__ import annotations

import dataclasses

import pytest

from perf.harness.expectation_records import (
    Axis,
    Contender,
    Cost,
    Crossing,
    CurvePoint,
    Expectation,
    ExpectationResult,
    Kind,
    State,
    Where,
)
from perf.harness.paired_evidence import Metric
from perf.harness.records import Change
from perf.harness.report.page import sections
from perf.harness.report.page.case_data import Tone
from perf.harness.report.page.data import Status
from perf.harness.report.page.expectation_page import expectation_views
from perf.harness.stats import Estimate
from tests.harness import makers
from tests.report.pages import session_page


def result(state=State.HOLDS, *, curve=True, metric=Metric.STEP, **changes):
    fields = {
        "id": "xla-first", "kind": Kind.CROSSOVER, "metric": metric, "axis": Axis.BATCH, "workload": "translation",
        "path": "forward", "first": Contender("xla", "cpu", {}), "second": Contender("loop", "cpu", {}),
        "sizes": (1, 64), "where": Where.BELOW, "at": 16, "ratio": 1.0, "reason": "fewer launches", "source": "a paper",
    }  # fmt: skip
    points = tuple(
        CurvePoint(size, Change(ratio, ratio * 0.9, ratio * 1.1, 0.95), 0.01 * ratio, 0.01, ())
        for size, ratio in ((1, 0.5), (64, 2.0))
    )
    crossing = Crossing(8.0, 1.0, None) if curve else None
    return ExpectationResult(
        Expectation(**{**fields, **changes}), state, "its message", points if curve else (), crossing
    )


def test_what_was_promised_and_found_stands_with_the_curve():
    (view,) = expectation_views([result()])
    assert view.claim == "xla beats loop below batch 16, forward translation"
    assert (view.state.word, view.state.tone) == ("holds", Tone.GOOD)
    assert "they cross at batch 8" in view.found
    assert view.crossing == (8.0, 1.0, None)
    table = sections.curve_table(view)
    assert table.headers == ("batch", "xla", "loop", "xla / loop, 95 %")
    assert table.rows[0] == ("1", "5.00 ms", "10.0 ms", "0.50 (0.45–0.55)")


def test_memory_is_shown_as_memory():
    (view,) = expectation_views([result(metric=Metric.MEMORY)])
    assert "MiB" in sections.curve_table(view).rows[0][1]


def test_the_worst_stand_first_and_without_a_curve_the_message_says_why():
    views = expectation_views([result(), result(State.SKIPPED, curve=False), result(State.BROKEN)])
    assert [view.state.word for view in views] == ["broken", "holds", "skipped"]
    assert views[-1].found == "its message"
    assert sections.curve_table(views[-1]) is None


@pytest.mark.parametrize("state", State)
def test_every_state_is_shown_and_red_ones_make_the_page_red(state):
    page = session_page([makers.result(0.01)], compared=False, expected=[result(state)])
    assert page.expectations[0].state.word == str(state)
    assert (page.status is Status.RED) == state.is_red


def test_costs_stand_beside_the_curves_that_they_explain():
    cost = Cost(Estimate(0.001, 0.0009, 0.0011), Estimate(0.0001, 0.00009, 0.00011))
    known = dataclasses.replace(result(), costs=(cost, cost))
    page = session_page([makers.result(0.01)], compared=False, expected=[result(), known])
    (section,) = page.sections
    rows = section.tables[0].rows
    assert [row[2] for row in rows] == ["xla", "loop"]
    assert rows[0][3] == "1.00 ms 0.90–1.10"
