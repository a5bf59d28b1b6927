"""Why a curve crosses: what a step costs at any batch, and what each sample adds. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from perf.harness.expectation_records import Axis, Cost, Expectation, Observation
from perf.harness.paired_evidence import Metric
from perf.harness.stats import Estimate, mean_and_half_width

#: Two sizes fit any line; only a third one says whether there is one.
MIN_SIZES = 3


def costs(expectation: Expectation, observations: Mapping[int, Sequence[Observation]]) -> tuple[Cost, Cost] | None:
    """Seconds per step = fixed + per_sample x batch, of both contenders, with 95 % t intervals over processes.

    ``None`` for other axes and metrics, for fewer than three sizes, or fewer than two processes that measured all.
    """
    sizes = expectation.sizes
    if expectation.axis is not Axis.BATCH or expectation.metric is not Metric.STEP or len(sizes) < MIN_SIZES:
        return None
    by_process: dict[int, list[Observation]] = {}
    for size in sizes:
        for one in observations[size]:
            if one.steady:
                by_process.setdefault(one.process, []).append(one)
    whole = [found for found in by_process.values() if len(found) == len(sizes)]
    if len(whole) < 2:
        return None
    first = [line(sizes, [one.first for one in found]) for found in whole]
    second = [line(sizes, [one.second for one in found]) for found in whole]
    return cost_of(first), cost_of(second)


def line(batches: Sequence[int], seconds: Sequence[float]) -> tuple[float, float]:
    """Fixed and per sample, by least squares of the relative errors: times vary by percents, not by microseconds."""
    weights = [1 / value**2 for value in seconds]
    total = math.fsum(weights)
    batch = math.fsum(w * b for w, b in zip(weights, batches, strict=True)) / total
    time = math.fsum(w * s for w, s in zip(weights, seconds, strict=True)) / total
    both = zip(weights, batches, seconds, strict=True)
    slope = math.fsum(w * (b - batch) * (s - time) for w, b, s in both) / math.fsum(
        w * (b - batch) ** 2 for w, b in zip(weights, batches, strict=True)
    )
    return time - slope * batch, slope


def cost_of(lines: Sequence[tuple[float, float]]) -> Cost:
    """Of at least two processes' own lines."""
    fixed, per_sample = (estimate(values) for values in zip(*lines, strict=True))
    return Cost(fixed, per_sample)


def estimate(values: Sequence[float]) -> Estimate:
    """Mean of at least two values, which may be below 0, with its 95 % t interval."""
    mean, half = mean_and_half_width(values, 0.95)
    return Estimate(statistics.fmean(values), mean - half, mean + half)
