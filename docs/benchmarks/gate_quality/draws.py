"""Sessions drawn from the rounds of real A/A sessions: exactly nothing changed, until a factor is put in. Pure.

In an A/A session both processes of a pair run the same code in the same environment, and which of them starts first
is drawn. So the two labels of a pair may be exchanged: whatever made one process slower would have made it slower under
the other label too. Exchanging each with probability 1/2 makes the mean difference exactly 0, a bias of the side that
starts first included, while the spread stays what was measured.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from docs.benchmarks.gate_quality.ledger import Against
from docs.benchmarks.gate_quality.raw import RawSession
from perf.harness.errors import Refusal
from perf.harness.paired_records import PairedResult, PairSample, other
from perf.harness.paired_screen import CONFIRMING_PAIRS
from perf.harness.records import CaseSpec


@dataclass(frozen=True, slots=True)
class CasePool:
    """All pairs of one case, by the real session that they were measured in, in their order."""

    spec: CaseSpec
    sessions: tuple[tuple[PairSample, ...], ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One session: what the screen measures, and ``fresh`` pairs for as long a confirmation as there can be."""

    screen: Mapping[str, PairedResult]
    fresh: Mapping[str, tuple[PairSample, ...]]


def pools(sessions: Sequence[RawSession], pairs: int) -> dict[str, CasePool]:
    """What the A/A sessions in one environment measured, of cases with enough pairs for a screen and a confirmation.

    Raises :class:`Refusal` where there is no such case, and for a case that was changed between two sessions.
    """
    specs: dict[str, CaseSpec] = {}
    found: dict[str, list[tuple[PairSample, ...]]] = {}
    for session in sessions:
        if session.factor != 1 or session.against is not Against.SAME:
            continue
        again = {} if session.confirmation is None else session.confirmation.results
        for key, result in session.screening.results.items():
            if specs.setdefault(key, result.spec).hash != result.spec.hash:
                raise Refusal(
                    f"{key} was defined otherwise in session {session.name} than before, and the two are not one "
                    "sample. Move the raw files of the older definition away."
                )
            if result.failure is None and len(result.pairs) >= pairs:
                found.setdefault(key, []).append((*result.pairs, *(again[key].pairs if key in again else ())))
    needed = CONFIRMING_PAIRS[1]
    enough = {
        key: CasePool(specs[key], tuple(each))
        for key, each in found.items()
        if sum(map(len, each)) - max(map(len, each)) >= needed
    }
    if not enough:
        raise Refusal(
            f"There are not enough A/A rounds to draw from: {pairs} pairs of a case are needed in one session and "
            f"{needed} in others. Run 'live --inject 1.00 --sessions 5' or more of it first."
        )
    return enough


def draw(pools: Mapping[str, CasePool], pairs: int, chance: random.Random) -> Drawn:
    """For each case the first ``pairs`` pairs of one real session, in their order, as a screen; the confirmation's
    come from the other sessions. No pair is drawn twice, and in each the labels are exchanged at random."""
    screen, fresh = {}, {}
    for key, pool in pools.items():
        chosen = chance.randrange(len(pool.sessions))
        first = pool.sessions[chosen][:pairs]
        others = [pair for index, each in enumerate(pool.sessions) if index != chosen for pair in each]
        again = chance.sample(others, CONFIRMING_PAIRS[1])
        screen[key] = PairedResult(pool.spec, tuple(exchanged(pair, chance) for pair in first))
        fresh[key] = tuple(exchanged(pair, chance) for pair in again)
    return Drawn(screen, fresh)


def exchanged(pair: PairSample, chance: random.Random) -> PairSample:
    """The pair, or the same with the names of its sides exchanged; as likely."""
    if chance.random() < 0.5:
        return pair
    return PairSample(pair.pair, other(pair.first), baseline=pair.candidate, candidate=pair.baseline)


def slowed(drawn: Drawn, key: str, factor: float) -> Drawn:
    """The same session with every timed round of one case's candidate ``factor`` times as long."""
    result = drawn.screen[key]
    return Drawn(
        {**drawn.screen, key: replace(result, pairs=tuple(_slowed(pair, factor) for pair in result.pairs))},
        {**drawn.fresh, key: tuple(_slowed(pair, factor) for pair in drawn.fresh[key])},
    )


def _slowed(pair: PairSample, factor: float) -> PairSample:
    rounds = tuple(seconds * factor for seconds in pair.candidate.seconds_per_round)
    return replace(pair, candidate=replace(pair.candidate, seconds_per_round=rounds))
