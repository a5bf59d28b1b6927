"""Whether a session is green: what keeps it from being so although no test failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perf.harness.records import CaseResult, Comparison, Verdict

#: Exit status of a session in which no test failed and that is not green all the same.
NOT_GREEN = 10


def reasons_not_green(
    results: Mapping[str, CaseResult],
    comparison: Comparison | None,
    *,
    fail_inconclusive: bool,
    unfinished: Sequence[str] = (),
    without_test: Sequence[str] = (),
    not_decided: Sequence[str] = (),
) -> tuple[str, ...]:
    """One sentence per reason, worst first; empty when the session may be green."""
    if not results:
        return ("Nothing was measured, and nothing measured is never green.",)
    reasons = []
    if unfinished:
        reasons.append(f"The budget ended before {count(len(unfinished))} measured: {named(unfinished)}.")
    if without_test:
        reasons.append(f"{count(len(without_test))} without a collected test: {named(without_test)}.")
    if comparison is None:
        return tuple(reasons)
    if not any(judgement.change for judgement in comparison.judgements.values()):
        reasons.append("No case's time was compared with the baseline, and nothing judged is never green.")
    if comparison.missing:
        missing = f"{count(len(comparison.missing))} in the baseline and not measured (missing)"
        reasons.append(f"{missing}: {named(comparison.missing)}.")
    if comparison.new:
        reasons.append(f"{count(len(comparison.new))} without a baseline (new): {named(comparison.new)}.")
    if not_decided:
        what = "suspected by the stored numbers and not decided side by side (no room or no time)"
        reasons.append(f"{count(len(not_decided))} {what}: {named(not_decided)}.")
    for verdict, what in (
        (Verdict.CASE_CHANGED, "no longer the work that the baseline holds (case changed)"),
        (Verdict.DRIFTED, "drifted with the machine"),
        (Verdict.UNSTEADY, "not judged, for it reached no steady state as it did in the baseline (unsteady)"),
    ):
        if keys := _with(comparison, verdict):
            reasons.append(f"{count(len(keys))} {what}: {named(keys)}.")
    undecided = [key for key in _with(comparison, Verdict.INCONCLUSIVE) if key not in not_decided]
    if undecided and fail_inconclusive:
        reasons.append(f"{count(len(undecided))} undecided, and --perf-inconclusive is fail: {named(undecided)}.")
    return tuple(reasons)


def _with(comparison: Comparison, verdict: Verdict) -> list[str]:
    return [key for key, judgement in comparison.judgements.items() if judgement.verdict is verdict]


def count(number: int) -> str:
    return "1 case is" if number == 1 else f"{number} cases are"


def named(keys: Sequence[str], most: int = 4) -> str:
    return ", ".join(keys[:most]) + (f" and {len(keys) - most} more" if len(keys) > most else "")
