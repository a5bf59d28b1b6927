"""Stored runs over time, to be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perf.harness.digest import CaseDigest, RunDigest
from perf.harness.message import differing
from perf.harness.records import Baseline
from perf.harness.report.page.data import Promotion, Trend


def trend(digests: Iterable[RunDigest], baseline: Baseline | None) -> Trend | None:
    """Oldest first, whatever order they come in; None where there are not at least two."""
    runs = sorted(digests, key=lambda run: (run.date, run.name))
    if len(runs) < 2:
        return None
    cases: dict[str, list[tuple[int, CaseDigest]]] = {}
    for place, run in enumerate(runs):
        for key, case in run.cases.items():
            cases.setdefault(key, []).append((place, case))
    return Trend(
        runs=tuple((run.name, run.date) for run in runs),
        steps=_steps(runs),
        cases={key: tuple(points) for key, points in cases.items()},
        promotions={
            key: (Promotion(case.promoted, tuple(name for name, _, _ in case.runs), case.reason),)
            for key, case in (baseline.cases if baseline else {}).items()
        },
    )


def _steps(runs: Sequence[RunDigest]) -> dict[str, dict[int, str]]:
    """Each run in which the versions of a device's workers are not those of the run before."""
    steps: dict[str, dict[int, str]] = {}
    last: dict[str, RunDigest] = {}
    for place, run in enumerate(runs):
        for device, versions in run.versions.items():
            if device in last and (changes := differing(last[device].versions[device], versions)):
                steps.setdefault(device, {})[place] = ", ".join(changes)
            last[device] = run
    return steps
