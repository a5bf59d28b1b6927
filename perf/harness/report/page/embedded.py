"""What the page draws from only when a case is opened: compact JSON, so that hundreds of cases load at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from perf.harness.numbers import ratio, seconds
from perf.harness.report.page.data import CaseView, MetricView, PageData, Promotion, SideView, Trend, TrendPoint

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


def _columns(points: tuple[TrendPoint, ...]) -> dict[str, Any]:
    """Runs, values and interval ends as columns; ``red`` holds places in them, ``work`` where it is another than
    before, ``kernel`` where another ran."""
    previous = [None, *points[:-1]]
    changes = [(place, point, before) for place, (point, before) in enumerate(zip(points, previous, strict=True))]
    return {
        "run": [point.run for point in points],
        "value": _short(point.seconds_per_step.value for point in points),
        "low": _short(point.seconds_per_step.low for point in points),
        "high": _short(point.seconds_per_step.high for point in points),
        "red": [place for place, point, _ in changes if point.red],
        "work": [place for place, point, before in changes if before is not None and before.hash != point.hash],
        "kernel": [
            [place, point.kernel] for place, point, before in changes if before is None or before.kernel != point.kernel
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
