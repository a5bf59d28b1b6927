"""The report in short, as GitHub's Markdown: for a job summary or a comment."""

from __future__ import annotations

import html
import re

from perf.harness.message import ALWAYS_NAMED
from perf.harness.numbers import ratio
from perf.harness.report.page.case_data import CaseView, Tone
from perf.harness.report.page.data import PageData, Status, VersionRow
from perf.harness.report.page.sections import visible_text

#: Red cases and expectations that are listed; of more, the rest is counted.
_MOST = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~$])")
_MARKS = {Status.GREEN: "✅", Status.RED: "❌", Status.NOT_GREEN: "⚠️", Status.MEASURED: "📏"}


def summary(page: PageData) -> str:
    """Verdict and counts, what is red and by how much, expectations, versions, the smallest change visible."""
    lines = [f"## {_MARKS[page.status]} {page.status}: {text(page.head.title)}", ""]
    lines += [", ".join(f"{count} {state.word}" for state, count in page.counts.items()) or "no case", ""]
    for remark in page.remarks:
        lines += [f"> {text(remark)}", ""]
    if page.red:
        lines += ["| red | verdict | time, 1 = baseline | level |", "|---|---|---|---|"]
        lines += [row for case in page.red[:_MOST] for row in _rows(case)]
        lines += [_more(len(page.red)), ""]
    if page.expectations:
        lines += ["| expectation | state |", "|---|---|"]
        order = sorted(page.expectations, key=lambda e: list(Tone).index(e.state.tone))
        lines += [f"| {text(e.claim)} | {e.state.sign} {text(e.state.word)} |" for e in order[:_MOST]]
        lines += [_more(len(order)), ""]
    if page.visible is not None:
        lines += [f"Smallest change that {page.visible.meaning}: {visible_text(page)}.", ""]
    if shown := [row for row in page.versions if row.differs or row.name in ALWAYS_NAMED]:
        lines += [f"{'; '.join(_version(row) for row in shown[:_MOST])}.", ""]
    lines += [f"Machine {text(page.head.machine)}, {page.head.date:%Y-%m-%d %H:%M %Z}."]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def text(value: str) -> str:
    """``value`` so that Markdown and HTML show it as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", html.escape(" ".join(value.split()), quote=False))


def _rows(case: CaseView) -> list[str]:
    metrics = [metric for metric in case.metrics if metric.state.tone is Tone.RED and metric.change is not None]
    if not metrics:
        return [f"| {text(case.key)} | {case.state.sign} {case.state.word} | | |"]
    return [
        f"| {text(case.key)} | {metric.state.sign} {metric.state.word}, {metric.metric} | "
        + ("" if metric.change is None else ratio(metric.change))
        + " | "
        + ("" if metric.change is None else f"{100 * metric.change.level:.3g} %")
        + " |"
        for metric in metrics
    ]


def _version(row: VersionRow) -> str:
    return text(f"{row.name} {row.then} → {row.now}" if row.differs else f"{row.name} {row.now}")


def _more(count: int) -> str:
    return f"\nand {count - _MOST} more" if count > _MOST else ""
