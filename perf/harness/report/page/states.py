"""Verdicts as signs and tones: told apart without colour too."""

from __future__ import annotations

from perf.harness.records import CaseResult, Verdict
from perf.harness.report.page.case_data import State, Tone

_SIGNS = {
    Verdict.REGRESSED: "▲",
    Verdict.IMPROVED: "▼",
    Verdict.UNCHANGED: "=",
    Verdict.INCONCLUSIVE: "?",
    Verdict.DRIFTED: "~",
    Verdict.FAILED: "✕",
    Verdict.KERNEL_CHANGED: "≠",
    Verdict.NUMBERS_CHANGED: "≠",
}
_TONES = {Verdict.IMPROVED: Tone.GOOD, Verdict.UNCHANGED: Tone.CALM}


def of_verdict(verdict: Verdict) -> State:
    """The state of a case that was judged."""
    tone = Tone.RED if verdict.is_red else _TONES.get(verdict, Tone.OPEN)
    return State(str(verdict), _SIGNS.get(verdict, "○"), tone)


def of_result(result: CaseResult) -> State:
    """The state of a case that was measured and compared with nothing."""
    if result.failure is not None:
        return of_verdict(Verdict.FAILED)
    if not result.samples:
        return State("not measured", "○", Tone.OPEN)
    return State("measured", "•", Tone.CALM) if result.steady else of_verdict(Verdict.UNSTEADY)


#: Of a stored run whose test failed; which verdict it was is not stored, its reason is.
WAS_RED = State("red when stored", "▲", Tone.RED)
#: What stored numbers said of a case before it was measured side by side.
SUSPECTED = State("suspected", "?", Tone.OPEN)
