"""Expectations, and what was found of them, as they are shown."""

from __future__ import annotations

from collections.abc import Iterable

from perf.harness.expectation_message import found
from perf.harness.expectation_records import ExpectationResult
from perf.harness.expectation_records import State as Found
from perf.harness.numbers import seconds
from perf.harness.report.page.case_data import State, Tone
from perf.harness.report.page.data import CurvePoint, ExpectationView, Section, Table

_STATES = {
    Found.BROKEN: ("✕", Tone.RED),
    Found.FAILED: ("✕", Tone.RED),
    Found.NOISY: ("?", Tone.OPEN),
    Found.UNFINISHED: ("○", Tone.OPEN),
    Found.IN_BAND: ("~", Tone.CALM),
    Found.HOLDS: ("✓", Tone.GOOD),
    Found.OBSERVED: ("·", Tone.CALM),
    Found.SKIPPED: ("–", Tone.CALM),
}


def expectation_views(results: Iterable[ExpectationResult]) -> tuple[ExpectationView, ...]:
    """The worst first, those that could not be checked on this host last."""
    order = list(Found)
    return tuple(_view(result) for result in sorted(results, key=lambda result: order.index(result.state)))


def cost_sections(results: Iterable[ExpectationResult]) -> tuple[Section, ...]:
    """Why curves cross: what a step costs at any batch, and what each sample adds; nothing where it is not known."""
    rows = []
    for result in results:
        contenders = (result.expectation.first, result.expectation.second)
        for contender, cost in zip(contenders, result.costs or (), strict=False):
            work = f"{result.expectation.path} {result.expectation.workload}"
            rows.append((result.expectation.id, work, contender.label, seconds(cost.fixed), seconds(cost.per_sample)))
    if not rows:
        return ()
    headers = ("expectation", "work", "contender", "fixed per step", "per sample")
    note = "Time per step = fixed + per sample × batch; intervals are 95 % over processes."
    lead = "One wins at small batches by its fixed cost, the other at large ones by what each sample adds."
    return (Section("costs", "Why curves cross", (lead,), (Table(headers, tuple(rows), note),)),)


def _view(result: ExpectationResult) -> ExpectationView:
    expectation, crossing = result.expectation, result.crossing
    sign, tone = _STATES[result.state]
    looked_for = expectation.may_cross and crossing is not None
    return ExpectationView(
        id=expectation.id,
        claim=f"{expectation.promise}, {expectation.path} {expectation.workload}",
        state=State(str(result.state), sign, tone),
        found=found(result) if result.curve else result.message,
        reason=expectation.reason,
        source=expectation.source,
        quantity=str(expectation.metric),
        axis=str(expectation.axis),
        first=expectation.first.label,
        second=expectation.second.label,
        at=expectation.at,
        points=tuple(
            CurvePoint(point.size, point.change, point.first_median, point.second_median) for point in result.curve
        ),
        crossing=(crossing.estimate, crossing.low, crossing.high) if looked_for and crossing else None,
    )
