"""Real sessions of the paired gate on two sides that are the same, or of which one is slowed by a known factor."""

from __future__ import annotations

import math
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from docs.benchmarks.gate_quality import ledger, raw
from docs.benchmarks.gate_quality.ledger import Against, CaseLine, MetricLine, SessionLine
from docs.benchmarks.gate_quality.raw import RawSession
from perf.harness.environment import Side
from perf.harness.errors import Refusal
from perf.harness.measure import Progress, Settings
from perf.harness.paired_evidence import Metric
from perf.harness.paired_records import BASELINE, CANDIDATE, SideName
from perf.harness.paired_screen import MOST_CONFIRMED
from perf.harness.paired_session import PairedOutcome, run_paired
from perf.harness.paired_verdict import CaseJudgement
from perf.harness.rebuild import rebuild
from perf.harness.records import CaseSpec, Environment, Failure, Machine
from perf.harness.verdict import Margins
from perf.harness.workers import Worker

SLOWDOWN = "LSTM_PERF_SLOWDOWN"
#: What computes and judges: the last commit of these is the revision of a session.
_MEASURING = ("lstm_models", "perf")


@dataclass(frozen=True, slots=True)
class Plan:
    """One kind of session: by which ``factor`` the candidate is slowed, judged at which margin."""

    factor: float
    margin_percent: float
    against: Against
    pairs: int  # of the screen


def check(plan: Plan, specs: Sequence[CaseSpec]) -> None:
    """Raises :class:`Refusal` where the gate would not confirm all that is slowed, so that it could not find it."""
    if plan.factor > 1 and len(specs) > MOST_CONFIRMED:
        raise Refusal(
            f"--inject {plan.factor:g} with {len(specs)} cases: all of them will be suspected, and the gate measures "
            f"at most {MOST_CONFIRMED} suspects again. Choose that many cases or fewer. Nothing was measured."
        )


def sides(plan: Plan, settings: Settings, variables: Mapping[str, str | None] | None = None) -> tuple[Side, Side]:
    """Baseline and candidate. ``variables`` go to both; of the slowdown only the candidate gets any.

    Builds the baseline's environment, or finds it in the cache, where the plan asks for a rebuilt one; raises
    :class:`Refusal` where it cannot be made, and ``CaseError`` where no worker answers.
    """
    common: dict[str, str | None] = {**(variables or {}), SLOWDOWN: None}
    slowed = {**common, SLOWDOWN: f"{plan.factor:g}"} if plan.factor > 1 else common
    here = Side(variables=common)
    if plan.against is Against.SAME:
        return here, Side(variables=slowed)
    with Worker.start(here, "cpu", settings.module, settings.root, settings.time_limit) as worker:
        recorded = worker.describe()
    built = rebuild(recorded, recorded.variables, lambda text: print(text, flush=True))
    for note in built.released:
        print(f"rebuilt: {note}", flush=True)
    return Side(built.side.interpreter, {**common, **built.side.variables}), Side(variables=slowed)


def run_session(
    plan: Plan, specs: Sequence[CaseSpec], settings: Settings, both: tuple[Side, Side], machine: Machine, folder: Path
) -> SessionLine:
    """Screens, confirms and decides as ``pytest perf --perf-against`` does; keeps the rounds under ``folder``.

    An interruption comes out as ``KeyboardInterrupt``, and nothing of the session is kept. Raises :class:`Refusal`
    where no pair was measured at all.
    """
    date, begin, load = datetime.now(UTC), time.monotonic(), os.getloadavg()[0]
    outcome = run_paired(specs, settings, *both, plan.pairs, Margins(plan.margin_percent), Lines())
    if not outcome.environments:
        why = next((result.failure.message for result in outcome.results.values() if result.failure), "no case ran")
        raise Refusal(f"The session measured nothing, and is not in the ledger: {why}")
    name = f"{date:%Y%m%d_%H%M%S_%f}_x{plan.factor:.2f}_margin{plan.margin_percent:g}"
    size = raw.write(
        folder,
        RawSession(name, plan.factor, plan.margin_percent, plan.against, outcome.screening, outcome.confirmation),
    )
    return SessionLine(
        date=date,
        machine=machine.id,
        versions=_versions(outcome.environments),
        revision=_revision(settings.root),
        factor=plan.factor,
        margin_percent=plan.margin_percent,
        against=plan.against,
        pairs=plan.pairs,
        seed=settings.seed,
        seconds=round(time.monotonic() - begin, 1),
        load_begin=round(load, 2),
        load_end=round(os.getloadavg()[0], 2),
        raw=name,
        raw_bytes=size,
        cases=tuple(case_line(key, outcome) for key in outcome.judgements),
    )


