"""The one decision function: what a run means against a stored baseline.

For each case y is the logarithm of its seconds per step (median over processes of the medians over rounds).

1. Facts come first (:mod:`perf.harness.exact`): another kernel, other numbers, another definition, no steady state.
2. The location is the mean of y over the m promoted runs. The history never moves it: ten runs, each 4 % slower than
   the one before, all saved, are red by the third.
3. The spread s of one run comes from the history of the machine (:mod:`perf.harness.spread`): successive differences,
   which a drift hardly inflates, shrunk over the cases, v degrees of freedom; with fewer than three runs 15 % is
   taken as known, and only about twice as slow is then red.
4. t = (y - location) / (s sqrt(1 + 1/m)). A case is *suspected* if t > t.95(v) and the change is beyond the margin.
   Stored numbers alone make it **regressed** only if Holm's procedure at .05 over all compared cases rejects as well;
   otherwise it is inconclusive and the reason says how to look closer. **improved** is the mirror image. Suspects that
   can be are then decided side by side (:mod:`perf.harness.suspects`), which replaces this verdict.
5. **unchanged**: the 90 % prediction interval lies inside the margins. All else is inconclusive.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from perf.harness import message
from perf.harness.exact import exact_judgement, informing_differences
from perf.harness.records import (
    Baseline,
    CaseResult,
    Change,
    Comparison,
    Environment,
    Judgement,
    Run,
    Verdict,
)
from perf.harness.spread import case_spreads
from perf.harness.stats import Spread, holm, mean_and_half_width, t_quantile, upper_tail

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Margins:
    """Smallest change that matters, in percent: by case key, else the default."""

    default_percent: float = 5.0
    by_case: Mapping[str, float] = field(default_factory=dict)

    def percent(self, key: str) -> float:
        return self.by_case.get(key, self.default_percent)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The stored numbers of one case: ``difference`` of logarithms to the baseline, and how far chance goes."""

    difference: float
    spread: Spread
    promoted_runs: int
    history_runs: int
    margin: float  # ln(1 + margin)

    @property
    def standard_error(self) -> float:
        return self.spread.sd * math.sqrt(1 + 1 / self.promoted_runs)

    def p_value(self, sign: int) -> float:
        """One-sided, of no change against slower (``sign`` 1) or faster (-1)."""
        return upper_tail(sign * self.difference / self.standard_error, self.spread.degrees)

    def suspected(self, sign: int) -> bool:
        return self.p_value(sign) < LEVEL and sign * self.difference > self.margin

    def change(self, level: float = 1 - 2 * LEVEL) -> Change:
        """The ratio of times with its prediction interval."""
        half = self._reach((1 + level) / 2)
        low, high = self.difference - half, self.difference + half
        return Change(math.exp(self.difference), math.exp(low), math.exp(high), level)

    def inside_margin(self) -> bool:
        return abs(self.difference) + self._reach(1 - LEVEL) < self.margin

    def smallest_visible(self, compared: int) -> float:
        """Smallest ratio that is red among ``compared`` cases, whatever the others are."""
        return math.exp(max(self.margin, self._reach(1 - LEVEL / compared)))

    def _reach(self, probability: float) -> float:
        return t_quantile(probability, self.spread.degrees) * self.standard_error


def compare(
    results: Mapping[str, CaseResult],
    environments: Mapping[str, Environment],
    baseline: Baseline,
    history: Sequence[Run],
    margins: Margins,
    *,
    excused: Collection[str] = (),
) -> Comparison:
    """Judges all ``results`` of a session together against ``baseline``.

    ``environments`` by device; ``history`` are the runs that were stored before this one. ``excused`` are the keys
    that are rightly not measured: deselected by the user, or promoted from another profile, suite or device. Scope
    is given by what is excused, since a case that was renamed or removed is in no profile and must be missed.
    """
    results = {key: result for key, result in results.items() if result.samples or result.failure is not None}
    spreads = case_spreads(baseline, history)
    judgements: dict[str, Judgement] = {}
    evidence: dict[str, Evidence] = {}
    for key, result in results.items():
        case = baseline.cases.get(key)
        exact = exact_judgement(result, case)
        if exact is not None:
            judgements[key] = exact
            continue
        assert case is not None  # else the verdict was "no baseline"
        location = statistics.fmean(promoted.log_seconds_per_step for _, _, promoted in case.runs)
        spread, runs = spreads[key]
        evidence[key] = Evidence(
            result.log_seconds_per_step - location,
            spread,
            len(case.runs),
            runs,
            math.log1p(margins.percent(key) / 100),
        )
    for key, (verdict, level) in decide_all(evidence).items():
        numbers = evidence[key]
        case, result = baseline.cases[key], results[key]
        change = numbers.change(level)
        judgements[key] = Judgement(
            key,
            verdict,
            message.reason(
                verdict,
                change,
                suspected=numbers.suspected(1) or numbers.suspected(-1),
                result=result,
                case=case,
                baseline=baseline.name,
                environment=environments[result.spec.device],
                margin_percent=margins.percent(key),
                spread_sd=numbers.spread.sd,
                history_runs=numbers.history_runs,
            ),
            change,
            numbers.smallest_visible(len(evidence)),
            numbers.history_runs,
            informing_differences(result, case),
        )
    return Comparison(
        baseline=baseline,
        judgements={key: judgements[key] for key in results},
        missing=tuple(key for key in baseline.cases if key not in results and key not in excused),
        new=tuple(key for key in results if judgements[key].verdict is Verdict.NO_BASELINE),
        run_effect=_run_effect([numbers.difference for numbers in evidence.values()]),
        suspects=_suspects(evidence),
    )


def _suspects(evidence: Mapping[str, Evidence]) -> tuple[str, ...]:
    """The cases that look slower, the one least explained by chance first."""
    p_values = {key: numbers.p_value(1) for key, numbers in evidence.items() if numbers.suspected(1)}
    return tuple(sorted(p_values, key=p_values.__getitem__))


def decide_all(evidence: Mapping[str, Evidence]) -> dict[str, tuple[Verdict, float]]:
    """Verdict of each case and the level of the two-sided interval that decided it."""
    slower = holm({key: numbers.p_value(1) for key, numbers in evidence.items()}, LEVEL)
    faster = holm({key: numbers.p_value(-1) for key, numbers in evidence.items()}, LEVEL)
    decided = {}
    for key, numbers in evidence.items():
        if key in slower and numbers.suspected(1):
            decided[key] = Verdict.REGRESSED, 1 - 2 * slower[key]
        elif key in faster and numbers.suspected(-1):
            decided[key] = Verdict.IMPROVED, 1 - 2 * faster[key]
        else:
            decided[key] = Verdict.UNCHANGED if numbers.inside_margin() else Verdict.INCONCLUSIVE, 1 - 2 * LEVEL
    return decided


def _run_effect(differences: Sequence[float], level: float = 0.95) -> Change | None:
    """What all cases share: the machine's part, with the t interval over the cases; ``None`` below two cases."""
    if len(differences) < 2:
        return None
    mean, half = mean_and_half_width(differences, level)
    return Change(math.exp(mean), math.exp(mean - half), math.exp(mean + half), level)
