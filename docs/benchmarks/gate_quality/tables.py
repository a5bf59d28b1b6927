"""The ledger and the replay as Markdown. Nothing is judged here."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from docs.benchmarks.gate_quality.draws import CasePool
from docs.benchmarks.gate_quality.ledger import CaseLine, SessionLine
from docs.benchmarks.gate_quality.markdown import bounded, percent, share, table
from docs.benchmarks.gate_quality.replay import FACTORS, Tally
from perf.harness.paired_evidence import Metric
from perf.harness.records import Verdict

_Key = TypeVar("_Key")

NOTHING = "No session is in the ledger yet."


def live_tables(sessions: Sequence[SessionLine]) -> str:
    """By machine: false alarms, what was found, and every case in which the gate was wrong."""
    if not sessions:
        return NOTHING
    parts = []
    for machine, group in _by(sessions, lambda session: session.machine):
        equal = [session for session in group if session.nothing_changed]
        changed = [session for session in group if not session.nothing_changed]
        parts += [_where(machine, group), _false_alarms(equal), _found(changed), _seen_by_case(changed), _wrong(group)]
    return "\n\n".join(part for part in parts if part)


def _where(machine: str, sessions: Sequence[SessionLine]) -> str:
    dates = sorted(session.date for session in sessions)
    versions = sorted({session.versions.get("tensorflow", "unknown") for session in sessions})
    revisions = sorted({session.revision or "unknown" for session in sessions})
    loads = [session.load_begin for session in sessions]
    return (
        f"Machine `{machine}`, TensorFlow {', '.join(versions)}, revision {', '.join(revisions)}: "
        f"{len(sessions)} session{'s' * (len(sessions) != 1)} from {dates[0]:%Y-%m-%d} to {dates[-1]:%Y-%m-%d}, "
        f"{sum(session.seconds for session in sessions) / 3600:.1f} hours, "
        f"{sum(session.raw_bytes for session in sessions) / 1e6:.1f} MB of compressed rounds, load average at the "
        f"begin {min(loads):.1f} to {max(loads):.1f} (median {statistics.median(loads):.1f})."
    )


def _false_alarms(sessions: Sequence[SessionLine]) -> str:
    if not sessions:
        return ""
    rows = []
    for (against, margin), group in _by(sessions, lambda session: (session.against, session.margin_percent)):
        cases = [case for session in group for case in session.cases]
        rows.append(
            [
                against,
                f"{margin:g} %",
                len(group),
                _alarms([case.verdict.is_red for case in cases]),
                _reds(cases, Metric.STEP),
                _reds(cases, Metric.FIRST_CALL),
                _reds(cases, Metric.MEMORY),
                sum(case.verdict in (Verdict.INCONCLUSIVE, Verdict.UNSTEADY) for case in cases),
                _minutes(group),
            ]
        )
    return "Nothing changed (A/A):\n\n" + table(
        [
            "baseline in", "margin", "sessions", "case verdicts red (95 % bound)", "by time per step or a fact",
            "by first call", "by peak memory", "inconclusive or unsteady", "minutes per session",
        ],
        rows,
    )  # fmt: skip


def _found(sessions: Sequence[SessionLine]) -> str:
    if not sessions:
        return ""
    rows = []
    for (factor, margin, against), group in _by(sessions, lambda one: (one.factor, one.margin_percent, one.against)):
        cases = [case for session in group for case in session.cases]
        rows.append(
            [
                f"+{percent(factor - 1)}",
                f"{margin:g} %",
                against,
                len(group),
                share(sum(case.step is Verdict.REGRESSED for case in cases), len(cases)),
                _seen([case.seen for case in cases if case.seen is not None]),
                _minutes(group),
            ]
        )
    return "One side slowed:\n\n" + table(
        [
            "injected", "margin", "baseline in", "sessions", "case verdicts: found (95 % interval)",
            "seen in the screen, median (quartiles)", "minutes per session",
        ],
        rows,
    )  # fmt: skip


def _seen_by_case(sessions: Sequence[SessionLine]) -> str:
    """What an injected slowdown came to in each case; a share that was found is to be read with it."""
    factors = sorted({session.factor for session in sessions})
    seen: dict[str, dict[float, list[float]]] = {}
    for session in sessions:
        for case in session.cases:
            if case.seen is not None:
                seen.setdefault(case.key, {}).setdefault(session.factor, []).append(case.seen)
    if not seen:
        return ""
    rows = [[f"`{key}`", *(_seen(by_factor.get(factor, [])) for factor in factors)] for key, by_factor in seen.items()]
    return "What was seen of it in each case, median (quartiles):\n\n" + table(
        ["case", *(f"+{percent(factor - 1)} injected" for factor in factors)], rows
    )


def _wrong(sessions: Sequence[SessionLine]) -> str:
    rows = []
    for session in sessions:
        for case in session.cases:
            wrong = case.verdict.is_red if session.nothing_changed else case.step is not Verdict.REGRESSED
            if not wrong:
                continue
            red = [metric for metric, one in case.metrics.items() if one.verdict.is_red]
            metric = red[0] if session.nothing_changed and red else Metric.STEP
            one = case.metrics[metric]
            ratio = "" if one.ratio is None else f"×{one.ratio:.3f} ({one.low:.3f}–{one.high:.3f})"
            rows.append(
                [
                    f"{session.date:%Y-%m-%d %H:%M}",
                    f"×{session.factor:.2f}",
                    f"{session.margin_percent:g} %",
                    f"`{case.key}`",
                    metric,
                    one.verdict,
                    ratio,
                    f"{case.pairs_screened}+{case.pairs_confirmed}",
                    f"{session.load_begin:.1f} to {session.load_end:.1f}",
                ]
            )
    if not rows:
        return "The gate was wrong in none of them."
    head = ["date", "injected", "margin", "case", "metric", "verdict", "seen (interval)", "pairs", "load"]
    return "Where it was wrong:\n\n" + table(head, rows)


def replay_header(pools: Mapping[str, CasePool], sessions: int) -> str:
    """What was drawn from, and how often."""
    real = max(len(pool.sessions) for pool in pools.values())
    counts = [sum(len(each) for each in pool.sessions) for pool in pools.values()]
    return (
        f"{sessions} sessions of {len(pools)} cases, drawn from the rounds of {real} real A/A sessions: "
        f"{sum(counts)} pairs of processes, {min(counts)} to {max(counts)} per case."
    )


def replay_table(tallies: Sequence[Tally]) -> str:
    """One row for each rule and what it sees, on the same rounds."""
    rows = [
        [
            tally.rule,
            tally.sees,
            bounded(tally.cases_red, tally.cases),
            bounded(tally.suites_red, tally.suites),
            *(share(tally.found[factor], tally.slowed) for factor in FACTORS),
            f"{tally.pairs / tally.cases:.1f}, {tally.pairs_slowed / (tally.slowed * len(FACTORS)):.1f}",
            f"{tally.rounds / tally.cases:.0f}",
        ]
        for tally in tallies
    ]
    return table(
        [
            "rule", "sees", "cases falsely red (95 % bound)", "suites falsely red (95 % bound)",
            *(f"+{percent(factor - 1)} found" for factor in FACTORS),
            "pairs of processes per case, unchanged and slowed", "rounds per side",
        ],
        rows,
    )  # fmt: skip


def _alarms(red: Sequence[bool]) -> str:
    return bounded(sum(red), len(red))


def _reds(cases: Sequence[CaseLine], metric: Metric) -> int:
    return sum(case.metrics[metric].verdict.is_red for case in cases if metric in case.metrics)


def _seen(values: Sequence[float]) -> str:
    if len(values) < 2:
        return "".join(f"×{value:.3f}" for value in values)
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"×{middle:.3f} ({low:.3f}–{high:.3f})"


def _minutes(sessions: Sequence[SessionLine]) -> str:
    return f"{statistics.median(session.seconds for session in sessions) / 60:.1f}"


def _by(sessions: Sequence[SessionLine], key: Callable[[SessionLine], _Key]) -> list[tuple[_Key, list[SessionLine]]]:
    """Groups in the order of their keys."""
    groups: dict[_Key, list[SessionLine]] = {}
    for session in sessions:
        groups.setdefault(key(session), []).append(session)
    return sorted(groups.items(), key=lambda item: str(item[0]))
