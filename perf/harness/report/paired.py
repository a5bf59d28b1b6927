"""A paired session for the terminal. Pure: an outcome in, text out; nothing is decided here."""

from __future__ import annotations

import statistics
import textwrap
from collections import Counter
from collections.abc import Mapping

from perf.harness.environments_differ import differences
from perf.harness.message import version_changes
from perf.harness.numbers import mebibytes, ratio, seconds
from perf.harness.paired_evidence import Evidence, Metric
from perf.harness.paired_green import many_suspects
from perf.harness.paired_records import BASELINE, CANDIDATE, SIDES, PairedResult, SideName
from perf.harness.paired_session import PairedOutcome
from perf.harness.records import Environment, Judgement, Verdict
from perf.harness.report.layout import WIDTH, fitting, names
from perf.harness.stats import Estimate, interval_over_processes

#: Differences that are listed, what decides most first; of more, the rest is counted.
_MOST_DIFFERENCES = 20


def header(environments: Mapping[tuple[SideName, str], Environment]) -> str:
    """What differs between the sides, once for all devices; TensorFlow and Keras also where they are the same."""
    devices = sorted({device for _, device in environments if all((side, device) in environments for side in SIDES)})
    lines = []
    for device in devices:
        then, now = environments[BASELINE, device], environments[CANDIDATE, device]
        same = [change for change in version_changes(then, now) if change.endswith("(same)")]
        changes = [f"{what} {before} -> {after}" for what, before, after in differences(then, now)]
        more = len(changes) - _MOST_DIFFERENCES
        changes = changes[:_MOST_DIFFERENCES] + ([f"and {more} more"] if more > 0 else [])
        lines.append((device, ", ".join([*same, *changes])))
    if len({text for _, text in lines}) == 1:
        lines = [("", lines[0][1])]
    return "\n".join(
        _wrapped(f"Baseline -> candidate{f' on {device}' if device else ''}: {text}") for device, text in lines
    )


def steps_table(outcome: PairedOutcome) -> str:
    """One row per case that was measured on both sides: kernels, times, their ratio with its interval, verdict.

    ``visible`` is the smallest ratio that would have been found in 80 % of such measurements, ``6+10`` pairs are those
    of the first look and of the confirmation.
    """
    rows = []
    same = {key for key, result in outcome.results.items() if result.pairs and _kernels(result) == result.spec.kernel}
    short = names([result.spec for result in outcome.results.values()], without_kernel=same)
    for key, judgement in outcome.judgements.items():
        step, result = judgement.metrics[Metric.STEP], outcome.results[key]
        again = outcome.confirmed.get(key)
        if not result.pairs:
            continue
        fresh = len(again.pairs) if again else 0
        rows.append(
            (
                short[key],
                _kernels(result),
                _times(again if again and fresh else result),
                _change(step),
                f"{len(result.pairs)}+{fresh}" if fresh else str(len(result.pairs)),
                _visible(step),
                str(step.verdict),
            )
        )
    columns = ("case", "kernel", "time per step", "ratio, 1 = baseline", "pairs", "visible", "verdict")
    return fitting(rows, columns, may_go=("pairs", "visible")) if rows else ""


def others_table(outcome: PairedOutcome, *, every: bool = False) -> str:
    """First calls and memory peaks, where they changed or were suspected to (or ``every`` one); "" without any."""
    rows = []
    suspects = {candidate.key: candidate.metrics for candidate in outcome.screened.candidates}
    short = names([result.spec for result in outcome.results.values()])
    for key, judgement in outcome.judgements.items():
        for metric in (Metric.FIRST_CALL, Metric.MEMORY):
            judged, numbers = judgement.metrics.get(metric), judgement.numbers.get(metric)
            if judged is None or judged.change is None or numbers is None:
                continue
            if every or judged.verdict in (Verdict.REGRESSED, Verdict.IMPROVED) or metric in suspects.get(key, ()):
                shown = [_memory(v) if metric is Metric.MEMORY else seconds(v) for v in _values(numbers)]
                row = (short[key], str(metric), " -> ".join(shown), _change(judged), _visible(judged))
                rows.append((*row, str(judged.verdict)))
    columns = ("case", "metric", "value", "ratio, 1 = baseline", "visible", "verdict")
    return fitting(rows, columns, may_go=("visible",)) if rows else ""


def startup_line(outcome: PairedOutcome) -> str:
    """Seconds from starting a process to its first answer, by side, with the 95 % interval over starts."""
    parts = []
    for device in sorted({device for _, device in outcome.startup_seconds}):
        texts = [
            f"{side} {seconds(interval_over_processes(values))}"
            for side in SIDES
            if (values := outcome.startup_seconds.get((side, device)))
        ]
        parts.append(f"on {device} {', '.join(texts)}")
    return f"Process start: {'; '.join(parts)} (95 % intervals)" if parts else ""


def summary(outcome: PairedOutcome) -> str:
    """Counts by verdict, what could have been seen, and each case that no table shows."""
    counts = Counter(judgement.verdict for judgement in outcome.judgements.values())
    lines = [", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]) or "nothing compared"]
    visible = [v for j in outcome.judgements.values() if (v := j.metrics[Metric.STEP].smallest_visible) is not None]
    if visible:
        lines.append(
            "Smallest change of the time per step found in 80 % of such measurements: "
            f"×{statistics.median(visible):.2f} (median over cases; {min(visible):.2f} to {max(visible):.2f})."
        )
    first_calls = [
        j.metrics[Metric.FIRST_CALL].smallest_visible
        for j in outcome.judgements.values()
        if Metric.FIRST_CALL in j.metrics
    ]
    known = [value for value in first_calls if value is not None]
    if known:
        lines.append(f"Of first calls, one value per process: ×{statistics.median(known):.2f}.")
    lines += [
        f"differs, for information: {key}: {', '.join(judgement.metrics[Metric.STEP].informs)}"
        for key, judgement in outcome.judgements.items()
        if judgement.metrics[Metric.STEP].informs
    ]
    lines += [
        judgement.reason
        for judgement in outcome.judgements.values()
        if judgement.verdict in (Verdict.FAILED, Verdict.NOT_COMPARABLE)
    ]
    return "\n".join(lines)


def report(outcome: PairedOutcome, *, every: bool = False) -> str:
    """All of it; ``every``: first calls and memory of every case, also where nothing changed."""
    parts = [
        many_suspects(outcome),
        header(outcome.environments),
        steps_table(outcome),
        others_table(outcome, every=every),
        startup_line(outcome),
        summary(outcome),
    ]
    return "\n\n".join(part for part in parts if part)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _kernels(result: PairedResult) -> str:
    then, now = result.pairs[0].baseline.facts.kernel, result.pairs[0].candidate.facts.kernel
    return then if then == now else f"{then} -> {now}"


def _times(result: PairedResult) -> str:
    """``10.0 ms -> 10.3 ms``, without intervals: the ratio has one, and absolute times vary far more than it."""
    medians = [statistics.median(pair.side(side).seconds_per_step for pair in result.pairs) for side in SIDES]
    return " -> ".join(seconds(value) for value in medians)


def _values(numbers: Evidence) -> tuple[float, float]:
    return numbers.baseline, numbers.candidate


def _change(judgement: Judgement) -> str:
    if judgement.change is None:
        return ""
    return f"{ratio(judgement.change)} {100 * judgement.change.level:.3g} %"


def _visible(judgement: Judgement) -> str:
    return "" if judgement.smallest_visible is None else f"{judgement.smallest_visible:.2f}"


def _memory(value: float) -> str:
    return f"{mebibytes(Estimate(value, None, None))} MiB"
