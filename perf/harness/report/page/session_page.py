"""The page of a session on one environment, compared with stored numbers or with nothing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

from perf.harness.deciding import Decision
from perf.harness.expectation_records import ExpectationResult
from perf.harness.paired_evidence import Evidence, Metric
from perf.harness.records import CaseResult, Change, Comparison, Environment, Judgement, Machine
from perf.harness.report.comparison import decision_lines, run_effect_line
from perf.harness.report.page import versions
from perf.harness.report.page.case_data import CaseView, MetricView, SideView, State, Tone
from perf.harness.report.page.data import Head, PageData, Section, Status, Trend, Visible
from perf.harness.report.page.expectation_page import cost_sections, expectation_views
from perf.harness.report.page.sides import baseline_side, case_view, side
from perf.harness.report.page.states import SUSPECTED, of_result, of_verdict
from perf.harness.report.short_names import short_names

TIME_PER_STEP = "time per step"
RED_FROM = "would have been red"


def from_session(
    head: Head,
    results: Mapping[str, CaseResult],
    environments: Mapping[str, Environment],
    machine: Machine,
    comparison: Comparison | None,
    *,
    decision: Decision | None = None,
    expected: Sequence[ExpectationResult] = (),
    reasons_not_green: Sequence[str] = (),
    failed: bool = False,
    sections: Sequence[Section] = (),
    trend: Trend | None = None,
) -> PageData:
    """The page of ``results`` as they were judged.

    ``comparison`` is None where nothing was compared, ``decision`` where no suspect was measured side by side;
    ``failed``: a test failed for another reason than a case.
    """
    names = short_names(list(results.values()))
    judgements = {} if comparison is None else comparison.judgements
    expectations = expectation_views(expected)
    failed = failed or any(view.state.tone is Tone.RED for view in expectations)
    sections = (*cost_sections(expected), *sections)
    numbers = _numbers(decision)
    cases = tuple(
        _case(result, names[key], judgements.get(key), _baseline(comparison, key), numbers.get(key))
        for key, result in results.items()
    )
    remarks = tuple(reasons_not_green)
    if comparison is None:
        rows = versions.alone(environments.values())
    else:
        remarks = (*_effect(comparison.run_effect), *remarks)
        sections = (*_decision_sections(decision), *_unmatched(comparison), *sections)
        then = [case.environment for case in comparison.baseline.cases.values()]
        informs = (comparison.baseline.machine.informs, machine.informs)
        rows = versions.both(then, list(environments.values()), informs)
    return PageData(
        head=head,
        status=status(cases, failed=failed, reasons=reasons_not_green, compared=comparison is not None),
        remarks=remarks,
        versions=rows,
        visible=visible((judgement.smallest_visible for judgement in judgements.values()), RED_FROM),
        cases=cases,
        expectations=expectations,
        sections=tuple(sections),
        trend=trend,
    )


def status(cases: Iterable[CaseView], *, failed: bool, reasons: Sequence[str], compared: bool) -> Status:
    """What the exit status says, in a word."""
    if failed or any(case.state.tone is Tone.RED for case in cases):
        return Status.RED
    if reasons:
        return Status.NOT_GREEN
    return Status.GREEN if compared else Status.MEASURED


def visible(ratios: Iterable[float | None], meaning: str) -> Visible | None:
    """Over the cases of which it is known."""
    known = [ratio for ratio in ratios if ratio is not None]
    return Visible(statistics.median(known), min(known), max(known), meaning) if known else None


def _case(
    result: CaseResult, name: str, judgement: Judgement | None, baseline: SideView | None, numbers: Evidence | None
) -> CaseView:
    now = (side("this run", result.samples),) if result.samples else ()
    if judgement is None:
        reason = "" if result.failure is None else result.failure.message
        return case_view(result.spec, name, of_result(result), reason, sides=now)
    state = of_verdict(judgement.verdict)
    metrics = _metrics(judgement, state, numbers)
    sides = (baseline, *now) if baseline and now else now
    return case_view(
        result.spec, name, state, judgement.reason, metrics=metrics, sides=sides, informs=judgement.informs
    )


def _metrics(judgement: Judgement, state: State, numbers: Evidence | None) -> tuple[MetricView, ...]:
    """What decided comes first: side by side where the case was measured so, else the stored numbers."""
    stored, decided = judgement.change, judgement.side_by_side
    if decided is None:
        return (MetricView(TIME_PER_STEP, state, stored, judgement.smallest_visible),)
    ratios = tuple(math.exp(difference) for difference in numbers.differences) if numbers else ()
    visible = numbers.smallest_visible() if numbers else None
    return (
        MetricView(f"{TIME_PER_STEP}, side by side", state, decided, visible, ratios),
        MetricView(f"{TIME_PER_STEP}, stored numbers", SUSPECTED, stored, judgement.smallest_visible),
    )


def _decision_sections(decision: Decision | None) -> tuple[Section, ...]:
    lines = decision_lines(decision).splitlines() if decision else []
    return (
        (Section("decided", "Suspects, measured side by side", tuple(line.strip() for line in lines)),) if lines else ()
    )


def _numbers(decision: Decision | None) -> dict[str, Evidence]:
    """The pairs behind what was decided side by side, by case."""
    judged = [j for outcome in (decision.outcomes if decision else ()) for j in outcome.judgements.values()]
    return {j.key: j.numbers[Metric.STEP] for j in judged if Metric.STEP in j.numbers}


def _baseline(comparison: Comparison | None, key: str) -> SideView | None:
    if comparison is None or key not in comparison.baseline.cases:
        return None
    return baseline_side(comparison.baseline.cases[key])


def _effect(effect: Change | None) -> tuple[str, ...]:
    line = run_effect_line(effect)
    return (line,) if line else ()


def _unmatched(comparison: Comparison) -> tuple[Section, ...]:
    lists = (("In the baseline and not measured", comparison.missing), ("Without a baseline", comparison.new))
    paragraphs = tuple(f"{what}: {', '.join(keys)}." for what, keys in lists if keys)
    return (Section("unmatched", "Missing and new cases", paragraphs),) if paragraphs else ()
