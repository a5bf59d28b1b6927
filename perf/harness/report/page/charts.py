"""The page's charts as plotly figures in plain JSON. Colours are the page's own variables, filled in when drawn.

Every axis has a unit, every value its interval. What is a name stays text: plotly would read ``<b>`` in it as markup.
"""

from __future__ import annotations

from collections.abc import Callable

from perf.harness.numbers import mebibytes, ratio, seconds
from perf.harness.report.page import plot
from perf.harness.report.page.case_data import SideView, Tone
from perf.harness.report.page.data import PageData
from perf.harness.report.page.plot import Chart
from perf.harness.stats import Estimate

#: Rows of a chart with one row per case; the rest stands in the tables.
MOST_ROWS = 30
_PAGE = 4096.0
_SIDE_COLOURS = ("var(--accent)", "var(--second)")


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
            f"{plot.as_text(case.key)}<br>{state.word}: {ratio(change)}, {plot.level(change)} interval"
            for _, case, change in rows
        ]
        traces.append(
            plot.dots(state.word, [row for row, _, _ in rows], estimates, hover, plot.COLOURS[state.tone], state.tone)
        )
    layout = plot.rows_layout([case.name for case, _ in shown], "time per step, now / baseline (1 = no change)")
    layout["xaxis"] |= plot.ratio_axis([change for _, change in shown])
    layout["shapes"] = [plot.line_at(1.0)]
    levels = sorted({plot.level(change) for _, change in shown})
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


def _at_least_a_page(side: SideView) -> Estimate | None:
    """Less memory than a page was not measured, it is 0, which a log scale does not have."""
    peak = side.bytes_peak
    if peak is None:
        return None
    ends = (None if end is None else max(end, _PAGE) for end in (peak.low, peak.high))
    return Estimate(max(peak.value, _PAGE), *ends)


def _left_out(count: int, which: str) -> str:
    return "" if count <= MOST_ROWS else f" The {MOST_ROWS} of {count} cases {which}; the table below has all."
