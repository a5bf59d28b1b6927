"""Charts of expectations: curves along a size, and single ratios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perf.harness.numbers import ratio
from perf.harness.report.page import plot
from perf.harness.report.page.data import ExpectationView
from perf.harness.report.page.plot import Chart
from perf.harness.stats import Estimate


def curve_chart(expectation: ExpectationView) -> Chart | None:
    """One over the other along a size, with a band of intervals and where it crosses 1; None for less than two
    sizes."""
    points = expectation.points
    if len(points) < 2:
        return None
    sizes = [point.size for point in points]
    hover = [
        f"{plot.as_text(expectation.axis)} {point.size}: {ratio(point.change)}, {plot.level(point.change)} interval"
        for point in points
    ]
    band = {
        "type": "scatter", "mode": "lines", "x": [*sizes, *reversed(sizes)], "fill": "toself",
        "y": [*(p.change.high for p in points), *(p.change.low for p in reversed(points))],
        "fillcolor": "var(--band)", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False,
    }  # fmt: skip
    line = {
        "type": "scatter", "mode": "lines+markers", "x": sizes, "y": [point.change.ratio for point in points],
        "line": {"color": "var(--accent)"}, "marker": {"size": 7}, "hovertext": hover, "hoverinfo": "text",
        "showlegend": False,
    }  # fmt: skip
    layout = plot.frame(f"{expectation.axis} (log scale)", height=320)
    layout["xaxis"] |= {"type": "log", "tickvals": sizes, "ticktext": [str(size) for size in sizes]}
    layout["yaxis"] |= {
        "title": {"text": f"{expectation.quantity} (ratio)"},
        **plot.ratio_axis([point.change for point in points]),
    }
    layout["shapes"] = [plot.level_at(1.0), *_crossing(expectation, sizes)]
    note = (
        f"{expectation.first} / {expectation.second}: below 1 {expectation.first} is faster. Band: "
        f"{plot.level(points[0].change)} t interval over processes."
    )
    if expectation.crossing is not None:
        note += " Shaded: where the crossing lies."
    return Chart(f"curve-{expectation.id}", expectation.claim, plot.figure([band, line], layout), note)


def ratios_chart(expectations: Sequence[ExpectationView]) -> Chart | None:
    """Expectations that were measured at one size, one row each; None where there is none."""
    single = [(each, each.points[0].change) for each in expectations if len(each.points) == 1]
    if not single:
        return None
    single.reverse()  # the worst come first and stand on top
    traces = []
    for state in dict.fromkeys(each.state for each, _ in single):
        rows = [(row, each, change) for row, (each, change) in enumerate(single) if each.state == state]
        hover = [
            f"{plot.as_text(each.claim)}<br>{ratio(change)}, {plot.level(change)} interval" for _, each, change in rows
        ]
        estimates = [Estimate(change.ratio, change.low, change.high) for _, _, change in rows]
        places = [row for row, _, _ in rows]
        traces.append(plot.dots(state.word, places, estimates, hover, plot.COLOURS[state.tone], state.tone))
    layout = plot.rows_layout([each.id for each, _ in single], "first / second, each in its own quantity (ratio)")
    layout["xaxis"] |= plot.ratio_axis([change for _, change in single])
    layout["shapes"] = [plot.line_at(1.0)]
    note = f"Bars: {plot.level(single[0][1])} t interval over processes. Below 1 the first needs less."
    return Chart("ratios", "Expectations at one size", plot.figure(traces, layout), note)


def _crossing(expectation: ExpectationView, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Where the crossing lies, to the ends of the grid where it is open."""
    if expectation.crossing is None:
        return []
    estimate, low, high = expectation.crossing
    left, right = low if low is not None else sizes[0], high if high is not None else sizes[-1]
    shade = {
        "type": "rect", "xref": "x", "yref": "paper", "x0": left, "x1": right, "y0": 0, "y1": 1,
        "fillcolor": "var(--crossing)", "line": {"width": 0}, "layer": "below",
    }  # fmt: skip
    return [shade, *([] if estimate is None else [plot.line_at(estimate, "dot")])]
