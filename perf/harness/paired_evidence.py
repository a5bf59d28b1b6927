"""The numbers behind a paired verdict: ln(candidate / baseline) in each pair of processes, by metric. Pure.

The unit of replication is the pair of processes; rounds inside are never counted as n (Kalibera & Jones, Rigorous
Benchmarking in Reasonable Time, ISMM 2013).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from perf.harness.paired_exact import MIN_PAIRS, steady_pairs
from perf.harness.paired_records import PairedResult
from perf.harness.records import Change
from perf.harness.stats import t_quantile, upper_tail

LEVEL = 0.05
POWER = 0.80
#: Margins of the metrics that are not the time per step, as fractions.
FIRST_CALL_MARGIN = 0.25
MEMORY_MARGIN = 0.10
#: A change of peak memory must be this large besides: the same small case varies by some MiB.
MEMORY_BYTES = 4 * 2**20
#: Less memory than a page was not measured, it is 0.
_PAGE = 4096
#: Equal differences are a clock (or a page) too coarse to differ, never a proof.
_SMALLEST_SD = 1e-4


class Metric(StrEnum):
    """What is judged of a case."""

    STEP = "time per step"
    FIRST_CALL = "first call"
    MEMORY = "peak memory"


@dataclass(frozen=True, slots=True)
class Evidence:
    """``differences``: ln(candidate / baseline), one per pair; ``margin``: ln(1 + margin).

    ``baseline`` and ``candidate`` are the medians over pairs of what was measured, in seconds or bytes, to be shown.
    """

    differences: tuple[float, ...]
    margin: float
    baseline: float
    candidate: float

    @property
    def count(self) -> int:
        return len(self.differences)

    @property
    def enough(self) -> bool:
        return self.count >= MIN_PAIRS

    @property
    def margins_ratio(self) -> float:
        """The largest ratio that does not matter: 1 + margin."""
        return math.exp(self.margin)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.differences)

    @property
    def sd(self) -> float:
        """Of one pair's difference."""
        return max(statistics.stdev(self.differences), _SMALLEST_SD)

    def change(self, level: float = 1 - 2 * LEVEL) -> Change:
        """The ratio with its t interval over the pairs."""
        half = self._quantile((1 + level) / 2) * self._standard_error
        return Change(math.exp(self.mean), math.exp(self.mean - half), math.exp(self.mean + half), level)

    def p_value(self) -> float:
        """One-sided, of the change being no larger than the margin."""
        return upper_tail((self.mean - self.margin) / self._standard_error, self.count - 1)

    def smallest_visible(self) -> float:
        """The ratio that is found in 80 % of measurements like this one: exp[ln(1+δ) + (t.95 + t.80) s/√K]."""
        return math.exp(self.margin + (self._quantile(1 - LEVEL) + self._quantile(POWER)) * self._standard_error)

    def pairs_for(self, level: float, between: tuple[int, int]) -> int:
        """Pairs with which a change of twice the margin is found in 80 % at ``level`` (one-sided), within bounds."""
        least, most = between
        gap = math.log(2 * math.exp(self.margin) - 1) - self.margin
        for pairs in range(least, most):
            reach = t_quantile(1 - level, pairs - 1) + t_quantile(POWER, pairs - 1)
            if reach * self.sd / math.sqrt(pairs) <= gap:
                return pairs
        return most

    @property
    def _standard_error(self) -> float:
        return self.sd / math.sqrt(self.count)

    def _quantile(self, probability: float) -> float:
        return t_quantile(probability, self.count - 1)


def evidence(result: PairedResult, margin: float) -> Mapping[Metric, Evidence]:
    """What was measured of each metric; ``margin`` (a fraction) is that of the time per step.

    Memory is that of the case's device: on a GPU the host's says little. Absent: the time per step of a case that was
    unsteady, memory where a side could not read it. The time per step is that of the pairs with a steady state; a first
    call and the memory after it need none.
    """
    found: dict[Metric, Evidence] = {}
    if pairs := steady_pairs(result):
        found[Metric.STEP] = Evidence(
            tuple(pair.log_ratio for pair in pairs),
            math.log1p(margin),
            statistics.median(pair.baseline.seconds_per_step for pair in pairs),
            statistics.median(pair.candidate.seconds_per_step for pair in pairs),
        )
    if result.pairs:
        found[Metric.FIRST_CALL] = _compared(
            [(pair.baseline.first_call_seconds, pair.candidate.first_call_seconds) for pair in result.pairs],
            math.log1p(FIRST_CALL_MARGIN),
        )
    device = result.spec.device
    peaks = [(pair.baseline.peak_on(device), pair.candidate.peak_on(device)) for pair in result.pairs]
    known = [(float(max(b, _PAGE)), float(max(c, _PAGE))) for b, c in peaks if b is not None and c is not None]
    if known and len(known) == len(peaks):
        baseline = statistics.median(b for b, _ in known)
        found[Metric.MEMORY] = _compared(known, math.log1p(max(MEMORY_MARGIN, MEMORY_BYTES / baseline)))
    return found


def _compared(values: list[tuple[float, float]], margin: float) -> Evidence:
    return Evidence(
        tuple(math.log(candidate / baseline) for baseline, candidate in values),
        margin,
        statistics.median(baseline for baseline, _ in values),
        statistics.median(candidate for _, candidate in values),
    )
