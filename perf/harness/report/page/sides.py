"""Samples of a case to what is shown of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from perf.harness.records import BaselineCase, CaseSpec, Sample
from perf.harness.report.page.case_data import CaseView, MetricView, ProcessRounds, SideView, State
from perf.harness.stats import Estimate, interval_over_processes, mean_and_half_width

PERCENTILES = (50, 95, 99)


def side(name: str, samples: Sequence[Sample]) -> SideView:
    """At least one sample, each of a process of its own."""
    return SideView(
        name=name,
        replicates="processes",
        kernels=tuple(dict.fromkeys(sample.facts.kernel for sample in samples)),
        seconds_per_step=_over(samples, lambda sample: sample.seconds_per_step),
        first_call_seconds=_over(samples, lambda sample: sample.first_call_seconds),
        bytes_peak=peak(samples),
        percentiles=_percentiles(samples),
        processes=tuple(ProcessRounds(s.process, _rounds(s)) for s in samples),
    )


def baseline_side(case: BaselineCase) -> SideView:
    """The promoted runs: the mean over them that the verdict starts from, with its interval over runs."""
    samples = [sample for _, _, result in case.runs for sample in result.samples]
    logs = [result.log_seconds_per_step for _, _, result in case.runs]
    middle = math.exp(statistics.fmean(logs))
    low = high = None
    if len(logs) > 1:
        _, half = mean_and_half_width(logs, 0.95)
        low, high = middle * math.exp(-half), middle * math.exp(half)
    whole = side("baseline", samples)
    return SideView(
        name=whole.name,
        replicates="runs",
        kernels=whole.kernels,
        seconds_per_step=Estimate(middle, low, high),
        first_call_seconds=whole.first_call_seconds,
        bytes_peak=whole.bytes_peak,
        percentiles={},
        processes=tuple(ProcessRounds(number, _rounds(sample)) for number, sample in enumerate(samples, 1)),
    )


def case_view(
    spec: CaseSpec,
    name: str,
    state: State,
    reason: str = "",
    *,
    metrics: Sequence[MetricView] = (),
    sides: Sequence[SideView] = (),
    informs: Sequence[str] = (),
) -> CaseView:
    """A case with what its spec says of it."""
    return CaseView(
        key=spec.key,
        name=name,
        path=spec.path,
        workload=spec.workload,
        batch=spec.batch,
        device=spec.device,
        kernel=spec.kernel,
        precision=spec.precision,
        state=state,
        reason=reason,
        metrics=tuple(metrics),
        sides=tuple(sides),
        informs=tuple(informs),
    )


def peak(samples: Sequence[Sample]) -> Estimate | None:
    """Median of the peaks with their range; ``None`` where none was read."""
    peaks = [sample.bytes_peak for sample in samples if sample.bytes_peak is not None]
    if not peaks:
        return None
    return Estimate(statistics.median(peaks), *((None, None) if len(peaks) < 2 else (min(peaks), max(peaks))))


def _over(samples: Sequence[Sample], value: Callable[[Sample], float]) -> Estimate:
    return interval_over_processes([value(sample) for sample in samples])


def _rounds(sample: Sample) -> tuple[float, ...]:
    return tuple(seconds / sample.steps_per_round for seconds in sample.seconds_per_round)


def _percentiles(samples: Sequence[Sample]) -> dict[int, Estimate]:
    kept = [sample for sample in samples if len(sample.seconds_per_call) > 1]
    if not kept:
        return {}
    cuts = [statistics.quantiles(sample.seconds_per_call, n=100, method="inclusive") for sample in kept]
    return {percent: interval_over_processes([cut[percent - 1] for cut in cuts]) for percent in PERCENTILES}
