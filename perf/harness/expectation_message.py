"""What a person reads of an expectation: expected, found, and the curve as a small table. Pure."""

from __future__ import annotations

from tabulate import tabulate

from perf.harness.expectation_records import Crossing, CurvePoint, ExpectationResult, State
from perf.harness.numbers import mebibytes, ratio, seconds
from perf.harness.paired_evidence import Metric
from perf.harness.stats import Estimate


def message(result: ExpectationResult) -> str:
    """One paragraph; below it the curve, unless the expectation holds."""
    expectation = result.expectation
    if result.state is State.FAILED and result.failure is not None:
        return f"{expectation.id}: a contender could not be measured: {result.failure.message}"
    what = f"{expectation.promise} ({expectation.metric}, {expectation.path} {expectation.workload})"
    if result.state is State.HOLDS:
        return f"{expectation.id}: holds: {what}: {found(result)}."
    if result.state is State.OBSERVED:
        return f"{expectation.id}: observed: {what}: {found(result)}."
    processes = max((len(point.log_ratios) for point in result.curve), default=0)
    few = " It takes at least 4 processes in a steady state to say." if processes < 4 else ""
    text = (
        f"{expectation.id}: {result.state}: expected was that {what}, because {expectation.reason} "
        f"({expectation.source}). Found: {found(result)}.{few}"
    )
    return "\n".join(part for part in (text, curve_table(result) if result.curve else "", why(result)) if part)


def found(result: ExpectationResult) -> str:
    """The crossing with its interval, or the ratio at the ends of the curve."""
    first, second = result.expectation.first.label, result.expectation.second.label
    if not result.curve:
        return "nothing could be compared"
    parts = [_point(result, result.curve[0])]
    if len(result.curve) > 1:
        parts.append(_point(result, result.curve[-1]))
    text = f"{first} / {second} is {', '.join(parts)}"
    if result.expectation.may_cross:
        text += f"; {crossing(result.crossing, str(result.expectation.axis))}"
    return text


def _point(result: ExpectationResult, point: CurvePoint) -> str:
    return f"{ratio(point.change)} at {result.expectation.axis} {point.size}"


def crossing(found: Crossing | None, axis: str) -> str:
    """``they cross at batch 41 (32 to 64)``; open ends in words."""
    if found is None:
        return "where they cross is not known"
    if found.low is None and found.high is not None and found.estimate is None:
        return f"they cross below {axis} {found.high:g}, if at all"
    if found.high is None and found.low is not None and found.estimate is None:
        return f"they cross above {axis} {found.low:g}, if at all"
    low = "not known from where" if found.low is None else f"{found.low:g}"
    high = "open" if found.high is None else f"{found.high:g}"
    about = "" if found.estimate is None else f" {found.estimate:.2g}"
    return f"they cross at {axis}{about} ({low} to {high})"


def why(result: ExpectationResult) -> str:
    """``loop costs 0.79 ms 0.75–0.83 a step and 31 µs 29–33 a sample``, of both; "" where that is not known."""
    if result.costs is None:
        return ""
    labels = (result.expectation.first.label, result.expectation.second.label)
    return "; ".join(
        f"{label} costs {seconds(cost.fixed)} a step and {seconds(cost.per_sample)} a sample"
        for label, cost in zip(labels, result.costs, strict=True)
    )


def curve_table(result: ExpectationResult) -> str:
    """Both contenders and their ratio by size."""
    expectation = result.expectation
    first, second = expectation.first.label, expectation.second.label
    rows = [
        (
            point.size,
            quantity(expectation.metric, point.first_median),
            quantity(expectation.metric, point.second_median),
            ratio(point.change),
        )
        for point in result.curve
    ]
    headers = (str(expectation.axis), first, second, f"{first} / {second}, 95 %")
    return tabulate(rows, headers=headers, disable_numparse=True, tablefmt="simple")


def quantity(metric: Metric, value: float) -> str:
    """A time or a number of bytes, in the unit that suits it."""
    return f"{mebibytes(Estimate(value, None, None))} MiB" if metric is Metric.MEMORY else seconds(value)
