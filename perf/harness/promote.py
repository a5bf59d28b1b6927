"""From runs to a baseline, case by case: a decision, with a reason, never the newest file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from perf.harness.baseline import differing
from perf.harness.errors import Refusal
from perf.harness.exact import numbers_differ
from perf.harness.expression import selector
from perf.harness.promote_selection import promotable, promoted_settings
from perf.harness.records import Baseline, BaselineCase, CaseResult, Run
from perf.harness.suite import PROFILES


@dataclass(frozen=True, slots=True)
class Promotion:
    """The new baseline, the cases and settings (of the table of kernels) that entered it, and why others did not.

    ``left_out`` has keys of cases, and ``kernel[setting]``.
    """

    baseline: Baseline
    promoted: tuple[str, ...]
    left_out: Mapping[str, str]
    settings: tuple[str, ...] = ()


def promote(
    runs: Sequence[Run], baseline: Baseline | None, *, select: str = "", reason: str, now: datetime, name: str = ""
) -> Promotion:
    """``baseline`` (``None``: there is none yet) with the selected cases of ``runs`` in place of its own.

    Cases that are red, failed, unsteady or absent in one of the runs are left out; cases that the runs do not hold
    stay as they are. The settings of the table of kernels are promoted likewise; ``select`` knows them as
    ``kernel[setting]``. Raises :class:`Refusal` for an empty reason, an interrupted run, runs that do not belong
    together, where cases are selected and none of them can be promoted, or where no setting can and no case is.
    """
    if not reason.strip():
        raise Refusal("--reason TEXT must say why these runs are what later ones are to be compared with.")
    _belong_together(runs)
    matches = selector(select)
    keys = [key for key in dict.fromkeys(key for run in runs for key in run.cases) if matches(key)]
    settings, without = promotable(runs, matches)
    if not keys and not settings and not without:
        raise Refusal(f"-k {select!r} selects no case of {_names(runs)}: nothing was promoted.")
    left_out = {key: why for key in keys if (why := _why_not(key, runs))}
    promoted = tuple(key for key in keys if key not in left_out)
    if not (promoted if keys else settings):
        reasons = "; ".join(f"{key}: {why}" for key, why in (left_out or without).items())
        what = "case" if keys else "setting"
        raise Refusal(f"No {what} of {_names(runs)} can be promoted, and the baseline is unchanged: {reasons}")
    if not promoted and baseline is None:
        raise Refusal(
            "There is no baseline yet, and a table of kernels alone makes none: promote the run's cases as well, "
            "without -k."
        )
    cases = dict(baseline.cases) if baseline else {}
    for key in promoted:
        first = runs[0].cases[key].spec
        cases[key] = BaselineCase(
            key=key,
            hash=first.hash,
            runs=tuple((run.name, run.date, run.cases[key]) for run in sorted(runs, key=lambda run: run.date)),
            environment=runs[0].environments[first.device],
            profile=min((run.profile for run in runs), key=PROFILES.index),
            suite=runs[0].suite,
            promoted=now,
            reason=reason.strip(),
        )
    selection = {
        **(baseline.selection if baseline else {}),
        **promoted_settings(settings, runs, reason.strip(), now),
    }
    return Promotion(Baseline(name, runs[-1].machine, cases, selection), promoted, {**left_out, **without}, settings)


def _belong_together(runs: Sequence[Run]) -> None:
    first = runs[0]
    for run in runs:
        if run.interrupted:
            raise Refusal(
                f"Run {run.name} was interrupted: its cases saw only a part of the session. Measure again, with "
                "'pytest perf --benchmark-save=NAME' (and -k for some cases only), and promote that."
            )
    for run in runs[1:]:
        if (run.name, run.date) == (first.name, first.date):
            raise Refusal(f"Run {run.name} is named twice; a run counts once.")
        if run.suite != first.suite:
            raise Refusal(f"Runs {first.name} and {run.name} are of different workloads: {first.suite}, {run.suite}.")
        if differences := differing(first.machine, run.machine):
            raise Refusal(f"Runs {first.name} and {run.name} come from different hardware: {differences}.")
        for device in sorted(first.environments.keys() & run.environments.keys()):
            ours, theirs = first.environments[device], run.environments[device]
            if ours.same_software != theirs.same_software:
                changed = [
                    f"{name} {a.get(name, 'absent')} / {b.get(name, 'absent')}"
                    for a, b in (
                        (ours.packages, theirs.packages),
                        (ours.variables, theirs.variables),
                        ({"python": ours.versions.get("python")}, {"python": theirs.versions.get("python")}),
                    )
                    for name in sorted(a.keys() | b.keys())
                    if a.get(name) != b.get(name)
                ]
                raise Refusal(
                    f"Runs {first.name} and {run.name} were measured in different environments ({device}): "
                    f"{', '.join(changed)}. Promote runs of one environment."
                )
        for key in first.cases.keys() & run.cases.keys():
            if first.cases[key].spec.hash != run.cases[key].spec.hash:
                raise Refusal(
                    f"{key} was defined differently in runs {first.name} and {run.name}: they did different work. "
                    "Promote runs of one definition, or choose other cases with -k."
                )


def _why_not(key: str, runs: Sequence[Run]) -> str:
    """Why ``key`` cannot be promoted; "" where it can."""
    for run in runs:
        result = run.cases.get(key)
        if result is None:
            return f"absent from run {run.name}"
        if result.failure is not None:
            return f"failed in run {run.name}: {result.failure.message.removeprefix(f'{key} ')}"
        if key in run.red:
            return (
                f"red in run {run.name}. If the new time is to be accepted, measure again without "
                "--benchmark-compare and promote that run"
            )
        if not result.steady:
            return f"never settled in run {run.name} (unsteady)"
    for run in runs[1:]:
        if difference := numbers_differ(run.cases[key].samples[0].facts, runs[0].cases[key].samples[0].facts):
            return f"did not compute the same in runs {runs[0].name} and {run.name}: {difference}"
    if len(kernels := {fact for run in runs for fact in _ran(run.cases[key])}) > 1:
        return f"did not run alike in all processes: {', '.join(sorted(kernels))}"
    return ""


def _ran(result: CaseResult) -> set[str]:
    return {f"kernel {sample.facts.kernel} on {sample.facts.device}" for sample in result.samples}


def _names(runs: Sequence[Run]) -> str:
    return ("run " if len(runs) == 1 else "runs ") + ", ".join(run.name for run in runs)
