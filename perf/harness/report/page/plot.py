"""Parts that the page's charts are made of: traces, axes and marks as plotly.js takes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from perf.harness.records import Change
from perf.harness.report.page.case_data import Tone
from perf.harness.stats import Estimate

COLOURS = {Tone.RED: "var(--red)", Tone.OPEN: "var(--open)", Tone.GOOD: "var(--good)", Tone.CALM: "var(--calm)"}
_SYMBOLS = {Tone.RED: "triangle-up", Tone.OPEN: "diamond-open", Tone.GOOD: "triangle-down", Tone.CALM: "circle"}

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


def ratio_axis(changes: Sequence[Change]) -> dict[str, Any]:
    """A log axis that holds all intervals, and 1, with ticks at ratios that people think in."""
    low, high = min(1.0, *(change.low for change in changes)), max(1.0, *(change.high for change in changes))
    suited = next((ticks for span, ticks in _RATIO_TICKS.items() if high / low <= span), None)
    ticks = [tick for tick in suited if low / 1.1 <= tick <= high * 1.1] if suited else decade_ticks(low, high)
    return log_axis(low, high, ticks, "×")


def log_axis(low: float, high: float, ticks: Sequence[float], sign: str = "") -> dict[str, Any]:
    """From ``low`` to ``high`` and to the ticks around them, with some room at both ends."""
    first, last = math.log10(min(low, *ticks)), math.log10(max(high, *ticks))
    room = 0.04 * (last - first) + 0.005
    text = [f"{sign}{tick:g}" for tick in ticks]
    return {"type": "log", "range": [first - room, last + room], "tickvals": list(ticks), "ticktext": text}


def decade_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10 ... from the last of them below ``low`` to the first above ``high``."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [digit * 10.0**power for power in range(first, last + 1) for digit in (1, 2, 5)]
    begin = max(place for place, tick in enumerate(ticks) if tick <= low)
    end = min(place for place, tick in enumerate(ticks) if tick >= high)
    return ticks[begin : end + 1]


def scaled(estimate: Estimate, scale: float) -> Estimate:
    """In another unit."""
    low = None if estimate.low is None else estimate.low * scale
    high = None if estimate.high is None else estimate.high * scale
    return Estimate(estimate.value * scale, low, high)


def dots(
    name: str, rows: Sequence[float], estimates: Sequence[Estimate], hover: Sequence[str], colour: str, tone: Tone
) -> dict[str, Any]:
    """One point a row with its interval as a bar; where there is no interval the bar has no length."""
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


def rows_layout(names: Sequence[str], axis: str) -> dict[str, Any]:
    """Of a chart with one named row for each case."""
    found = frame(axis, height=120 + 22 * len(names))
    found["yaxis"] |= {
        "tickvals": list(range(len(names))),
        "ticktext": [as_text(name) for name in names],
        "range": [-0.7, len(names) - 0.3],
        "title": {"text": ""},
    }
    return found


def frame(axis: str, height: int) -> dict[str, Any]:
    """A layout with its axis named, in the page's colours."""
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


def level(change: Change) -> str:
    """Of an interval: ``95 %``."""
    return f"{100 * change.level:.3g} %"


def line_at(x: float, dash: str = "solid") -> dict[str, Any]:
    """A line from top to bottom."""
    line = {"color": "var(--muted)", "width": 1, "dash": dash}
    return {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": line}


def level_at(y: float) -> dict[str, Any]:
    """A line from left to right."""
    line = {"color": "var(--muted)", "width": 1}
    return {"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}


def figure(traces: list[dict[str, Any]], layout: dict[str, Any]) -> dict[str, Any]:
    """Validated by plotly, so that a misspelt attribute is an error here and no empty chart in the browser."""
    import plotly.graph_objects as go

    figure: dict[str, Any] = go.Figure({"data": traces, "layout": {**layout, "template": "none"}}).to_plotly_json()
    figure["layout"].pop("template", None)
    return figure


def as_text(text: str) -> str:
    """``text`` so that plotly shows it as it is."""
    return escape(text, quote=False)
