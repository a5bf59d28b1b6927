"""The first look at a paired comparison: which cases are settled, which are measured again and how often. Pure.

Margin δ, 90 % t interval over the pairs (two one-sided tests at 5 %: Schuirmann, A comparison of the two one-sided
tests procedure, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987): *unchanged* inside ±ln(1+δ), *improved*
wholly below -ln(1+δ), a **candidate** where the mean is above ln(1+δ)/2 and the interval reaches above ln(1+δ); all
else, and fewer than four pairs, is inconclusive.

A first call or a memory peak is a candidate where its mean is above ln(1+δ) itself: a first call is one value per
process and varies by 13 %, so that every fourteenth unchanged case would be a candidate by half of the margin, and each
costs a whole confirmation. Half as slow again (1.5) is a candidate in 99 % all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from perf.harness.paired_evidence import LEVEL, Evidence, Metric, evidence
from perf.harness.paired_exact import exact_judgement
from perf.harness.paired_records import PairedResult
from perf.harness.records import Judgement, Verdict
from perf.harness.verdict import Margins

#: Cases that are confirmed, the worst first; the rest are named as not decided.
MOST_CONFIRMED = 8
#: Pairs of a confirmation, at least and at most.
CONFIRMING_PAIRS = (10, 20)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A case that looks regressed in the screen, and in which metrics."""

    key: str
    metrics: tuple[Metric, ...]


@dataclass(frozen=True, slots=True)
class Screened:
    """What the screen found. ``exact`` are decided by facts; ``candidates`` come worst first."""

    results: Mapping[str, PairedResult]
    exact: Mapping[str, Judgement]
    evidence: Mapping[str, Mapping[Metric, Evidence]]
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class ConfirmationPlan:
    """Pairs of processes by case key, worst first, and the keys for which there is no room."""

    pairs: Mapping[str, int]
    not_decided: tuple[str, ...]


def screen(
    results: Mapping[str, PairedResult], margins: Margins, metrics: Collection[Metric] = tuple(Metric)
) -> Screened:
    """Judges the screening pairs of all cases by the ``metrics`` that are asked about."""
    exact = {key: judgement for key, result in results.items() if (judgement := exact_judgement(result)) is not None}
    numbers = {
        key: {metric: one for metric, one in evidence(result, margins.percent(key) / 100).items() if metric in metrics}
        for key, result in results.items()
        if key not in exact
    }
    suspects = []
    for key, by_metric in numbers.items():
        excess = {metric: one.mean / one.margin for metric, one in by_metric.items() if is_suspect(metric, one)}
        if excess:
            suspects.append((max(excess.values()), Candidate(key, tuple(excess))))
    suspects.sort(key=lambda item: -item[0])
    return Screened(results, exact, numbers, tuple(candidate for _, candidate in suspects))


def is_suspect(metric: Metric, numbers: Evidence) -> bool:
    """Whether a metric looks regressed enough to be measured again."""
    if not numbers.enough:
        return False
    if metric is not Metric.STEP:
        return numbers.mean > numbers.margin
    return numbers.mean > numbers.margin / 2 and numbers.change().high > numbers.margins_ratio


def confirmation_plan(screened: Screened) -> ConfirmationPlan:
    """Which cases to measure again, each with how many fresh pairs."""
    chosen, rest = screened.candidates[:MOST_CONFIRMED], screened.candidates[MOST_CONFIRMED:]
    hypotheses = sum(len(candidate.metrics) for candidate in chosen)
    pairs = {}
    for candidate in chosen:
        numbers = [screened.evidence[candidate.key][metric] for metric in candidate.metrics]
        pairs[candidate.key] = max(one.pairs_for(LEVEL / hypotheses, CONFIRMING_PAIRS) for one in numbers)
    return ConfirmationPlan(pairs, tuple(candidate.key for candidate in rest))


def screen_verdict(numbers: Evidence) -> Verdict:
    """What a 90 % interval says without a confirmation; never regressed."""
    if not numbers.enough:
        return Verdict.INCONCLUSIVE
    change, beyond = numbers.change(), numbers.margins_ratio
    if change.high < 1 / beyond:
        return Verdict.IMPROVED
    return Verdict.UNCHANGED if 1 / beyond < change.low and change.high < beyond else Verdict.INCONCLUSIVE