def case_line(key: str, outcome: PairedOutcome) -> CaseLine:
    """What the ledger keeps of a case."""
    judged = outcome.judgements[key]
    screened = outcome.screened.evidence.get(key, {}).get(Metric.STEP)
    confirmed = outcome.confirmed.get(key)
    return CaseLine(
        key=key,
        verdict=judged.verdict,
        seen=None if screened is None else _short(math.exp(screened.mean)),
        pairs_screened=len(outcome.results[key].pairs),
        pairs_confirmed=0 if confirmed is None else len(confirmed.pairs),
        metrics={metric: _metric_line(judged, metric) for metric in judged.metrics},
    )


def _metric_line(judged: CaseJudgement, metric: Metric) -> MetricLine:
    judgement, numbers = judged.metrics[metric], judged.numbers.get(metric)
    change, pairs = judgement.change, None if numbers is None else numbers.count
    if change is None:
        return MetricLine(judgement.verdict, None, None, None, None, pairs)
    ratio, low, high = (_short(value) for value in (change.ratio, change.low, change.high))
    return MetricLine(judgement.verdict, ratio, low, high, _short(change.level), pairs)


def run_sessions(
    plan: Plan,
    specs: Sequence[CaseSpec],
    settings: Sequence[Settings],
    both: tuple[Side, Side],
    machine: Machine,
    folder: Path,
    ledger_path: Path,
    budget_seconds: float | None = None,
) -> int:
    """One session for each of ``settings``, each in the ledger as soon as it ends; returns how many there were.

    No session starts that would, at the length of the longest so far, end after the budget. None is cut by it: that
    would leave out the verdicts that take longest.
    """
    begin, longest, done = time.monotonic(), 0.0, 0
    for one in settings:
        start = time.monotonic()
        if budget_seconds is not None and start - begin + longest > budget_seconds:
            print(f"The budget leaves no time for another session; {done} of {len(settings)} were measured.")
            break
        try:
            line = run_session(plan, specs, one, both, machine, folder)
        except KeyboardInterrupt:
            print(f"\nInterrupted: the session that ran is dropped, the {done} before it are in {ledger_path}.")
            raise
        ledger.append(ledger_path, line)
        done += 1
        longest = max(longest, time.monotonic() - start)
        print(summary(line), flush=True)
    return done


def summary(session: SessionLine) -> str:
    """A line about a finished session, and one for each case that deserves a look."""
    red = sum(case.verdict.is_red for case in session.cases)
    lines = [
        f"×{session.factor:.2f} at a margin of {session.margin_percent:g} %: {red} of {len(session.cases)} cases red, "
        f"{session.seconds:.0f} s, load {session.load_begin:.1f} to {session.load_end:.1f}"
    ]
    lines += [
        f"  {case.key}: {case.verdict}, seen ×{case.seen or math.nan:.3f}"
        for case in session.cases
        if case.verdict.is_red is session.nothing_changed
    ]
    return "\n".join(lines)


class Lines(Progress):
    """Prints a line for each pair of processes: sessions run for minutes, often into a log."""

    def __init__(self) -> None:
        self._part, self._pair = "", 0

    def part(self, name: str, unit: str = "pair") -> None:
        """The screen or the confirmation begins."""
        self._part = name

    def started(self, key: str, process: int, done: int, total: int, seconds_left: float | None) -> None:
        """A case is about to be measured."""
        if process != self._pair:
            self._pair = process
            left = "" if seconds_left is None else f", about {seconds_left / 60:.1f} min left"
            print(f"{self._part}: pair {process}, {done} of {total} done{left}", flush=True)

    def failed(self, key: str, failure: Failure) -> None:
        """A case failed; its verdict says so."""
        print(f"failed: {key} ({failure.stage}): {failure.message}", flush=True)


def _versions(environments: Mapping[tuple[SideName, str], Environment]) -> dict[str, str]:
    """Of both sides: one version each where they are the same."""
    by_side: dict[SideName, Mapping[str, str]] = {side: one.versions for (side, _), one in environments.items()}
    then, now = by_side.get(BASELINE, {}), by_side.get(CANDIDATE, {})
    return {
        name: now[name] if then.get(name, now[name]) == now[name] else f"{then[name]} -> {now[name]}" for name in now
    }


def _revision(root: Path) -> str | None:
    commit = _git(root, "log", "-1", "--format=%h", "--", *_MEASURING)
    return f"{commit}+changes" if commit and _git(root, "status", "--porcelain", "--", *_MEASURING) else commit


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip() or None


def _short(value: float) -> float:
    return float(f"{value:.6g}")
