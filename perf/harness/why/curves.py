"""Every contender's time per step by batch and process, from cases and expectations alike. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from perf.harness.costs import MIN_SIZES, cost_of, line
from perf.harness.expectation_plan import meeting
from perf.harness.expectation_records import Cost, Expectation, Observed
from perf.harness.paired_evidence import Metric
from perf.harness.records import CaseResult, Change
from perf.harness.stats import mean_and_half_width
from perf.harness.why.records import TRANSFER, Subject, Who

#: How far a line may miss a measured batch; a fixed cost and a cost per sample are said of no worse ones.
MOST_MISFIT = 0.25


class Source(StrEnum):
    """Which stage measured it: times of one stage only are compared with each other."""

    EXPECTATIONS = "expectations"
    CASES = "cases"


@dataclass(frozen=True, slots=True)
class Curve:
    """``seconds`` per step by batch and process; ``subjects`` by batch; ``lines``: fixed seconds and seconds per sample
    by process, of the processes that measured all batches, where there are at least three and a line meets them."""

    who: Who
    source: Source
    seconds: Mapping[int, Mapping[int, float]]
    subjects: Mapping[int, Subject]
    lines: Mapping[int, tuple[float, float]]

    @property
    def cost(self) -> Cost | None:
        return cost_of(list(self.lines.values())) if len(self.lines) > 1 else None

    def at(self, batch: int) -> Mapping[int, float]:
        """Seconds per step by process as measured, else by the cost line inside the measured range; else none."""
        if batch in self.seconds:
            return self.seconds[batch]
        if not min(self.seconds) < batch < max(self.seconds):
            return {}
        estimated = {process: fixed + each * batch for process, (fixed, each) in self.lines.items()}
        return {process: seconds for process, seconds in estimated.items() if seconds > 0}


def compared(first: Mapping[int, float], second: Mapping[int, float]) -> Change | None:
    """First / second with its 95 % t interval over the processes that measured both; ``None`` for fewer than two."""
    ratios = [math.log(first[process] / second[process]) for process in first if process in second]
    if len(ratios) < 2:
        return None
    mean, half = mean_and_half_width(ratios, 0.95)
    return Change(math.exp(mean), math.exp(mean - half), math.exp(mean + half), 0.95)


def typical(seconds: Mapping[int, float]) -> float:
    """Median over processes."""
    return statistics.median(seconds.values())


def curves(
    subjects: Mapping[str, Subject],
    results: Iterable[CaseResult],
    observed: Iterable[tuple[Expectation, Observed]],
) -> tuple[Curve, ...]:
    """Of all contenders that ran with no variables of their own and whose inputs lay where they are used, expectations
    first; what reached no steady state is left out."""
    found: dict[tuple[Source, Who], dict[int, dict[int, float]]] = {}
    known: dict[tuple[Source, Who], dict[int, Subject]] = {}

    def add(source: Source, key: str, process: int, seconds: float) -> None:
        if (subject := subjects.get(key)) is None or TRANSFER in subject.work.traits:
            return
        known.setdefault((source, subject.who), {})[subject.batch] = subject
        by_process = found.setdefault((source, subject.who), {}).setdefault(subject.batch, {})
        by_process.setdefault(process, seconds)  # who stands in two groups was measured twice; once counts

    for expectation, one in observed:
        if expectation.metric is not Metric.STEP:
            continue
        for size, observations in one.observations.items():
            pair = meeting(expectation, size)
            for observation in (each for each in observations if each.steady):
                for entrant, seconds in zip(pair, (observation.first, observation.second), strict=True):
                    if not entrant.lane.variables:
                        add(Source.EXPECTATIONS, entrant.key, observation.process, seconds)
    for result in results:
        if result.failure is None:
            for sample in (sample for sample in result.samples if sample.steady):
                add(Source.CASES, result.spec.key, sample.process, sample.seconds_per_step)
    return tuple(
        Curve(who, source, by_batch, known[source, who], _lines(by_batch)) for (source, who), by_batch in found.items()
    )


def _lines(by_batch: Mapping[int, Mapping[int, float]]) -> dict[int, tuple[float, float]]:
    batches = sorted(by_batch)
    if len(batches) < MIN_SIZES:
        return {}
    whole = set.intersection(*(set(by_batch[batch]) for batch in batches))
    lines = {process: line(batches, [by_batch[batch][process] for batch in batches]) for process in sorted(whole)}
    for batch in batches if lines else ():
        expected = statistics.median(fixed + each * batch for fixed, each in lines.values())
        if abs(expected / typical(by_batch[batch]) - 1) > MOST_MISFIT:
            return {}  # whatever this curve is, it is no line
    return lines
