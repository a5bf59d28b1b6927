"""One case in one pair of processes: open both, prove both, then rounds in turns. Knows requests, not processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from perf.harness import replies, sampling, timing
from perf.harness.paired_records import BASELINE, CANDIDATE, SIDES, PairSample, SideName, other
from perf.harness.records import CaseSpec, Failure
from perf.harness.replies import CaseError, Opened, Timed
from perf.harness.sampling import Ask


class SideError(Exception):
    """A case failed on one ``side``, or on both (``None``)."""

    def __init__(self, side: SideName | None, failure: Failure) -> None:
        super().__init__(failure.message)
        self.side = side
        self.failure = failure


class NotComparable(Exception):
    """One side cannot do the case; the text says which and why."""


def sample_pair(
    asks: Mapping[SideName, Ask],
    spec: CaseSpec,
    pair: int,
    first: SideName,
    *,
    before: PairSample | None,
    margin: float,
    time_limit: float,
) -> PairSample:
    """All timed rounds of ``spec`` in the two processes behind ``asks``; the case is closed by the caller.

    ``first`` opens and begins. ``before`` is the case's first pair of this session: its calls per round are used again
    and its facts must hold, side by side with itself. ``margin`` and ``time_limit`` as in
    :func:`perf.harness.sampling.sample`. What differs *between* the sides is no error here: it is judged with the
    times. Raises :class:`SideError` and :class:`NotComparable`.
    """
    opened = _open_both(asks, spec, pair, first, before)
    calls, settled = timing.warm_up(
        _Turns(asks, spec, first), before.baseline.calls_per_round if before else None, margin, time_limit
    )
    timed = timing.time_rounds(_Turns(asks, spec, first), calls, settled.seconds_per_round, margin, time_limit)
    samples = {}
    for side, rounds, steady in zip(SIDES, timed, settled.steady, strict=True):
        with _on(side):
            samples[side] = sampling.record(spec, pair, calls, opened[side], rounds, settled.rounds_discarded, steady)
    return PairSample(pair, first, samples[BASELINE], samples[CANDIDATE])


@dataclass
class _Turns:
    """A :data:`perf.harness.timing.Run` of two sides: one request of one round each, ABBA or BAAB, never both at once.

    Taking turns within a round trip of milliseconds is what makes the ratio of two rounds free of the machine's moods
    (Bulej et al., Duet Benchmarking, ICPE 2020, who run both at once: on shared cores each would slow the other).
    """

    asks: Mapping[SideName, Ask]
    spec: CaseSpec
    first: SideName
    done: int = field(default=0)

    def __call__(self, count: int, calls: int) -> tuple[Timed, ...]:
        parts: dict[SideName, list[tuple[Timed, ...]]] = {side: [] for side in SIDES}
        for _ in range(count):
            begins = self.first if self.done % 2 == 0 else other(self.first)
            for side in (begins, other(begins)):
                with _on(side):
                    parts[side].append((sampling.run_rounds(self.asks[side], self.spec, 1, calls),))
            self.done += 1
        return tuple(timing.joined(parts[side])[0] for side in SIDES)


def _open_both(
    asks: Mapping[SideName, Ask], spec: CaseSpec, pair: int, first: SideName, before: PairSample | None
) -> dict[SideName, Opened]:
    """Both sides, opened one after the other so that first calls do not disturb each other, and proved.

    Also where the first one refuses the other is asked: a case that neither can do is broken, not lost.
    """
    opened: dict[SideName, Opened] = {}
    refused: dict[SideName, CaseError] = {}
    for side in (first, other(first)):
        with _on(side):
            try:
                opened[side] = sampling.open_case(asks[side], spec)
            except CaseError as error:
                if not error.refused:
                    raise
                refused[side] = error
                continue
            if before is not None:
                replies.check_same(spec, before.side(side).facts, opened[side].facts, pair)
    if len(refused) == len(SIDES):
        raise SideError(None, refused[first].failure)
    for side, refusal in refused.items():
        # What the baseline cannot do nobody can have lost. The candidate is excused only where it says that it knows
        # no such thing: an exception, another kernel or wrong numbers after an upgrade are what is looked for.
        if side == BASELINE or refusal.unsupported:
            raise NotComparable(f"on the {side}'s side: {refusal.failure.message}")
        raise SideError(side, refusal.failure)
    return opened


@contextlib.contextmanager
def _on(side: SideName) -> Iterator[None]:
    """Names the side at which a case failed."""
    try:
        yield
    except CaseError as error:
        raise SideError(side, error.failure) from error
