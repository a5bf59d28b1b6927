"""The rounds of real A/A sessions judged again, many times over: by this gate's own functions and by other rules."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from docs.benchmarks.gate_quality.draws import CasePool, Drawn, draw, slowed
from docs.benchmarks.gate_quality.peers import Rule
from perf.harness.paired_evidence import Metric
from perf.harness.paired_records import PairedResult, PairSample
from perf.harness.paired_screen import confirmation_plan, screen
from perf.harness.paired_verdict import CaseJudgement, decide
from perf.harness.records import Sample, Verdict
from perf.harness.verdict import Margins

FACTORS = (1.05, 1.10, 1.25)
MARGINS_PERCENT = (2.0, 5.0)


@dataclass(slots=True)
class Tally:
    """What one rule did. ``found`` counts by factor; ``pairs`` and ``pairs_slowed`` are the pairs of processes that all
    unchanged, and all slowed, cases needed together; ``rounds`` is that of one side of the unchanged ones."""

    rule: str
    sees: str
    cases: int = 0
    cases_red: int = 0
    suites: int = 0
    suites_red: int = 0
    slowed: int = 0
    found: dict[float, int] = field(default_factory=lambda: dict.fromkeys(FACTORS, 0))
    pairs: int = 0
    pairs_slowed: int = 0
    rounds: int = 0

    def nothing_changed(self, red: Sequence[bool]) -> None:
        """Counts the verdicts of one suite in which nothing changed."""
        self.cases += len(red)
        self.cases_red += sum(red)
        self.suites += 1
        self.suites_red += any(red)


@dataclass(frozen=True, slots=True)
class View:
    """Which of the drawn rounds a peer gets: seconds per step of baseline and candidate, and from how many pairs."""

    name: str
    rounds: Callable[[Sequence[PairSample]], tuple[list[float], list[float]]]
    pairs: Callable[[Sequence[PairSample]], int]


def one_process_each(pairs: Sequence[PairSample]) -> tuple[list[float], list[float]]:
    """What most people measure: one process of each side, one after the other. The candidate's is from the pair that
    followed in the same real session, so that the two did not take turns."""
    return per_step(pairs[0].baseline), per_step(pairs[1].candidate)


def all_processes(pairs: Sequence[PairSample]) -> tuple[list[float], list[float]]:
    """All rounds of all pairs, pooled by side."""
    baseline = [seconds for pair in pairs for seconds in per_step(pair.baseline)]
    return baseline, [seconds for pair in pairs for seconds in per_step(pair.candidate)]


def per_step(sample: Sample) -> list[float]:
    """The rounds of a process as seconds per step."""
    return [seconds / sample.steps_per_round for seconds in sample.seconds_per_round]


VIEWS = (View("one process each", one_process_each, lambda pairs: 1), View("all pairs, pooled", all_processes, len))


def judge(drawn: Drawn, margin_percent: float) -> tuple[dict[str, CaseJudgement], dict[str, int]]:
    """The gate's verdicts on a drawn session, and how many pairs each case took: screen, plan, confirm, decide."""
    margins = Margins(margin_percent)
    screened = screen(drawn.screen, margins)
    plan = confirmation_plan(screened).pairs
    confirmed = {key: PairedResult(drawn.screen[key].spec, drawn.fresh[key][:count]) for key, count in plan.items()}
    pairs = {key: len(result.pairs) + plan.get(key, 0) for key, result in drawn.screen.items()}
    return decide(screened, confirmed, margins, {}), pairs


def replay(
    pools: Mapping[str, CasePool],
    rules: Sequence[Rule],
    *,
    sessions: int,
    pairs: int,
    seed: int,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Tally]:
    """Draws so many sessions of all pooled cases; in each, all rules judge the same rounds: first as they are, then
    with one case slowed by each factor. The slowed case takes turns over the pool. Equal seeds give equal tallies."""
    chance = random.Random(seed)
    gates = {margin: Tally(f"this gate, margin {margin:g} %", "pairs, then fresh ones") for margin in MARGINS_PERCENT}
    peers = [(rule, view, Tally(rule.name, view.name)) for rule in rules for view in VIEWS]
    keys = list(pools)
    for session in range(sessions):
        progress(session)
        drawn, key = draw(pools, pairs, chance), keys[session % len(keys)]
        changed = {factor: slowed(drawn, key, factor) for factor in FACTORS}
        for margin, tally in gates.items():
            _gate(tally, margin, drawn, changed, key)
        for rule, view, tally in peers:
            _peer(tally, rule, view, drawn, changed, key)
    return [*gates.values(), *(tally for _, _, tally in peers)]


def _gate(tally: Tally, margin: float, drawn: Drawn, changed: Mapping[float, Drawn], key: str) -> None:
    judged, pairs = judge(drawn, margin)
    tally.nothing_changed([one.verdict.is_red for one in judged.values()])
    tally.pairs += sum(pairs.values())
    for name, count in pairs.items():
        used = (*drawn.screen[name].pairs, *drawn.fresh[name])[:count]
        tally.rounds += sum(len(pair.baseline.seconds_per_round) for pair in used)
    tally.slowed += 1
    for factor, session in changed.items():
        judged, pairs = judge(session, margin)
        tally.found[factor] += judged[key].metrics[Metric.STEP].verdict is Verdict.REGRESSED
        tally.pairs_slowed += pairs[key]


def _peer(tally: Tally, rule: Rule, view: View, drawn: Drawn, changed: Mapping[float, Drawn], key: str) -> None:
    red = []
    for result in drawn.screen.values():
        baseline, candidate = view.rounds(result.pairs)
        red.append(rule.slower(baseline, candidate))
        tally.pairs += view.pairs(result.pairs)
        tally.rounds += len(baseline)
    tally.nothing_changed(red)
    tally.slowed += 1
    for factor, session in changed.items():
        slower = session.screen[key].pairs
        tally.found[factor] += rule.slower(*view.rounds(slower))
        tally.pairs_slowed += view.pairs(slower)
