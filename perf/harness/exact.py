"""What needs no statistics: facts of a case that must equal the baseline's, and facts that inform."""

from __future__ import annotations

from perf.harness.records import BaselineCase, CaseResult, Facts, Judgement, Verdict


def exact_judgement(result: CaseResult, case: BaselineCase | None) -> Judgement | None:
    """The verdict that facts alone decide, ``None`` where the times are to be judged.

    In this order: failed; no baseline; case changed (other work: not comparable); kernel changed, whatever the time;
    numbers changed; unsteady (no steady state was reached, so the time means nothing).
    """
    key = result.spec.key
    if result.failure is not None:
        what = result.failure.message.removeprefix(f"{key} ")
        return Judgement(key, Verdict.FAILED, f"{key}: failed ({result.failure.stage}): {what}")
    if case is None:
        return Judgement(key, Verdict.NO_BASELINE, f"{key}: measured, but the baseline does not hold it.")
    if result.spec.hash != case.hash:
        return Judgement(
            key,
            Verdict.CASE_CHANGED,
            f"{key}: the definition of the case changed since its baseline was promoted ({case.promoted:%Y-%m-%d}), so "
            "both did different work and are not compared. Save three runs and promote this case again.",
        )
    then = baseline_facts(case)
    for sample in result.samples:
        now = sample.facts
        if (now.kernel, now.device) != (then.kernel, then.device):
            return Judgement(
                key,
                Verdict.KERNEL_CHANGED,
                f"{key}: kernel changed: the baseline ran {then.kernel} on {then.device}, this run {now.kernel} on "
                f"{now.device}; their times are not compared. 'python -m lstm_models explain {result.spec.workload}' "
                "says what the choice depends on. If the change is meant, save three runs without "
                "--benchmark-compare and promote this case.",
            )
    for sample in result.samples:
        if difference := numbers_differ(sample.facts, then):
            return Judgement(
                key,
                Verdict.NUMBERS_CHANGED,
                f"{key}: numbers changed: with the same weights and inputs {difference}. A faster or slower step that "
                "computes something else is no comparison.",
            )
    if not result.steady:
        return Judgement(
            key,
            Verdict.UNSTEADY,
            f"{key}: no steady state was reached before the limit of rounds, so its time is not judged. Measure again "
            "on a quieter machine.",
        )
    return None


def baseline_facts(case: BaselineCase) -> Facts:
    """Facts of the newest promoted run; promotion refuses runs whose kernels differ."""
    return case.runs[-1][2].samples[0].facts


def informing_differences(result: CaseResult, case: BaselineCase) -> tuple[str, ...]:
    """What differs from the baseline and explains, but fails nothing: settings the framework chose, first traces."""
    return facts_that_inform(baseline_facts(case), result.samples[0].facts)


def facts_that_inform(then: Facts, now: Facts) -> tuple[str, ...]:
    """Settings the framework chose and traces of the first call, where they differ."""
    differences = [
        f"{name}: {then.resolved.get(name, 'absent')} -> {now.resolved.get(name, 'absent')}"
        for name in sorted({*then.resolved, *now.resolved})
        if then.resolved.get(name) != now.resolved.get(name)
    ]
    if then.first_call_traces != now.first_call_traces:
        differences.append(f"traces in the first call: {then.first_call_traces} -> {now.first_call_traces}")
    return tuple(differences)


def numbers_differ(now: Facts, then: Facts, when_then: str = "then", when_now: str = "now") -> str:
    """How the probed numbers of two results differ beyond the tolerance of ``then``; "" where they do not."""
    if len(now.probe) != len(then.probe):
        return f"the result has other dimensions ({len(then.probe)} numbers {when_then}, {len(now.probe)} {when_now})"
    largest = max((abs(number) for number in then.probe), default=0.0)
    allowed = then.tolerance * largest
    for old, new in zip(then.probe, now.probe, strict=True):
        if not abs(new - old) <= allowed:  # written so that NaN is a difference
            return (
                f"the result held {old:.9g} {when_then} and {new:.9g} {when_now}; up to {allowed:.2g} may differ "
                f"({then.tolerance:g} of the largest number)"
            )
    return ""
