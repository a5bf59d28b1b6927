"""The page's charts as plotly figures in plain JSON. Colours are the page's own variables, filled in when drawn.

Every axis has a unit, every value its interval. What is a name stays text: plotly would read ``<b>`` in it as markup.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from perf.harness.numbers import mebibytes, ratio, seconds
from perf.harness.report.page.data import ExpectationView, PageData, SideView, Tone
from perf.harness.stats import Estimate

#: Rows of a chart with one row per case; the rest stands in the tables.
MOST_ROWS = 40
COLOURS = {Tone.RED: "var(--red)", Tone.OPEN: "var(--open)", Tone.GOOD: "var(--good)", Tone.CALM: "var(--calm)"}
_SYMBOLS = {Tone.RED: "triangle-up", Tone.OPEN: "diamond-open", Tone.GOOD: "triangle-down", Tone.CALM: "circle"}
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
            f"{as_text(case.key)}<br>{state.word}: {ratio(change)}, {100 * change.level:.3g} % interval"
            for _, case, change in rows
        ]
        traces.append(_dots(state.word, [row for row, _, _ in rows], estimates, hover, COLOURS[state.tone], state.tone))
    layout = _rows_layout([case.name for case, _ in shown], "time per step, now / baseline (1 = no change)")
    low, high = min(c.low for _, c in shown), max(c.high for _, c in shown)
    low, high = min(low, 1.0), max(high, 1.0)  # no change is always in sight
    suited = next((ticks for span, ticks in _RATIO_TICKS.items() if high / low <= span), None)
    ticks = [tick for tick in suited if low / 1.1 <= tick <= high * 1.1] if suited else _ticks(low, high)
    layout["xaxis"] |= _log_axis(low, high, ticks, "×")
    layout["shapes"] = [_line_at(1.0)]
    levels = sorted({f"{100 * change.level:.3g} %" for _, change in shown})
    return Chart(
        "changes",
        "How much slower or faster",
        _figure(traces, layout),
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
        lambda side: side.bytes_peak,
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
        f"{as_text(expectation.axis)} {point.size}: {ratio(point.change)}, {100 * point.change.level:.3g} % interval"
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
    layout = _layout(f"{expectation.axis} (log scale)", height=320)
    layout["xaxis"] |= {"type": "log", "tickvals": sizes, "ticktext": [str(size) for size in sizes]}
    above, below = as_text(expectation.first), as_text(expectation.second)
    layout["yaxis"] |= {"type": "log", "title": {"text": f"{above} / {below}, {expectation.quantity} (ratio)"}}
    shapes: list[dict[str, Any]] = [_level_at(1.0)]
    if expectation.crossing is not None:
        estimate, low, high = expectation.crossing
        left, right = low if low is not None else sizes[0], high if high is not None else sizes[-1]
        shapes.append(
            {"type": "rect", "xref": "x", "yref": "paper", "x0": left, "x1": right, "y0": 0, "y1": 1,
             "fillcolor": "var(--crossing)", "line": {"width": 0}, "layer": "below"}
        )  # fmt: skip
        if estimate is not None:
            shapes.append(_line_at(estimate, "dot"))
    layout["shapes"] = shapes
    level = f"{100 * points[0].change.level:.3g} %"
    note = f"Below 1 {expectation.first} is faster. Band: {level} t interval over pairs of processes."
    if expectation.crossing is not None:
        note += " Shaded: where the crossing lies."
    return Chart(f"curve-{expectation.id}", expectation.claim, _figure([band, line], layout), note)


def as_text(text: str) -> str:
    """``text`` so that plotly shows it as it is."""
    return escape(text, quote=False)


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
                    estimates.append(_scaled(estimate, scale))
                    hover.append(f"{as_text(case.key)}<br>{name}: {words(estimate)}")
        drawn += estimates
        tone = Tone.OPEN if place < len(sides) - 1 else Tone.CALM
        traces.append(_dots(name, rows, estimates, hover, _SIDE_COLOURS[place < len(sides) - 1], tone))
    layout = _rows_layout([case.name for case, _ in shown], axis)
    ends = [end for estimate in drawn for end in (estimate.low, estimate.value, estimate.high) if end is not None]
    ticks = _ticks(min(ends), max(ends))
    layout["xaxis"] |= {"title": {"text": f"{axis}, log scale"}, **_log_axis(min(ends), max(ends), ticks)}
    return Chart(id, title, _figure(traces, layout), f"{bars}{_left_out(len(known), 'that take the most')}")


def _log_axis(low: float, high: float, ticks: Sequence[float], sign: str = "") -> dict[str, Any]:
    """From ``low`` to ``high`` and to the ticks around them, with some room at both ends."""
    first, last = math.log10(min(low, *ticks)), math.log10(max(high, *ticks))
    room = 0.04 * (last - first) + 0.005
    text = [f"{sign}{tick:g}" for tick in ticks]
    return {"type": "log", "range": [first - room, last + room], "tickvals": list(ticks), "ticktext": text}


def _ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10 ... from the last of them below ``low`` to the first above ``high``."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [digit * 10.0**power for power in range(first, last + 1) for digit in (1, 2, 5)]
    begin = max(place for place, tick in enumerate(ticks) if tick <= low)
    end = min(place for place, tick in enumerate(ticks) if tick >= high)
    return ticks[begin : end + 1]


def _scaled(estimate: Estimate, scale: float) -> Estimate:
    low = None if estimate.low is None else estimate.low * scale
    high = None if estimate.high is None else estimate.high * scale
    return Estimate(estimate.value * scale, low, high)


def _dots(
    name: str, rows: Sequence[float], estimates: Sequence[Estimate], hover: Sequence[str], colour: str, tone: Tone
) -> dict[str, Any]:
    above = [0.0 if e.high is None else e.high - e.value for e in estimates]
    below = [0.0 if e.low is None else e.value - e.low for e in estimates]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [estimate.value for estimate in estimates],
        "y": list(rows),
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": above,
            "arrayminus": below,
            "thickness": 1.5,
            "width": 3,
        },
        "marker": {"color": colour, "symbol": _SYMBOLS[tone], "size": 9},
        "hovertext": list(hover),
        "hoverinfo": "text",
    }


def _rows_layout(names: Sequence[str], axis: str) -> dict[str, Any]:
    layout = _layout(axis, height=120 + 22 * len(names))
    layout["yaxis"] |= {
        "tickvals": list(range(len(names))),
        "ticktext": [as_text(name) for name in names],
        "range": [-0.7, len(names) - 0.3],
        "title": {"text": ""},
    }
    return layout


def _layout(axis: str, height: int) -> dict[str, Any]:
    grid = {"gridcolor": "var(--line)", "zeroline": False, "automargin": True, "linecolor": "var(--line)"}
    return {
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--text)", "size": 12},
        "hoverlabel": {"bgcolor": "var(--raised)", "font": {"color": "var(--text)"}, "align": "left"},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
        "xaxis": {**grid, "title": {"text": as_text(axis)}},
        "yaxis": dict(grid),
    }


def _line_at(x: float, dash: str = "solid") -> dict[str, Any]:
    line = {"color": "var(--muted)", "width": 1, "dash": dash}
    return {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": line}


def _level_at(y: float) -> dict[str, Any]:
    line = {"color": "var(--muted)", "width": 1}
    return {"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}


def _figure(traces: list[dict[str, Any]], layout: dict[str, Any]) -> dict[str, Any]:
    """Validated by plotly, so that a misspelt attribute is an error here and no empty chart in the browser."""
    import plotly.graph_objects as go

    figure: dict[str, Any] = go.Figure({"data": traces, "layout": {**layout, "template": "none"}}).to_plotly_json()
    figure["layout"].pop("template", None)
    return figure


def _left_out(count: int, which: str) -> str:
    return "" if count <= MOST_ROWS else f" The {MOST_ROWS} of {count} cases {which}; the table below has all."
