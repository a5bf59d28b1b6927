"""The page's tables in words: which device and kernel, what is paid once, single calls."""

from __future__ import annotations

from collections.abc import Sequence

from perf.harness.numbers import mebibytes, ratio, seconds
from perf.harness.paired_evidence import Metric
from perf.harness.report.page.case_data import CaseView, MetricView, SideView
from perf.harness.report.page.data import ExpectationView, PageData, Table
from perf.harness.stats import Estimate

_PAID_ONCE = (Metric.FIRST_CALL, Metric.MEMORY)


def which_table(cases: Sequence[CaseView]) -> Table | None:
    """One row for each kind of work that was measured in more than one way; None where there is none."""
    works: dict[tuple[str, ...], dict[str, Estimate]] = {}
    for case in cases:
        if case.now is not None:
            work: tuple[str, ...] = (case.path, f"{case.workload}, batch {case.batch}", case.precision)
            works.setdefault(work, {})[_way(case, case.now)] = case.now.seconds_per_step
    works = {work: ways for work, ways in works.items() if len(ways) > 1}
    if not works:
        return None
    columns = list(dict.fromkeys(way for ways in works.values() for way in ways))
    rows = []
    for work, ways in works.items():
        rows.append((*work, *(seconds(ways[way]) if way in ways else "" for way in columns)))
    return Table(
        ("path", "work", "precision", *columns),
        tuple(rows),
        "Time per step with the 95 % interval over processes. Which to use is said where they were measured together.",
    )


def once_table(cases: Sequence[CaseView]) -> Table | None:
    """First calls and peak memory of each case, on both sides where there are two."""
    measured = [case for case in cases if case.now is not None]
    if not measured:
        return None
    sides = [side.name for side in max((case.sides for case in measured), key=len)]
    headers = ["case", *(f"first call, {name}" for name in sides), *(f"peak host MiB, {name}" for name in sides)]
    others = {case.key: [metric for metric in case.metrics if metric.metric in _PAID_ONCE] for case in measured}
    judged = any(others.values())
    rows = []
    for case in measured:
        by_name = {side.name: side for side in case.sides}
        row = [case.name]
        row += [seconds(by_name[name].first_call_seconds) if name in by_name else "" for name in sides]
        row += [memory(by_name[name]) if name in by_name else "" for name in sides]
        rows.append((*row, "; ".join(metric_text(metric) for metric in others[case.key])) if judged else tuple(row))
    return Table(
        (*headers, "judged") if judged else tuple(headers),
        tuple(rows),
        "First calls (tracing, compiling, library start-up) with the 95 % interval over processes; peak memory over "
        "what was resident before, with its range.",
    )


def calls_table(cases: Sequence[CaseView]) -> Table | None:
    """Percentiles of single calls, of the cases that keep them."""
    kept = [(case, side) for case in cases for side in case.sides if side.percentiles]
    if not kept:
        return None
    percents = list(kept[0][1].percentiles)
    rows = tuple(
        (case.name, side.name, *(seconds(side.percentiles[percent]) for percent in percents)) for case, side in kept
    )
    return Table(
        ("case", "side", *(f"p{percent}" for percent in percents)),
        rows,
        "One call of one sample each; intervals are 95 % over processes.",
    )


def curve_table(expectation: ExpectationView) -> Table | None:
    """Both contenders and their ratio by size; None where nothing was measured."""
    if not expectation.points:
        return None
    words = _mebibytes if expectation.quantity == Metric.MEMORY else seconds
    rows = tuple(
        (str(point.size), words(point.first), words(point.second), ratio(point.change)) for point in expectation.points
    )
    level = f"{100 * expectation.points[0].change.level:.3g} %"
    first, second = expectation.first, expectation.second
    return Table((expectation.axis, first, second, f"{first} / {second}, {level}"), rows)


def metric_text(metric: MetricView) -> str:
    """``first call regressed, 1.52 (1.31–1.77)``."""
    change = "" if metric.change is None else f", {ratio(metric.change)}, {100 * metric.change.level:.3g} %"
    return f"{metric.metric} {metric.state.sign} {metric.state.word}{change}"


def memory(side: SideView) -> str:
    """MiB with the range, "" where it was not read."""
    return "" if side.bytes_peak is None else mebibytes(side.bytes_peak)


def change_text(metric: MetricView | None) -> str:
    """The ratio with its interval, "" where there is none."""
    return "" if metric is None or metric.change is None else ratio(metric.change)


def visible_text(page: PageData) -> str:
    """The smallest change that could have been seen, or why that is not known."""
    if page.visible is None:
        return ""
    v = page.visible
    return f"×{v.median:.2f} (median over cases; {v.least:.2f} to {v.most:.2f})"


def _mebibytes(value: float) -> str:
    return f"{mebibytes(Estimate(value, None, None))} MiB"


def _way(case: CaseView, side: SideView) -> str:
    ran = " ".join(side.kernels)
    return f"{case.device} {ran}" if ran == case.kernel else f"{case.device} {case.kernel} (ran {ran})"
