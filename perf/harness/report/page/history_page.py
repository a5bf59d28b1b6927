"""The page of stored runs: what the newest of them measured, with the history of each case. No case is judged
again; expectations are derived from the stored ratios, as they always are."""

from __future__ import annotations

from collections.abc import Sequence

from perf.harness.expectation_records import ExpectationResult
from perf.harness.numbers import counted
from perf.harness.records import Run
from perf.harness.report.page import versions
from perf.harness.report.page.case_data import CaseView, Tone
from perf.harness.report.page.data import Head, PageData, Section, Status, Trend
from perf.harness.report.page.expectation_page import cost_sections, expectation_views
from perf.harness.report.page.selection_page import kernels
from perf.harness.report.page.sides import case_view, side
from perf.harness.report.page.states import WAS_RED, of_result
from perf.harness.report.short_names import short_names


def from_run(
    run: Run,
    trend: Trend | None,
    warnings: Sequence[str] = (),
    expected: Sequence[ExpectationResult] = (),
    why: Sequence[Section] = (),
) -> PageData:
    """``run`` is the newest of those in ``trend``, ``expected`` what it found of expectations, and ``why`` what is said
    of its times; ``warnings`` are about runs that could not be read."""
    names = short_names(list(run.cases.values()))
    cases = tuple(_case(run, key, names[key]) for key in run.cases)
    red = any(case.state.tone is Tone.RED for case in cases) or any(result.state.is_red for result in expected)
    title = f"Run {run.name}" if trend is None else f"{len(trend.runs)} stored runs, up to {run.name}"
    settings = {"profile": run.profile, "suite": run.suite, "seed": str(run.seed)}
    return PageData(
        head=Head(title, run.date, run.machine.id, settings),
        status=Status.RED if red else Status.MEASURED,
        remarks=(*_remarks(run, trend), *warnings),
        versions=versions.alone(run.environments.values()),
        visible=None,
        cases=cases,
        expectations=expectation_views(expected),
        sections=(*cost_sections(expected), *why, *([] if run.selection is None else [kernels(run.selection)])),
        trend=trend,
    )


def _case(run: Run, key: str, name: str) -> CaseView:
    result = run.cases[key]
    sides = (side("this run", result.samples),) if result.samples else ()
    if result.failure is not None:
        return case_view(result.spec, name, of_result(result), result.failure.message, sides=sides)
    if key in run.red:
        return case_view(result.spec, name, WAS_RED, run.red[key], sides=sides)
    return case_view(result.spec, name, of_result(result), sides=sides)


def _remarks(run: Run, trend: Trend | None) -> list[str]:
    remarks = ["Drawn from stored runs: nothing was measured for this page."]
    if run.interrupted:
        remarks.append(f"Run {run.name} was interrupted.")
    elif not run.complete:
        remarks.append(f"Run {run.name} holds only a part of the profile.")
    gone = [key for key in trend.cases if key not in run.cases] if trend else []
    if gone:
        more = f" and {len(gone) - 5} more" if len(gone) > 5 else ""
        was = "was" if len(gone) == 1 else "were"
        remarks.append(
            f"{counted(len(gone), 'case')} of earlier runs {was} not measured in {run.name} and {was} left out here: "
            f"{', '.join(gone[:5])}{more}."
        )
    return remarks
