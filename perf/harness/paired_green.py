"""Whether a paired session is green: what keeps it from being so although no test failed."""

from __future__ import annotations

from perf.harness.green import count, named
from perf.harness.paired_screen import MOST_CONFIRMED
from perf.harness.paired_session import PairedOutcome
from perf.harness.records import Verdict


def many_suspects(outcome: PairedOutcome) -> str:
    """What is said first where more cases look slower than are confirmed; "" otherwise."""
    suspects = outcome.screened.candidates
    if len(suspects) <= MOST_CONFIRMED:
        return ""
    return (
        f"{len(suspects)} of {len(outcome.results)} cases look slower at first sight, more than the {MOST_CONFIRMED} "
        "that are measured again: look at what they share (a kernel, a path, a library) before a single case."
    )


def reasons_not_green(outcome: PairedOutcome, *, fail_inconclusive: bool) -> tuple[str, ...]:
    """One sentence per reason, worst first; empty when the session may be green."""
    if not outcome.results:
        return ("Nothing was measured, and nothing measured is never green.",)
    reasons = [many_suspects(outcome)] if many_suspects(outcome) else []
    if outcome.not_decided:
        what = "suspected and not decided (no room or no time to measure again)"
        reasons.append(f"{count(len(outcome.not_decided))} {what}: {named(outcome.not_decided)}.")
    if outcome.unfinished:
        reasons.append(
            f"The budget ended before {count(len(outcome.unfinished))} measured in all pairs: "
            f"{named(outcome.unfinished)}."
        )
    if keys := _with(outcome, Verdict.NOT_COMPARABLE):
        reasons.append(f"{count(len(keys))} not comparable, one side cannot do it: {named(keys)}.")
    open_ = [
        key
        for key in (*_with(outcome, Verdict.INCONCLUSIVE), *_with(outcome, Verdict.UNSTEADY))
        if key not in outcome.not_decided
    ]
    if open_ and fail_inconclusive:
        reasons.append(f"{count(len(open_))} undecided, and --perf-inconclusive is fail: {named(open_)}.")
    return tuple(reasons)


def _with(outcome: PairedOutcome, verdict: Verdict) -> list[str]:
    return [key for key, judgement in outcome.judgements.items() if judgement.verdict is verdict]
