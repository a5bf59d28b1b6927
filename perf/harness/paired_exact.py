"""What needs no statistics when two sides are compared: facts that must be equal, and facts that inform."""

from __future__ import annotations

from perf.harness.exact import facts_that_inform, numbers_differ
from perf.harness.paired_records import PairedResult, PairSample
from perf.harness.records import Judgement, Verdict

#: Pairs below which no interval over them is believed (METHOD: fewer than 4, inconclusive).
MIN_PAIRS = 4
#: Pairs without a steady state are left out; a case with more of them than this share is unsteady. One process of
#: dozens that was disturbed for all of its warm-up says nothing of the case.
UNSTEADY_SHARE = 0.25


def exact_judgement(result: PairedResult) -> Judgement | None:
    """The verdict that facts alone decide, ``None`` where the times are to be judged.

    In this order: failed; not comparable; kernel or device changed, whatever the time; numbers changed. Both sides run
    this checkout with the same record of the case, so that its definition cannot differ between them.
    """
    key = result.spec.key
    if result.failure is not None:
        where = f" on the {result.failed_side}'s side" if result.failed_side else ""
        what = result.failure.message.removeprefix(f"{key} ").removeprefix(f"{key}: ")
        return Judgement(key, Verdict.FAILED, f"{key}: failed{where} ({result.failure.stage}): {what}")
    if result.not_comparable is not None:
        return Judgement(
            key, Verdict.NOT_COMPARABLE, f"{key}: not comparable, it cannot be done {result.not_comparable}"
        )
    for pair in result.pairs:
        then, now = pair.baseline.facts, pair.candidate.facts
        if (now.kernel, now.device) != (then.kernel, then.device):
            return Judgement(
                key,
                Verdict.KERNEL_CHANGED,
                f"{key}: kernel changed: the baseline ran {then.kernel} on {then.device}, the candidate {now.kernel} "
                f"on {now.device}; their times are not compared. 'python -m lstm_models explain "
                f"{result.spec.workload}', run in each environment, says what the choice depends on.",
            )
    for pair in result.pairs:
        difference = numbers_differ(
            pair.candidate.facts, pair.baseline.facts, "on the baseline's side", "on the candidate's"
        )
        if difference:
            return Judgement(
                key,
                Verdict.NUMBERS_CHANGED,
                f"{key}: numbers changed: with the same weights and inputs {difference}. A faster or slower step that "
                "computes something else is no comparison.",
            )
    return None


def steady_pairs(result: PairedResult) -> tuple[PairSample, ...]:
    """The pairs in which both sides reached a steady state; none where too many did not."""
    steady = tuple(pair for pair in result.pairs if pair.steady)
    return () if is_unsteady(result) else steady


def is_unsteady(result: PairedResult) -> bool:
    """Whether the case's steady state was missed too often for its time to mean anything."""
    missed = sum(not pair.steady for pair in result.pairs)
    return missed > UNSTEADY_SHARE * len(result.pairs)


def informing_differences(result: PairedResult) -> tuple[str, ...]:
    """What differs between the sides and explains, but fails nothing."""
    if not result.pairs:
        return ()
    return facts_that_inform(result.pairs[0].baseline.facts, result.pairs[0].candidate.facts)
