"""What a person reads under a paired verdict: what, how much, between which versions, and how to look closer."""

from __future__ import annotations

from dataclasses import dataclass

from perf.harness.message import differing, version_changes
from perf.harness.numbers import mebibytes, ratio, seconds
from perf.harness.paired_evidence import Evidence, Metric
from perf.harness.paired_exact import MIN_PAIRS
from perf.harness.records import CaseSpec, Change, Environment, Verdict
from perf.harness.stats import Estimate


@dataclass(frozen=True, slots=True)
class About:
    """A case and its two sides; the margin is that of the time per step, in percent."""

    spec: CaseSpec
    margin_percent: float
    baseline: Environment | None
    candidate: Environment | None

    def reason(self, verdict: Verdict, metric: Metric, numbers: Evidence, change: Change, *, confirmed: bool) -> str:
        """One paragraph, "" where the verdict says all (unchanged)."""
        if verdict is Verdict.UNCHANGED:
            return ""
        key = self.spec.key
        what = "" if metric is Metric.STEP else f" ({metric})"
        measured = self._measured(metric, numbers, change)
        if verdict is Verdict.REGRESSED:
            return (
                f"{key}: regressed{what}: {measured}, in fresh processes, after a first look had suspected it. "
                f"{self._versions()} The margin is {self._margin(metric, numbers)}. {self._closer()}"
            )
        if verdict is Verdict.IMPROVED:
            return f"{key}: improved{what}: {measured}. {self._versions()}"
        if not numbers.enough:
            return self.too_few(numbers.count)
        again = " A first look suspected it; fresh processes did not bear that out." if confirmed else ""
        return (
            f"{key}: inconclusive{what}: {measured}; the interval reaches beyond the margin of "
            f"{self._margin(metric, numbers)}.{again} A change of ×{numbers.smallest_visible():.2f} would have been "
            "found in four of five such measurements; more pairs (--perf-processes) would find a smaller one."
        )

    def undecided(self, metric: Metric, numbers: Evidence, change: Change) -> str:
        """A candidate without a confirmation."""
        what = "" if metric is Metric.STEP else f" ({metric})"
        return (
            f"{self.spec.key}: suspected{what}, not decided: {self._measured(metric, numbers, change)}. There was no "
            f"room or no time to measure it again with fresh processes, and the first look alone makes nothing red. "
            f"{self._versions()} Decide it alone: the same command with -k '{self.spec.id}'."
        )

    def unsteady(self) -> str:
        return (
            f"{self.spec.key}: no steady state was reached in too many of its processes, so its time is not judged. "
            "Measure again on a quieter machine."
        )

    def too_few(self, count: int) -> str:
        return (
            f"{self.spec.key}: inconclusive: {count} pair{'s' if count != 1 else ''} of processes; at least "
            f"{MIN_PAIRS} are needed to judge."
        )

    def _measured(self, metric: Metric, numbers: Evidence, change: Change) -> str:
        return (
            f"{ratio(change)} times the baseline's {metric} ({100 * change.level:.3g} % interval over "
            f"{numbers.count} pairs), {shown(metric, numbers.baseline)} on the baseline's side, "
            f"{shown(metric, numbers.candidate)} on the candidate's"
        )

    def _margin(self, metric: Metric, numbers: Evidence) -> str:
        return f"{self.margin_percent if metric is Metric.STEP else 100 * (numbers.margins_ratio - 1):.3g} %"

    def _versions(self) -> str:
        if self.baseline is None or self.candidate is None:
            return ""
        changes = version_changes(self.baseline, self.candidate)
        changes += differing(self.baseline.variables, self.candidate.variables)
        return f"Baseline -> candidate: {', '.join(changes)}."

    def _closer(self) -> str:
        return f"Look closer, in each environment: python -m lstm_models run '{self.spec.key}' --trace DIR"


def shown(metric: Metric, value: float) -> str:
    """A metric's value with its unit."""
    if metric is Metric.MEMORY:
        return f"{mebibytes(Estimate(value, None, None))} MiB"
    return seconds(value)
