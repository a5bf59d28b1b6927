"""Puts together all that is said of why. Pure: what a session or a stored run holds in, an account out."""

from __future__ import annotations

from collections.abc import Mapping

from perf.harness.expectation_records import ExpectationResult, Observed
from perf.harness.records import CaseResult
from perf.harness.why.bound import reasons
from perf.harness.why.curves import Curve, Source, curves
from perf.harness.why.factors import effects, not_measured
from perf.harness.why.overhead import overheads
from perf.harness.why.payback import paybacks
from perf.harness.why.peak import rates
from perf.harness.why.recommend import choices, contenders, recommend, recommendations
from perf.harness.why.records import Account, Evidence, Payback
from perf.harness.why.transfer import transfers


def account(
    evidence: Evidence,
    results: Mapping[str, CaseResult],
    expected: Mapping[str, ExpectationResult],
    observed: Mapping[str, Observed],
) -> Account:
    """``results`` by case, ``expected`` and ``observed`` by the id of the expectation; whatever is there."""
    measured = [(expected[id].expectation, one) for id, one in observed.items() if id in expected]
    found = curves(evidence.subjects, results.values(), measured)
    copied = transfers(found, evidence.peaks)
    isolated = effects(tuple(expected.values()), found, evidence.subjects)
    return Account(
        peaks={
            key: rate
            for key, rate in rates(evidence.peaks).items()
            if key in {(one.who.device, one.work.peak) for one in evidence.subjects.values()}
        },
        effects=isolated,
        not_measured=not_measured(isolated, copied) if found else (),
        recommendations=recommendations(found),
        paybacks=tuple(
            one
            for one in paybacks(tuple(results.values()), evidence.subjects, evidence.startup_seconds)
            if _is_asked(one, found)
        ),
        overheads=overheads(found),
        transfers=copied,
        reasons=reasons(found, evidence.peaks),
    )


def _is_asked(payback: Payback, found: tuple[Curve, ...]) -> bool:
    """Whether it tells when the fastest of the cases pays, and the other is a choice too."""
    among = [each for each in found if each.source is Source.CASES and each.who.where == payback.fast.where]
    at = contenders(among, payback.batch)
    return (
        recommend(among, payback.batch).best == payback.fast
        and payback.slow in {curve.who for curve in choices(at)}
        and (payback.extra_seconds.high or 0.0) > 0
    )
