"""Tables and lines for the terminal. Pure: records in, text out; nothing is decided here."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from perf.harness.message import version_changes
from perf.harness.numbers import mebibytes, per_second, ratio, seconds
from perf.harness.records import Baseline, CaseResult, Comparison, Environment, Machine, Sample, Verdict
from perf.harness.report.layout import names, table
from perf.harness.spread import RUNS_TO_ESTIMATE
from perf.harness.stats import Estimate, interval_over_processes

#: A shared change that is worth the first line, as a ratio.
_NOTABLE = 1.03
_PERCENTILES = (50, 95, 99)


def results_table(results: Mapping[str, CaseResult], comparison: Comparison | None = None) -> str:
    """One row per case: kernel that ran, time per step, samples per second, first call, peak memory; below, when
    compared, the verdicts.

    Times and rates are medians over processes with their 95 % t interval, memory with its range over processes.
    Failed cases are named. Two tables, since one with both would not fit 120 columns.
    """
    measured = [result for result in results.values() if result.failure is None and result.samples]
    short = short_names(measured, ran_beside=True)
    rows = []
    for result in measured:
        step = _over(result, lambda sample: sample.seconds_per_step)
        rows.append(
            (
                short[result.spec.key],
                " ".join(_kernels(result)),
                seconds(step) + ("" if result.steady else " unsteady"),
                per_second(_samples_per_second(result)),
                seconds(_over(result, lambda sample: sample.first_call_seconds)),
                _memory(result),
            )
        )
    lines = []
    if rows:
        processes = sorted({len(result.samples) for result in measured})
        lines += [
            f"{_shared(measured)}{'–'.join(map(str, dict.fromkeys((processes[0], processes[-1]))))} processes; "
            "intervals are 95 % over processes, memory has its range",
            table(rows, ("case", "ran", "time per step", "samples/s", "first call", "peak MiB")),
        ]
    lines += [
        f"failed: {key}: {result.failure.message.removeprefix(f'{key} ')}"
        for key, result in results.items()
        if result.failure is not None
    ]
    verdicts = "" if comparison is None else comparison_table(comparison, results)
    return "\n\n".join(part for part in ("\n".join(lines), verdicts) if part)


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


def comparison_table(comparison: Comparison, results: Mapping[str, CaseResult]) -> str:
    """One row per case: verdict, ratio of times with the interval that decided, smallest ratio that would be red."""
    short = short_names(list(results.values()))
    rows = [
        (
            short[key],
            str(judgement.verdict),
            "" if judgement.change is None else ratio(judgement.change),
            "" if judgement.change is None else f"{100 * judgement.change.level:.3g} %",
            "" if judgement.smallest_visible is None else f"{judgement.smallest_visible:.2f}",
            "" if judgement.history_runs is None else _history(judgement.history_runs),
        )
        for key, judgement in comparison.judgements.items()
    ]
    header = ("case", "verdict", "time, 1 = baseline", "level", "red from", "spread from")
    return table(rows, header) if rows else ""


def comparison_header(comparison: Comparison, machine: Machine, environments: Mapping[str, Environment]) -> str:
    """What stands above the verdicts: the change all cases share, then versions and the host where they differ."""
    lines = []
    effect = comparison.run_effect
    if effect and (effect.low > 1 or effect.high < 1) and max(effect.ratio, 1 / effect.ratio) >= _NOTABLE:
        percent = 100 * abs(effect.ratio - 1)
        lines.append(
            f"This run is {percent:.0f} % {'slower' if effect.ratio > 1 else 'faster'} throughout than the baseline "
            f"(×{ratio(effect)}, {100 * effect.level:.0f} % interval over cases): look at the machine, or at what all "
            "cases share, before a single case."
        )
    lines.append(f"Compared with {comparison.baseline.name}")
    lines += _versions(comparison.baseline, environments)
    then = comparison.baseline.machine.informs
    lines += [
        f"  {name}: {then.get(name, 'absent')} -> {machine.informs.get(name, 'absent')}"
        for name in sorted({*then, *machine.informs})
        if then.get(name) != machine.informs.get(name)
    ]
    return "\n".join(lines)


def summary(comparison: Comparison, *, deselected: int = 0, promote_run: str | None = None) -> str:
    """Counts by verdict, what could have been seen, and what is missing or new with the command that repairs it.

    ``promote_run`` is the name that this run was saved under.
    """
    counts = Counter(judgement.verdict for judgement in comparison.judgements.values())
    parts = [f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]]
    if deselected:
        parts.append(f"{deselected} deselected")
    lines = [", ".join(parts) or "nothing was compared"]
    visible = [j.smallest_visible for j in comparison.judgements.values() if j.smallest_visible is not None]
    if visible:
        lines.append(
            f"Smallest change that would have been red: ×{statistics.median(visible):.2f} "
            f"(median over cases; {min(visible):.2f} to {max(visible):.2f})."
        )
    few = [
        j for j in comparison.judgements.values() if j.history_runs is not None and j.history_runs < RUNS_TO_ESTIMATE
    ]
    if few:
        lines.append(
            f"{len(few)} of the cases have fewer than {RUNS_TO_ESTIMATE} stored runs, so a spread of 15 % is assumed: "
            "save more runs ('pytest perf --benchmark-save=NAME') to see smaller changes."
        )
    lines += [
        f"differs, for information: {key}: {', '.join(judgement.informs)}"
        for key, judgement in comparison.judgements.items()
        if judgement.informs
    ]
    lines += [f"missing: {key} stands in the baseline and was not measured" for key in comparison.missing]
    lines += [f"new: {key} has no baseline" for key in comparison.new]
    if comparison.missing:
        lines.append(
            "  Was it renamed or removed on purpose? Then delete it in the baseline file, and promote its successor."
        )
    if comparison.new:
        run = promote_run or "RUN..."
        saved = "" if promote_run else "   (a RUN comes from pytest perf --benchmark-save=NAME)"
        lines.append(f"  python -m perf promote {run} -k CASE --reason TEXT{saved}")
    return "\n".join(lines)


def measured_summary(results: Mapping[str, CaseResult]) -> str:
    """Counts of a session that compared nothing."""
    failed = sum(result.failure is not None for result in results.values())
    unsteady = sum(result.failure is None and not result.steady for result in results.values())
    parts = [f"{len(results) - failed} measured"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{unsteady} unsteady"] if unsteady else []
    return f"{', '.join(parts)}; nothing was compared (--benchmark-compare does)."


def short_names(results: Sequence[CaseResult], *, ran_beside: bool = False) -> dict[str, str]:
    """Case keys without what all of them share: ``forward translation-b32 loop``.

    ``ran_beside``: the kernel that ran stands in the next column, so it is named only where another was asked for.
    """
    ran_as_asked = {result.spec.key for result in results if _kernels(result) == [result.spec.kernel]}
    return names([result.spec for result in results], without_kernel=ran_as_asked if ran_beside else ())


def _kernels(result: CaseResult) -> list[str]:
    return list(dict.fromkeys(sample.facts.kernel for sample in result.samples))


def _shared(results: Sequence[CaseResult]) -> str:
    words = [
        next(iter(values))
        for values in ({r.spec.device for r in results}, {r.spec.precision for r in results})
        if len(values) == 1
    ]
    return f"{', '.join(words)}; " if words else ""


def _versions(baseline: Baseline, environments: Mapping[str, Environment]) -> list[str]:
    """Versions then and now, once for all cases that were promoted with the same."""
    by_line: Counter[str] = Counter()
    for case in baseline.cases.values():
        spec = case.runs[-1][2].spec
        if spec.device in environments:
            by_line[", ".join(version_changes(case.environment, environments[spec.device]))] += 1
    if len(by_line) == 1:
        return [f"  {next(iter(by_line))}"]
    return [f"  {line} ({count} cases)" for line, count in by_line.most_common()]


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


def _memory(result: CaseResult) -> str:
    peaks = [sample.bytes_peak for sample in result.samples if sample.bytes_peak is not None]
    if not peaks:
        return ""
    ends = (None, None) if len(peaks) < 2 else (min(peaks), max(peaks))
    return mebibytes(Estimate(statistics.median(peaks), *ends))


def _history(runs: int) -> str:
    return f"{runs} runs" if runs >= RUNS_TO_ESTIMATE else "assumed 15 %"
