"""The table of expectations for the terminal. Pure: results in, text out; nothing is decided here."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping

from perf.harness.crossover import BAND, MARGIN
from perf.harness.expectation_message import crossing
from perf.harness.expectation_records import ExpectationResult, State
from perf.harness.expectation_store import Kept, judged
from perf.harness.numbers import ratio
from perf.harness.paired_evidence import Metric
from perf.harness.report.layout import table

_WIDTH = 56


def expectations_table(results: Mapping[str, ExpectationResult]) -> str:
    """One row per expectation that was measured, the broken ones first; "" where there is none."""
    order = list(State)
    shown = sorted(
        (result for result in results.values() if result.state is not State.SKIPPED),
        key=lambda result: order.index(result.state),
    )
    if not shown:
        return ""
    rows = [(str(result.state), _promise(result), _found(result)) for result in shown]
    processes = max((len(point.log_ratios) for result in shown for point in result.curve), default=0)
    head = (
        f"Expectations: {summary(results)}; ratios of the first to the second, with their 95 % interval over "
        f"{processes} processes"
    )
    return f"{head}\n{table(rows, ('state', 'expected', 'found'))}"


def _promise(result: ExpectationResult) -> str:
    """Of what, and below it what was expected."""
    expectation = result.expectation
    metric = "" if expectation.metric is Metric.STEP else f", {expectation.metric}"
    what = f"{expectation.path} {expectation.workload}{metric}"
    return "\n".join([what, *textwrap.wrap(expectation.promise, _WIDTH, initial_indent="  ", subsequent_indent="  ")])


def summary(results: Mapping[str, ExpectationResult]) -> str:
    """``12 hold, 1 broken, 11 skipped``: counts by state, the worst first."""
    counts = Counter(result.state for result in results.values())
    return ", ".join(f"{counts[state]} {_words(state, counts[state])}" for state in State if counts[state])


def _words(state: State, count: int) -> str:
    return "hold" if state is State.HOLDS and count > 1 else str(state)


def _found(result: ExpectationResult) -> str:
    """The ratio where it was asserted, at both ends of a curve, and the crossing."""
    if result.failure is not None:
        return f"failed: {result.failure.stage}"
    if not result.curve:
        return ""
    ends = result.curve[:: max(len(result.curve) - 1, 1)]
    axis = result.expectation.axis
    lines = [ratio(point.change) + (f" at {axis} {point.size}" if len(ends) > 1 else "") for point in ends]
    if result.expectation.may_cross:
        lines.append(crossing(result.crossing, str(axis)))
    return "\n".join(lines)


def then_and_now(kept: Mapping[str, Kept], results: Mapping[str, ExpectationResult]) -> str:
    """What was found when the baseline was made, beside what was found now; "" without anything to compare."""
    then = judged(kept)
    rows = [
        (id, str(then[id].state), _found(then[id]), str(result.state), _found(result))
        for id, result in results.items()
        if id in kept and result.curve and then[id].curve
    ]
    if not rows:
        return ""
    runs = ", ".join(dict.fromkeys(f"{kept[id].run} of {kept[id].date:%Y-%m-%d}" for id, *_ in rows))
    head = f"Expectations then ({runs}) and now; for information, since each is judged by its own promise"
    return f"{head}\n{table(rows, ('expectation', 'then', '', 'now', ''))}"


def explanation(results: Mapping[str, ExpectationResult]) -> str:
    """What the states mean that are neither green nor red; "" where there are none."""
    lines = []
    states = {result.state for result in results.values()}
    if State.NOISY in states:
        lines.append("too noisy to say: the interval reaches over what was promised; --perf-processes K measures more")
    if State.IN_BAND in states:
        lines.append(
            f"inside the band: within {100 * MARGIN:.0f} % of what was promised (sizes within a factor of {BAND:g} of "
            "the stated one are not asserted at all)"
        )
    return "\n".join(lines)
