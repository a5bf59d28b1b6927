"""The decision of a paired comparison. Pure.

1. Facts come first (:mod:`perf.harness.paired_exact`): failed, not comparable, another kernel, other numbers.
2. A case that the screen settled keeps that verdict (:mod:`perf.harness.paired_screen`).
3. The candidates are judged by fresh pairs of processes only: what was picked for being slow looks slow again by chance
   in the data that it was picked from. One-sided t of the mean against ln(1+δ), Holm at .05 over all confirmed
   (case, metric). Only this makes time or memory red; what is not rejected is judged as in the screen.
4. A candidate without a confirmation is inconclusive, and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perf.harness.paired_evidence import LEVEL, Evidence, Metric, evidence
from perf.harness.paired_exact import exact_judgement, informing_differences, is_unsteady
from perf.harness.paired_message import About
from perf.harness.paired_records import BASELINE, CANDIDATE, PairedResult, SideName
from perf.harness.paired_screen import Screened, confirmation_plan, screen_verdict
from perf.harness.records import Environment, Judgement, Verdict
from perf.harness.stats import holm
from perf.harness.verdict import Margins

Environments = Mapping[tuple[SideName, str], Environment]


@dataclass(frozen=True, slots=True)
class CaseJudgement:
    """All verdicts of one case. Facts stand under the time per step, since they decide what it means.

    ``numbers`` are the pairs behind each verdict that has a change: fresh ones where those decided.
    """

    key: str
    metrics: Mapping[Metric, Judgement]
    numbers: Mapping[Metric, Evidence] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """The first red one, else that of the time per step."""
        return next((j.verdict for j in self.metrics.values() if j.verdict.is_red), self.metrics[Metric.STEP].verdict)

    @property
    def reason(self) -> str:
        """Why, for a person; of all red metrics, else of the time per step."""
        red = [j.reason for j in self.metrics.values() if j.verdict.is_red]
        return "\n".join(red) or self.metrics[Metric.STEP].reason


def decide(
    screened: Screened, confirmed: Mapping[str, PairedResult], margins: Margins, environments: Environments
) -> dict[str, CaseJudgement]:
    """The verdicts of all cases; ``confirmed`` are the results of the planned confirmation, as far as it came."""
    fresh = _evidence(confirmed, margins)
    rejected = _rejected(screened, fresh)
    suspects = {candidate.key: candidate.metrics for candidate in screened.candidates}
    judgements = {}
    for key, result in screened.results.items():
        exact = screened.exact.get(key)
        if exact is None and key in confirmed:
            exact = exact_judgement(confirmed[key])
        informs = informing_differences(result)
        if exact is not None:
            exact = Judgement(key, exact.verdict, exact.reason, informs=informs)
            judgements[key] = CaseJudgement(key, {Metric.STEP: exact})
            continue
        device = result.spec.device
        about = About(
            result.spec,
            margins.percent(key),
            environments.get((BASELINE, device)),
            environments.get((CANDIDATE, device)),
        )
        by_metric: dict[Metric, Judgement] = {}
        numbers: dict[Metric, Evidence] = {}
        for metric in Metric:
            first = screened.evidence[key].get(metric)
            decided_by: PairedResult | None = result
            judged = _Judged(about, metric, first, informs)
            if metric in suspects.get(key, ()):
                decided_by = confirmed.get(key)
                again = fresh.get(key, {}).get(metric)
                judged = _Judged(about, metric, again, informs, rejected.get((key, metric)), first)
            if metric is Metric.STEP and decided_by is not None and is_unsteady(decided_by):
                by_metric[metric] = Judgement(key, Verdict.UNSTEADY, about.unsteady(), informs=informs)
            elif judged.numbers or judged.suspicion or metric is Metric.STEP:
                by_metric[metric] = judged.judgement()
                if shown := judged.shown:
                    numbers[metric] = shown
        judgements[key] = CaseJudgement(key, by_metric, numbers)
    return judgements


def not_decided(screened: Screened, confirmed: Mapping[str, PairedResult], margins: Margins) -> tuple[str, ...]:
    """The candidates that no confirmation decided: no room, or the budget ended first."""
    fresh = _evidence(confirmed, margins)
    undecided = []
    for candidate in screened.candidates:
        result, numbers = confirmed.get(candidate.key), fresh.get(candidate.key, {})
        known = result is not None and (exact_judgement(result) is not None or is_unsteady(result))
        if not known and not all(metric in numbers and numbers[metric].enough for metric in candidate.metrics):
            undecided.append(candidate.key)
    return tuple(undecided)


def _evidence(results: Mapping[str, PairedResult], margins: Margins) -> dict[str, Mapping[Metric, Evidence]]:
    return {key: evidence(result, margins.percent(key) / 100) for key, result in results.items()}


def _rejected(screened: Screened, fresh: Mapping[str, Mapping[Metric, Evidence]]) -> dict[tuple[str, Metric], float]:
    """What is proved slower (or larger), with the level at which Holm tested it.

    What was planned and not measured counts as a test all the same: else a budget would choose the levels.
    """
    planned = confirmation_plan(screened).pairs
    p_values = {}
    for candidate in screened.candidates:
        for metric in candidate.metrics if candidate.key in planned else ():
            numbers = fresh.get(candidate.key, {}).get(metric)
            p_values[candidate.key, metric] = numbers.p_value() if numbers and numbers.enough else 1.0
    return holm(p_values, LEVEL)


@dataclass(frozen=True, slots=True)
class _Judged:
    """One metric of a case: the pairs that decide it, the level at which it was proved regressed, and, for a candidate,
    the screen's pairs."""

    about: About
    metric: Metric
    numbers: Evidence | None
    informs: tuple[str, ...]
    proved_at: float | None = None
    suspicion: Evidence | None = None

    @property
    def shown(self) -> Evidence | None:
        """The pairs that the verdict rests on, as far as there are any."""
        undecided = self.suspicion is not None and (self.numbers is None or not self.numbers.enough)
        return self.suspicion if undecided else self.numbers

    def judgement(self) -> Judgement:
        about, numbers, suspicion = self.about, self.numbers, self.suspicion
        if suspicion is not None and (numbers is None or not numbers.enough):
            change = suspicion.change()
            reason = about.undecided(self.metric, suspicion, change)
            return self._judgement(Verdict.INCONCLUSIVE, reason, suspicion, change.level)
        if numbers is None or numbers.count < 2:
            reason = about.too_few(numbers.count if numbers else 0)
            return Judgement(about.spec.key, Verdict.INCONCLUSIVE, reason, informs=self.informs)
        level = 1 - 2 * (self.proved_at or LEVEL)
        verdict = Verdict.REGRESSED if self.proved_at is not None else screen_verdict(numbers)
        confirmed = suspicion is not None
        reason = about.reason(verdict, self.metric, numbers, numbers.change(level), confirmed=confirmed)
        return self._judgement(verdict, reason, numbers, level)

    def _judgement(self, verdict: Verdict, reason: str, numbers: Evidence, level: float) -> Judgement:
        key, visible = self.about.spec.key, numbers.smallest_visible()
        return Judgement(key, verdict, reason, numbers.change(level), visible, informs=self.informs)
