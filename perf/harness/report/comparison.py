"""What a comparison found, as a table and lines. Pure: it prints the verdicts and derives none."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping

from perf.harness.deciding import Decision
from perf.harness.message import version_changes
from perf.harness.numbers import counted, ratio
from perf.harness.records import Baseline, CaseResult, Change, Comparison, Environment, Judgement, Machine, Verdict
from perf.harness.report.layout import table
from perf.harness.report.short_names import short_names
from perf.harness.spread import RUNS_TO_ESTIMATE

#: A shared change that is worth the first line, as a ratio.
_NOTABLE = 1.03


def comparison_table(comparison: Comparison, results: Mapping[str, CaseResult]) -> str:
    """One row per case: verdict, ratio of times to the stored ones with its interval, smallest ratio that would be red
    by them, and, where a case was suspected, the ratio to the baseline's environment measured next to it."""
    short = short_names(list(results.values()))
    side_by_side = any(judgement.side_by_side for judgement in comparison.judgements.values())
    rows = [
        (
            short[key],
            str(judgement.verdict),
            "" if judgement.change is None else ratio(judgement.change),
            "" if judgement.change is None else f"{100 * judgement.change.level:.3g} %",
            "" if judgement.smallest_visible is None else f"{judgement.smallest_visible:.2f}",
            "" if judgement.history_runs is None else _history(judgement.history_runs),
            *([_side_by_side(judgement)] if side_by_side else []),
        )
        for key, judgement in comparison.judgements.items()
    ]
    header = ["case", "verdict", "time, 1 = baseline", "level", "red from", "spread from"]
    return table(rows, [*header, *(["side by side"] if side_by_side else [])]) if rows else ""


def _side_by_side(judgement: Judgement) -> str:
    change = judgement.side_by_side
    return "" if change is None else f"{ratio(change)}, {100 * change.level:.3g} %"


def decision_lines(decision: Decision) -> str:
    """What became of the cases that stored numbers suspect, and in which environment they were measured again."""
    lines = []
    if decision.measured:
        pairs = max(len(result.pairs) for outcome in decision.outcomes for result in outcome.results.values())
        again = sum(len(outcome.confirmed) for outcome in decision.outcomes)
        confirmed = f", {again} of them confirmed with fresh pairs" if again else ""
        lines.append(
            f"{counted(len(decision.comparison.suspects), 'suspect')} of the stored numbers, {len(decision.measured)} "
            f"measured side by side with the baseline's environment: {pairs} pairs of processes{confirmed}."
        )
    lines += [f"  that environment, brought back, differs from the recorded one: {note}" for note in decision.notes]
    by_why: dict[str, int] = Counter(decision.alone.values())
    lines += [
        f"{counted(number, 'suspect')} decided by the stored numbers alone: {why}." for why, number in by_why.items()
    ]
    # The tests of these pass, so that pytest shows nothing of them.
    judgements = decision.comparison.judgements
    told = [judgements[key] for key in decision.comparison.suspects if not judgements[key].verdict.is_red]
    lines += [judgement.reason for judgement in told if judgement.reason]
    return "\n".join(lines)


def comparison_header(comparison: Comparison, machine: Machine, environments: Mapping[str, Environment]) -> str:
    """What stands above the verdicts: the change all cases share, then versions and the host where they differ."""
    lines = []
    if effect := run_effect_line(comparison.run_effect):
        lines.append(effect)
    lines.append(f"Compared with {comparison.baseline.name}")
    lines += _versions(comparison.baseline, environments)
    then = comparison.baseline.machine.informs
    lines += [
        f"  {name}: {then.get(name, 'absent')} -> {machine.informs.get(name, 'absent')}"
        for name in sorted({*then, *machine.informs})
        if then.get(name) != machine.informs.get(name)
    ]
    return "\n".join(lines)


def run_effect_line(effect: Change | None) -> str:
    """What all cases share, where it is worth a line of its own; "" otherwise."""
    if effect is None or effect.low <= 1 <= effect.high or max(effect.ratio, 1 / effect.ratio) < _NOTABLE:
        return ""
    percent = 100 * abs(effect.ratio - 1)
    return (
        f"This run is {percent:.0f} % {'slower' if effect.ratio > 1 else 'faster'} throughout than the baseline "
        f"(×{ratio(effect)}, {100 * effect.level:.0f} % interval over cases): look at the machine, or at what all "
        "cases share, before a single case."
    )


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
        lines.append("  Renamed or removed on purpose? Then: python -m perf retire CASE...")
    if comparison.missing or comparison.new:
        run = promote_run or "RUN..."
        saved = "" if promote_run else "   (a RUN comes from pytest perf --benchmark-save=NAME)"
        lines.append(f"  python -m perf promote {run} -k CASE --reason TEXT{saved}")
    return "\n".join(lines)


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


def _history(runs: int) -> str:
    return f"{runs} runs" if runs >= RUNS_TO_ESTIMATE else "assumed 15 %"
