"""The page's charts as plotly figures in plain JSON. Colours are the page's own variables, filled in when drawn.

Every axis has a unit, every value its interval. What is a name stays text: plotly would read ``<b>`` in it as markup.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from perf.harness.numbers import mebibytes, ratio, seconds
from perf.harness.records import Change
from perf.harness.report.page import plot
from perf.harness.report.page.case_data import SideView, Tone
from perf.harness.report.page.data import ExpectationView, PageData
from perf.harness.stats import Estimate

#: Rows of a chart with one row per case; the rest stands in the tables.
MOST_ROWS = 30
_PAGE = 4096.0
_SIDE_COLOURS = ("var(--accent)", "var(--second)")
#: Ticks of a ratio by the largest span (highest / lowest) that they suit; beyond the last, 1, 2 and 5 times ten.
_RATIO_TICKS = {
    1.7: (0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.7),
    7.0: (0.2, 0.25, 0.33, 0.4, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0),
}


@dataclass(frozen=True, slots=True)
class Chart:
    """``figure`` as plotly.js takes it: data and layout. ``note`` says what the intervals are and what is left out."""

    id: str
    title: str
    figure: dict[str, Any]
    note: str


def changes_chart(page: PageData) -> Chart | None:
    """How much slower or faster each case is, the worst on top."""
    judged = [(case, case.step.change) for case in page.cases if case.step is not None and case.step.change is not None]
    if not judged:
        return None
    # What is red comes first, so that no better case pushes it out.
    judged.sort(key=lambda item: (item[0].state.tone is not Tone.RED, -item[1].ratio))
    shown = judged[:MOST_ROWS]
    shown.sort(key=lambda item: item[1].ratio)
    traces = []
    for state in page.counts:
        rows = [(row, case, change) for row, (case, change) in enumerate(shown) if case.state == state]
        if not rows:
            continue
        estimates = [Estimate(change.ratio, change.low, change.high) for _, _, change in rows]
        hover = [
            f"{plot.as_text(case.key)}<br>{state.word}: {ratio(change)}, {_level(change)} interval"
            for _, case, change in rows
        ]
        traces.append(
            plot.dots(state.word, [row for row, _, _ in rows], estimates, hover, plot.COLOURS[state.tone], state.tone)
        )
    layout = plot.rows_layout([case.name for case, _ in shown], "time per step, now / baseline (1 = no change)")
    low, high = min(c.low for _, c in shown), max(c.high for _, c in shown)
    low, high = min(low, 1.0), max(high, 1.0)  # no change is always in sight
    suited = next((ticks for span, ticks in _RATIO_TICKS.items() if high / low <= span), None)
    ticks = [tick for tick in suited if low / 1.1 <= tick <= high * 1.1] if suited else plot.decade_ticks(low, high)
    layout["xaxis"] |= plot.log_axis(low, high, ticks, "×")
    layout["shapes"] = [plot.line_at(1.0)]
    levels = sorted({_level(change) for _, change in shown})
    return Chart(
        "changes",
        "How much slower or faster",
        plot.figure(traces, layout),
        f"Bars: the interval that decided ({', '.join(levels)}).{_left_out(len(judged), 'with the largest ratio')}",
    )


def times_chart(page: PageData) -> Chart | None:
    """Time per step of each case, where nothing was compared."""
    return _sides_chart(
        page, "times", "Time per step", lambda side: side.seconds_per_step, 1e3, "time per step (ms)", seconds
    )


def first_calls_chart(page: PageData) -> Chart | None:
    """First call of each case on each side."""
    return _sides_chart(
        page, "first-calls", "First calls", lambda side: side.first_call_seconds, 1e3, "first call (ms)", seconds
    )


def memory_chart(page: PageData) -> Chart | None:
    """Peak host memory of each case on each side."""
    return _sides_chart(
        page,
        "memory",
        "Peak host memory",
        _at_least_a_page,
        1 / 2**20,
        "peak host memory (MiB)",
        lambda estimate: f"{mebibytes(estimate)} MiB",
        "Over what was resident before the case was opened. Bars: the range over processes.",
    )


def curve_chart(expectation: ExpectationView) -> Chart | None:
    """Time of one over time of the other along a size, with a band of intervals and where it crosses 1."""
    points = expectation.points
    if not points:
        return None
    sizes = [point.size for point in points]
    hover = [
        f"{plot.as_text(expectation.axis)} {point.size}: {ratio(point.change)}, {_level(point.change)} interval"
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
    above, below = plot.as_text(expectation.first), plot.as_text(expectation.second)
    layout["yaxis"] |= {"type": "log", "title": {"text": f"{above} / {below}, {expectation.quantity} (ratio)"}}
    shapes: list[dict[str, Any]] = [plot.level_at(1.0)]
    if expectation.crossing is not None:
        estimate, low, high = expectation.crossing
        left, right = low if low is not None else sizes[0], high if high is not None else sizes[-1]
        shapes.append(
            {"type": "rect", "xref": "x", "yref": "paper", "x0": left, "x1": right, "y0": 0, "y1": 1,
             "fillcolor": "var(--crossing)", "line": {"width": 0}, "layer": "below"}
        )  # fmt: skip
        if estimate is not None:
            shapes.append(plot.line_at(estimate, "dot"))
    layout["shapes"] = shapes
    level = _level(points[0].change)
    note = f"Below 1 {expectation.first} is faster. Band: {level} t interval over processes."
    if expectation.crossing is not None:
        note += " Shaded: where the crossing lies."
    return Chart(f"curve-{expectation.id}", expectation.claim, plot.figure([band, line], layout), note)


def _sides_chart(
    page: PageData,
    id: str,
    title: str,
    value: Callable[[SideView], Estimate | None],
    scale: float,
    axis: str,
    words: Callable[[Estimate], str],
    bars: str = "Bars: 95 % interval over processes.",
) -> Chart | None:
    known = [(case, now) for case in page.cases if case.now is not None and (now := value(case.now)) is not None]
    if not known:
        return None
    shown = sorted(known, key=lambda item: item[1].value)[-MOST_ROWS:]
    sides = [side.name for side in max((case.sides for case, _ in shown), key=len)]
    traces = []
    drawn: list[Estimate] = []
    for place, name in enumerate(sides):
        rows, estimates, hover = [], [], []
        for row, (case, _) in enumerate(shown):
            for side in case.sides:
                if side.name == name and (estimate := value(side)) is not None:
                    # Two sides of a case stand a little apart, so that their bars can be told.
                    rows.append(row + (0.18 if len(sides) > 1 and place == 0 else 0.0))
                    estimates.append(plot.scaled(estimate, scale))
                    hover.append(f"{plot.as_text(case.key)}<br>{name}: {words(estimate)}")
        drawn += estimates
        tone = Tone.OPEN if place < len(sides) - 1 else Tone.CALM
        traces.append(plot.dots(name, rows, estimates, hover, _SIDE_COLOURS[place < len(sides) - 1], tone))
    layout = plot.rows_layout([case.name for case, _ in shown], axis)
    ends = [end for estimate in drawn for end in (estimate.low, estimate.value, estimate.high) if end is not None]
    ticks = plot.decade_ticks(min(ends), max(ends))
    layout["xaxis"] |= {"title": {"text": f"{axis}, log scale"}, **plot.log_axis(min(ends), max(ends), ticks)}
    return Chart(id, title, plot.figure(traces, layout), f"{bars}{_left_out(len(known), 'that take the most')}")


def _level(change: Change) -> str:
    return f"{100 * change.level:.3g} %"


def _at_least_a_page(side: SideView) -> Estimate | None:
    """Less memory than a page was not measured, it is 0, which a log scale does not have."""
    peak = side.bytes_peak
    if peak is None:
        return None
    ends = (None if end is None else max(end, _PAGE) for end in (peak.low, peak.high))
    return Estimate(max(peak.value, _PAGE), *ends)


def _left_out(count: int, which: str) -> str:
    return "" if count <= MOST_ROWS else f" The {MOST_ROWS} of {count} cases {which}; the table below has all."
