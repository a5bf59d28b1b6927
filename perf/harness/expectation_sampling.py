"""One group of contenders in one process (or one of each lane): open, prove, then rounds in turns.

Knows requests, not processes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perf.harness import replies, rounds, sampling, timing
from perf.harness.expectation_plan import Entrant, Group, Lane
from perf.harness.records import CaseSpec, Failure, Sample
from perf.harness.replies import CaseError, Opened, Timed
from perf.harness.sampling import Ask

#: Promises are ratios, most of 1.2 and more: rounds are timed until a ratio is known to about a third of this.
MARGIN = 0.15
#: Of two windows of rounds of one contender that shall be steady.
STEADY_MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Once:
    """What opening a case alone showed. ``bytes_peak`` is that of the device it runs on."""

    first_call_seconds: float
    bytes_peak: int | None


class EntrantLost(Exception):
    """A worker ended over an entrant: what else is open in the group is lost with it."""

    def __init__(self, entrant: Entrant, failure: Failure) -> None:
        super().__init__(failure.message)
        self.entrant = entrant
        self.failure = failure


def sample_once(ask: Ask, entrant: Entrant, spec: CaseSpec) -> Once:
    """Opens the case alone; closed again. Raises :class:`CaseError`."""
    try:
        opened = sampling.open_case(ask, spec)
    except CaseError as error:
        if not error.lost:
            ask("close")  # where the proof failed it is open
        raise
    ask("close")
    peak = opened.bytes_peak if entrant.lane.device == "cpu" else opened.device_bytes_peak
    return Once(opened.first_call_seconds, peak)


def sample_group(
    asks: Mapping[Lane, Ask],
    group: Group,
    specs: Mapping[str, CaseSpec],
    process: int,
    *,
    before: Mapping[Entrant, Sample],
    time_limit: float,
) -> tuple[dict[Entrant, Sample], dict[Entrant, Failure]]:
    """All timed rounds of the group's entrants, and why some have none; what was opened is closed again.

    Round i of one entrant ran next to round i of each other one, each of at least 20 ms: in the group's order, then
    backwards, and so on, which is ABBA for any two of them. ``before`` are samples of an earlier process: their calls
    per round are used again and their facts must hold. ``time_limit`` in seconds, of a request. Raises
    :class:`EntrantLost` where a worker is gone.
    """
    open_: dict[Entrant, _Opened] = {}
    failures: dict[Entrant, Failure] = {}
    for slot, entrant in enumerate(group.entrants):
        spec, ask = specs[entrant.key], _in_slot(asks[entrant.lane], slot)
        with _noting(entrant, failures):
            opened = sampling.open_case(ask, spec)
            open_[entrant] = _Opened(spec, ask, opened)
            if entrant in before:
                replies.check_same(spec, before[entrant].facts, opened.facts, process)
    for entrant in group.without(failures).entrants:
        one = open_[entrant]
        with _noting(entrant, failures):
            calls = before[entrant].calls_per_round if entrant in before else None
            one.calls, one.settled = timing.warm_up(one.run_alone, calls, STEADY_MARGIN, time_limit)
    turns = _Turns({entrant: open_[entrant] for entrant in group.without(failures).entrants}, failures)
    timed = _time(turns, group)
    samples: dict[Entrant, Sample] = {}
    for entrant, rounds_ in timed.items():
        one = open_[entrant]
        with _noting(entrant, failures):
            samples[entrant] = sampling.record(
                one.spec, process, one.calls, one.opened, rounds_, one.settled.rounds_discarded, one.settled.steady[0]
            )
    for slot, entrant in enumerate(group.entrants):  # also one whose proof failed is open
        with _noting(entrant, failures):
            asks[entrant.lane]("close", slot=slot)
    return {entrant: sample for entrant, sample in samples.items() if entrant not in failures}, failures


@dataclass
class _Opened:
    spec: CaseSpec
    ask: Ask
    opened: Opened
    calls: int = 0
    settled: timing.Settled = field(default_factory=lambda: timing.Settled((False,), 0, rounds.ROUND_SECONDS))

    def run_alone(self, count: int, calls: int) -> tuple[Timed, ...]:
        """A :data:`perf.harness.timing.Run` of one."""
        return (sampling.run_rounds(self.ask, self.spec, count, calls),)


@dataclass
class _Turns:
    """Rounds of all that are still in it, one request each, never two at once; who fails drops out."""

    entrants: dict[Entrant, _Opened]
    failures: dict[Entrant, Failure]
    done: int = 0

    def round(self) -> dict[Entrant, Timed]:
        """One round of each, in the group's order or backwards."""
        found: dict[Entrant, Timed] = {}
        turn = list(self.entrants) if self.done % 2 == 0 else list(reversed(self.entrants))
        for entrant in turn:
            one = self.entrants[entrant]
            with _noting(entrant, self.failures):
                found[entrant] = sampling.run_rounds(one.ask, one.spec, 1, one.calls)
            if entrant in self.failures:
                del self.entrants[entrant]
        self.done += 1
        return found


def _time(turns: _Turns, group: Group) -> dict[Entrant, Timed]:
    """Rounds until the ratio of every pair that is compared is known well enough; of those who stayed to the end."""
    parts: list[dict[Entrant, Timed]] = []
    while len(turns.entrants) > 1 and _more(turns, group, parts):
        parts.append(turns.round())
    if not parts:
        return {}
    return {entrant: timing.joined([(part[entrant],) for part in parts])[0] for entrant in turns.entrants}


def _more(turns: _Turns, group: Group, parts: Sequence[Mapping[Entrant, Timed]]) -> bool:
    def known(first: Entrant, second: Entrant) -> bool:
        of = [[part[entrant].seconds[0] for part in parts] for entrant in (first, second)]
        ratios = [two / one for one, two in zip(*of, strict=True)]
        usual = max(turns.entrants[entrant].settled.seconds_per_round for entrant in (first, second))
        return rounds.more_rounds(max(of, key=sum), usual, MARGIN, ratios) == 0

    compared = [pair for pair in group.pairs if all(entrant in turns.entrants for entrant in pair)]
    return not all(known(*pair) for pair in compared)


def _in_slot(ask: Ask, slot: int) -> Ask:
    def asked(op: str, **fields: Any) -> Mapping[str, Any]:
        return ask(op, slot=slot, **fields)

    return asked


@contextlib.contextmanager
def _noting(entrant: Entrant, failures: dict[Entrant, Failure]) -> Iterator[None]:
    """Notes why an entrant failed; a lost worker ends the group."""
    try:
        yield
    except CaseError as error:
        if error.lost:
            raise EntrantLost(entrant, error.failure) from error
        failures.setdefault(entrant, error.failure)
