"""The part of a session that checks expectations: measure those that were selected, judge them, and state each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from perf.harness.crossover import judge
from perf.harness.expectation_measure import measure_expectations
from perf.harness.expectation_records import Expectation, ExpectationResult, Observed, State
from perf.harness.expectation_store import encode_all
from perf.harness.green import named
from perf.harness.journal import Journal
from perf.harness.measure import Progress, Settings
from perf.harness.numbers import counted
from perf.harness.preparation import Prepared


@dataclass(frozen=True, slots=True)
class Expected:
    """What the test of one expectation states."""

    result: ExpectationResult
    fail: Callable[[str], NoReturn]

    def check(self) -> None:
        """Fails the test where the expectation is broken, or a contender could not be measured."""
        if self.result.state.is_red:
            self.fail(self.result.message)


@dataclass(frozen=True, slots=True)
class Checked:
    """``results`` by id, the ``stored`` form of what was measured, and what was ``observed``, by id."""

    results: Mapping[str, ExpectationResult]
    stored: list[dict[str, Any]]
    observed: Mapping[str, Observed] = field(default_factory=dict)


def check_expectations(
    expectations: Sequence[Expectation],
    prepared: Prepared,
    settings: Settings,
    seconds_spent: float,
    progress: Progress,
    journal: Journal,
) -> Checked:
    """Measures and judges them; ``seconds_spent`` of the budget are gone. Raises what measuring does."""
    if all(each.skip is not None for each in expectations):
        return Checked(judge(expectations, {}), [])
    progress.part("expectations", "process")
    left = None if settings.budget is None else max(settings.budget - seconds_spent, 0.0)
    settings = replace(settings, processes=prepared.options.expectation_processes, budget=left)
    observed = measure_expectations(expectations, prepared.suite.contenders, settings, progress, journal)
    return Checked(judge(expectations, observed), encode_all(expectations, observed), observed)


def expectations_not_green(results: Mapping[str, ExpectationResult], *, fail_inconclusive: bool) -> tuple[str, ...]:
    """One sentence per reason; empty when the expectations leave the session green."""
    reasons = []
    if late := _with(results, State.UNFINISHED):
        reasons.append(f"The budget ended before {counted(len(late), 'expectation')} could be judged: {named(late)}.")
    undecided = _with(results, State.NOISY)
    if undecided and fail_inconclusive:
        reasons.append(
            f"{counted(len(undecided), 'expectation')} undecided, and --perf-inconclusive is fail: {named(undecided)}."
        )
    return tuple(reasons)


def _with(results: Mapping[str, ExpectationResult], state: State) -> list[str]:
    return [id for id, result in results.items() if result.state is state]
