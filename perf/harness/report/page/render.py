"""The page itself: one HTML file that needs no network. Jinja2 and plotly are imported when a page is asked for."""

from __future__ import annotations

from importlib import resources
from typing import Any

from perf.harness.frameworks import FRAMEWORKS
from perf.harness.numbers import ratio, seconds
from perf.harness.report.page import charts, embedded, sections
from perf.harness.report.page.case_data import CaseView
from perf.harness.report.page.curves import curve_chart, ratios_chart
from perf.harness.report.page.data import SKIPPED, PageData, VersionRow
from perf.harness.report.page.plot import Chart

#: Versions that the first screen names in any case; the others where they differ.
_ALWAYS_SHOWN = ("python", *FRAMEWORKS, "keras")


def render(page: PageData, trend: Any = None) -> str:
    """The whole page as text, with ``trend`` as :func:`perf.harness.report.page.embedded.trend` makes it.

    Everything that is a name or a message is escaped, also inside the embedded JSON.
    """
    import jinja2
    from plotly.offline import get_plotlyjs

    template = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("page.html")
    first = charts.changes_chart(page) or charts.times_chart(page)
    once = [chart for chart in (charts.first_calls_chart(page), charts.memory_chart(page)) if chart]
    curves = {expectation.id: curve_chart(expectation) for expectation in page.expectations}
    ratios = ratios_chart(page.expectations)
    drawn = [chart for chart in (first, ratios, *curves.values(), *once) if chart]
    return template.render(
        page=page,
        first_chart=first,
        once_charts=once,
        curves=curves,
        ratios=ratios,
        curve_table=sections.curve_table,
        checked=[expectation for expectation in page.expectations if expectation.state.word != SKIPPED],
        skipped=[expectation for expectation in page.expectations if expectation.state.word == SKIPPED],
        which=sections.which_table(page.cases),
        once=sections.once_table(page.cases),
        calls=sections.calls_table(page.cases),
        visible=sections.visible_text(page),
        metric_text=sections.metric_text,
        case_row=case_row,
        shown_versions=[row for row in page.versions if _is_shown(row)],
        other_versions=[row for row in page.versions if not _is_shown(row)],
        judged=any(case.metrics for case in page.cases),
        compares=any(row.then is not None for row in page.versions),
        filters=_filters(page),
        figures=_figures(drawn),
        details=embedded.case_details(page),
        trend=trend,
        css=_markup(_asset("page.css")),
        script=_markup(_asset("page.js")),
        plotly=_markup(get_plotlyjs()),
    )


def case_row(case: CaseView) -> dict[str, Any]:
    """Cells of the table of all cases, each as its text and the number it is sorted by."""
    step, now = case.step, case.now
    change = None if step is None else step.change
    return {
        "ratio": ("" if change is None else ratio(change), "" if change is None else change.ratio),
        "level": "" if change is None else f"{100 * change.level:.3g} %",
        "visible": "" if step is None or step.smallest_visible is None else f"×{step.smallest_visible:.2f}",
        "ran": "" if now is None else ", ".join(now.kernels),
        "step": ("", "") if now is None else (seconds(now.seconds_per_step), now.seconds_per_step.value),
        "first_call": ("", "") if now is None else (seconds(now.first_call_seconds), now.first_call_seconds.value),
        "memory": (("", "") if now is None or now.bytes_peak is None else (sections.memory(now), now.bytes_peak.value)),
    }


def _is_shown(row: VersionRow) -> bool:
    return row.differs or (row.group == "version" and row.name in _ALWAYS_SHOWN)


def _filters(page: PageData) -> dict[str, list[str]]:
    """What there is to choose from, by attribute of a row."""
    return {
        "verdict": [state.word for state in page.counts],
        "device": sorted({case.device for case in page.cases}),
        "kernel": sorted({case.kernel for case in page.cases}),
        "path": list(dict.fromkeys(case.path for case in page.cases)),
    }


def _figures(drawn: list[Chart]) -> dict[str, Any]:
    return {chart.id: chart.figure for chart in drawn}


def _asset(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _markup(text: str) -> Any:
    """Our own and plotly's code, which is put in as it is; nothing measured goes through here."""
    from markupsafe import Markup

    return Markup(text)
