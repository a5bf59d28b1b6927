"""What a person reads under a verdict: what, how much, against what, and how to look closer."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

from perf.harness.frameworks import FRAMEWORKS
from perf.harness.numbers import counted, ratio, seconds
from perf.harness.records import BaselineCase, CaseResult, Change, Environment, Verdict

#: Versions named in every message; others only where they differ.
ALWAYS_NAMED = (*FRAMEWORKS, "keras")


def reason(
    verdict: Verdict,
    change: Change,
    *,
    suspected: bool,
    result: CaseResult,
    case: BaselineCase,
    baseline: str,
    environment: Environment,
    margin_percent: float,
    spread_sd: float,
    history_runs: int,
) -> str:
    """One paragraph, "" where the verdict says all (unchanged)."""
    if verdict is Verdict.UNCHANGED:
        return ""
    key = result.spec.key
    now = math.exp(result.log_seconds_per_step)
    then = math.exp(statistics.fmean(promoted.log_seconds_per_step for _, _, promoted in case.runs))
    measured = (
        f"{ratio(change)} times the baseline's time per step ({100 * change.level:.3g} % interval), "
        f"{seconds(then)} then, {seconds(now)} now"
    )
    versions = ", ".join(version_changes(case.environment, environment))
    against = f"Baseline: {promotion(baseline, case)}; {versions}."
    if history_runs < 3:
        noise = (
            f"Only {history_runs} stored run{'s' if history_runs != 1 else ''}, so a spread of {100 * spread_sd:.0f} % "
            "between runs is assumed."
        )
    else:
        noise = f"The last {history_runs} runs vary by {100 * spread_sd:.2g} %."
    closer = f"Look closer: python -m lstm_models run '{key}' --trace DIR"
    if verdict is Verdict.REGRESSED:
        return f"{key}: regressed: {measured}. {against} {noise} The margin is {margin_percent:g} %. {closer}"
    if verdict is Verdict.IMPROVED:
        return f"{key}: improved: {measured}. {against} {noise} Promote new runs, or the gain is not kept watch over."
    if suspected:
        direction = "slower" if change.ratio > 1 else "faster"
        return (
            f"{key}: suspected {direction}, not proved: {measured}; among all cases compared, one of them may look so "
            f"by chance. {against} {noise} Measure again, or save more runs, which makes smaller changes visible. "
            f"{closer}"
        )
    return f"{key}: inconclusive: {measured}; the interval reaches beyond the margin of {margin_percent:g} %. {noise}"


def promotion(baseline: str, case: BaselineCase) -> str:
    """Which decision a case is compared with: ``perf/baselines/x.json, promoted 2026-01-31 from 3 runs (why)``."""
    return f"{baseline}, promoted {case.promoted:%Y-%m-%d} from {counted(len(case.runs), 'run')} ({case.reason})"


def version_changes(then: Environment, now: Environment) -> list[str]:
    """``tensorflow 2.20.0 -> 2.21.0`` for each version that differs, and the framework and Keras in any case."""
    changes = []
    for name in dict.fromkeys((*ALWAYS_NAMED, *then.versions, *now.versions)):
        old, new = then.versions.get(name, "absent"), now.versions.get(name, "absent")
        if old != new:
            changes.append(f"{name} {old} -> {new}")
        elif name in ALWAYS_NAMED and old != "absent":
            changes.append(f"{name} {old} (same)")
    return changes


def differing(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """``name then -> now`` for each entry that differs."""
    return [
        f"{name} {then.get(name, 'absent')} -> {now.get(name, 'absent')}"
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
    ]
