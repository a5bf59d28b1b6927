"""Energy beside time, as text. Pure: records in, text out; nothing is decided here."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Callable, Mapping

from perf.harness.conditions import Counter
from perf.harness.energy import EnergyCrossing, counted_per_step, crossings
from perf.harness.numbers import joules, seconds
from perf.harness.records import CaseResult, Sample
from perf.harness.report.layout import WIDTH, fitting
from perf.harness.report.short_names import kernels_that_ran, short_names
from perf.harness.stats import interval_over_processes

TIME, WATTS = "time per step", "watts"
NOTE = (
    "joules counted of the GPU's board and of all CPU packages while the rounds ran, per step and per sample; idle "
    "power and other processes are in them; intervals are 95 % over processes"
)
_NAMES = {Counter.GPU: "GPU", Counter.CPU: "CPU"}


def energy_lines(results: Mapping[str, CaseResult], absent: Mapping[Counter, str]) -> str:
    """The table, where the devices cross, and why a counter is missing; "" where nothing was measured."""
    if not any(result.samples for result in results.values()):
        return ""
    headers, rows = energy_rows(results)
    lines = [*textwrap.wrap(f"Energy: {NOTE}", WIDTH), fitting(rows, headers, may_go=(WATTS, TIME))] if rows else []
    return "\n".join([*lines, *crossing_lines(results), *absent_lines(absent)])


def energy_rows(results: Mapping[str, CaseResult]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headers, and one row for each case of which some energy is known."""
    measured = [result for result in results.values() if result.failure is None and _counted(result)]
    counters = [counter for counter in Counter if any(counter in _counted(result) for result in measured)]
    short = short_names(measured, ran_beside=True) if measured else {}
    headers = ("case", "ran", TIME, *(f"{_NAMES[one]} per step" for one in counters), "per sample", WATTS)
    return headers, [
        (
            short[result.spec.key],
            " ".join(kernels_that_ran(result)),
            seconds(interval_over_processes([sample.seconds_per_step for sample in result.samples])),
            *(_over(result, _of(counter)) if counter in _counted(result) else "" for counter in counters),
            _over(result, _per_sample(result)),
            _watts(result),
        )
        for result in measured
    ]


def crossing_lines(results: Mapping[str, CaseResult]) -> list[str]:
    return [_line(crossing) for crossing in crossings(results)]


def absent_lines(absent: Mapping[Counter, str]) -> list[str]:
    return [f"energy of the {_NAMES[counter]} is not counted: {why}." for counter, why in absent.items()]


def _line(found: EnergyCrossing) -> str:
    ends = [min(found.cpu), max(found.cpu)]
    sides = ", ".join(
        f"batch {batch}: cpu {found.kernels[batch][0]} {joules(found.cpu[batch])}, "
        f"gpu {found.kernels[batch][1]} {joules(found.gpu[batch])}"
        for batch in ends
    )
    return f"energy per sample, {found.path} {found.workload} {found.precision}: {_where(found)} ({sides})"


def _where(found: EnergyCrossing) -> str:
    low, middle, high = min(found.crossings), statistics.median(found.crossings), max(found.crossings)
    if middle == 0:
        return "the GPU needs less at every batch"
    if math.isinf(middle):
        return "the CPU needs less at every batch"
    ends = f"{low:.0f}" if low else "below the smallest", "above the largest" if math.isinf(high) else f"{high:.0f}"
    return f"the GPU needs less from batch {middle:.0f} on, {ends[0]}–{ends[1]} in {len(found.crossings)} processes"


def _counted(result: CaseResult) -> list[Counter]:
    """The counters that were read in all of its processes."""
    return [
        counter
        for counter in Counter
        if result.samples and all(counted_per_step(sample, counter) is not None for sample in result.samples)
    ]


def _of(counter: Counter) -> Callable[[Sample], float]:
    return lambda sample: counted_per_step(sample, counter) or 0.0


def _per_sample(result: CaseResult) -> Callable[[Sample], float]:
    """Of all that was counted."""
    counters = _counted(result)
    return lambda sample: sum(counted_per_step(sample, counter) or 0.0 for counter in counters) / result.spec.batch


def _over(result: CaseResult, value: Callable[[Sample], float]) -> str:
    return joules(interval_over_processes([value(sample) for sample in result.samples]))


def _watts(result: CaseResult) -> str:
    """All that was counted, as power while the rounds ran."""
    found = [sum(one.watts for one in sample.conditions.energy) for sample in result.samples if sample.conditions]
    return f"{statistics.median(found):.0f}"
