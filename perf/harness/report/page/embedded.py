"""What the page draws from only when a case is opened: compact JSON, so that hundreds of cases load at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from perf.harness.digest import CaseDigest
from perf.harness.numbers import ratio, seconds
from perf.harness.report.page.case_data import CaseView, MetricView, SideView
from perf.harness.report.page.data import PageData, Promotion, Trend

_DIGITS = 4  # more than a screen can show


def case_details(page: PageData) -> list[dict[str, Any]]:
    """In the order of the page's rows."""
    return [_case(case) for case in page.cases]


def trend(page: PageData) -> dict[str, Any] | None:
    """Columns by case; None where there is no trend."""
    if page.trend is None:
        return None
    found: Trend = page.trend
    return {
        "runs": [[name, date.isoformat(timespec="seconds")] for name, date in found.runs],
        "steps": {
            device: [[place, text] for place, text in sorted(steps.items())] for device, steps in found.steps.items()
        },
        "cases": {key: _columns(points) for key, points in found.cases.items()},
        "promotions": {key: [_promotion(one) for one in all_] for key, all_ in found.promotions.items()},
    }


def _case(case: CaseView) -> dict[str, Any]:
    return {
        "key": case.key,
        "device": case.device,
        "reason": case.reason,
        "informs": list(case.informs),
        "metrics": [_metric(metric) for metric in case.metrics],
        "sides": [_side(side) for side in case.sides],
    }


def _metric(metric: MetricView) -> dict[str, Any]:
    change = metric.change
    return {
        "name": metric.metric,
        "state": f"{metric.state.sign} {metric.state.word}",
        "change": "" if change is None else f"{ratio(change)}, {100 * change.level:.3g} % interval",
        "visible": "" if metric.smallest_visible is None else f"×{metric.smallest_visible:.2f}",
        "ratios": _short(metric.ratios),
        "interval": None if change is None else _short((change.ratio, change.low, change.high)),
    }


def _side(side: SideView) -> dict[str, Any]:
    return {
        "name": side.name,
        "kernels": ", ".join(side.kernels),
        "step": f"{seconds(side.seconds_per_step)} (95 % over {side.replicates})",
        "rounds": [[one.process, _short(one.seconds_per_step)] for one in side.processes],
    }


def _columns(points: Sequence[tuple[int, CaseDigest]]) -> dict[str, Any]:
    """Runs, values and interval ends as columns; ``red`` holds places in them, ``work`` where it is another than
    before, ``kernel`` where another ran."""
    found = [case for _, case in points]
    steps = list(enumerate(pairwise(found), 1))
    return {
        "run": [run for run, _ in points],
        "value": [case.seconds_per_step for case in found],
        "low": [case.seconds_low for case in found],
        "high": [case.seconds_high for case in found],
        "red": [place for place, case in enumerate(found) if case.red],
        "work": [place for place, (before, case) in steps if before.hash != case.hash],
        "kernel": [
            [0, found[0].kernel],
            *([place, case.kernel] for place, (before, case) in steps if before.kernel != case.kernel),
        ],
    }


def _promotion(promotion: Promotion) -> dict[str, Any]:
    return {
        "date": promotion.date.isoformat(timespec="seconds"),
        "runs": list(promotion.runs),
        "reason": promotion.reason,
    }


def _short(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.{_DIGITS}g}") for value in values]
