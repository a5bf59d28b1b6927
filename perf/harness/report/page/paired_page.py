"""The page of a paired session."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perf.harness.paired_evidence import Metric
from perf.harness.paired_green import many_suspects
from perf.harness.paired_records import BASELINE, CANDIDATE, SIDES, PairedResult
from perf.harness.paired_session import PairedOutcome
from perf.harness.report.layout import names
from perf.harness.report.page import versions
from perf.harness.report.page.case_data import CaseView, MetricView
from perf.harness.report.page.data import Head, PageData, Section
from perf.harness.report.page.session_page import status, visible
from perf.harness.report.page.sides import case_view, side
from perf.harness.report.page.states import of_verdict
from perf.harness.report.paired import startup_line

FOUND_IN_80_PERCENT = "is found in 80 % of such measurements"


def from_paired(
    head: Head,
    outcome: PairedOutcome,
    *,
    reasons_not_green: Sequence[str] = (),
    failed: bool = False,
    sections: Sequence[Section] = (),
) -> PageData:
    """``failed``: a test failed for another reason than a case, such as a lost kernel."""
    short = names([result.spec for result in outcome.results.values()])
    cases = tuple(_case(outcome, key, short[key]) for key in outcome.results)
    then, now = ([e for (name, _), e in outcome.environments.items() if name == side_] for side_ in SIDES)
    first = many_suspects(outcome)
    remarks = [*([first] if first else []), *(reason for reason in reasons_not_green if reason != first)]
    if startup := startup_line(outcome):
        remarks.append(startup)
    return PageData(
        head=head,
        status=status(cases, failed=failed, reasons=reasons_not_green, compared=True),
        remarks=tuple(remarks),
        versions=versions.both(then, now, None),
        visible=visible(
            (judgement.metrics[Metric.STEP].smallest_visible for judgement in outcome.judgements.values()),
            FOUND_IN_80_PERCENT,
        ),
        cases=cases,
        sections=tuple(sections),
    )


def _case(outcome: PairedOutcome, key: str, name: str) -> CaseView:
    judgement, result = outcome.judgements[key], outcome.results[key]
    again = outcome.confirmed.get(key)
    shown: PairedResult = again if again is not None and again.pairs else result
    metrics = []
    for metric, judged in judgement.metrics.items():
        numbers = judgement.numbers.get(metric)
        ratios = tuple(math.exp(difference) for difference in numbers.differences) if numbers else ()
        state = of_verdict(judged.verdict)
        metrics.append(MetricView(str(metric), state, judged.change, judged.smallest_visible, ratios))
    sides = [side(name_, [pair.side(name_) for pair in shown.pairs]) for name_ in (BASELINE, CANDIDATE)]
    return case_view(
        result.spec,
        name,
        of_verdict(judgement.verdict),
        judgement.reason,
        metrics=metrics,
        sides=sides if shown.pairs else (),
        informs=judgement.metrics[Metric.STEP].informs,
    )
