"""How much one run of a case varies on its machine, from the history of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from perf.harness.exact import baseline_facts
from perf.harness.records import Baseline, BaselineCase, CaseResult, Run
from perf.harness.stats import Spread, shrunk_spreads

#: Taken as known where there are fewer than three runs: what was seen on shared virtual machines, 10 to 22 %.
ASSUMED_SD = 0.15
RUNS_TO_ESTIMATE = 3
#: Older runs say less about the machine as it is.
RUNS_AT_MOST = 20
#: A few equal runs are luck, or a clock too coarse to differ: below this no history is believed.
SMALLEST_SD = 0.005


def case_spreads(baseline: Baseline, history: Sequence[Run]) -> dict[str, tuple[Spread, int]]:
    """Spread of one run's ln(seconds per step) and the number of runs behind it, for each case of ``baseline``.

    The spreads of all cases of the baseline are shrunk towards each other, those that a run with ``-k`` leaves out
    too. Below :data:`RUNS_TO_ESTIMATE` runs :data:`ASSUMED_SD` is taken as known.
    """
    values = {key: _history(case, baseline, history) for key, case in baseline.cases.items()}
    estimated = {key: ys for key, ys in values.items() if len(ys) >= RUNS_TO_ESTIMATE}
    # A baseline of one or two runs has a history that was mostly measured after it. If the machine or the code got
    # slower in the meantime, that drift is all such a history holds, and would excuse itself.
    detrended = {key for key in estimated if len(baseline.cases[key].runs) < RUNS_TO_ESTIMATE}
    spreads = shrunk_spreads(estimated, detrended=detrended, floor=SMALLEST_SD)
    return {key: (spreads.get(key, Spread(ASSUMED_SD, math.inf)), len(ys)) for key, ys in values.items()}


def _history(case: BaselineCase, baseline: Baseline, history: Sequence[Run]) -> list[float]:
    """ln(seconds per step) in the order of time: the promoted runs, and other ones that measured the same.

    Runs in which the case was red are left out: the step up to them would widen the spread until the next nights find
    the very same regression within it. They are so rare by chance that the spread hardly shrinks without them.
    """
    processes = min(len(result.samples) for _, _, result in case.runs)
    found: dict[tuple[datetime, str], float] = {}
    for run in history:
        if not run.complete or run.interrupted or run.machine.identity != baseline.machine.identity:
            continue
        result = run.cases.get(case.key)
        if result is None or case.key in run.red or not _comparable(result, case):
            continue
        if len(result.samples) < processes:
            continue  # the median over fewer processes varies more than those that are compared
        if run.environments[result.spec.device].same_software == case.environment.same_software:
            found[run.date, run.name] = result.log_seconds_per_step
    for name, date, result in case.runs:
        found[date, name] = result.log_seconds_per_step
    return [found[moment] for moment in sorted(found)][-RUNS_AT_MOST:]


def _comparable(result: CaseResult, case: BaselineCase) -> bool:
    if result.failure is not None or not result.samples or not result.steady or result.spec.hash != case.hash:
        return False
    then = baseline_facts(case)
    return all((s.facts.kernel, s.facts.device) == (then.kernel, then.device) for s in result.samples)
