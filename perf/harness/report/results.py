"""What was measured, as tables and lines. Pure: records in, text out; nothing is decided here."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from perf.harness.numbers import counted, mebibytes, per_second, seconds
from perf.harness.records import CaseResult, Sample
from perf.harness.report.layout import table
from perf.harness.report.short_names import kernels_that_ran, short_names
from perf.harness.stats import Estimate, interval_over_processes

_PERCENTILES = (50, 95, 99)


def results_table(results: Mapping[str, CaseResult]) -> str:
    """One row per case: kernel that ran, time per step, steps and samples per second. Failed cases are named.

    Medians over processes with their 95 % t interval.
    """
    measured = _measured(results)
    short = short_names(measured, ran_beside=True)
    rows = [
        (
            short[result.spec.key],
            " ".join(kernels_that_ran(result)),
            seconds(_over(result, lambda sample: sample.seconds_per_step)) + ("" if result.steady else " unsteady"),
            per_second(_over(result, lambda sample: 1 / sample.seconds_per_step)),
            per_second(_samples_per_second(result)),
        )
        for result in measured
    ]
    lines = []
    if rows:
        lines += [
            f"{_shared(measured)}{_processes(measured)}",
            table(rows, ("case", "ran", "time per step", "steps/s", "samples/s")),
        ]
    lines += [
        f"failed: {key}: {result.failure.message.removeprefix(f'{key} ')}"
        for key, result in results.items()
        if result.failure is not None
    ]
    return "\n".join(lines)


def once_table(results: Mapping[str, CaseResult]) -> str:
    """What is paid once, one row per case: first call (tracing, compiling) with its interval over processes, and the
    peaks of host memory over what was resident before and of the GPU's allocator, with their ranges; "" where nothing
    was measured."""
    measured = _measured(results)
    short = short_names(measured, ran_beside=True)
    on_gpu = any(sample.device_bytes_peak is not None for result in measured for sample in result.samples)
    rows = [
        (
            short[result.spec.key],
            " ".join(kernels_that_ran(result)),
            seconds(_over(result, lambda sample: sample.first_call_seconds)),
            _memory([sample.bytes_peak for sample in result.samples]),
            *([_memory([sample.device_bytes_peak for sample in result.samples])] if on_gpu else []),
        )
        for result in measured
    ]
    head = ("case", "ran", "first call", "peak host MiB", *(["peak GPU MiB"] if on_gpu else []))
    return "Paid once\n" + table(rows, head) if rows else ""


def _measured(results: Mapping[str, CaseResult]) -> list[CaseResult]:
    return [result for result in results.values() if result.failure is None and result.samples]


def _processes(measured: Sequence[CaseResult]) -> str:
    """How many processes each case ran in, and what that lets be said."""
    numbers = sorted({len(result.samples) for result in measured})
    if numbers[-1] == 1:
        return "1 process, which tells nothing of the spread between processes: no intervals"
    several = counted(numbers[-1], "process") if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]} processes"
    return f"{several}; intervals are 95 % over processes, memory has its range over them"


def calls_table(results: Mapping[str, CaseResult]) -> str:
    """Single calls of the cases that keep them: p50, p95, p99 with 95 % interval over processes; "" without any."""
    kept = [r for r in results.values() if r.failure is None and any(s.seconds_per_call for s in r.samples)]
    if not kept:
        return ""
    short = short_names(kept)
    rows = [
        (
            short[result.spec.key],
            sum(len(sample.seconds_per_call) for sample in result.samples),
            *(seconds(_over(result, _percentile(percent))) for percent in _PERCENTILES),
        )
        for result in kept
    ]
    return "\n".join(
        ("Single calls (one sample each)", table(rows, ("case", "calls", *(f"p{p}" for p in _PERCENTILES))))
    )


def measured_summary(results: Mapping[str, CaseResult]) -> str:
    """Counts of a session that compared nothing."""
    failed = sum(result.failure is not None for result in results.values())
    unsteady = sum(result.failure is None and not result.steady for result in results.values())
    parts = [f"{len(results) - failed} measured"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{unsteady} unsteady"] if unsteady else []
    return f"{', '.join(parts)}; nothing was compared (--benchmark-compare does)."


def _shared(results: Sequence[CaseResult]) -> str:
    words = [
        next(iter(values))
        for values in ({r.spec.device for r in results}, {r.spec.precision for r in results})
        if len(values) == 1
    ]
    return f"{', '.join(words)}; " if words else ""


def _over(result: CaseResult, value: Callable[[Sample], float]) -> Estimate:
    return interval_over_processes([value(sample) for sample in result.samples])


def _samples_per_second(result: CaseResult) -> Estimate:
    return _over(result, lambda sample: result.spec.batch / sample.seconds_per_step)


def _percentile(percent: int) -> Callable[[Sample], float]:
    def of(sample: Sample) -> float:
        if len(sample.seconds_per_call) < 2:
            return sample.seconds_per_call[0]
        return statistics.quantiles(sample.seconds_per_call, n=100, method="inclusive")[percent - 1]

    return of


def _memory(found: Sequence[int | None]) -> str:
    peaks = [peak for peak in found if peak is not None]
    if not peaks:
        return ""
    ends = (None, None) if len(peaks) < 2 else (min(peaks), max(peaks))
    return mebibytes(Estimate(statistics.median(peaks), *ends))
